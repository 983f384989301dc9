//! Receipt of `fork`, and the report of `compare` about two forks.

use super::{
    count::CountedNoun,
    receipt::{self, ItemCounts},
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::{comparison::RecordDifference, document::Document, id::Oid};

/// A fork that was made.
#[derive(Debug)]
pub struct Fork<'a> {
    /// The checkpoint it came from.
    pub source: &'a Oid,
    /// Its first checkpoint; none in a dry run.
    pub id: Option<&'a Oid>,
    /// Its session's name.
    pub name: &'a str,
    /// That checkpoint's document.
    pub document: &'a Document,
    /// The working tree that was made for it.
    pub worktree: Option<ForkWorktreeRow<'a>>,
    /// Whether it is the current session of this working tree now.
    pub is_current: bool,
}

/// A working tree that was made.
#[derive(Debug)]
pub struct ForkWorktreeRow<'a> {
    /// Its directory.
    pub path: String,
    /// Its branch.
    pub branch: Option<&'a str>,
    /// Files written after the commit was checked out; none is reported in a dry run.
    pub written: Option<usize>,
    /// Ignored files that were copied from the present working tree.
    pub copied: usize,
}

/// The receipt of a fork.
pub fn text(fork: &Fork<'_>) -> Text {
    let mut text = Text::new();
    let mut first = match fork.id {
        Some(_) => TextLine::new().with(Slot::Good, "Forked").with(Slot::Plain, " "),
        None => TextLine::plain("Would fork "),
    };
    first.push(Slot::Id, fork.source.short());
    first.push(Slot::Plain, " to session ");
    first.push(Slot::Session, fork.name);
    if let Some(id) = fork.id {
        first.push(Slot::Plain, " at ");
        first.push(Slot::Id, id.short());
    }
    if fork.is_current {
        first.push(Slot::Plain, ", now current");
    }
    text.push(first);
    let mut detail = |label: &str, value: TextLine| {
        let mut line = TextLine::plain("  ").with(Slot::Heading, label);
        line.pad_to(12);
        line.append(&value);
        text.push(line);
    };
    if let Some(from) = &fork.document.session.forked_from
        && let Some(option) = &from.option
    {
        detail("option", TextLine::plain(option));
    }
    let words = ItemCounts::of(fork.document).words();
    if !words.is_empty() {
        detail("record", TextLine::plain(words));
    }
    if let Some(worktree) = &fork.worktree {
        let mut line = TextLine::new().with(Slot::Path, &worktree.path);
        if let Some(branch) = worktree.branch {
            line.push(Slot::Plain, ", branch ");
            line.push(Slot::Branch, branch);
        }
        detail("worktree", line);
        if worktree.copied > 0 {
            let files = CountedNoun::new(worktree.copied, "ignored file");
            detail(
                "copied",
                TextLine::plain(format!("{files} from the current working tree")),
            );
        }
        if let Some(written) = worktree.written {
            let files = CountedNoun::new(written, "file");
            detail(
                "files",
                TextLine::plain(format!("as they were: {files} other than in the commit")),
            );
        }
    } else {
        detail("saved", receipt::code(&fork.document.git));
        // In a dry run as well: a fork in place brings no file.
        detail(
            "files",
            TextLine::plain("none was changed; bring the saved ones with: git checkpoint restore @"),
        );
    }
    text
}

/// Changes of one side since the common checkpoint.
#[derive(Debug)]
pub struct ForkSideChanges<'a> {
    /// `A` or `B`.
    pub letter: &'static str,
    /// Checkpoints made.
    pub steps: usize,
    /// Differences of the record.
    pub record: &'a [RecordDifference],
    /// How many files changed.
    pub files: usize,
}

/// Changes of each side since the common checkpoint, and the files that both changed, with the result of a merge.
pub fn since(common: &Oid, subject: &str, sides: &[ForkSideChanges<'_>], both: &[(String, String)]) -> Text {
    let mut text = Text::new();
    let mut line = TextLine::plain("Both come from ");
    line.push(Slot::Id, common.short());
    line.push(Slot::Plain, format!("  {subject}"));
    text.push(line);
    for side in sides {
        let mut line = TextLine::plain("  since then ").with(Slot::Heading, side.letter);
        line.push(
            Slot::Plain,
            format!(
                "  {}, {} changed",
                CountedNoun::new(side.steps, "checkpoint"),
                CountedNoun::new(side.files, "file")
            ),
        );
        text.push(line);
        for change in side.record {
            let (sign, slot) = if change.added {
                ("+", Slot::Added)
            } else {
                ("-", Slot::Removed)
            };
            let mut line = TextLine::plain(format!("    {}", change.item));
            line.pad_to(16);
            text.push(line.with(slot, format!("{sign} {}", change.text)));
        }
    }
    if !both.is_empty() {
        text.push(TextLine::plain(format!(
            "  {} changed by both",
            CountedNoun::new(both.len(), "file")
        )));
        for (path, verdict) in both {
            let mut line = TextLine::plain("    ").with(Slot::Path, path);
            line.pad_to(40);
            line.push(Slot::Plain, "  ");
            text.push(line.with(Slot::Dim, verdict));
        }
    }
    text
}

//! Receipt of `fork`, and the report of `compare` about two forks.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    View,
    count::CountedNoun,
    diff,
    receipt::{self, ItemCounts, SkippedPath},
    restore::FilteredFile,
    slot::Slot,
    text::{Text, TextLine},
    turns::AgentSessionView,
};
use crate::model::{
    change::TreeChange,
    comparison::RecordDifference,
    document::Document,
    id::{Digest, Oid},
    name::ShortName,
    path::RepoPath,
};

/// Sessions that begin at a checkpoint.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.fork/1")]
pub struct ForkReceipt<'a> {
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// The forks.
    pub forks: Vec<ForkRow<'a>>,
}

/// A fork.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ForkRow<'a> {
    /// The copy of the coding agent's session that it was given.
    pub agent: Option<&'a AgentSessionView>,
    /// Its first checkpoint; null in a dry run.
    pub id: Option<Oid>,
    /// The digest of that checkpoint's document; null in a dry run.
    pub digest: Option<&'a Digest>,
    /// The name of the session.
    pub session: &'a ShortName,
    /// The identity of the session, which never changes; null in a dry run.
    pub session_id: Option<&'a str>,
    /// The checkpoint it came from.
    pub source: Oid,
    /// The session of that checkpoint.
    pub source_session: Option<&'a ShortName>,
    /// The option of a fork point.
    pub option: Option<&'a str>,
    /// The working tree that was made for it.
    pub worktree: Option<ForkWorktreeRow<'a>>,
    /// Its first document, for people.
    #[serde(skip)]
    pub document: &'a Document,
    /// Whether it is the current session of this working tree now, for people.
    #[serde(skip)]
    pub is_current: bool,
}

/// The working tree of a fork.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ForkWorktreeRow<'a> {
    /// Its directory.
    pub path: String,
    /// Its branch.
    pub branch: Option<&'a str>,
    /// Whether the files are as they were saved.
    pub complete: bool,
    /// Its files; left out in a dry run.
    #[serde(flatten)]
    pub files: Option<ForkFiles<'a>>,
}

/// The files of a fork's working tree.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ForkFiles<'a> {
    /// Why the files are those of the commit.
    pub refusals: Vec<serde_json::Value>,
    /// Ignored files that were copied from the current working tree.
    pub copied: &'a [RepoPath],
    /// Files that could not be copied.
    pub not_copied: Vec<UncopiedFile<'a>>,
    /// Paths that the checkpoint left out: the new working tree lacks them, or has them as they were staged or committed.
    pub left_out: Vec<SkippedPath>,
    /// Those that it lacks, in words.
    #[serde(skip)]
    pub left_out_words: Option<String>,
    /// Those that it has, in words.
    #[serde(skip)]
    pub outdated_words: Option<String>,
    /// Files under a filter program that have less than they were saved from.
    pub filtered: Vec<FilteredFile<'a>>,
    /// Submodules that are as in the current working tree.
    pub submodules: &'a [RepoPath],
    /// Submodules that could not be populated.
    pub not_populated: Vec<UncopiedFile<'a>>,
    /// The user's own post-checkout hook; null without one.
    pub hook: Option<HookExit>,
    /// The command of checkpoint.forkSetup; null without one.
    pub setup: Option<SetupExit<'a>>,
    /// The number of files written after the commit was checked out, for people.
    #[serde(skip)]
    pub written: usize,
}

/// A file that could not be copied, or a submodule that could not be populated.
#[derive(Debug, Serialize, JsonSchema)]
pub struct UncopiedFile<'a> {
    /// Its path.
    pub path: &'a RepoPath,
    /// The reason.
    pub why: &'a str,
}

/// The end of a hook.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HookExit {
    /// Its exit status.
    pub exit_status: i32,
}

/// The end of the set-up command.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SetupExit<'a> {
    /// Its exit status.
    pub exit_status: i32,
    /// Its output, or the end of it.
    pub output: &'a str,
}

impl View for ForkReceipt<'_> {
    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn text(&self) -> Text {
        let mut text = Text::new();
        for fork in &self.forks {
            fork.lines(&mut text);
        }
        for fork in &self.forks {
            if let Some(agent) = fork.agent {
                text.append(agent.text(false));
            }
        }
        text
    }
}

impl ForkRow<'_> {
    fn lines(&self, text: &mut Text) {
        let mut first = match self.id {
            Some(_) => TextLine::new().with(Slot::Good, "Forked").with(Slot::Plain, " "),
            None => TextLine::plain("Would fork "),
        };
        first.push(Slot::Id, self.source.short());
        first.push(Slot::Plain, " to session ");
        first.push(Slot::Session, self.session.as_str());
        if let Some(id) = &self.id {
            first.push(Slot::Plain, " at ");
            first.push(Slot::Id, id.short());
        }
        if self.is_current {
            first.push(Slot::Plain, ", now current");
        }
        text.push(first);
        let mut detail = |label: &str, value: TextLine| {
            let mut line = TextLine::plain("  ").with(Slot::Heading, label);
            line.pad_to(12);
            line.append(&value);
            text.push(line);
        };
        if let Some(option) = self.option {
            detail("option", TextLine::plain(option));
        }
        let words = ItemCounts::of(self.document).words();
        if !words.is_empty() {
            detail("record", TextLine::plain(words));
        }
        let Some(worktree) = &self.worktree else {
            detail("saved", receipt::code(&self.document.git));
            // In a dry run as well: a fork in place brings no file.
            let none = "none changed; to restore the saved ones: git checkpoint restore @";
            return detail("files", TextLine::plain(none));
        };
        detail("worktree", TextLine::new().with(Slot::Path, &worktree.path));
        if let Some(branch) = worktree.branch {
            detail("branch", TextLine::new().with(Slot::Branch, branch));
        }
        let Some(files) = &worktree.files else { return };
        if !files.copied.is_empty() {
            let copied = CountedNoun::new(files.copied.len(), "ignored file");
            detail(
                "copied",
                TextLine::plain(format!("{copied} from the current working tree")),
            );
        }
        if !files.submodules.is_empty() {
            let submodules = CountedNoun::new(files.submodules.len(), "submodule");
            detail(
                "populated",
                TextLine::plain(format!("{submodules}, from the current working tree")),
            );
        }
        if files.refusals.is_empty() {
            let written = match files.written {
                n if self.document.git.head.is_none() => {
                    format!("as saved, {}; there is no commit", CountedNoun::new(n, "file"))
                }
                0 => "as saved, those of the commit".to_owned(),
                1 => "as saved, 1 differs from the commit".to_owned(),
                n => format!("as saved, {n} differ from the commit"),
            };
            detail("files", TextLine::plain(written));
        }
        for file in &files.filtered {
            let line = TextLine::new().with(Slot::Path, file.path.quoted());
            detail("filter", line.with(Slot::Plain, format!(": {}", file.why)));
        }
        if let Some(words) = &files.left_out_words {
            detail("left out", TextLine::plain(format!("{words}: not saved, so not there")));
        }
        if let Some(words) = &files.outdated_words {
            let line = format!("{words}: not saved, so there as staged or committed");
            detail("left out", TextLine::plain(line));
        }
    }
}

/// Two checkpoints compared.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.compare/1")]
pub struct CompareView<'a> {
    /// The first checkpoint.
    pub a: ComparedSide<'a>,
    /// The second checkpoint.
    pub b: ComparedSide<'a>,
    /// The differences between their records.
    pub record: &'a [RecordDifference],
    /// The differences between their files.
    pub files: &'a [TreeChange],
    /// Whether both have files.
    pub files_compared: bool,
    /// The checkpoint that both come from.
    pub common: Option<CommonOrigin<'a>>,
    /// Without a common checkpoint: the best common ancestor of the commits that they were saved at.
    pub common_commit: Option<CommonCommit<'a>>,
}

/// The commit that two checkpoints come from, and what changed since in their files.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CommonCommit<'a> {
    /// The commit.
    pub id: Oid,
    /// The files that the first checkpoint changed since.
    pub a: &'a [TreeChange],
    /// The files that the second checkpoint changed since.
    pub b: &'a [TreeChange],
    /// Files that both changed.
    pub both: Vec<ContestedFile<'a>>,
}

/// A compared checkpoint.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ComparedSide<'a> {
    /// Its commit.
    pub id: Oid,
    /// The digest of its document.
    pub digest: &'a Digest,
    /// The session it was found through.
    pub session: Option<&'a ShortName>,
    /// Its subject.
    pub subject: &'a str,
    /// Whether it has files, for people.
    #[serde(skip)]
    pub has_files: bool,
}

/// The checkpoint that two checkpoints come from.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CommonOrigin<'a> {
    /// Its commit.
    pub id: Oid,
    /// The digest of its document.
    pub digest: &'a Digest,
    /// The changes of the first checkpoint since.
    pub a: ForkSideChanges<'a>,
    /// The changes of the second checkpoint since.
    pub b: ForkSideChanges<'a>,
    /// Files that both changed.
    pub both: Vec<ContestedFile<'a>>,
    /// Its subject, for people.
    #[serde(skip)]
    pub subject: &'a str,
}

/// Changes of one side since the common checkpoint.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ForkSideChanges<'a> {
    /// The number of checkpoints.
    pub checkpoints: usize,
    /// The differences of the record.
    pub record: &'a [RecordDifference],
    /// The files that differ.
    pub files: &'a [TreeChange],
}

/// A file that both sides changed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ContestedFile<'a> {
    /// Its path.
    pub path: &'a RepoPath,
    /// Whether the changes contradict each other.
    pub conflict: bool,
    /// The result of a merge in words.
    pub why: &'static str,
}

impl View for CompareView<'_> {
    fn text(&self) -> Text {
        let mut text = Text::new();
        for (letter, side) in [("A", &self.a), ("B", &self.b)] {
            let mut line = TextLine::new().with(Slot::Heading, letter).with(Slot::Plain, "  ");
            line.push(Slot::Id, side.id.short());
            if let Some(session) = side.session {
                line.push(Slot::Plain, "  ");
                line.push(Slot::Session, session.as_str());
            }
            text.push(line.with(Slot::Plain, format!("  {}", side.subject)));
        }
        match &self.common {
            Some(common) => common.lines(&mut text),
            None => match &self.common_commit {
                Some(commit) => commit.lines(&mut text),
                None => text.push(TextLine::plain("They have no common checkpoint and no common commit.")),
            },
        }
        text.append(diff::record(self.record, self.a.id.short(), self.b.id.short()));
        if self.files.is_empty() {
            text.push(TextLine::plain(match (self.a.has_files, self.b.has_files) {
                (true, true) => "the files are the same".to_owned(),
                (false, false) => "neither has files".to_owned(),
                (false, true) => format!("A has no files: {} was saved without them", self.a.id.short()),
                (true, false) => format!("B has no files: {} was saved without them", self.b.id.short()),
            }));
        }
        text
    }
}

impl CommonOrigin<'_> {
    /// The changes of each side, and the files that both changed.
    fn lines(&self, text: &mut Text) {
        let line = TextLine::plain("Both come from ").with(Slot::Id, self.id.short());
        text.push(line.with(Slot::Plain, format!("  {}", self.subject)));
        for (letter, side) in [("A", &self.a), ("B", &self.b)] {
            let line = TextLine::plain("  since then ").with(Slot::Heading, letter);
            let checkpoints = CountedNoun::new(side.checkpoints, "checkpoint");
            let files = CountedNoun::new(side.files.len(), "file");
            text.push(line.with(Slot::Plain, format!("  {checkpoints}, {files} changed")));
            for change in side.record {
                text.push(diff::record_line(change, 4, 16));
            }
        }
        contested(&self.both, text);
    }
}

impl CommonCommit<'_> {
    fn lines(&self, text: &mut Text) {
        let line = TextLine::plain("They have no common checkpoint. Both come from commit ");
        text.push(line.with(Slot::Id, self.id.short()));
        for (letter, files) in [("A", self.a), ("B", self.b)] {
            let line = TextLine::plain("  since then ").with(Slot::Heading, letter);
            let files = CountedNoun::new(files.len(), "file");
            text.push(line.with(Slot::Plain, format!("  {files} changed")));
        }
        contested(&self.both, text);
    }
}

/// The files that both sides changed, and how the changes go together.
fn contested(both: &[ContestedFile<'_>], text: &mut Text) {
    if !both.is_empty() {
        let files = CountedNoun::new(both.len(), "file");
        text.push(TextLine::plain(format!("  {files} changed by both")));
    }
    for file in both {
        let mut line = TextLine::plain("    ").with(Slot::Path, file.path.quoted());
        line.pad_to(40);
        text.push(line.with(Slot::Plain, "  ").with(Slot::Dim, file.why));
    }
}

//! `show`: one checkpoint, with everything that was saved.

use std::collections::{HashMap, HashSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    age::DateStyle,
    count::{CountedNoun, shown_rows},
    outline, receipt,
    receipt::SkippedPath,
    signature::SignatureView,
    slot::Slot,
    text::{Text, TextLine, width},
};
use crate::model::{
    change::TreeChange,
    document::{CheckpointKind, Document},
    id::{Digest, Oid},
    list::Lists,
    outline::{Contents, Outline},
    path::RepoPath,
    time::Timestamp,
};

/// How many files are shown unless all are asked for.
const SHOWN: usize = 5;
/// The widest column of paths; what is longer has what follows it right behind it.
const PATH: usize = 40;

/// The width of a label.
const LABEL: usize = 11;

/// One checkpoint.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.show/1")]
pub struct CheckpointView<'a> {
    /// The commit.
    pub id: Oid,
    /// The digest of its document.
    pub digest: &'a Digest,
    /// The session it was found through; null when it was named by id and no session leads to it.
    pub session: Option<&'a str>,
    /// The checkpoint as commands know it: the session where it is its latest, else the id.
    #[serde(skip)]
    pub selector: &'a str,
    /// The remote it was fetched from, when it is not of this repository.
    pub fetched_from: Option<&'a str>,
    /// The checkpoint before, and the snapshot commit.
    pub parents: Vec<Oid>,
    /// Who saved it.
    pub author: Author<'a>,
    /// Its signature; null where it is not signed.
    pub signature: Option<SignatureView>,
    /// Its signature in words.
    #[serde(skip)]
    pub signed: Option<String>,
    /// Whether its record is encrypted and none of the keys here opens it.
    pub locked: bool,
    /// Whether something that was to be captured was not.
    pub partial: bool,
    /// The paths that are not in it.
    pub skipped: Vec<SkippedPath>,
    /// Its files against its HEAD.
    pub changes: &'a [TreeChange],
    /// Staged changes, by path.
    pub staged: Vec<StagedRow<'a>>,
    /// How many changes of its session are not saved yet, where it is the latest.
    pub draft_operations: usize,
    /// The document.
    pub document: &'a Document,
    /// Counts of entries next to the document.
    pub contents: &'a Contents,
    /// Its lists.
    #[serde(skip)]
    pub lists: &'a Lists,
    /// Whether to show every item of every list.
    #[serde(skip)]
    pub all: bool,
    /// The files as a patch, with `--patch`, or how much each changes, with `--stat`; bytes that are no UTF-8 are replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
}

/// A path that was staged.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StagedRow<'a> {
    /// The path.
    pub path: &'a RepoPath,
    /// Whether the file was what was staged; otherwise it had further changes.
    pub whole: bool,
    /// How the index entry differed from HEAD.
    #[serde(skip)]
    pub letter: char,
}

/// A name with its address.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Author<'a> {
    /// The name.
    pub name: &'a str,
    /// The address.
    pub email: &'a str,
}

impl CheckpointView<'_> {
    /// Header, summary, record, files.
    pub fn text(&self, columns: usize, dates: &DateStyle, now: Timestamp) -> Text {
        let document = self.document;
        let mut text = Text::new();
        let mut first = TextLine::new().with(Slot::Id, format!("checkpoint {}", self.id));
        if let Some(session) = self.session {
            first.push(Slot::Plain, " (");
            first.push(Slot::Session, session);
            if let Some(name) = &document.name {
                first.push(Slot::Session, format!("@{name}"));
            }
            first.push(Slot::Plain, ")");
        }
        text.push(first);
        let mut header = |label: &str, value: TextLine| {
            let mut label = format!("{label}:");
            for value in value.folded(columns.saturating_sub(LABEL)) {
                let mut line = TextLine::new().with(Slot::Heading, std::mem::take(&mut label));
                line.pad_to(LABEL);
                line.append(&value);
                text.push(line);
            }
        };
        let is_first = document.previous.is_none();
        if let Some(parent) = self.parents.first().filter(|_| !is_first) {
            header("Parent", TextLine::new().with(Slot::Id, parent.short()));
        }
        if let (Some(merged), Some(commit)) = (&document.merged, self.parents.last()) {
            let mut line = TextLine::new().with(Slot::Id, commit.short());
            line.push(Slot::Plain, "  ");
            line.push(Slot::Session, merged.session.as_str());
            let files = if merged.files { "record and files" } else { "record" };
            line.push(Slot::Dim, format!("  {files}"));
            header("Merged", line);
        }
        let author = format!("{} <{}>", self.author.name, self.author.email);
        header("Author", TextLine::new().with(Slot::Person, author));
        if let (Some(view), Some(words)) = (&self.signature, &self.signed) {
            header("Signed", TextLine::new().with(view.slot(), words));
        }
        if let Some(info) = &document.encrypted {
            let slot = if self.locked { Slot::Caution } else { Slot::Plain };
            header("Encrypted", TextLine::new().with(slot, info.words()));
        }
        if let Some(remote) = self.fetched_from {
            header(
                "Fetched",
                TextLine::new().with(Slot::Caution, format!("from remote {remote}, written by others")),
            );
        }
        header(
            "Date",
            TextLine::new().with(Slot::Date, dates.show(document.created_at, now)),
        );
        let mut kind = document.kind.word().to_owned();
        if let Some(occasion) = document.occasion() {
            kind = format!("{kind} ({occasion})");
        }
        header(
            "Kind",
            TextLine::plain(format!("{kind}, session {}", document.session.status.word())),
        );
        header("Code", code(document));
        // An import has no place here.
        if !document.host.is_empty() {
            header(
                "Place",
                TextLine::new()
                    .with(Slot::Path, &document.worktree.path)
                    .with(Slot::Dim, format!(" on {}", document.host)),
            );
        }
        if let Some(subject) = &document.subject {
            header("Subject", TextLine::plain(subject));
        }
        let outline = Outline::of(self.contents, self.selector);
        if let Some(summary) = &outline.summary {
            text.push(TextLine::new());
            text.append(Text::wrapped(summary, 4, columns));
        }
        text.append(outline::text(&outline, columns, self.all));
        text.append(self.files());
        if self.draft_operations > 0 {
            text.push(TextLine::new());
            let changes = CountedNoun::new(self.draft_operations, "change");
            text.push(TextLine::plain(format!(
                "{changes} not saved yet: git checkpoint status"
            )));
        }
        text
    }

    /// Omissions of the text, with the commands that show them; for `--verbose`.
    pub fn left_out(&self, columns: usize) -> Text {
        outline::left_out_text(&Outline::of(self.contents, self.selector), columns)
    }

    fn files(&self) -> Text {
        let mut text = Text::new();
        if self.document.snapshot.is_none() {
            text.push(TextLine::new());
            text.push(TextLine::new().with(Slot::Dim, "The files were not saved."));
            return text;
        }
        if !self.changes.is_empty() {
            heading(&mut text, "Files against HEAD", self.changes.len());
        }
        let staged: HashMap<&RepoPath, bool> = self.staged.iter().map(|row| (row.path, row.whole)).collect();
        for change in limited(self.changes, self.all) {
            let slot = match change.kind.letter() {
                'A' => Slot::Added,
                'D' => Slot::Removed,
                _ => Slot::Changed,
            };
            let mut line = TextLine::plain("  ").with(slot, change.kind.letter().to_string());
            line.push(Slot::Plain, " ");
            if let Some(from) = &change.from {
                line.push(Slot::Path, from.quoted());
                line.push(Slot::Plain, " -> ");
            }
            line.push(Slot::Path, change.path.quoted());
            let of_rename = change.from.as_ref();
            let is_source_staged = of_rename.is_none_or(|from| staged.contains_key(from));
            match staged.get(&change.path) {
                Some(whole) if *whole && is_source_staged => line.push(Slot::Dim, "  staged"),
                Some(_) => line.push(Slot::Dim, "  partly staged"),
                None => {}
            }
            text.push(line);
        }
        more(&mut text, self.changes.len(), self.all, self.selector);
        let changes = self.changes.iter();
        let listed: HashSet<&RepoPath> = changes
            .flat_map(|change| std::iter::once(&change.path).chain(&change.from))
            .collect();
        let hidden: Vec<_> = self.staged.iter().filter(|row| !listed.contains(row.path)).collect();
        if !hidden.is_empty() {
            heading(&mut text, "Staged only, the file as in HEAD", hidden.len());
        }
        for staged in limited(&hidden, self.all) {
            let line = TextLine::plain(format!("  {} ", staged.letter));
            text.push(line.with(Slot::Path, staged.path.quoted()));
        }
        more(&mut text, hidden.len(), self.all, self.selector);
        if !self.lists.skipped.is_empty() {
            heading(&mut text, "Not saved", self.lists.skipped.len());
        }
        let skipped = limited(&self.lists.skipped, self.all);
        let column = skipped.iter().map(|row| width(&row.path.quoted())).max().unwrap_or(0);
        for skipped in skipped {
            let slot = if skipped.reason.is_failure() {
                Slot::Bad
            } else {
                Slot::Plain
            };
            let mut line = TextLine::plain("  ").with(Slot::Path, skipped.path.quoted());
            line.pad_to(2 + column.min(PATH));
            text.push(line.with(slot, format!("  {}", skipped.reason)));
        }
        more(&mut text, self.lists.skipped.len(), self.all, self.selector);
        text
    }
}

fn heading(text: &mut Text, title: &str, count: usize) {
    text.push(TextLine::new());
    text.push(
        TextLine::new()
            .with(Slot::Heading, title)
            .with(Slot::Plain, format!(" ({count})")),
    );
}

fn limited<T>(rows: &[T], all: bool) -> &[T] {
    if all {
        rows
    } else {
        &rows[..shown_rows(rows.len(), SHOWN)]
    }
}

fn more(text: &mut Text, count: usize, all: bool, selector: &str) {
    let more = count - shown_rows(count, SHOWN);
    if !all && more > 0 {
        text.push(TextLine::new().with(
            Slot::Dim,
            format!("  ... {more} more: git checkpoint show {selector} --all"),
        ));
    }
}

/// The state of the repository. Of an import only what its source reports is known, which is often no commit, or none
/// that is here; that is no unborn branch.
fn code(document: &Document) -> TextLine {
    if document.kind != CheckpointKind::Import || document.git.head.is_some() {
        return receipt::code(&document.git);
    }
    let mut line = match &document.git.branch {
        Some(branch) => TextLine::new().with(Slot::Branch, branch),
        None => TextLine::plain("branch not reported"),
    };
    match &document.git.reported_head {
        Some(commit) => line.push(Slot::Plain, format!(", commit {commit} not known here")),
        None => line.push(Slot::Plain, ", the source names no commit"),
    }
    let counts = document.git.changes();
    if !counts.is_empty() {
        line.push(Slot::Plain, format!(", {counts}"));
    }
    line
}

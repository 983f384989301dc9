//! `log -- PATH`: a table of the versions of files. And the headings of `log -p`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    age::DateStyle,
    count::CountedNoun,
    slot::Slot,
    table::{TableColumn, TextTable},
    text::TextLine,
};
use crate::model::{id::Oid, path::RepoPath, report::Lines, time::Timestamp};

/// The versions of files in a session.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.file-log/1")]
#[schemars(extend("x-lines" = "versions"))]
pub struct FileLog {
    /// The session; one that was fetched as `<remote>/<session>`.
    pub session: String,
    /// Each distinct version once, those that were held last first.
    pub versions: Vec<FileVersionRow>,
    /// Whether there are more than were asked for.
    pub more: bool,
}

/// A version of a file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FileVersionRow {
    /// The path.
    pub path: RepoPath,
    /// The path before, where the version came by a rename.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<RepoPath>,
    /// `added`, `modified`, `renamed`, `type-changed`, `deleted`, or `base`: it was in HEAD before the session.
    pub change: &'static str,
    /// The blob; null for a deletion.
    pub object: Option<Oid>,
    /// The mode as git writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Lines that the change added and removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<Lines>,
    /// The checkpoint that first has it; of a deletion the first without the file.
    pub introduced: StateRef,
    /// The latest checkpoint that has it.
    pub latest: StateRef,
    /// All checkpoints and autosaves that have it, latest first.
    pub checkpoints: Vec<Oid>,
    /// How many of them are autosaves.
    pub autosaves: usize,
    /// The change as a patch, with `--patch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
}

/// A checkpoint or an autosave.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StateRef {
    /// The commit.
    pub id: Oid,
    /// The session.
    pub session: String,
    /// When it was saved.
    pub at: Timestamp,
    /// Cause of the checkpoint.
    pub kind: Option<&'static str>,
    /// Who saved it.
    pub author: String,
    /// The agent.
    pub agent: Option<String>,
    /// The first line of its message.
    pub subject: String,
}

impl StateRef {
    /// The agent, or who saved it.
    pub fn who(&self) -> &str {
        self.agent.as_deref().unwrap_or(&self.author)
    }
}

impl FileVersionRow {
    /// How many checkpoints and autosaves have it.
    fn held(&self) -> String {
        let checkpoints = self.checkpoints.len() - self.autosaves.min(self.checkpoints.len());
        let autosaves = CountedNoun::new(self.autosaves, "autosave");
        match (checkpoints, self.autosaves) {
            _ if self.object.is_none() => String::new(),
            (0, _) => autosaves.to_string(),
            (_, 0) => CountedNoun::new(checkpoints, "checkpoint").to_string(),
            _ => format!("{}, {autosaves}", CountedNoun::new(checkpoints, "checkpoint")),
        }
    }

    fn path(&self) -> TextLine {
        let mut line = TextLine::new();
        if let Some(from) = &self.from {
            line.push(Slot::Path, from.to_string());
            line.push(Slot::Dim, " -> ");
        }
        line.push(Slot::Path, self.path.to_string());
        line
    }
}

impl FileLog {
    /// A table, a line a version.
    pub fn each_line(&self, columns: usize, dates: &DateStyle, now: Timestamp, each: impl FnMut(TextLine)) {
        let mut table = TextTable::new([
            TableColumn::left("ID"),
            TableColumn::left("WHEN"),
            TableColumn::left("BY"),
            TableColumn::left("CHANGE"),
            TableColumn::left("LINES"),
            TableColumn::left("PATH").flexible(12),
            TableColumn::left("IN"),
            TableColumn::left("SUBJECT").flexible(10),
        ]);
        for row in &self.versions {
            let mut lines = TextLine::new();
            if let Some(count) = &row.lines {
                lines.push(Slot::Added, format!("+{}", count.added));
                lines.push(Slot::Removed, format!(" -{}", count.removed));
            }
            let change = match row.change {
                "added" => Slot::Added,
                "deleted" => Slot::Removed,
                _ => Slot::Changed,
            };
            table.row([
                TextLine::new().with(Slot::Id, row.introduced.id.short()),
                TextLine::new().with(Slot::Date, dates.show(row.introduced.at, now)),
                TextLine::new().with(Slot::Person, row.introduced.who()),
                TextLine::new().with(change, row.change),
                lines,
                row.path(),
                TextLine::plain(row.held()),
                TextLine::plain(&row.introduced.subject),
            ]);
        }
        table.each_line(columns, each);
    }
}

/// The heading of a checkpoint over its patch.
pub fn heading(state: &StateRef, dates: &DateStyle, now: Timestamp) -> Vec<TextLine> {
    let mut first = TextLine::new().with(Slot::Id, format!("checkpoint {}", state.id));
    first.push(Slot::Session, format!(" ({})", state.session));
    let field = |name: &str, slot: Slot, text: &str| TextLine::plain(format!("{name:8}")).with(slot, text);
    let mut out = vec![first];
    if let Some(kind) = state.kind {
        out.push(field("Kind:", Slot::Plain, kind));
    }
    out.push(field("Author:", Slot::Person, state.who()));
    out.push(field("Date:", Slot::Date, &dates.show(state.at, now)));
    out.push(TextLine::new());
    out.push(TextLine::plain(format!("    {}", state.subject)));
    out.push(TextLine::new());
    out
}

/// The autosaves of a repository.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.autosaves/1")]
#[schemars(extend("x-lines" = "autosaves"))]
pub struct AutosaveTable {
    /// Latest first.
    pub autosaves: Vec<AutosaveRow>,
}

/// An autosave.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AutosaveRow {
    /// The autosave.
    #[serde(flatten)]
    pub state: StateRef,
    /// The working tree it was made in: `main`, or `linked-` and git's own name for it.
    pub worktree: String,
    /// The checkpoint it was made after.
    pub after: Option<Oid>,
    /// Whether it is the latest of its session and working tree; the others are kept by a reflog, which expires.
    pub latest: bool,
    /// Whether a later checkpoint of that working tree has what it has, so that `resume` does not offer it.
    pub covered: bool,
}

impl AutosaveTable {
    /// A table, a line an autosave.
    pub fn each_line(&self, columns: usize, dates: &DateStyle, now: Timestamp, each: impl FnMut(TextLine)) {
        let mut table = TextTable::new([
            TableColumn::left("ID"),
            TableColumn::left("WHEN"),
            TableColumn::left("SESSION").flexible(10),
            TableColumn::left("WORKTREE"),
            TableColumn::left("AFTER"),
            TableColumn::left("STATE"),
            TableColumn::left("SUBJECT").flexible(10),
        ]);
        for row in &self.autosaves {
            let state = if row.covered { "covered" } else { "not covered" };
            table.row([
                TextLine::new().with(Slot::Id, row.state.id.short()),
                TextLine::new().with(Slot::Date, dates.show(row.state.at, now)),
                TextLine::new().with(Slot::Session, &row.state.session),
                TextLine::plain(&row.worktree),
                TextLine::new().with(Slot::Id, row.after.as_ref().map(Oid::short).unwrap_or_default()),
                TextLine::new().with(if row.covered { Slot::Dim } else { Slot::Caution }, state),
                TextLine::plain(&row.state.subject),
            ]);
        }
        table.each_line(columns, each);
    }
}

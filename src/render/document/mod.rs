//! Documents made of a checkpoint, for people and for tools that read Markdown: the session checkpoint with all its
//! tables, and the hand-off note. Nothing in them depends on when they are made, so the same checkpoint always gives the
//! same bytes.

pub mod block;
mod checkpoint;
mod handoff;

pub use checkpoint::markdown;
pub use handoff::handoff;

use super::markdown::line;
use crate::model::{
    document::Document,
    id::{Digest, Oid},
    outline::Contents,
    record::TaskStatus,
    step::Step,
};

/// Input of a document.
pub struct DocumentSource<'a> {
    /// The checkpoint.
    pub id: &'a Oid,
    /// Its digest.
    pub digest: &'a Digest,
    /// The session's present name.
    pub session: &'a str,
    /// The checkpoint as commands know it: the session where it is its latest, else the id.
    pub selector: &'a str,
    /// Its document.
    pub document: &'a Document,
    /// The steps of the session, in their order.
    pub steps: &'a [Step],
    /// Everything that was saved.
    pub contents: &'a Contents,
}

/// Text for an empty section.
const NONE: &str = "(none)";
/// Text for a section of a record that no key opens.
const ENCRYPTED: &str = "(encrypted)";

/// A table; with no row the word for nothing.
fn table(titles: &[&str], rows: &[Vec<String>]) -> String {
    if rows.is_empty() {
        return format!("{NONE}\n");
    }
    let mut out = format!("| {} |\n|{}\n", titles.join(" | "), " --- |".repeat(titles.len()));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| cell_of(cell)).collect();
        out.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    out
}

/// A text as a cell: lines become breaks.
fn cell_of(text: &str) -> String {
    if text.trim().is_empty() {
        return "-".to_owned();
    }
    text.lines().map(line).collect::<Vec<_>>().join("<br>")
}

/// A list; with no row the word for nothing.
fn list(rows: &[String], numbered: bool) -> String {
    if rows.is_empty() {
        return format!("{NONE}\n");
    }
    let mut out = String::new();
    for (row, n) in rows.iter().zip(1..) {
        let mark = if numbered { format!("{n}.") } else { "-".to_owned() };
        // Further lines stay in the item.
        let text: Vec<String> = row.lines().map(line).collect();
        let indent = " ".repeat(mark.len() + 1);
        out.push_str(&format!("{mark} {}\n", text.join(&format!("  \n{indent}"))));
    }
    out
}

fn reasoned(text: &str, reason: Option<&str>) -> String {
    reason.map_or_else(|| text.to_owned(), |reason| format!("{text} (because {reason})"))
}

fn status(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Todo => "to do",
        TaskStatus::InProgress => "in progress",
        TaskStatus::Done => "done",
        TaskStatus::Blocked => "blocked",
        TaskStatus::Dropped => "dropped",
    }
}

fn opt(text: Option<&String>) -> String {
    text.cloned().unwrap_or_default()
}

impl DocumentSource<'_> {
    /// The text for what the record has nothing of, or nothing that can be read.
    fn nothing(&self) -> &'static str {
        if self.document.is_locked() { ENCRYPTED } else { NONE }
    }

    /// `3 of 5: parser`.
    fn phase(&self) -> Option<String> {
        let phase = self.document.record.phase.as_ref()?;
        let title = phase
            .title
            .as_deref()
            .map(|title| format!(": {title}"))
            .unwrap_or_default();
        Some(format!("{} of {}{title}", phase.n, phase.of))
    }

    /// Tasks done of all that were not dropped.
    fn progress(&self) -> Option<String> {
        let tasks = self
            .document
            .record
            .tasks
            .iter()
            .filter(|t| t.status != TaskStatus::Dropped);
        let (done, all) = tasks.fold((0, 0), |(done, all), task| {
            (done + usize::from(task.status == TaskStatus::Done), all + 1)
        });
        (all > 0).then(|| format!("{done} of {all} tasks done"))
    }

    /// `main @ 50e9fe7d`.
    fn code(&self) -> String {
        let git = &self.document.git;
        let none = if git.reports("branch") {
            "detached HEAD"
        } else {
            "not reported"
        };
        let branch = git.branch.as_deref().unwrap_or(none);
        let operation = git
            .operation
            .as_ref()
            .map(|operation| format!(", {}", operation.describe()));
        let operation = operation.unwrap_or_default();
        match &git.head {
            Some(head) => format!("{branch} @ {}{operation}", head.short()),
            None if !git.reports("head") => format!("{branch}, the source names no commit"),
            None => format!("{branch}, no commit yet{operation}"),
        }
    }
}

#[cfg(test)]
mod tests;

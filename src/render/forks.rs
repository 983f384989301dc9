//! Output of `fork --list` and `fork --remove`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    count::CountedNoun,
    slot::Slot,
    table::{TableColumn, TextTable},
    text::{Text, TextLine},
};
use crate::model::{id::Oid, step::quoted};

/// The forks of a repository; its JSON is `git-checkpoint.forks/1`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.forks/1")]
#[schemars(title = "Forks, their working trees and what each changed", extend("x-lines" = "forks"))]
pub struct ForksView {
    /// Each fork, by name.
    pub forks: Vec<ForkListRow>,
}

/// A fork.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ForkListRow {
    /// The session.
    pub session: String,
    /// The session it was forked from, by its name at the time of the fork.
    pub source: String,
    /// The option of a fork point that it explores.
    pub option: Option<String>,
    /// `active`, `paused`, `completed` or `failed`.
    pub status: &'static str,
    /// Its latest checkpoint.
    pub id: Oid,
    /// Its subject.
    pub subject: String,
    /// Number of checkpoints since the fork.
    pub checkpoints: usize,
    /// Files that it changed since the fork, C-quoted where they must be.
    pub changed: Vec<String>,
    /// The working tree in which it is the current session.
    pub worktree: Option<String>,
    /// How many files there differ from its latest checkpoint; null without a working tree that can be read.
    pub unsaved: Option<usize>,
    /// The exit status of its set-up command, where that failed; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_setup: Option<i32>,
}

impl ForksView {
    /// A table.
    pub fn text(&self, width: usize) -> Text {
        let mut table = TextTable::new([
            TableColumn::left("SESSION"),
            TableColumn::left("FROM"),
            TableColumn::left("STATUS"),
            TableColumn::left("CHANGED"),
            TableColumn::left("WORKING TREE"),
            TableColumn::left("LATEST").flexible(16),
        ]);
        for fork in &self.forks {
            let from = match &fork.option {
                Some(option) => format!("{}, {option}", fork.source),
                None => fork.source.clone(),
            };
            let mut changed = CountedNoun::new(fork.changed.len(), "file").to_string();
            if let Some(unsaved) = fork.unsaved.filter(|unsaved| *unsaved > 0) {
                changed.push_str(&format!(", {unsaved} unsaved"));
            }
            table.row([
                TextLine::new().with(Slot::Session, &fork.session),
                TextLine::plain(from),
                TextLine::plain(fork.status),
                TextLine::plain(changed),
                TextLine::new().with(Slot::Path, fork.worktree.as_deref().unwrap_or("none")),
                TextLine::plain(&fork.subject),
            ]);
        }
        table.render(width)
    }
}

/// A working tree that was removed; its JSON is `git-checkpoint.fork-removed/1`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.fork-removed/1")]
#[schemars(title = "A fork's working tree that was removed")]
pub struct ForkRemovalView {
    /// The session, which stays.
    pub session: String,
    /// The directory.
    pub path: String,
    /// The checkpoint that holds what was in it.
    pub saved: Oid,
    /// The branch that was checked out in it, which stays.
    pub branch: Option<String>,
    /// Whether it is not merged; for people.
    #[serde(skip)]
    pub is_unmerged: bool,
    /// The commits that are on no other branch; for people.
    #[serde(skip)]
    pub only_there: usize,
}

/// The line about a branch that stays, with the command that deletes it; `-d` refuses one that is not merged.
pub(super) fn branch_line(branch: &str, is_unmerged: bool, only_there: usize) -> TextLine {
    let option = if is_unmerged { "-D" } else { "-d" };
    let has = match only_there {
        0 => String::new(),
        commits => format!(", with {} of its own", CountedNoun::new(commits, "commit")),
    };
    let command = format!("git branch {option} {}", quoted(branch));
    TextLine::plain(format!("  Its branch stays{has}; to delete it: {command}"))
}

impl ForkRemovalView {
    /// The receipt, and the branch with the command that deletes it.
    pub fn text(&self) -> Text {
        let mut line = TextLine::new().with(Slot::Removed, "Removed");
        line.push(Slot::Plain, " working tree ");
        line.push(Slot::Path, &self.path);
        let mut text = Text::from(line);
        let mut line = TextLine::plain("  Session ").with(Slot::Session, &self.session);
        line.push(Slot::Plain, ", saved as ");
        line.push(Slot::Id, self.saved.short());
        text.push(line);
        if let Some(branch) = &self.branch {
            text.push(branch_line(branch, self.is_unmerged, self.only_there));
        }
        text
    }
}

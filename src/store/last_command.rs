//! The latest command of a working tree that its undo list does not have: `<git-dir>/checkpoint/last-command`.
//!
//! Written after the command, by replacement and without syncing: a lost note only leaves `undo` less to report. It counts
//! as long as the undo list is as it was then; whatever the list gets later is a later command.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{Repository, sharing, undo, worktree_private_path};
use crate::{
    model::{json, time::Timestamp},
    os::{self, Sharing},
};

/// The file's name.
const FILE: &str = "last-command";

/// A command that is not on the undo list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnlistedCommand {
    /// The command, such as `save`.
    pub command: String,
    /// When it ran.
    pub at: Timestamp,
    /// Whether it changed anything.
    pub changed: bool,
    /// The length of the undo list at that time, in bytes.
    list: u64,
}

/// The undo list of a working tree as a command found it.
#[derive(Clone, Debug)]
pub struct ListMark {
    directory: PathBuf,
    sharing: Sharing,
    list: u64,
}

impl ListMark {
    /// The list as it is now.
    pub fn of(repo: &Repository) -> Self {
        let directory = worktree_private_path(repo);
        Self {
            list: undo::length(&directory),
            sharing: sharing(repo),
            directory,
        }
    }

    /// Notes a command that ran since, unless the list has it. Without a directory of ours there is nothing to undo.
    pub fn note(&self, command: &str, at: Timestamp, changed: bool) {
        if undo::length(&self.directory) != self.list || self.list == 0 {
            return;
        }
        let noted = UnlistedCommand {
            command: command.to_owned(),
            at,
            changed,
            list: self.list,
        };
        // Only `undo` needs the note; without it, it says less.
        let _ = os::replace(&self.directory.join(FILE), &json::to_line(&noted), self.sharing, false);
    }
}

/// The command that ran after everything that the undo list has; `None` without one.
pub fn read(repo: &Repository) -> Option<UnlistedCommand> {
    let directory = worktree_private_path(repo);
    let noted = parsed(&directory.join(FILE))?;
    (noted.list == undo::length(&directory)).then_some(noted)
}

fn parsed(path: &Path) -> Option<UnlistedCommand> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

//! The merge or apply of a working tree whose conflicts are to be resolved: `<git-dir>/checkpoint/merge.json`.
//!
//! It is about a merge that is on the undo list and in force. One that was undone is over, whatever the file has.

use std::{fmt, fs, io};

use serde::{Deserialize, Serialize};

use super::{Error, OwnFile, Repository, sharing, undo, worktree_private_dir, worktree_private_path};
use crate::{
    model::{name::ShortName, path::RepoPath},
    os,
};

/// The file's name.
const FILE: &str = "merge.json";

/// The trigger of the checkpoint that has the resolution of a merge.
pub const CONCLUSION: &str = "merge-continue";

/// The command that left conflicts in files, and whose `--continue` and `--abort` end them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConflictCommand {
    /// `apply`, which changes no session.
    Apply,
    /// `merge`.
    Merge,
}

impl ConflictCommand {
    /// Its name, by which the undo list names it too.
    pub fn word(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::Merge => "merge",
        }
    }
}

impl fmt::Display for ConflictCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A merge or apply with conflicts in files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeState {
    /// The command.
    pub operation: ConflictCommand,
    /// The number of its entry in the undo list.
    pub n: u64,
    /// The session that it changed; an apply changes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<ShortName>,
    /// Where the changes came from, for people.
    pub from: String,
    /// The paths in conflict.
    pub paths: Vec<RepoPath>,
    /// Token of the lock that its conclusion holds on the index.
    #[serde(default)]
    pub token: String,
}

/// The merge or apply that is in force and not concluded.
pub fn read(repo: &Repository) -> Result<Option<MergeState>, Error> {
    let path = worktree_private_path(repo).join(FILE);
    let bytes = os::notices::if_readable(fs::read(&path), &path).map_err(Error::io("read", &path))?;
    let Some(bytes) = bytes else { return Ok(None) };
    let state: MergeState = serde_json::from_slice(&bytes).map_err(Error::malformed(OwnFile::MergeState, &path))?;
    let list = undo::read(repo)?;
    let is_in_force = list.entries().any(|(entry, is_done)| entry.n == state.n && is_done);
    Ok(is_in_force.then_some(state))
}

/// Notes it, once it is on the undo list.
pub fn write(repo: &Repository, state: &MergeState) -> Result<(), Error> {
    let path = worktree_private_dir(repo)?.join(FILE);
    let bytes = serde_json::to_vec(state).unwrap_or_default();
    os::replace(&path, &bytes, sharing(repo), true).map_err(Error::io("write", path))
}

/// Forgets it, once it is concluded.
pub fn remove(repo: &Repository) -> Result<(), Error> {
    let path = worktree_private_path(repo).join(FILE);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
        _ => Ok(()),
    }
}

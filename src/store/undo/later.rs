//! Commands of a working tree that its undo list does not have: `<git-dir>/checkpoint/later-commands`.
//!
//! A line is added after the command, with the length of the undo list at that time: a command came after an entry of the
//! list when the list was at least as long as its line. Not synced: a kill loses at most the note of the last command.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{Error, Repository, length, sharing, worktree_private_path};
use crate::{
    model::{json, time::Timestamp},
    os::{self, Sharing},
};

/// The file's name.
const FILE: &str = "later-commands";

/// The size from which the file is written again with what `undo` needs of it.
const LIMIT: u64 = 16 << 10;

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
            list: length(&directory),
            sharing: sharing(repo),
            directory,
        }
    }

    /// Notes a command that ran since, unless the list has it; a command that wrote the list again is not on it. Without
    /// a list there is nothing to undo.
    pub fn note(&self, command: &str, at: Timestamp, changed: bool, is_rewriting: bool) {
        let list = length(&self.directory);
        if list == 0 || (list != self.list && !is_rewriting) {
            return;
        }
        let noted = UnlistedCommand {
            command: command.to_owned(),
            at,
            changed,
            list,
        };
        // A note that cannot be written leaves `undo` with less to report.
        let _ = add(&self.directory.join(FILE), &noted, self.sharing);
    }
}

/// Commands that ran since the list was this long, the latest last.
pub fn commands_since(repo: &Repository, list: u64) -> Vec<UnlistedCommand> {
    let mut noted = parsed(&worktree_private_path(repo).join(FILE));
    noted.retain(|noted| noted.list >= list);
    noted
}

/// Forgets the commands that ran since the list was this long: an undo passed over them.
pub fn pass_over(repo: &Repository, list: u64) -> Result<(), Error> {
    let path = worktree_private_path(repo).join(FILE);
    rewrite(&path, sharing(repo), |noted| noted.list < list).map_err(Error::io("write", path))
}

/// Follows an undo list that was written again; `now` gives the length of what is left of that much.
pub(super) fn follow(directory: &Path, sharing: Sharing, now: impl Fn(u64) -> u64) -> io::Result<()> {
    rewrite(&directory.join(FILE), sharing, |noted| {
        noted.list = now(noted.list);
        true
    })
}

/// Writes the file again with the lines that are kept.
fn rewrite(path: &Path, sharing: Sharing, keep: impl FnMut(&mut UnlistedCommand) -> bool) -> io::Result<()> {
    let before = parsed(path);
    let mut after = before.clone();
    after.retain_mut(keep);
    if after == before {
        return Ok(());
    }
    let bytes: Vec<u8> = after.iter().flat_map(json::to_line).collect();
    os::replace(path, &bytes, sharing, false)
}

fn add(path: &Path, noted: &UnlistedCommand, sharing: Sharing) -> io::Result<()> {
    drop(os::private_file(path, sharing)?);
    // One write at the end of the file: commands that end together keep their lines.
    let mut file = OpenOptions::new().append(true).open(path)?;
    file.write_all(&json::to_line(noted))?;
    if file.metadata()?.len() < LIMIT {
        return Ok(());
    }
    // Of those between two entries of the list, the latest that changed something says as much as all.
    let all = parsed(path);
    let mut kept: Vec<&UnlistedCommand> = Vec::new();
    for noted in &all {
        kept.retain(|other| other.list != noted.list || (other.changed && !noted.changed));
        kept.push(noted);
    }
    let bytes: Vec<u8> = kept.into_iter().flat_map(json::to_line).collect();
    os::replace(path, &bytes, sharing, false)
}

/// The lines of the file; one that cannot be understood says nothing.
fn parsed(path: &Path) -> Vec<UnlistedCommand> {
    let bytes = fs::read(path).unwrap_or_default();
    let lines = bytes.split(|byte| *byte == b'\n');
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_keeps_the_latest_change_between_two_entries() {
        let directory = os::temporary_dir().expect("a directory");
        let path = directory.join(FILE);
        let noted = |n: u64, changed: bool, list: u64| UnlistedCommand {
            command: format!("{n}"),
            at: Timestamp::from_unix(0, 0),
            changed,
            list,
        };
        for n in 0..1000 {
            add(&path, &noted(n, n % 2 == 0, n / 500), Sharing::default()).expect("a line");
        }
        let all = parsed(&path);
        assert!(fs::metadata(&path).expect("a file").len() < LIMIT);
        let latest = |list: u64| {
            let mut changing = all.iter().filter(|noted| noted.changed && noted.list == list);
            changing.next_back().map(|noted| noted.command.clone())
        };
        assert_eq!(latest(0).as_deref(), Some("498"));
        assert_eq!(latest(1).as_deref(), Some("998"));
        assert_eq!(all.last().map(|noted| noted.command.as_str()), Some("999"));
        follow(&directory, Sharing::default(), |list| list + 7).expect("written");
        assert!(parsed(&path).iter().all(|noted| noted.list >= 7));
        fs::remove_dir_all(directory).expect("removed");
    }
}

//! Commands of a working tree that its undo list does not have: `<git-dir>/checkpoint/later-commands`.
//!
//! A line is added after the command, with the length of the undo list at that time: a command came after an entry of the
//! list when the list was at least as long as its line. Not synced: a kill loses at most the note of the last command.
//!
//! Who adds a line or replaces the file holds its lock: a line is never added to a file that was read already.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Seek as _, Write as _},
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
    /// Whether it resolved conflicts of a merge, which the undo of that merge reverts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resolves: bool,
    /// The length of the undo list at that time, in bytes.
    list: u64,
}

impl UnlistedCommand {
    /// Whether a question about an earlier command since the same entry of the list is answered by this one.
    fn says_as_much_as(&self, earlier: &Self) -> bool {
        !earlier.changed || self.changed && (!self.resolves || earlier.resolves)
    }
}

/// A command to note.
#[derive(Clone, Copy, Debug)]
pub struct CommandNote<'a> {
    /// The command, such as `save`.
    pub command: &'a str,
    /// When it ran.
    pub at: Timestamp,
    /// Whether it changed anything.
    pub changed: bool,
    /// Whether it resolved conflicts of a merge.
    pub resolves: bool,
    /// Whether it wrote the undo list again.
    pub rewrites: bool,
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
    pub fn note(&self, note: &CommandNote<'_>) {
        let list = length(&self.directory);
        if list == 0 || (list != self.list && !note.rewrites) {
            return;
        }
        let noted = UnlistedCommand {
            command: note.command.to_owned(),
            at: note.at,
            changed: note.changed,
            resolves: note.resolves,
            list,
        };
        // A note that cannot be written leaves `undo` with less to report.
        let _ = add(&self.directory.join(FILE), &noted, self.sharing);
    }
}

/// Commands that ran since the list was this long, the latest last.
pub fn commands_since(repo: &Repository, list: u64) -> Vec<UnlistedCommand> {
    let mut noted = lines(&worktree_private_path(repo).join(FILE));
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
    // A file that cannot be opened has no lines for anybody.
    let Ok(mut file) = os::lock_named(|| open(path)) else {
        return Ok(());
    };
    let before = parsed(&mut file);
    let mut after = before.clone();
    after.retain_mut(keep);
    if after == before {
        return Ok(());
    }
    let bytes: Vec<u8> = after.iter().flat_map(json::to_line).collect();
    os::replace(path, &bytes, sharing, false)
}

fn add(path: &Path, noted: &UnlistedCommand, sharing: Sharing) -> io::Result<()> {
    let mut file = os::lock_named(|| {
        drop(os::private_file(path, sharing)?);
        open(path)
    })?;
    // One write at the end of the file: where there are no locks, commands that end together keep their lines.
    file.write_all(&json::to_line(noted))?;
    if file.metadata()?.len() < LIMIT {
        return Ok(());
    }
    // Of those between two entries of the list, the latest that changed something is worth as much as all.
    let all = parsed(&mut file);
    let mut kept: Vec<&UnlistedCommand> = Vec::new();
    for noted in &all {
        kept.retain(|other| other.list != noted.list || !noted.says_as_much_as(other));
        kept.push(noted);
    }
    let bytes: Vec<u8> = kept.into_iter().flat_map(json::to_line).collect();
    os::replace(path, &bytes, sharing, false)
}

fn open(path: &Path) -> io::Result<File> {
    os::regular(OpenOptions::new().read(true).append(true).open(path)?)
}

/// The lines of the file at a path; none where it cannot be read. One that is replaced meanwhile is read as it was before.
fn lines(path: &Path) -> Vec<UnlistedCommand> {
    os::open_regular(path).map_or_else(|_| Vec::new(), |mut file| parsed(&mut file))
}

/// The lines of a file from its beginning; one that cannot be understood is passed over.
fn parsed(file: &mut File) -> Vec<UnlistedCommand> {
    let mut bytes = Vec::new();
    if file.rewind().and_then(|()| file.read_to_end(&mut bytes)).is_err() {
        return Vec::new();
    }
    let lines = bytes.split(|byte| *byte == b'\n');
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, thread};

    use super::*;

    fn noted(command: String, changed: bool, list: u64) -> UnlistedCommand {
        UnlistedCommand {
            command,
            at: Timestamp::from_unix(0, 0),
            changed,
            resolves: false,
            list,
        }
    }

    /// Each adds lines between other entries of the list, so that none replaces another one.
    #[test]
    fn commands_that_end_while_the_file_is_written_again_keep_their_notes() {
        const COUNT: u64 = 150;
        let directory = os::temporary_dir().expect("a directory");
        let path = directory.join(FILE);
        let command = |thread: u64, n: u64| format!("{thread}-{n}");
        thread::scope(|scope| {
            for thread in 0..4 {
                let (directory, path) = (&directory, &path);
                scope.spawn(move || {
                    for n in 0..COUNT {
                        let list = 2 * (thread * COUNT + n);
                        add(path, &noted(command(thread, n), true, list), Sharing::default()).expect("a line");
                        follow(directory, Sharing::default(), |list| list | 1).expect("written");
                    }
                });
            }
        });
        let found: BTreeSet<String> = lines(&path).into_iter().map(|noted| noted.command).collect();
        let all: BTreeSet<String> = (0..4)
            .flat_map(|thread| (0..COUNT).map(move |n| command(thread, n)))
            .collect();
        assert_eq!(found, all);
        fs::remove_dir_all(directory).expect("removed");
    }

    /// A resolution may be reverted with its merge; what came before it may not.
    #[test]
    fn a_resolution_does_not_stand_for_another_command() {
        let change = |command: &str| noted(command.to_owned(), true, 1);
        let resolution = UnlistedCommand {
            resolves: true,
            ..change("conflict")
        };
        let idle = noted("save".to_owned(), false, 1);
        assert!(!resolution.says_as_much_as(&change("todo")));
        assert!(resolution.says_as_much_as(&resolution) && resolution.says_as_much_as(&idle));
        assert!(change("todo").says_as_much_as(&resolution) && change("todo").says_as_much_as(&change("note")));
        assert!(!idle.says_as_much_as(&change("todo")) && idle.says_as_much_as(&idle));
    }

    #[test]
    fn a_long_file_keeps_the_latest_change_between_two_entries() {
        let directory = os::temporary_dir().expect("a directory");
        let path = directory.join(FILE);
        for n in 0..1000 {
            let line = noted(n.to_string(), n % 2 == 0, n / 500);
            add(&path, &line, Sharing::default()).expect("a line");
        }
        let all = lines(&path);
        assert!(fs::metadata(&path).expect("a file").len() < LIMIT);
        let latest = |list: u64| {
            let mut changing = all.iter().filter(|noted| noted.changed && noted.list == list);
            changing.next_back().map(|noted| noted.command.clone())
        };
        assert_eq!(latest(0).as_deref(), Some("498"));
        assert_eq!(latest(1).as_deref(), Some("998"));
        assert_eq!(all.last().map(|noted| noted.command.as_str()), Some("999"));
        follow(&directory, Sharing::default(), |list| list + 7).expect("written");
        assert!(lines(&path).iter().all(|noted| noted.list >= 7));
        fs::remove_dir_all(directory).expect("removed");
    }
}

//! The undo list of a work tree: what was done, how it is taken back, and what was taken back.
//!
//! `<git-dir>/checkpoint/undo.jsonl`, appended to and synced, never rewritten; a last line that was cut off was never
//! acknowledged. The contents that an entry needs are held by refs, `refs/checkpoints-undo/<worktree>/<n>`; the paths
//! that a restore changed stand in a file of their own, so that the list stays short.

mod forget;

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::current::Current;
use super::{Error, Repository, refs, sharing, worktree_id, worktree_private_dir, worktree_private_path};
use crate::model::id::Oid;
use crate::model::json;
use crate::model::path::{self, RepoPath};
use crate::model::time::Timestamp;
use crate::os;
pub use forget::{Became, Purged, forget, lock_of};

/// Where the refs are.
pub const PREFIX: &str = "refs/checkpoints-undo/";

/// Something that was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number, which is also that of its ref.
    pub n: u64,
    /// When.
    pub at: Timestamp,
    /// The command, such as `restore`.
    pub operation: String,
    /// What it did, for people: `restored 91bc04aa`.
    pub what: String,
    /// What there is to take back, in the order in which it was done.
    pub effects: Vec<Effect>,
}

/// One thing to take back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "kebab-case")]
pub enum Effect {
    /// Files became others; the paths are in [`changes`].
    Files {
        /// The safety checkpoint that holds them as they were.
        before: Oid,
    },
    /// Entries of the index became others.
    Index {
        /// The safety checkpoint that holds it as it was.
        before: Oid,
        /// The tree of the index afterwards.
        after: Oid,
    },
    /// A ref moved, came or went.
    Ref {
        /// Its full name.
        name: String,
        /// What it was; `None` if it did not exist.
        old: Option<Oid>,
        /// What it became; `None` if it was deleted.
        new: Option<Oid>,
    },
    /// Another session became current, or none.
    Current {
        /// The file before.
        before: Current,
        /// The file afterwards.
        after: Current,
    },
    /// A work tree was made. It stays when the rest is taken back, for it may hold work; it is told.
    WorkTree {
        /// Its folder.
        path: String,
        /// Its branch.
        branch: String,
    },
    /// The record of a session became another one, in its draft.
    Record {
        /// The session's identity.
        session: String,
        /// The record as it was.
        before: Box<Value>,
        /// The record as it became.
        after: Box<Value>,
        /// The number of the last operation in the draft.
        last: u64,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Done(Entry),
    Undone {
        undone: u64,
        at: Timestamp,
        /// The safety checkpoint of the state that was taken back, to which redo goes.
        #[serde(default)]
        kept: Option<Oid>,
        /// The number of the last operation in the draft whose record was taken back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last: Option<u64>,
    },
    Redone {
        redone: u64,
        at: Timestamp,
        /// The same for the record that was brought back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last: Option<u64>,
    },
}

/// The list as it stands.
#[derive(Clone, Debug, Default)]
pub struct List {
    entries: Vec<(Entry, State)>,
    /// Entries that can be redone, the next one last.
    redo: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq)]
enum State {
    Done,
    Undone { kept: Option<Oid>, last: Option<u64> },
}

impl List {
    /// What the next undo takes back.
    pub fn undoable(&self) -> Option<&Entry> {
        let done = self.entries.iter().rev().find(|(_, state)| *state == State::Done);
        done.map(|(entry, _)| entry)
    }

    /// What the next redo does again, and the safety checkpoint that holds the state to go to.
    pub fn redoable(&self) -> Option<(&Entry, Option<&Oid>)> {
        let (entry, state) = &self.entries[*self.redo.last()?];
        match state {
            State::Undone { kept, .. } => Some((entry, kept.as_ref())),
            State::Done => None,
        }
    }

    /// The entry of this number, and if it was taken back the safety checkpoint that holds the state to go to.
    pub fn entry(&self, n: u64) -> Option<(&Entry, Option<&Oid>)> {
        let (entry, state) = self.entries.iter().rfind(|(entry, _)| entry.n == n)?;
        match state {
            State::Done => Some((entry, None)),
            State::Undone { kept, .. } => Some((entry, kept.as_ref())),
        }
    }

    /// The number of the last operation in the draft as the last undo of this entry left it; `None` where it is not
    /// known.
    pub fn undone_last(&self, n: u64) -> Option<u64> {
        match self.entries.iter().rfind(|(entry, _)| entry.n == n)?.1 {
            State::Undone { last, .. } => last,
            State::Done => None,
        }
    }

    /// Every entry with whether it is in force, the oldest first.
    pub fn entries(&self) -> impl Iterator<Item = (&Entry, bool)> {
        self.entries.iter().map(|(entry, state)| (entry, *state == State::Done))
    }

    fn add(&mut self, line: Line) {
        let find = |entries: &[(Entry, State)], n: u64| entries.iter().rposition(|(entry, _)| entry.n == n);
        match line {
            Line::Done(entry) => {
                self.redo.clear();
                self.entries.push((entry, State::Done));
            }
            Line::Undone { undone, kept, last, .. } => {
                if let Some(at) = find(&self.entries, undone) {
                    self.entries[at].1 = State::Undone { kept, last };
                    self.redo.push(at);
                }
            }
            Line::Redone { redone, last, .. } => {
                if let Some(at) = find(&self.entries, redone) {
                    let (entry, state) = &mut self.entries[at];
                    *state = State::Done;
                    for effect in &mut entry.effects {
                        if let (Effect::Record { last, .. }, Some(now)) = (effect, last) {
                            *last = now;
                        }
                    }
                    self.redo.retain(|other| *other != at);
                }
            }
        }
    }
}

/// The list's name.
const LIST: &str = "undo.jsonl";

fn changes_path(repo: &Repository, n: u64) -> Result<PathBuf, Error> {
    let folder = worktree_private_dir(repo)?.join("undo");
    os::private_dir(&folder, sharing(repo)).map_err(Error::io("create", &folder))?;
    Ok(folder.join(format!("{n}.changes")))
}

/// Reads the list.
pub fn read(repo: &Repository) -> Result<List, Error> {
    let path = worktree_private_path(repo).join(LIST);
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(List::default()),
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    let mut list = List::default();
    for line in bytes
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| line.ends_with(b"\n"))
    {
        let line = serde_json::from_slice(line)
            .map_err(|error| Error::io("understand", &path)(io::Error::new(io::ErrorKind::InvalidData, error)))?;
        list.add(line);
    }
    Ok(list)
}

fn append(repo: &Repository, line: &Line) -> Result<(), Error> {
    let path = worktree_private_dir(repo)?.join(LIST);
    let written = os::private_file(&path, sharing(repo)).and_then(|mut file: File| {
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let keep = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        file.set_len(keep as u64)?;
        file.seek(SeekFrom::End(0))?;
        file.write_all(&json::to_line(line))?;
        file.sync_data()
    });
    written.map_err(Error::io("write", &path))?;
    path.parent()
        .map_or(Ok(()), os::sync_dir)
        .map_err(Error::io("write", &path))
}

/// Notes something that was done. What was undone before it cannot be redone any more.
pub fn note(repo: &Repository, entry: Entry) -> Result<(), Error> {
    append(repo, &Line::Done(entry))
}

/// Notes that an entry was taken back; `kept` is the safety checkpoint of what was there, `last` the number of the last
/// operation in the draft whose record it changed.
pub fn undone(repo: &Repository, n: u64, at: Timestamp, kept: Option<Oid>, last: Option<u64>) -> Result<(), Error> {
    append(
        repo,
        &Line::Undone {
            undone: n,
            at,
            kept,
            last,
        },
    )
}

/// Notes that an entry that was taken back is in force again; `last` as above.
pub fn redone(repo: &Repository, n: u64, at: Timestamp, last: Option<u64>) -> Result<(), Error> {
    append(repo, &Line::Redone { redone: n, at, last })
}

/// The ref of an entry in this work tree.
pub fn ref_name(repo: &Repository, n: u64) -> String {
    format!("{PREFIX}{}/{n}", worktree_id(repo))
}

/// A number that no entry and no ref of this work tree has.
pub fn next(repo: &Repository) -> Result<u64, Error> {
    let prefix = format!("{PREFIX}{}/", worktree_id(repo));
    let refs = refs::list(repo, &prefix)?;
    let of_refs = refs
        .iter()
        .filter_map(|(name, _)| name.strip_prefix(&prefix)?.parse::<u64>().ok());
    let list = read(repo)?;
    let of_list = list.entries().map(|(entry, _)| entry.n);
    Ok(of_refs.chain(of_list).max().unwrap_or(0) + 1)
}

/// What became of one path: its mode as in a tree and its blob; `None` if it was deleted.
pub type PathChange = (RepoPath, Option<(u32, Oid)>);

/// Writes the paths that an entry changed, before the entry itself.
pub fn write_changes(repo: &Repository, n: u64, changes: &[PathChange]) -> Result<(), Error> {
    let path = changes_path(repo, n)?;
    let mut bytes = Vec::new();
    for (changed, now) in changes {
        match now {
            Some((mode, id)) => bytes.extend_from_slice(format!("{mode:o} {} ", id.as_str()).as_bytes()),
            None => bytes.extend_from_slice(b"- - "),
        }
        bytes.extend_from_slice(&path::quote(changed.as_bytes()));
        bytes.push(b'\n');
    }
    let written = os::private_file(&path, sharing(repo)).and_then(|mut file| {
        file.set_len(0)?;
        file.write_all(&bytes)?;
        file.sync_data()
    });
    written.map_err(Error::io("write", path))
}

/// The paths that an entry changed.
pub fn changes(repo: &Repository, n: u64) -> Result<Vec<PathChange>, Error> {
    let path = changes_path(repo, n)?;
    let bytes = fs::read(&path).map_err(Error::io("read", &path))?;
    let malformed = || Error::io("understand", &path)(io::ErrorKind::InvalidData.into());
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| change(line).ok_or_else(malformed)).collect()
}

fn change(line: &[u8]) -> Option<PathChange> {
    let mut fields = line.splitn(3, |byte| *byte == b' ');
    let mode = std::str::from_utf8(fields.next()?).ok()?;
    let id = std::str::from_utf8(fields.next()?).ok()?;
    let changed = RepoPath::new(path::unquote(fields.next()?)?.into_owned());
    if mode == "-" {
        return Some((changed, None));
    }
    Some((changed, Some((u32::from_str_radix(mode, 8).ok()?, Oid::new(id).ok()?))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(n: u64) -> Line {
        Line::Done(Entry {
            n,
            at: Timestamp::from_unix(0, 0),
            operation: "restore".to_owned(),
            what: String::new(),
            effects: Vec::new(),
        })
    }

    fn undone(n: u64) -> Line {
        Line::Undone {
            undone: n,
            at: Timestamp::from_unix(0, 0),
            kept: None,
            last: None,
        }
    }

    fn redone(n: u64) -> Line {
        Line::Redone {
            redone: n,
            at: Timestamp::from_unix(0, 0),
            last: None,
        }
    }

    fn next(lines: impl IntoIterator<Item = Line>) -> (Option<u64>, Option<u64>) {
        let mut list = List::default();
        for line in lines {
            // As it is read back.
            list.add(serde_json::from_slice(&json::to_line(&line)).expect("a line"));
        }
        (
            list.undoable().map(|entry| entry.n),
            list.redoable().map(|(entry, _)| entry.n),
        )
    }

    #[test]
    fn undo_and_redo_go_back_and_forth() {
        assert_eq!(next([]), (None, None));
        assert_eq!(next([entry(1), entry(2)]), (Some(2), None));
        assert_eq!(next([entry(1), entry(2), undone(2)]), (Some(1), Some(2)));
        assert_eq!(next([entry(1), entry(2), undone(2), undone(1)]), (None, Some(1)));
        assert_eq!(
            next([entry(1), entry(2), undone(2), undone(1), redone(1)]),
            (Some(1), Some(2))
        );
        assert_eq!(next([entry(1), entry(2), undone(2), entry(3)]), (Some(3), None));
        assert_eq!(
            next([entry(1), entry(2), undone(2), entry(3), undone(3)]),
            (Some(1), Some(3))
        );
    }

    #[test]
    fn a_change_reads_back() {
        let id = Oid::new("a".repeat(40)).expect("an id");
        assert_eq!(change(b"- - a b"), Some((RepoPath::from("a b"), None)));
        let line = [b"100755 ", "a".repeat(40).as_bytes(), b" \"a\\nb\""].concat();
        assert_eq!(change(&line), Some((RepoPath::from("a\nb"), Some((0o100_755, id)))));
        assert_eq!(change(b"100644 x y"), None);
        assert_eq!(change(b"100644"), None);
    }
}

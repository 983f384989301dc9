//! The undo list of a working tree: what was done, how it is taken back, and what was taken back.
//!
//! `<git-dir>/checkpoint/undo.jsonl`, appended to and synced, never rewritten; a last line that was cut off was never
//! acknowledged. What moves refs is noted before it is done, as *meant*, so that nothing is ever done that the list
//! does not know; a line records afterwards that it was, and where a kill or a failing disk kept that line from being
//! written, the refs decide. The contents that an entry needs are held by refs, `refs/checkpoints-undo/<worktree>/<n>`.
//! The lock of the working tree is held while the list is added to.

mod changes;
mod later;
mod list;
mod purge;
mod write_ahead;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::current::CurrentPointer;
use super::{
    Error, OwnFile, Repository, encryption, refs, session, session_recipients, sharing, worktree_id,
    worktree_private_dir, worktree_private_path,
};
use crate::model::facts::GitOperation;
use crate::model::id::{Digest, Oid};
use crate::model::json;
use crate::model::name::ShortName;
use crate::model::time::Timestamp;
use crate::os;
pub use changes::{PathChange, PathState, changes, write_changes};
pub use later::{CommandNote, ListMark, UnlistedCommand, commands_since, pass_over};
pub use list::UndoList;
use list::UndoState;
pub use purge::{CheckpointFate, ForgottenEntry, UndoPurge, lock_of, purge_entries};

/// Where the refs are.
pub const PREFIX: &str = "refs/checkpoints-undo/";

/// Something that was done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UndoEntry {
    /// Its number, which is also that of its ref.
    pub n: u64,
    /// When.
    pub at: Timestamp,
    /// The command, such as `restore`.
    pub operation: String,
    /// Description for people: `restored 91bc04aa`.
    pub what: String,
    /// Effects to revert, in the order in which they were made.
    pub effects: Vec<Effect>,
    /// The current session as it was left, for entries that move refs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<Standing>,
    /// The checkpoint whose files, all of them, were put aside or brought back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<CheckpointFiles>,
    /// The session that a pull moved local checkpoints to, as those of the remote had diverged from them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub separated: Option<ShortName>,
    /// Refs that the entry ends at later checkpoints of, which an undo took with it by force or for an abort; and where the
    /// action itself had left them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extended: BTreeMap<String, Oid>,
}

impl UndoEntry {
    /// Whether a pull separated local checkpoints from those of the remote. Entries of earlier versions do not name the
    /// other session, but no other pull moves two.
    pub fn separates(&self) -> bool {
        let is_session =
            |effect: &&Effect| matches!(effect, Effect::Ref { name, .. } if name.starts_with(session::PREFIX));
        self.separated.is_some() || self.operation == "pull" && self.effects.iter().filter(is_session).count() > 1
    }

    /// The safety checkpoint that holds the files as they were, where files became others.
    pub fn files_before(&self) -> Option<&Oid> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::Files { before } => Some(before),
            _ => None,
        })
    }

    /// The safety checkpoint that holds the index as it was, and the tree of the index afterwards, where its entries became
    /// others.
    pub fn index_sides(&self) -> Option<(&Oid, &Oid)> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::Index { before, after } => Some((before, after)),
            _ => None,
        })
    }
}

/// The files of a checkpoint. A prune writes commits again and leaves digests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointFiles {
    /// The identity of its session.
    pub session: String,
    /// Its digest.
    pub digest: Digest,
}

/// The current session at a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Its identity; `None` if no session was current.
    pub session: Option<String>,
    /// Its latest checkpoint.
    pub tip: Option<Oid>,
    /// The branch that was checked out; `None` on a detached HEAD and in older entries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// One thing to take back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "kebab-case")]
pub enum Effect {
    /// Files became others; the paths are in [`changes()`].
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
        /// Old value; `None` if it did not exist.
        old: Option<Oid>,
        /// New value; `None` if it was deleted.
        new: Option<Oid>,
    },
    /// Another session became current, or none.
    Current {
        /// The file before.
        before: Box<CurrentPointer>,
        /// The file afterwards.
        after: Box<CurrentPointer>,
    },
    /// A working tree was made. It stays when the rest is taken back, for it may hold work; it is reported.
    WorkTree {
        /// Its directory.
        path: String,
        /// Its branch.
        branch: String,
    },
    /// An operation of git that a checkpoint recorded is in progress again.
    Operation {
        /// The checkpoint that recorded it.
        from: Oid,
        /// The operation.
        operation: Box<GitOperation>,
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
enum UndoLine {
    Done(UndoEntry),
    /// Write-ahead entry of an action.
    Meant {
        meant: UndoEntry,
    },
    /// Whether what was meant was done.
    Settled {
        settled: u64,
        happened: bool,
        /// The number of the last operation in the draft whose record it changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last: Option<u64>,
    },
    Undone {
        undone: u64,
        at: Timestamp,
        /// The safety checkpoint of the state that was taken back, to which redo goes.
        #[serde(default)]
        kept: Option<Oid>,
        /// The number of the last operation in the draft whose record was taken back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last: Option<u64>,
        /// Whether the record was left as it was.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        without_record: bool,
    },
    Redone {
        redone: u64,
        at: Timestamp,
        /// The safety checkpoint of the state that a forced redo replaced, to which the next undo goes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Oid>,
        /// The same for the record that was brought back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last: Option<u64>,
        /// The same.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        without_record: bool,
    },
}

/// The list's name.
const LIST: &str = "undo.jsonl";

/// Reads the list. What is not settled is judged by the refs; nothing is written.
pub fn read(repo: &Repository) -> Result<UndoList, Error> {
    let mut list = written(repo)?;
    for (entry, _) in &mut list.entries {
        opened(repo, entry)?;
    }
    for line in write_ahead::verdicts(repo, &list)? {
        list.add(line);
    }
    Ok(list)
}

/// The member of a record that is encrypted.
const ENCRYPTED: &str = "encrypted";

/// The records of an entry, before and after, with their sessions.
fn records(entry: &mut UndoEntry) -> impl Iterator<Item = (&str, [&mut Box<Value>; 2])> {
    entry.effects.iter_mut().filter_map(|effect| match effect {
        Effect::Record {
            session, before, after, ..
        } => Some((session.as_str(), [before, after])),
        _ => None,
    })
}

/// Encrypts the records of an entry, where the session's are.
fn sealed(repo: &Repository, entry: &mut UndoEntry) -> Result<(), Error> {
    for (session, values) in records(entry) {
        let Some(encryptor) = session_recipients::of_session(repo, session)? else {
            continue;
        };
        for value in values {
            let line = encryption::encrypted_line(Some(&encryptor), &**value, 0)?;
            **value = serde_json::from_slice(&line).expect("it was just made");
        }
    }
    Ok(())
}

/// Decrypts the records of an entry.
fn opened(repo: &Repository, entry: &mut UndoEntry) -> Result<(), Error> {
    for (session, values) in records(entry) {
        for value in values {
            if !value.get(ENCRYPTED).is_some_and(Value::is_string) {
                continue;
            }
            let locked = || Error::RecordLocked {
                session: session.to_owned(),
            };
            let written = json::to_line(&**value);
            let line = encryption::decrypted_line(repo, &written).map_err(|_| locked())?;
            **value = serde_json::from_slice(&line).map_err(|_| locked())?;
        }
    }
    Ok(())
}

/// The length of the list in a private directory of a working tree, in bytes: another one means that something was added.
fn length(directory: &Path) -> u64 {
    fs::metadata(directory.join(LIST)).map_or(0, |file| file.len())
}

/// The list as it is written.
fn written(repo: &Repository) -> Result<UndoList, Error> {
    let path = worktree_private_path(repo).join(LIST);
    let bytes = os::notices::if_readable(fs::read(&path), &path).map_err(Error::io("read", &path))?;
    let bytes = bytes.unwrap_or_default();
    let mut list = UndoList::default();
    for line in bytes
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| line.ends_with(b"\n"))
    {
        list.length += line.len() as u64;
        let line = serde_json::from_slice(line).map_err(Error::malformed(OwnFile::UndoList, &path))?;
        list.add(line);
    }
    Ok(list)
}

/// Adds a line, after the verdicts on what was meant before: later commands may move the refs that show it.
fn append(repo: &Repository, line: &UndoLine) -> Result<(), Error> {
    let mut lines = Vec::new();
    for verdict in write_ahead::verdicts(repo, &written(repo)?)? {
        let same = matches!((&verdict, line), (UndoLine::Settled { settled, .. }, UndoLine::Settled { settled: now, .. }) if settled == now);
        if !same {
            lines.extend(json::to_line(&verdict));
        }
    }
    lines.extend(json::to_line(line));
    let path = worktree_private_dir(repo)?.join(LIST);
    let put = || {
        let mut file = os::private_file(&path, sharing(repo))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let keep = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1) as u64;
        file.set_len(keep)?;
        file.seek(SeekFrom::End(0))?;
        let put = file.write_all(&lines).and_then(|()| os::sync_data(&file));
        let put = put.and_then(|()| path.parent().map_or(Ok(()), os::sync_dir));
        if put.is_err() {
            // An error means that nothing was noted.
            let _ = file.set_len(keep);
        }
        put
    };
    put().map_err(Error::io("write", &path))
}

/// Notes what is about to be done under its number, the [`next`] one, and gives that. It counts as done when [`settle`] says so, or when its refs are
/// what it makes of them; an error after this leaves it as never done.
pub fn mean(repo: &Repository, mut meant: UndoEntry) -> Result<u64, Error> {
    let n = meant.n;
    sealed(repo, &mut meant)?;
    append(repo, &UndoLine::Meant { meant })?;
    Ok(n)
}

/// Notes whether what was meant was done; `last` is the number of the last operation in the draft whose record it
/// changed. That this fails is no matter: the refs show it too.
pub fn settle(repo: &Repository, n: u64, happened: bool, last: Option<u64>) -> Result<(), Error> {
    append(
        repo,
        &UndoLine::Settled {
            settled: n,
            happened,
            last,
        },
    )
}

/// Notes something that was done; an entry of the same number is replaced. What was undone before it cannot be redone any more.
pub fn note(repo: &Repository, mut entry: UndoEntry) -> Result<(), Error> {
    sealed(repo, &mut entry)?;
    append(repo, &UndoLine::Done(entry))
}

/// Effect of an undo or redo on the record of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordStep {
    /// The number of the last operation in the draft whose record it changed.
    pub last: Option<u64>,
    /// Whether it left the record as it was, and changed the rest.
    pub is_left: bool,
}

/// Notes that an entry was taken back; `kept` is the safety checkpoint of what was there.
pub fn undone(repo: &Repository, n: u64, at: Timestamp, kept: Option<Oid>, record: RecordStep) -> Result<(), Error> {
    append(
        repo,
        &UndoLine::Undone {
            undone: n,
            at,
            kept,
            last: record.last,
            without_record: record.is_left,
        },
    )
}

/// Notes that an entry that was taken back is in force again; `before` is the safety checkpoint of what was there, where
/// that is not what its undo had left.
pub fn redone(repo: &Repository, n: u64, at: Timestamp, record: RecordStep, before: Option<Oid>) -> Result<(), Error> {
    append(
        repo,
        &UndoLine::Redone {
            redone: n,
            at,
            before,
            last: record.last,
            without_record: record.is_left,
        },
    )
}

/// The ref of an entry in this working tree.
pub fn ref_name(repo: &Repository, n: u64) -> String {
    format!("{PREFIX}{}/{n}", worktree_id(repo))
}

/// A number that no entry and no ref of this working tree has.
pub fn next(repo: &Repository) -> Result<u64, Error> {
    let prefix = format!("{PREFIX}{}/", worktree_id(repo));
    let refs = refs::list(repo, &prefix)?;
    let of_refs = refs
        .iter()
        .filter_map(|(name, _)| name.strip_prefix(&prefix)?.parse::<u64>().ok());
    let list = written(repo)?;
    let of_list = list.entries.iter().map(|(entry, _)| entry.n);
    Ok(of_refs.chain(of_list).max().unwrap_or(0) + 1)
}

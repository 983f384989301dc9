//! Drafts: operations on a session that are not saved yet, one file a session under the common git directory.
//!
//! A line each, appended and synced before the command that made it reports it. The first line names the draft; each
//! operation has a number, and a document records up to which number it has folded the draft in. So an operation that
//! survives a save that was killed before it could clear the draft is not applied twice. All calls take the draft's
//! lock themselves.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom, Write},
    path::PathBuf,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{
    Error, Repository, encryption, lock, paths::own_directory, private_dir, private_path, session_recipients, sharing,
};
use crate::{
    model::{
        json,
        operation::{self, Operation},
    },
    os,
};

/// The operations of a session's draft.
#[derive(Debug, Default)]
pub struct Draft {
    /// The draft's id; `None` when there is no draft.
    pub id: Option<String>,
    /// The operations with their numbers, oldest first.
    pub operations: Vec<(u64, Operation)>,
    /// Lines that could not be read, or that no session could take, by their position counted from 1; they are kept in
    /// the file.
    pub unreadable: Vec<usize>,
}

impl Draft {
    /// The operations after the number up to which a document has folded this draft in.
    pub fn after(&self, folded: &std::collections::BTreeMap<String, u64>) -> impl Iterator<Item = &(u64, Operation)> {
        let done = self.id.as_ref().and_then(|id| folded.get(id)).copied().unwrap_or(0);
        self.operations.iter().filter(move |(n, _)| *n > done)
    }

    /// How many of those operations are something to save.
    pub fn waiting(&self, folded: &std::collections::BTreeMap<String, u64>) -> usize {
        self.after(folded)
            .filter(|(_, operation)| operation.says_something())
            .count()
    }

    /// The number of the last operation.
    pub fn last(&self) -> Option<u64> {
        self.operations.last().map(|(n, _)| *n)
    }
}

/// The first line of a draft.
#[derive(Serialize, Deserialize)]
struct DraftHeader {
    draft: String,
    /// The number after which this file's operations begin.
    base: u64,
}

/// Any further line.
#[derive(Serialize, Deserialize)]
struct DraftLine {
    n: u64,
    /// Whether it does not count: the merge whose conflict it resolved was undone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    revoked: bool,
    #[serde(flatten)]
    operation: Operation,
}

/// How much of a draft's end is read to find its last line: most lines are much shorter.
const END: u64 = 4 << 10;

/// How much more is read at a time where it is longer.
const TAIL: u64 = 64 << 10;

fn path(repo: &Repository, session_id: &str) -> Result<PathBuf, Error> {
    let directory = own_directory(repo, private_dir(repo)?.join("drafts"))?;
    Ok(directory.join(format!("{session_id}.jsonl")))
}

/// State of a draft's file after an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DraftAppend {
    /// The number of the last operation.
    pub last: u64,
    /// The number after which this file's operations begin; what came before is in a document.
    pub base: u64,
}

/// Adds operations in one write; they are on disk when this returns. Costs the same however long the draft is.
///
/// The lock spans the write alone: those who wait for it write meanwhile, and one sync serves them all.
pub fn append(
    repo: &Repository,
    session_id: &str,
    operations: &[Operation],
    fresh_id: impl FnOnce() -> String,
    wait: Duration,
) -> Result<DraftAppend, Error> {
    let encryptor = session_recipients::for_waiting(repo, session_id)?;
    let lock = lock::draft(repo, session_id, wait)?;
    let path = path(repo, session_id)?;
    let mut file = os::private_file(&path, sharing(repo)).map_err(Error::io("open", &path))?;
    let io = |action| Error::io(action, &path);
    let (mut last, keep) = tail(&mut file).map_err(io("read"))?;
    let base = if keep == 0 {
        0
    } else {
        base(&mut file).map_err(io("read"))?
    };
    // The last line may be one that was set aside, of a number before.
    last = last.max(base);
    let mut bytes = Vec::new();
    if keep == 0 {
        bytes = json::to_line(&DraftHeader {
            draft: fresh_id(),
            base: 0,
        });
        last = 0;
    }
    for operation in operations {
        last += 1;
        let line = DraftLine {
            n: last,
            revoked: false,
            operation: operation.clone(),
        };
        bytes.extend(encryption::encrypted_line(encryptor.as_deref(), &line, last)?);
    }
    // A last line without its end was never acknowledged.
    if file.metadata().map_err(io("read"))?.len() != keep {
        file.set_len(keep).map_err(io("write"))?;
    }
    file.seek(SeekFrom::Start(keep)).map_err(io("write"))?;
    file.write_all(&bytes).map_err(io("write"))?;
    if keep == 0 {
        // Before others add to it: their sync is of the file alone.
        os::sync_dir(path.parent().unwrap_or(&path)).map_err(io("write"))?;
    }
    drop(lock);
    // A save may take the file's place meanwhile: it has read what was written here, and synced what it kept.
    os::sync_data(&file).map_err(io("write"))?;
    os::trace::changed();
    Ok(DraftAppend { last, base })
}

/// Number of the first operation according to the first line; 0 when it cannot be read.
fn base(file: &mut File) -> std::io::Result<u64> {
    /// The longest first line that we write has some 60 bytes.
    const HEAD: usize = 512;
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::with_capacity(HEAD + 1);
    file.take(HEAD as u64).read_to_end(&mut bytes)?;
    let line = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
    Ok(serde_json::from_slice::<DraftHeader>(line).map_or(0, |header| header.base))
}

/// The number of the last whole line, and the length of the file up to its end, from the file's tail alone.
fn tail(file: &mut File) -> std::io::Result<(u64, u64)> {
    let len = file.metadata()?.len();
    let mut start = len.saturating_sub(END);
    loop {
        file.seek(SeekFrom::Start(start))?;
        // One more, so that the end is seen without growing.
        let mut bytes = Vec::with_capacity(usize::try_from(len - start + 1).unwrap_or_default());
        file.take(len - start).read_to_end(&mut bytes)?;
        let Some(end) = bytes.iter().rposition(|b| *b == b'\n') else {
            if start == 0 {
                return Ok((0, 0));
            }
            start = start.saturating_sub(TAIL);
            continue;
        };
        // A line is readable when its beginning is in the tail as well.
        let begin = bytes[..end].iter().rposition(|b| *b == b'\n').map(|at| at + 1);
        if let Some(begin) = begin.or((start == 0).then_some(0)) {
            let number = number(&bytes[begin..end]);
            if let Some(number) = number {
                return Ok((number, start + end as u64 + 1));
            }
            // A whole line that is not ours (damage in the middle): numbers go on after the highest one readable.
            let all = read_lines(file)?;
            return Ok((
                all.iter().filter_map(|line| self::number(line)).max().unwrap_or(0),
                start + end as u64 + 1,
            ));
        }
        start = start.saturating_sub(TAIL);
    }
}

fn number(line: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Number {
        n: Option<u64>,
        base: Option<u64>,
    }
    let number: Number = serde_json::from_slice(line).ok()?;
    number.n.or(number.base)
}

fn read_lines(file: &mut File) -> std::io::Result<Vec<Vec<u8>>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    let whole = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    Ok(bytes[..whole]
        .split_inclusive(|b| *b == b'\n')
        .map(|line| line[..line.len() - 1].to_vec())
        .collect())
}

/// The draft of a session; an absent one is empty.
pub fn read(repo: &Repository, session_id: &str) -> Result<Draft, Error> {
    let path = private_path(repo).join("drafts").join(format!("{session_id}.jsonl"));
    let found = os::notices::if_readable(os::open_regular(&path), &path).map_err(Error::io("read", &path))?;
    let Some(mut file) = found else {
        return Ok(Draft::default());
    };
    let lines = read_lines(&mut file).map_err(Error::io("read", &path))?;
    let (header, found) = parsed(repo, &lines);
    let mut draft = Draft::default();
    let base = header.as_ref().map_or(0, |header| header.base);
    let first = usize::from(header.is_some());
    draft.id = header.map(|header| header.draft);
    for (at, line) in found.into_iter().enumerate() {
        match line {
            // One of a number that was saved is there because it could not be.
            Some(line) if line.n > base && line.revoked => {}
            Some(line) if line.n > base => draft.operations.push((line.n, line.operation)),
            _ => draft.unreadable.push(first + at + 1),
        }
    }
    Ok(draft)
}

/// The first line, if it is one of ours, and the lines after it, without those that cannot be read or that no session
/// could take: somebody edited the file.
fn parsed(repo: &Repository, lines: &[Vec<u8>]) -> (Option<DraftHeader>, Vec<Option<DraftLine>>) {
    let header = lines
        .first()
        .and_then(|line| serde_json::from_slice::<DraftHeader>(line).ok());
    let read = |line: &Vec<u8>| {
        let line = encryption::decrypted_line(repo, line).ok()?;
        json::from_value::<DraftLine>(json::parse(&line, json::INPUT_LIMIT).ok()?).ok()
    };
    let mut found: Vec<Option<DraftLine>> = lines[usize::from(header.is_some())..].iter().map(read).collect();
    let operations: Vec<&Operation> = found.iter().flatten().map(|line| &line.operation).collect();
    let mut fits = Vec::with_capacity(operations.len());
    operation::fit(&operations, &mut |_, is_fit| fits.push(is_fit));
    let mut fits = fits.into_iter();
    for line in &mut found {
        if line.is_some() && fits.next() == Some(false) {
            *line = None;
        }
    }
    (header, found)
}

/// Revokes the operations that are meant, or lets those that were revoked count again. They keep their numbers. Returns how
/// many there are.
pub fn revoke(
    repo: &Repository,
    session_id: &str,
    is_meant: &dyn Fn(&Operation) -> bool,
    revoked: bool,
    wait: Duration,
) -> Result<usize, Error> {
    let encryptor = session_recipients::for_waiting(repo, session_id)?;
    let _lock = lock::draft(repo, session_id, wait)?;
    let path = path(repo, session_id)?;
    let mut file = match os::open_regular(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(Error::io("read", &path)(error)),
    };
    let lines = read_lines(&mut file).map_err(Error::io("read", &path))?;
    // Windows may not replace an open file.
    drop(file);
    let (Some(header), found) = parsed(repo, &lines) else {
        return Ok(0);
    };
    let mut bytes = json::to_line(&header);
    let mut count = 0;
    for (line, parsed) in lines[1..].iter().zip(found) {
        match parsed {
            Some(parsed) if parsed.n > header.base && parsed.revoked != revoked && is_meant(&parsed.operation) => {
                let changed = DraftLine { revoked, ..parsed };
                bytes.extend(encryption::encrypted_line(encryptor.as_deref(), &changed, changed.n)?);
                count += 1;
            }
            _ => {
                bytes.extend_from_slice(line);
                bytes.push(b'\n');
            }
        }
    }
    if count > 0 {
        os::replace(&path, &bytes, sharing(repo), true).map_err(Error::io("write", path))?;
    }
    Ok(count)
}

/// Whether a draft, by its bytes alone, has something to save. What is encrypted counts.
pub(super) fn says_something(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let Some(header) = lines
        .next()
        .and_then(|line| serde_json::from_slice::<DraftHeader>(line).ok())
    else {
        return false;
    };
    lines.any(|line| {
        if encryption::is_encrypted_line(line) {
            return number(line).is_some_and(|n| n > header.base);
        }
        let line = serde_json::from_slice::<DraftLine>(line).ok();
        line.is_some_and(|line| line.n > header.base && !line.revoked && line.operation.says_something())
    })
}

/// Removes the draft of a session that is purged, whatever it holds.
pub fn remove(repo: &Repository, session_id: &str, wait: Duration) -> Result<(), Error> {
    let _lock = lock::draft(repo, session_id, wait)?;
    let path = path(repo, session_id)?;
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
        _ => os::sync_dir(path.parent().unwrap_or(&path)).map_err(Error::io("remove", &path)),
    }
}

/// Forgets the operations up to a number, after a document that holds them is on its ref.
///
/// What came meanwhile stays, and so do unreadable lines. A killed call leaves the old file, which is harmless.
pub fn clear(repo: &Repository, session_id: &str, up_to: u64, wait: Duration) -> Result<(), Error> {
    let _lock = lock::draft(repo, session_id, wait)?;
    let path = path(repo, session_id)?;
    let mut file = match os::open_regular(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io("read", &path)(error)),
    };
    let lines = read_lines(&mut file).map_err(Error::io("read", &path))?;
    // Windows may not replace an open file.
    drop(file);
    let (Some(header), found) = parsed(repo, &lines) else {
        return Ok(());
    };
    let base = header.base;
    let mut bytes = json::to_line(&DraftHeader {
        base: base.max(up_to),
        ..header
    });
    for (line, parsed) in lines[1..].iter().zip(&found) {
        if parsed.as_ref().is_none_or(|line| line.n > up_to || line.n <= base) {
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
        }
    }
    os::replace(&path, &bytes, sharing(repo), true).map_err(Error::io("write", path))
}

//! Reflogs that lie in files: one line a change, appended in one write and synced.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use gix::ObjectId;
use gix::bstr::ByteSlice;

use super::ReflogEntry;
use crate::os;
use crate::store::{Error, Repository, Signature, paths};

/// Where a ref's log is.
pub(super) fn path(repo: &Repository, name: &str) -> PathBuf {
    // HEAD is of one working tree, as is its log.
    let directory = if name == "HEAD" {
        repo.git_dir()
    } else {
        repo.common_dir()
    };
    directory.join("logs").join(name)
}

/// A message as it is in a reflog: on one line, without a line end.
pub(super) fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A line that was appended and can be taken back. The file is closed: a transaction may have more refs than a process may
/// have open files.
pub(super) struct ReflogAppend {
    length: u64,
    path: PathBuf,
}

impl ReflogAppend {
    /// Takes the line back, as the ref was not changed after all. The caller still holds the ref's lock.
    pub(super) fn undo(self) {
        if self.length == 0 {
            let _ = fs::remove_file(&self.path);
        } else {
            let _ = cut_to(&self.path, self.length);
        }
    }
}

fn cut_to(path: &Path, length: u64) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.set_len(length)
}

/// Appends a line, durably. The caller holds the ref's lock, so no other process writes the log.
pub(super) fn append(
    repo: &Repository,
    name: &str,
    old: Option<ObjectId>,
    new: ObjectId,
    who: &Signature,
    message: &str,
) -> Result<ReflogAppend, Error> {
    let path = path(repo, name);
    let mut line = format!("{} {new} ", old.unwrap_or_else(|| new.kind().null())).into_bytes();
    who.write_to(&mut line)
        .map_err(Error::io("write the identity of the user to", &path))?;
    let message = one_line(message);
    if !message.is_empty() {
        line.push(b'\t');
        line.extend_from_slice(message.as_bytes());
    }
    line.push(b'\n');
    let (mut file, created) = open_for_append(repo, &path).map_err(Error::io("open", &path))?;
    let length = file.metadata().map_err(Error::io("read", &path))?.len();
    if length > 0 && !ends_line(&mut file).map_err(Error::io("read", &path))? {
        // A power cut tore the last line. Left alone it would swallow this one.
        line.insert(0, b'\n');
    }
    let appended = ReflogAppend { length, path };
    let mut written = file.write_all(&line).and_then(|()| os::sync(&file));
    if written.is_ok() && created {
        written = appended.path.parent().map_or(Ok(()), os::sync_dir);
    }
    if let Err(error) = written {
        let path = appended.path.clone();
        appended.undo();
        return Err(Error::io("write", path)(error));
    }
    Ok(appended)
}

/// Replaces the whole log by one line. The caller holds our lock on refs.
pub(super) fn replace(
    repo: &Repository,
    name: &str,
    id: ObjectId,
    who: &Signature,
    message: &str,
) -> Result<(), Error> {
    let path = path(repo, name);
    let failed = Error::io("write", &path);
    let mut line = format!("{} {id} ", id.kind().null()).into_bytes();
    let put = who.write_to(&mut line).and_then(|()| {
        line.extend_from_slice(format!("\t{}\n", one_line(message)).as_bytes());
        os::replace(&path, &line, paths::sharing(repo), true)
    });
    put.map_err(failed)
}

/// Takes the lines out whose new value `drops` names. The old value of each line that stays becomes the new one of the
/// line before it, as git keeps the objects of both.
pub(super) fn drop_lines(repo: &Repository, name: &str, drops: &dyn Fn(&ObjectId) -> bool) -> Result<(), Error> {
    let path = path(repo, name);
    let bytes = match os::read_regular(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    let (mut kept, mut before, mut dropped) = (Vec::with_capacity(bytes.len()), None::<ObjectId>, false);
    for line in bytes.lines() {
        let mut words = line.splitn(3, |&byte| byte == b' ');
        let old = words.next().unwrap_or_default();
        let new = words.next().and_then(|hex| ObjectId::from_hex(hex).ok());
        let (Some(new), Some(rest)) = (new, words.next()) else {
            // What it keeps is unknown; git passes over it.
            kept.extend_from_slice(line);
            kept.push(b'\n');
            continue;
        };
        let old_goes = ObjectId::from_hex(old).is_ok_and(|old| drops(&old));
        if drops(&new) {
            dropped = true;
            continue;
        }
        let old = if old_goes {
            dropped = true;
            before.unwrap_or_else(|| new.kind().null()).to_string().into_bytes()
        } else {
            old.to_vec()
        };
        kept.extend_from_slice(&old);
        kept.extend_from_slice(format!(" {new} ").as_bytes());
        kept.extend_from_slice(rest);
        kept.push(b'\n');
        before = Some(new);
    }
    if !dropped {
        return Ok(());
    }
    os::replace(&path, &kept, paths::sharing(repo), true).map_err(Error::io("write", path))
}

/// Opens the log, and returns whether it is new.
fn open_for_append(repo: &Repository, path: &Path) -> io::Result<(File, bool)> {
    let sharing = paths::sharing(repo);
    let mut options = OpenOptions::new();
    os::without_waiting(options.read(true).append(true));
    match options.open(path).and_then(os::regular) {
        Ok(file) => return Ok((file, false)),
        // A directory left by refs that lay below this name.
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => remove_empty_dirs(path)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    if let Some(directory) = path.parent() {
        os::create_dir_durable(directory, sharing)?;
    }
    let file = os::regular(options.create(true).open(path)?)?;
    sharing.apply(&file)?;
    Ok((file, true))
}

fn ends_line(file: &mut File) -> io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// Removes a directory that holds nothing but empty directories.
pub(super) fn remove_empty_dirs(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_empty_dirs(&entry.path())?;
        }
    }
    fs::remove_dir(path)
}

/// Takes back the line of a change that was not made, and a line that was cut off, after a kill. `new` is what the ref
/// would have become; without it only a line that was cut off. The caller holds the ref's lock.
pub(super) fn cut(repo: &Repository, name: &str, new: Option<&[u8]>) -> Result<(), Error> {
    let path = path(repo, name);
    let bytes = match os::read_regular(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    let whole = bytes.ends_with(b"\n");
    let end = bytes.len() - usize::from(whole);
    let start = bytes[..end].rfind_byte(b'\n').map_or(0, |at| at + 1);
    let unmade = new.is_some_and(|new| bytes[start..end].splitn(3, |&byte| byte == b' ').nth(1) == Some(new.trim()));
    if bytes.is_empty() || (whole && !unmade) {
        return Ok(());
    }
    if start == 0 {
        return fs::remove_file(&path).map_err(Error::io("remove", path));
    }
    let truncate = || OpenOptions::new().write(true).open(&path)?.set_len(start as u64);
    truncate().map_err(Error::io("truncate", &path))
}

/// Removes a log whose ref is deleted.
pub(super) fn remove(repo: &Repository, name: &str) -> Result<(), Error> {
    let path = path(repo, name);
    match fs::remove_file(&path) {
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(Error::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// The entries, latest first. Lines that cannot be read are left out, as git does.
pub(super) fn read(repo: &Repository, name: &str) -> Result<Vec<ReflogEntry>, Error> {
    let path = path(repo, name);
    let bytes = match os::read_regular(&path) {
        Ok(bytes) => bytes,
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => {
                return Ok(Vec::new());
            }
            _ => return Err(Error::io("read", path)(error)),
        },
    };
    Ok(bytes.lines().rev().filter_map(parse).collect())
}

/// The entries, latest first, read from the end of the file as they are asked for. A file that cannot be read further ends
/// them.
pub(super) struct LatestEntries {
    file: File,
    /// Bytes of the file before those that were read.
    before: u64,
    /// Lines that were read and not given yet.
    lines: Vec<u8>,
}

/// Bytes that are read first: about the last hundred lines.
const BLOCK: u64 = 16 << 10;

/// See [`LatestEntries`]; `None` where there is no such file.
pub(super) fn latest(repo: &Repository, name: &str) -> Result<Option<LatestEntries>, Error> {
    let path = path(repo, name);
    match os::open_regular_sized(&path) {
        Ok((file, before)) => Ok(Some(LatestEntries {
            file,
            before,
            lines: Vec::new(),
        })),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::IsADirectory => Ok(None),
            _ => Err(Error::io("read", path)(error)),
        },
    }
}

impl LatestEntries {
    /// Puts more of the file before the lines.
    fn read_more(&mut self) -> io::Result<()> {
        // Each time as much again, so that a long line is not copied once for each block of it.
        let length = self.before.min(BLOCK.max(self.lines.len() as u64));
        self.before -= length;
        let mut lines = Vec::new();
        self.file.seek(SeekFrom::Start(self.before))?;
        (&mut self.file).take(length).read_to_end(&mut lines)?;
        if lines.len() as u64 != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        lines.append(&mut self.lines);
        self.lines = lines;
        Ok(())
    }
}

impl Iterator for LatestEntries {
    type Item = ReflogEntry;

    fn next(&mut self) -> Option<ReflogEntry> {
        loop {
            let lines = self.lines.strip_suffix(b"\n").unwrap_or(&self.lines);
            match (lines.rfind_byte(b'\n'), self.before) {
                (None, 1..) => self.read_more().ok()?,
                (None, 0) if self.lines.is_empty() => return None,
                (start, _) => {
                    let start = start.map_or(0, |newline| newline + 1);
                    let entry = parse(lines[start..].strip_suffix(b"\r").unwrap_or(&lines[start..]));
                    self.lines.truncate(start);
                    if entry.is_some() {
                        return entry;
                    }
                }
            }
        }
    }
}

fn parse(line: &[u8]) -> Option<ReflogEntry> {
    let (head, message) = line.split_once_str(b"\t").unwrap_or((line, b""));
    let mut words = head.splitn(3, |&byte| byte == b' ');
    let old = ObjectId::from_hex(words.next()?).ok()?;
    let new = ObjectId::from_hex(words.next()?).ok()?;
    let who = gix::actor::SignatureRef::from_bytes(words.next()?).ok()?;
    let message = String::from_utf8_lossy(message).into_owned();
    Some(ReflogEntry {
        old: (!old.is_null()).then_some(old),
        new,
        who: who.to_owned().ok()?,
        message,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::store::EncryptedSessions;

    fn repository(path: &Path) -> Repository {
        Repository::new(gix::init(path).expect("a repository"), EncryptedSessions::default())
    }

    #[test]
    fn the_latest_entries_are_those_of_the_whole_log_in_its_order() {
        let directory = tempfile::tempdir().expect("a directory");
        let repo = repository(directory.path());
        let file = path(&repo, "refs/heads/main");
        fs::create_dir_all(file.parent().expect("it is in a directory")).expect("it is made");
        let line =
            |n: usize, message: &str| format!("{:040x} {:040x} Ana <ana@example.org> {n} +0100\t{message}\n", n, n + 1);
        let long = "w ".repeat(usize::try_from(BLOCK).expect("a size"));
        let mut lines: Vec<String> = (1..700).map(|n| line(n, "commit: some")).collect();
        lines.insert(300, "no entry\n".to_owned());
        lines.insert(500, line(7, &long));
        lines.insert(650, "\n".to_owned());
        for count in [0, 1, 2, 90, 91, 640, lines.len()] {
            for last in ["", "cut off"] {
                let text = lines[..count].concat() + last;
                File::create(&file)
                    .and_then(|mut file| file.write_all(text.as_bytes()))
                    .expect("it is written");
                let all = read(&repo, "refs/heads/main").expect("it can be read");
                let latest: Vec<_> = latest(&repo, "refs/heads/main")
                    .expect("it can be read")
                    .into_iter()
                    .flatten()
                    .collect();
                let shown = |entries: &[ReflogEntry]| -> Vec<(ObjectId, String)> {
                    entries.iter().map(|entry| (entry.new, entry.message.clone())).collect()
                };
                assert_eq!(shown(&latest), shown(&all), "{count} lines and '{last}'");
                assert!(all.len() + 4 > count, "nearly every line is an entry");
            }
        }
        assert!(latest(&repo, "refs/heads/none").expect("no error").is_none());
    }

    #[test]
    fn only_the_end_of_a_long_log_is_read_for_its_latest_entry() {
        let directory = tempfile::tempdir().expect("a directory");
        let repo = repository(directory.path());
        let file = path(&repo, "HEAD");
        fs::create_dir_all(file.parent().expect("it is in a directory")).expect("it is made");
        let line = format!("{:040x} {:040x} Ana <ana@example.org> 1 +0100\tcommit: some\n", 1, 2);
        fs::write(&file, line.repeat(10_000)).expect("it is written");
        let mut latest = latest(&repo, "HEAD").expect("it can be read").expect("it is there");
        assert!(latest.next().is_some());
        assert!(
            latest.before > 9_000 * line.len() as u64,
            "{} bytes are not read",
            latest.before
        );
    }
}

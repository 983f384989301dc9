//! The note about a change of several refs, and completing what a kill interrupted.
//!
//! The journal is written when everything is prepared and removed when all is done; what it has can be done again.
//! Without a complete journal nothing of a change of several refs has happened.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use gix::ObjectId;
use gix::bstr::ByteSlice;

use super::files::parse;
use super::{ExpectedValue, RefUpdate, files, lockfile, reflog, swap};
use crate::os;
use crate::store::{Error, Repository, Signature, paths};

/// The first line of version 1.
const HEAD: &str = "git-checkpoint refs 1";
/// How long completing waits for a lock file of git's on a ref.
const WAIT: Duration = Duration::from_secs(2);

fn path(repo: &Repository) -> PathBuf {
    repo.common_dir().join("checkpoint").join("refs.journal")
}

/// Whether there may be something to recover.
pub(super) fn pending(repo: &Repository) -> Result<bool, Error> {
    let directory = lockfile::notes(repo);
    let noted = match fs::read_dir(&directory) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(paths::obstacle(&directory).unwrap_or_else(|| Error::io("read", directory)(error))),
    };
    Ok(noted || path(repo).exists())
}

/// Notes down a change, durably: each edit with the ref's present value.
pub(super) fn write<'a>(
    repo: &Repository,
    edits: impl Iterator<Item = (&'a RefUpdate, Option<ObjectId>)>,
    who: &Signature,
) -> Result<(), Error> {
    let directory = paths::private_dir(repo)?;
    let path = path(repo);
    let mut text = format!("{HEAD}\nwho ").into_bytes();
    who.write_to(&mut text).map_err(Error::io("write", &path))?;
    text.push(b'\n');
    let shown = |id: Option<ObjectId>| id.map_or_else(|| "-".to_owned(), |id| id.to_string());
    for (edit, old) in edits {
        let message = reflog::one_line(&edit.message);
        text.extend_from_slice(format!("edit {} {} {} {message}\n", edit.name, shown(old), shown(edit.new)).as_bytes());
    }
    let sum = checksum(repo, &text)?;
    text.extend_from_slice(format!("end {sum}\n").as_bytes());
    let put = || {
        let mut file = os::private_file(&path, paths::sharing(repo))?;
        file.set_len(0)?;
        file.write_all(&text)?;
        os::sync(&file)?;
        os::sync_dir(&directory)
    };
    let put = put();
    if put.is_err() {
        let _ = fs::remove_file(&path);
    }
    put.map_err(Error::io("write", &path))
}

fn checksum(repo: &Repository, text: &[u8]) -> Result<ObjectId, Error> {
    gix::objs::compute_hash(repo.object_hash(), gix::objs::Kind::Blob, text).map_err(Error::gix("hash"))
}

/// Removes the journal: the change is complete, or was taken back.
pub(super) fn remove(repo: &Repository) -> Option<os::CleanupFailure> {
    let path = path(repo);
    os::CleanupFailure::of(fs::remove_file(&path), &path)
}

/// Removes the journal, where nothing else may be done before it is gone.
pub(super) fn clear(repo: &Repository) -> Result<(), Error> {
    match remove(repo) {
        Some(os::CleanupFailure { action, path, source }) => Err(Error::io(action, path)(source)),
        None => Ok(()),
    }
}

/// Frees the locks that killed processes of ours left and completes what the journal has. The caller holds our lock
/// on refs, so none of their owners is alive.
pub(super) fn recover(repo: &Repository) -> Result<(), Error> {
    for stale in lockfile::stale(repo)? {
        let name = stale.name.clone();
        let is_ref = name != "packed-refs";
        if is_ref && stale.locked() {
            match files::read(repo, &name)? {
                // Deleted, or not created: either way there is nothing to log.
                None => reflog::remove(repo, &name)?,
                // The change was not made, as the lock file is still there: its reflog line is wrong.
                Some(Ok(now)) if !stale.contents.is_empty() && stale.contents.trim() != now.to_string().as_bytes() => {
                    reflog::cut(repo, &name, Some(&stale.contents))?;
                }
                // A damaged ref's last line may be the only record of what it was, and a repair sets it to just that.
                Some(_) => reflog::cut(repo, &name, None)?,
            }
        }
        stale.remove()?;
        if is_ref {
            swap::tidy(repo, &name);
        }
    }
    let path = path(repo);
    let text = match os::read_regular(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    if let Some((who, edits)) = read(repo, &text)? {
        complete(repo, &edits, &who)?;
    }
    clear(repo)
}

/// Makes the changes that are still to be made. A ref that another process has changed since stays as it is.
fn complete(repo: &Repository, edits: &[RefUpdate], who: &Signature) -> Result<(), Error> {
    for edit in edits {
        match swap::apply(repo, std::slice::from_ref(edit), who, WAIT) {
            Ok(_) => {}
            Err(Error::Moved { found, .. }) if found == edit.new => {
                if found.is_none() {
                    reflog::remove(repo, &edit.name)?;
                }
                // It may be here again because just this failed before.
                swap::sync_directory(repo, &edit.name)?;
            }
            Err(Error::Moved { name, .. } | Error::Damaged { name, .. } | Error::InTheWay { name, .. }) => {
                debug_assert_eq!(name, edit.name, "the edit at hand");
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Parses the journal; `None` if it is incomplete.
fn read(repo: &Repository, text: &[u8]) -> Result<Option<(Signature, Vec<RefUpdate>)>, Error> {
    let Some(body) = body(repo, text)? else {
        return Ok(None);
    };
    let wrong = |why: &str| Error::Journal {
        path: path(repo),
        why: why.to_owned(),
    };
    let mut lines = body.lines();
    if lines.next() != Some(HEAD.as_bytes()) {
        return Err(wrong("it is of another version"));
    }
    let who = lines.next().and_then(|line| line.strip_prefix(b"who "));
    let who = who.and_then(|line| gix::actor::SignatureRef::from_bytes(line).ok()?.to_owned().ok());
    let who = who.ok_or_else(|| wrong("it names no user"))?;
    let hash = repo.object_hash();
    let edits = lines.map(|line| parse_edit(line, hash).ok_or_else(|| wrong("a line is damaged")));
    Ok(Some((who, edits.collect::<Result<_, _>>()?)))
}

/// The lines before a last one that proves them complete.
fn body<'a>(repo: &Repository, text: &'a [u8]) -> Result<Option<&'a [u8]>, Error> {
    let Some(at) = text.rfind(b"end ") else {
        return Ok(None);
    };
    let (body, end) = text.split_at(at);
    let sum = checksum(repo, body)?;
    Ok((end == format!("end {sum}\n").as_bytes()).then_some(body))
}

fn parse_edit(line: &[u8], hash: gix::hash::Kind) -> Option<RefUpdate> {
    let mut words = line.strip_prefix(b"edit ")?.to_str().ok()?.splitn(4, ' ');
    let name = words.next()?.to_owned();
    let value = |word: &str| {
        if word == "-" {
            Some(None)
        } else {
            parse(word.as_bytes(), hash).ok().map(Some)
        }
    };
    let old = value(words.next()?)?;
    let new = value(words.next()?)?;
    let message = words.next().unwrap_or_default().to_owned();
    super::check_name(&name).ok()?;
    let expected = old.map_or(ExpectedValue::Absent, ExpectedValue::Is);
    Some(RefUpdate {
        name,
        expected,
        new,
        message,
    })
}

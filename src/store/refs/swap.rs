//! Making changes of refs that lie in files.
//!
//! All that can fail for want of space comes first and can be taken back: locks with the new contents, reflog lines,
//! the new `packed-refs`. For several refs a journal then records what is about to happen; from there on there are only
//! renames, which are taken back if one fails, and then removals: from the first one on the change is made, what cannot
//! be removed or synced is reported and no failure, and a later command completes it, as it does if we are killed.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gix::ObjectId;

use super::files::{self, RefValue};
use super::lockfile::LockFile;
use super::packed::{self, PackedRefs};
use super::reflog::{self, ReflogAppend};
use super::{ExpectedValue, RefUpdate, journal};
use crate::os::{self, CleanupFailure};
use crate::store::{Error, Repository, Signature};

/// An edit under its lock, with what its ref is now.
struct LockedRef<'a> {
    edit: &'a RefUpdate,
    lock: LockFile,
    old: Option<ObjectId>,
    /// Whether the ref does not exist; a damaged one has no old value either.
    absent: bool,
}

/// The ref's value if it is as the edit expects.
pub(super) fn compare(edit: &RefUpdate, value: Option<RefValue>) -> Result<Option<ObjectId>, Error> {
    let found = match value {
        Some(Err(_)) if edit.expected == ExpectedValue::Unreadable => None,
        Some(Err(damage)) => {
            return Err(Error::Damaged {
                name: edit.name.clone(),
                damage,
            });
        }
        Some(Ok(id)) => Some(id),
        None => None,
    };
    let expected = match edit.expected {
        ExpectedValue::Any | ExpectedValue::Unreadable => return Ok(found),
        ExpectedValue::Absent => None,
        ExpectedValue::Is(id) => Some(id),
    };
    if found == expected {
        return Ok(found);
    }
    Err(Error::Moved {
        name: edit.name.clone(),
        expected,
        found,
    })
}

/// Makes all changes, and gives the files of ours that could not be removed after that. The caller holds our lock on refs
/// and has recovered.
pub(super) fn apply(
    repo: &Repository,
    edits: &[RefUpdate],
    who: &Signature,
    wait: Duration,
) -> Result<Vec<CleanupFailure>, Error> {
    let applied = try_apply(repo, edits, who, wait);
    for edit in edits.iter().filter(|edit| edit.new.is_none() || applied.is_err()) {
        // Taking a lock made the directories of a ref that does not exist.
        tidy(repo, &edit.name);
    }
    applied
}

fn try_apply(
    repo: &Repository,
    edits: &[RefUpdate],
    who: &Signature,
    wait: Duration,
) -> Result<Vec<CleanupFailure>, Error> {
    let mut order: Vec<&RefUpdate> = edits.iter().collect();
    order.sort_by_key(|edit| edit.new.is_none());
    let mut names = BTreeSet::new();
    if let Some(twice) = edits.iter().find(|edit| !names.insert(&edit.name)) {
        return Err(Error::RefName {
            name: twice.name.clone(),
        });
    }
    let mut held = Vec::with_capacity(order.len());
    for edit in order {
        let contents = edit.new.map(|new| format!("{new}\n")).unwrap_or_default();
        let lock = LockFile::acquire(repo, &edit.name, contents.as_bytes(), wait)?;
        let path = files::path(repo, &edit.name);
        let loose = files::read_loose(repo.object_hash(), &path).map_err(Error::io("read", path))?;
        held.push((edit, lock, loose));
    }
    // Once for all, and after the others as in git: under its lock the value of none of them can change any more.
    let packed = PackedRefs::read(repo)?;
    let mut locked = Vec::with_capacity(held.len());
    for (edit, lock, loose) in held {
        let value = loose.or_else(|| packed.find(&edit.name).map(Ok));
        let damaged = matches!(value, Some(Err(_)));
        let absent = value.is_none();
        let old = compare(edit, value)?;
        if old != edit.new || damaged {
            locked.push(LockedRef {
                edit,
                lock,
                old,
                absent,
            });
        }
    }
    for LockedRef { edit, absent, .. } in &locked {
        if edit.new.is_some() && *absent {
            check_room(repo, &packed, &edit.name)?;
        }
    }
    let mut lines = Vec::new();
    match prepare(repo, &locked, who, wait, &mut lines) {
        Ok(packed) => commit(repo, locked, lines, packed, who),
        Err(error) => {
            lines.into_iter().for_each(ReflogAppend::undo);
            Err(error)
        }
    }
}

/// Refuses a name that another ref excludes.
fn check_room(repo: &Repository, packed: &PackedRefs, name: &str) -> Result<(), Error> {
    let in_the_way = |other| {
        Err(Error::InTheWay {
            name: name.to_owned(),
            other,
        })
    };
    if let Some(other) = packed.in_the_way(name) {
        return in_the_way(other);
    }
    let path = files::path(repo, name);
    if !path.is_dir() || reflog::remove_empty_dirs(&path).is_ok() {
        return Ok(());
    }
    let below = files::list(repo, &format!("{name}/"))?;
    let first = below.into_iter().next();
    in_the_way(first.map_or_else(|| format!("{name}/"), |(name, _)| name))
}

/// Writes the reflog lines and the new `packed-refs`, which is given under its lock if it changes.
fn prepare(
    repo: &Repository,
    locked: &[LockedRef<'_>],
    who: &Signature,
    wait: Duration,
    lines: &mut Vec<ReflogAppend>,
) -> Result<Option<LockFile>, Error> {
    for LockedRef { edit, old, absent, .. } in locked {
        if let Some(new) = edit.new {
            if *absent {
                // The log of a ref that was deleted by a program that left it; its lines are about an earlier ref.
                reflog::remove(repo, &edit.name)?;
            }
            lines.push(reflog::append(repo, &edit.name, *old, new, who, &edit.message)?);
        }
    }
    let gone: Vec<_> = locked
        .iter()
        .filter(|locked| locked.edit.new.is_none())
        .map(|locked| &*locked.edit.name)
        .collect();
    if gone.is_empty() || PackedRefs::read(repo)?.without(&gone).is_none() {
        return Ok(None);
    }
    let lock = LockFile::acquire(repo, "packed-refs", b"", wait)?;
    // Again, now that no other process can change it.
    match PackedRefs::read(repo)?.without(&gone) {
        Some(contents) => {
            lock.fill(&contents)?;
            Ok(Some(lock))
        }
        None => Ok(None),
    }
}

/// Rollback log of a ref transaction: the steps done so far.
#[derive(Default)]
struct RollbackLog {
    moved: Vec<(PathBuf, Option<ObjectId>)>,
    directories: BTreeSet<PathBuf>,
    /// Files of ours that could not be removed.
    left: Vec<CleanupFailure>,
}

fn commit(
    repo: &Repository,
    locked: Vec<LockedRef<'_>>,
    lines: Vec<ReflogAppend>,
    packed: Option<LockFile>,
    who: &Signature,
) -> Result<Vec<CleanupFailure>, Error> {
    let several = locked.len() > 1;
    if several {
        let edits = locked.iter().map(|locked| (locked.edit, locked.old));
        if let Err(error) = journal::write(repo, edits, who) {
            lines.into_iter().for_each(ReflogAppend::undo);
            return Err(error);
        }
    }
    let mut done = RollbackLog::default();
    let (updates, deletions): (Vec<_>, Vec<_>) = locked.into_iter().partition(|locked| locked.edit.new.is_some());
    let mut removed = 0;
    // What comes is on the disk before anything goes, while it can still be taken back.
    let moved = rename_all(repo, updates, &mut done).and_then(|()| {
        std::mem::take(&mut done.directories)
            .iter()
            .try_for_each(|directory| sync(directory))
    });
    let begun = moved.and_then(|()| match (packed, deletions.first()) {
        // Once `packed-refs` is replaced there is no way back.
        (Some(lock), _) => {
            done.directories.extend(packed::path(repo).parent().map(Path::to_owned));
            done.left.extend(lock.commit()?);
            Ok(())
        }
        (None, Some(first)) => {
            removed = 1;
            remove_loose(repo, &first.edit.name, &mut done.directories)
                .map_err(|CleanupFailure { action, path, source }| Error::io(action, path)(source))
        }
        (None, None) => Ok(()),
    });
    if let Err(error) = begun {
        // Nothing is deleted yet. If even this fails, the journal lets the next command complete the change.
        if roll_back(&done.moved).is_ok() {
            lines.into_iter().for_each(ReflogAppend::undo);
            if several {
                journal::clear(repo)?;
            }
        }
        return Err(error);
    }
    // From here on the rest is done whatever happens.
    let mut undone = Vec::new();
    let mut gone = Vec::new();
    for (position, locked) in deletions.into_iter().enumerate() {
        let deleted = if position < removed {
            Ok(())
        } else {
            remove_loose(repo, &locked.edit.name, &mut done.directories)
        };
        gone.push((deleted.is_ok(), locked));
        undone.extend(deleted.err());
    }
    for directory in &done.directories {
        undone.extend(CleanupFailure::after(
            "write to the disk",
            os::sync_dir(directory),
            directory,
        ));
    }
    for (deleted, LockedRef { edit, lock, .. }) in gone {
        if deleted && let Err(Error::Io { action, path, source }) = reflog::remove(repo, &edit.name) {
            undone.push(CleanupFailure { action, path, source });
        }
        done.left.extend(lock.release());
    }
    if several && undone.is_empty() {
        // Should it stay, the next command finds that there is nothing left to do.
        done.left.extend(journal::remove(repo));
    }
    done.left.append(&mut undone);
    Ok(done.left)
}

fn sync(directory: &Path) -> Result<(), Error> {
    match os::sync_dir(directory) {
        // A directory that became empty and went.
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("write to the disk", directory)(error)),
        _ => Ok(()),
    }
}

/// Brings what changed in the directory of a ref to the disk.
pub(super) fn sync_directory(repo: &Repository, name: &str) -> Result<(), Error> {
    files::path(repo, name).parent().map_or(Ok(()), sync)
}

fn rename_all(repo: &Repository, updates: Vec<LockedRef<'_>>, done: &mut RollbackLog) -> Result<(), Error> {
    for LockedRef { edit, lock, old, .. } in updates {
        let path = files::path(repo, &edit.name);
        done.left.extend(lock.commit()?);
        done.directories.extend(path.parent().map(Path::to_owned));
        done.moved.push((path, old));
    }
    Ok(())
}

/// Puts the old values back.
fn roll_back(moved: &[(PathBuf, Option<ObjectId>)]) -> io::Result<()> {
    for (path, old) in moved.iter().rev() {
        match old {
            None => fs::remove_file(path)?,
            Some(old) => {
                let mut lock = path.as_os_str().to_owned();
                lock.push(".lock");
                let lock = PathBuf::from(lock);
                // The lock was freed by the rename; taking it again keeps git out.
                let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&lock)?;
                let written = io::Write::write_all(&mut file, format!("{old}\n").as_bytes())
                    .and_then(|()| os::sync(&file))
                    .and_then(|()| fs::rename(&lock, path));
                if written.is_err() {
                    let _ = fs::remove_file(&lock);
                }
                written?;
            }
        }
    }
    Ok(())
}

fn remove_loose(repo: &Repository, name: &str, directories: &mut BTreeSet<PathBuf>) -> Result<(), CleanupFailure> {
    let path = files::path(repo, name);
    match fs::remove_file(&path) {
        Ok(()) => {
            directories.extend(path.parent().map(Path::to_owned));
            Ok(())
        }
        Err(source) if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::IsADirectory) => Ok(()),
        Err(source) => Err(CleanupFailure {
            action: "remove",
            path,
            source,
        }),
    }
}

/// Removes the directories that a deleted ref leaves empty, but for `refs/<first>` itself.
pub(super) fn tidy(repo: &Repository, name: &str) {
    for root in [repo.common_dir().to_owned(), repo.common_dir().join("logs")] {
        let mut directory = name;
        while let Some((above, _)) = directory.rsplit_once('/') {
            if above.matches('/').count() < 2 || fs::remove_dir(root.join(above)).is_err() {
                break;
            }
            directory = above;
        }
    }
}

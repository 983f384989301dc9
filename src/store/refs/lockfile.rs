//! git's lock file on a ref, taken so that a kill leaves nothing that blocks other processes permanently.
//!
//! git takes a lock by creating `<ref>.lock`, and a process that is killed then leaves it permanently. So ours is first
//! a note in a directory of ours, named after the ref and holding the ref's new contents, and then gets its second name
//! `<ref>.lock` as a hard link, in one step and only if the lock is free. A lock file that is the same file as a note
//! is ours beyond doubt; and as all our changes of refs are made under one kernel lock, for the holder of that one the
//! writer of a note that it finds is dead. Where hard links do not exist the note shows what the lock file would hold.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::os;
use crate::store::{Error, Repository, lock, paths};

/// Starts a note whose lock file is not the same file.
const COPY: &[u8] = b"copy\n";

/// A note being replaced. No note is called so, see [`lock::file_name`].
const NEW_NOTE: &str = ".new";

/// A held lock file; released on drop.
pub(super) struct LockFile {
    note: PathBuf,
    lock: PathBuf,
    target: PathBuf,
    held: bool,
    copied: bool,
    freed: bool,
}

/// The directory of the notes.
pub(super) fn notes(repo: &Repository) -> PathBuf {
    repo.common_dir().join("checkpoint").join("swap")
}

fn lock_path(target: &Path) -> PathBuf {
    let mut path = target.as_os_str().to_owned();
    path.push(".lock");
    path.into()
}

impl LockFile {
    /// Locks the file `name` (of a ref, or `packed-refs`) in the common git directory. `contents` are what
    /// [`commit`](Self::commit) will put there, made durable at once.
    ///
    /// The caller holds our lock on refs and has recovered.
    pub(super) fn acquire(repo: &Repository, name: &str, contents: &[u8], wait: Duration) -> Result<Self, Error> {
        let sharing = paths::sharing(repo);
        let directory = notes(repo);
        let note = directory.join(lock::file_name(name));
        let target = repo.common_dir().join(name);
        let lock = lock_path(&target);
        let mut file = create_note(repo, &directory, &note)?;
        let mut held = Self {
            note,
            lock,
            target,
            held: false,
            copied: false,
            freed: false,
        };
        sharing.apply(&file).map_err(Error::io("set the mode of", &held.note))?;
        if !contents.is_empty() {
            file.write_all(contents)
                .and_then(|()| os::sync(&file))
                .map_err(Error::io("write", &held.note))?;
        }
        match os::retry(wait, || held.link(contents, sharing)) {
            Ok(Some(copied)) => {
                held.held = true;
                held.copied = copied;
                Ok(held)
            }
            Ok(None) => {
                let age = os::age(&held.lock);
                Err(Error::RefLocked {
                    name: name.to_owned(),
                    path: held.lock.clone(),
                    age,
                })
            }
            Err(error) => Err(held.explain(name, error)),
        }
    }

    /// One try; `None` when the lock is taken, else whether the lock file is a file of its own.
    fn link(&self, contents: &[u8], sharing: os::Sharing) -> io::Result<Option<bool>> {
        match fs::hard_link(&self.note, &self.lock) {
            Ok(()) => Ok(Some(false)),
            Err(error) => match error.kind() {
                io::ErrorKind::AlreadyExists => Ok(None),
                io::ErrorKind::NotFound => self.make_directory(sharing),
                // Whatever else it says, the file may be created in another way, as git does. If not, that says why.
                _ => self.copy(contents, sharing),
            },
        }
    }

    /// For a directory that is missing, or that a git removed which found it empty: the next try finds it.
    fn make_directory(&self, sharing: os::Sharing) -> io::Result<Option<bool>> {
        if let Some(directory) = self.lock.parent() {
            os::create_dir_durable(directory, sharing)?;
        }
        Ok(None)
    }

    /// The way without hard links.
    fn copy(&self, contents: &[u8], sharing: os::Sharing) -> io::Result<Option<bool>> {
        fs::write(&self.note, [COPY, contents].concat())?;
        let mut file = match OpenOptions::new().write(true).create_new(true).open(&self.lock) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return self.make_directory(sharing),
            Err(error) => return Err(error),
        };
        sharing.apply(&file)?;
        let filled = file.write_all(contents).and_then(|()| os::sync(&file));
        if filled.is_err() {
            let _ = fs::remove_file(&self.lock);
        }
        filled.map(|()| Some(true))
    }

    fn explain(&self, name: &str, error: io::Error) -> Error {
        // A ref's file where a directory is needed.
        if matches!(
            error.kind(),
            io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists
        ) {
            let above = name.match_indices('/').map(|(at, _)| &name[..at]);
            let base = self
                .target
                .ancestors()
                .nth(name.matches('/').count() + 1)
                .unwrap_or(Path::new(""));
            if let Some(other) = above.into_iter().find(|above| base.join(above).is_file()) {
                return Error::InTheWay {
                    name: name.to_owned(),
                    other: other.to_owned(),
                };
            }
        }
        Error::io("create", &self.lock)(error)
    }

    /// Replaces the contents of the note, which is the lock file as well, durably: for a file whose new contents are
    /// known only under the lock.
    pub(super) fn fill(&self, contents: &[u8]) -> Result<(), Error> {
        let fill = || {
            if self.copied {
                // In one step, or a kill would leave a note that knows nothing of the lock file.
                let new = self.note.with_file_name(NEW_NOTE);
                fs::write(&new, [COPY, contents].concat())?;
                fs::rename(&new, &self.note)?;
            }
            let mut file = OpenOptions::new().write(true).truncate(true).open(&self.lock)?;
            file.write_all(contents)?;
            os::sync(&file)
        };
        fill().map_err(Error::io("write", &self.lock))
    }

    /// Puts the contents in place, which also frees the lock. The directory is not synced. Gives the note if it stays.
    pub(super) fn commit(mut self) -> Result<Option<os::CleanupFailure>, Error> {
        let renamed = fs::rename(&self.lock, &self.target);
        self.held = renamed.is_err();
        renamed.map_err(Error::io("write", &self.target))?;
        Ok(self.release())
    }

    /// Frees the lock; gives the file that could not be removed, which the next change of refs removes.
    pub(super) fn release(mut self) -> Option<os::CleanupFailure> {
        let left = self.free();
        self.freed = true;
        left
    }

    fn free(&self) -> Option<os::CleanupFailure> {
        // The lock first: a note without a lock is nothing, a lock without a note would be there for ever.
        if self.held
            && let Some(left) = os::CleanupFailure::of(fs::remove_file(&self.lock), &self.lock)
        {
            return Some(left);
        }
        os::CleanupFailure::of(fs::remove_file(&self.note), &self.note)
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        if !self.freed {
            // Something failed, and that is reported.
            let _ = self.free();
        }
    }
}

fn create_note(repo: &Repository, directory: &Path, note: &Path) -> Result<File, Error> {
    let create = || OpenOptions::new().write(true).create_new(true).open(note);
    let created = match create() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            paths::private_dir(repo)?;
            paths::own_directory(repo, directory.to_owned())?;
            create()
        }
        created => created,
    };
    created.map_err(|error| paths::obstacle(directory).unwrap_or_else(|| Error::io("create", note)(error)))
}

/// A lock that a killed process of ours left.
pub(super) struct Stale {
    /// The locked file, relative to the common git directory.
    pub(super) name: String,
    /// New content of the ref file; empty for a deletion.
    pub(super) contents: Vec<u8>,
    note: PathBuf,
    lock: Option<PathBuf>,
}

impl Stale {
    /// Whether the lock file is still there.
    pub(super) fn locked(&self) -> bool {
        self.lock.is_some()
    }

    /// Frees it.
    pub(super) fn remove(self) -> Result<(), Error> {
        for path in self.lock.iter().chain([&self.note]) {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::io("remove", path)(error)),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The locks that killed processes left. Only for holders of our lock on refs.
pub(super) fn stale(repo: &Repository) -> Result<Vec<Stale>, Error> {
    let directory = notes(repo);
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(paths::obstacle(&directory).unwrap_or_else(|| Error::io("read", directory)(error))),
    };
    let mut found = Vec::new();
    for entry in entries {
        let note = entry.map_err(Error::io("read", &directory))?.path();
        if note.ends_with(NEW_NOTE) {
            fs::remove_file(&note).map_err(Error::io("remove", &note))?;
            continue;
        }
        let Some(name) = note
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(lock::from_file_name)
        else {
            continue;
        };
        let contents = os::read_regular(&note).map_err(Error::io("read", &note))?;
        let lock = lock_path(&repo.common_dir().join(&name));
        let (ours, contents) = match contents.strip_prefix(COPY) {
            // The kill may have come between creating the lock file and filling it.
            Some(wanted) => (
                os::read_regular(&lock).is_ok_and(|found| wanted.starts_with(&found)),
                wanted.to_vec(),
            ),
            None => (same(&note, &lock), contents),
        };
        found.push(Stale {
            name,
            contents,
            note,
            lock: ours.then_some(lock),
        });
    }
    Ok(found)
}

fn same(one: &Path, other: &Path) -> bool {
    match (fs::symlink_metadata(one), fs::symlink_metadata(other)) {
        (Ok(one), Ok(other)) => os::same_file(&one, &other),
        _ => false,
    }
}

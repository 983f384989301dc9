//! The watcher of a working tree: its lock, and what it last said about itself.
//!
//! A kernel lock shows whether it lives, never the file next to it: that stays when the watcher is killed, and shows its
//! last state. `<git-dir>/checkpoint/watch.lock` and `watch.json`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Error, Repository, sharing, worktree_private_dir, worktree_private_path};
use crate::model::json;
pub use crate::model::watch::{WatchAutosave, WatchFailure, WatcherEnd, WatcherState};
use crate::os;

const LOCK: &str = "watch.lock";
const STATE: &str = "watch.json";
/// More than such a file ever has.
const MOST: usize = 1 << 20;

/// Whether a watcher runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Watcher {
    /// It runs.
    Alive(Option<WatcherState>),
    /// It does not; this is what the last one said.
    Gone(WatcherState),
}

impl Watcher {
    /// The state of a watcher that is gone and whose work was cut off.
    pub fn cut_off(&self, host: &str) -> Option<&WatcherState> {
        match self {
            Self::Gone(state) if state.is_cut_off(host) => Some(state),
            _ => None,
        }
    }
}

/// The lock of a watcher, held until dropped.
#[derive(Debug)]
#[must_use]
pub struct WatcherLock {
    _lock: os::Lock,
}

/// Becomes the watcher of this working tree; `None` if there is one.
pub fn hold(repo: &Repository) -> Result<Option<WatcherLock>, Error> {
    let path = worktree_private_dir(repo)?.join(LOCK);
    // A look at the lock takes it for a moment.
    let wait = Duration::from_millis(500);
    let lock = os::Lock::acquire(&path, sharing(repo), wait).map_err(Error::io("lock", path))?;
    Ok(lock.map(|lock| WatcherLock { _lock: lock }))
}

/// The watcher of this working tree, if there is or was one.
pub fn here(repo: &Repository) -> Result<Option<Watcher>, Error> {
    read(&worktree_private_path(repo))
}

/// The watchers of all working trees of this repository. What cannot be read is left out: they only add to what is known.
pub fn all(repo: &Repository) -> Vec<Watcher> {
    let common = repo.common_dir();
    let linked = fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
    let directories = linked.map(|entry| entry.path().join("checkpoint"));
    let directories = std::iter::once(common.join("checkpoint")).chain(directories);
    directories
        .filter_map(|directory| read(&directory).ok().flatten())
        .collect()
}

fn read(directory: &Path) -> Result<Option<Watcher>, Error> {
    let lock = directory.join(LOCK);
    let alive = os::notices::if_readable(os::is_locked(&lock), &lock).map_err(Error::io("look at the lock", &lock))?;
    let alive = alive.unwrap_or(false);
    let path = directory.join(STATE);
    let bytes = os::notices::if_readable(os::read_regular(&path), &path).map_err(Error::io("read", path))?;
    // A file without a state is as good as none: the lock decides.
    let state: Option<WatcherState> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    Ok(match (alive, state) {
        (true, state) => Some(Watcher::Alive(state)),
        (false, Some(state)) => Some(Watcher::Gone(state)),
        (false, None) => None,
    })
}

/// Notes the report of the watcher. Not synced: nothing rests on it.
pub fn write(repo: &Repository, state: &WatcherState) -> Result<(), Error> {
    let path: PathBuf = worktree_private_dir(repo)?.join(STATE);
    let bytes = json::to_bytes(state);
    match os::replace(&path, &bytes, sharing(repo), false) {
        // A full disk is exactly what must be reported: the place that the file has will do.
        Err(error) if error.kind() == io::ErrorKind::StorageFull => overwrite(&path, bytes),
        other => other,
    }
    .map_err(Error::io("write", path))
}

/// Writes over a file without needing more room; what is left of the old text becomes blanks.
fn overwrite(path: &Path, mut bytes: Vec<u8>) -> io::Result<()> {
    let before = fs::symlink_metadata(path)?;
    if !before.is_file() {
        return Err(io::ErrorKind::StorageFull.into());
    }
    let length = usize::try_from(before.len()).unwrap_or(0).min(MOST);
    bytes.resize(bytes.len().max(length), b' ');
    io::Write::write_all(&mut fs::OpenOptions::new().write(true).open(path)?, &bytes)
}

/// Forgets a watcher that is gone: what it was at was taken up again.
pub fn forget(repo: &Repository) -> Result<(), Error> {
    if !matches!(here(repo)?, Some(Watcher::Gone(_))) {
        return Ok(());
    }
    let path = worktree_private_path(repo).join(STATE);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
        _ => Ok(()),
    }
}

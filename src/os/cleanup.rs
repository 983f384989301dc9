//! What is still to be done to a file of ours when all else is done: no failure, but to be told.

use std::io;
use std::path::{Path, PathBuf};

use super::reason;

/// A file that could not be removed, or a directory whose change could not be brought to the disk.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} '{}': {}", path.display(), reason(source))]
pub struct CleanupFailure {
    /// What could not be done: `remove`, `write to the disk`.
    pub action: &'static str,
    /// The file.
    pub path: PathBuf,
    /// The system's reason.
    pub source: io::Error,
}

impl CleanupFailure {
    /// What the result of removing `path` leaves; a file that is gone already leaves nothing.
    pub fn of(removed: io::Result<()>, path: &Path) -> Option<Self> {
        Self::after("remove", removed, path)
    }

    /// What the result of doing something to `path` leaves; where that is gone there is nothing left to do.
    pub fn after(action: &'static str, done: io::Result<()>, path: &Path) -> Option<Self> {
        match done {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Some(Self {
                action,
                path: path.to_owned(),
                source,
            }),
            _ => None,
        }
    }
}

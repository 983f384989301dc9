//! A clean-up that failed after success; reported as a warning.

use std::io;
use std::path::{Path, PathBuf};

use super::reason;

/// A file that could not be removed, or a directory whose change could not be brought to the disk.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} '{}': {}", path.display(), reason(source))]
pub struct CleanupFailure {
    /// Action that failed: `remove`, `write to the disk`.
    pub action: &'static str,
    /// The file.
    pub path: PathBuf,
    /// The system's reason.
    pub source: io::Error,
}

impl CleanupFailure {
    /// Failure of removing `path`, if any; a file that does not exist is no failure.
    pub fn of(removed: io::Result<()>, path: &Path) -> Option<Self> {
        Self::after("remove", removed, path)
    }

    /// Failure of an action on `path`, if any; if the path does not exist, nothing is left to do.
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

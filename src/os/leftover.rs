//! A file of ours that should be gone and is not: no failure, but to be told.

use std::io;
use std::path::{Path, PathBuf};

use super::reason;

/// A file that could not be removed.
#[derive(Debug, thiserror::Error)]
#[error("cannot remove '{}': {}", path.display(), reason(source))]
pub struct Leftover {
    /// The file.
    pub path: PathBuf,
    /// The system's reason.
    pub source: io::Error,
}

impl Leftover {
    /// What the result of removing `path` leaves; a file that is gone already leaves nothing.
    pub fn of(removed: io::Result<()>, path: &Path) -> Option<Self> {
        match removed {
            Err(source) if source.kind() != io::ErrorKind::NotFound => Some(Self {
                path: path.to_owned(),
                source,
            }),
            _ => None,
        }
    }
}

//! The hints that were given in a repository: each kind is given once.

use std::io::Write as _;
use std::path::PathBuf;

use super::{Repository, private_path};
use crate::os;

/// The record of the hints that were given.
#[derive(Clone, Debug)]
pub struct Hints {
    path: PathBuf,
}

impl Hints {
    /// That of a repository.
    pub fn of(repo: &Repository) -> Self {
        Self {
            path: private_path(repo).join("hints"),
        }
    }

    /// Whether a hint of this kind is given for the first time, which is recorded. Where nothing can be recorded it is
    /// the first time every time.
    pub fn is_first(&self, kind: &str) -> bool {
        let given = os::read_regular(&self.path).unwrap_or_default();
        let given = String::from_utf8_lossy(&given);
        if given.lines().any(|line| line == kind) {
            return false;
        }
        // The directory is made by the first command that saves something.
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&self.path);
        let _ = file.and_then(|mut file| file.write_all(format!("{kind}\n").as_bytes()));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_first_once() {
        let directory = tempfile::tempdir().unwrap();
        let hints = Hints {
            path: directory.path().join("hints"),
        };
        assert!(hints.is_first("Save") && hints.is_first("Undo"));
        assert!(!hints.is_first("Save") && !hints.is_first("Undo"));
        let nowhere = Hints {
            path: directory.path().join("absent").join("hints"),
        };
        assert!(nowhere.is_first("Save") && nowhere.is_first("Save"));
    }
}

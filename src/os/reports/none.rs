//! Systems whose change reports are not used.

use std::path::{Path, PathBuf};

use super::WatchError;

/// Reports that there never are.
#[derive(Debug)]
pub struct Reports(std::convert::Infallible);

impl Reports {
    /// Fails: this system reports nothing.
    pub fn of(_root: &Path) -> Result<Self, WatchError> {
        Err(WatchError::System)
    }

    /// Nothing is watched.
    pub fn watch(&mut self, _directories: &[PathBuf]) -> Result<(), WatchError> {
        match self.0 {}
    }

    /// Nothing is reported.
    pub fn drain(&mut self) {
        match self.0 {}
    }

    /// Nothing is reported.
    pub fn changes(&self) -> u64 {
        match self.0 {}
    }

    /// Nothing is reported.
    pub fn losses(&self) -> u64 {
        match self.0 {}
    }

    /// Nothing is reported.
    pub fn position(&self) -> u64 {
        match self.0 {}
    }

    /// Nothing is watched.
    pub fn was_watched(&self, _directory: &Path, _position: u64) -> bool {
        match self.0 {}
    }

    /// Nothing is watched.
    pub fn find(&self, _directory: &Path) -> Option<usize> {
        match self.0 {}
    }

    /// Nothing is watched.
    pub fn is_watched(&self, _at: usize) -> bool {
        match self.0 {}
    }

    /// Nothing is known.
    pub fn may_have_changed(&self, _at: usize, _position: u64) -> bool {
        match self.0 {}
    }

    /// Nothing is known.
    pub fn has_open_files(&self) -> bool {
        match self.0 {}
    }

    /// Nothing is watched.
    pub fn root(&self) -> Option<(u64, u64)> {
        match self.0 {}
    }

    /// Nothing is reported.
    pub fn queue(&self) -> Option<std::convert::Infallible> {
        match self.0 {}
    }

    /// Nothing is known.
    pub fn has_doubts(&self) -> bool {
        match self.0 {}
    }

    /// Nothing is known.
    pub fn is_held_everywhere(&self) -> bool {
        match self.0 {}
    }

    /// Nothing is known.
    pub fn doubt_all(&mut self) {
        match self.0 {}
    }

    /// Nothing is known.
    pub fn had_single_names(&mut self, _position: u64) {
        match self.0 {}
    }

    /// Nothing is known.
    pub fn doubt_moment(&mut self) -> u64 {
        match self.0 {}
    }

    /// Nothing is known.
    pub fn settle(&mut self, _moment: u64, _open: &OpenFiles) {
        match self.0 {}
    }

    /// Nothing is known.
    pub fn settle_doubts(&mut self) {
        match self.0 {}
    }
}

/// Files that are open: here none are known.
#[derive(Debug)]
pub struct OpenFiles;

impl OpenFiles {
    /// Nothing is known.
    pub fn find(_root: &Path) -> Self {
        Self
    }
}

/// Nothing is known of mounts here.
pub fn mount_scope() -> Option<(u64, u64)> {
    None
}

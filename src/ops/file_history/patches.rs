//! Patches for `log -p`: what a checkpoint changed in the files against the one before.

use std::ffi::OsString;

use super::{FileVersion, SIMILAR};
use crate::{
    model::path::RepoPath,
    ops::{Error, Scene, timeline::FileState},
    os::os_string,
    store::{
        self, ObjectId,
        checkpoint::CheckpointCommit,
        patch::{self, PatchFormat, PatchOptions},
        scan::ObjectReader,
        tree,
    },
};

/// Gives the patches of the checkpoints of one log, one after the other.
pub struct PatchLog<'a> {
    scene: &'a Scene<'a>,
    reader: ObjectReader,
    format: PatchFormat,
    width: Option<usize>,
}

impl<'a> PatchLog<'a> {
    /// Patches in this format; a stat takes so many columns.
    pub fn new(scene: &'a Scene<'a>, format: PatchFormat, width: Option<usize>) -> Self {
        Self {
            scene,
            reader: ObjectReader::of(scene.repo),
            format,
            width,
        }
    }

    /// The changes of a checkpoint against the one before it; against HEAD where that has no files. `None` when the
    /// checkpoint itself has none.
    pub fn checkpoint(&mut self, entry: &CheckpointCommit) -> Result<Option<Vec<u8>>, Error> {
        let Some(snapshot) = entry.snapshot_commit() else {
            return Ok(None);
        };
        let before = match entry.parents.first() {
            Some(previous) => self
                .reader
                .checkpoint(*previous)
                .map_err(Error::damaged(previous.to_string()))?
                .parents
                .get(1)
                .copied(),
            None => None,
        };
        let (_, parents) = self
            .reader
            .commit_parts(snapshot)
            .map_err(Error::damaged(entry.id.to_string()))?;
        let Some(before) = before.or(parents.first().copied()) else {
            return Ok(None);
        };
        if before == snapshot {
            return Ok(Some(Vec::new()));
        }
        self.between(before, snapshot, Vec::new()).map(Some)
    }

    /// The change that made a version of a file.
    pub fn version(&self, version: &FileVersion) -> Result<Vec<u8>, Error> {
        let (old, new) = version.trees;
        if old == new {
            return Ok(Vec::new());
        }
        let literal = |path: &RepoPath| -> OsString { os_string(&[b":(top,literal)", path.as_bytes()].concat()) };
        let paths = version.from.iter().chain([&version.path]).map(literal).collect();
        self.between(old, new, paths)
    }

    /// The change of one state against another one.
    pub fn states(&self, old: &FileState, new: &FileState) -> Result<Vec<u8>, Error> {
        self.between(old.tree, new.tree, Vec::new())
    }

    /// The change of the oldest state against its HEAD.
    pub fn first(&self, state: &FileState) -> Result<Vec<u8>, Error> {
        let head = tree::tree_of(self.scene.repo, Some(state.head))?;
        self.between(head, state.tree, Vec::new())
    }

    fn between(&self, old: ObjectId, new: ObjectId, pathspecs: Vec<OsString>) -> Result<Vec<u8>, Error> {
        let options = PatchOptions {
            format: self.format,
            renames: Some(SIMILAR),
            width: self.width,
            pathspecs,
            ..PatchOptions::default()
        };
        let git = patch::command(self.scene.repo, Some(old), Some(new), &options, None);
        Ok(git.run().map_err(store::Error::from)?.stdout)
    }
}

//! Paths that a snapshot can hold, and that a restore refuses: the settings take them for one.

use gix::objs::TreeRefIter;

use super::{Error, paths::FileSystem};
use crate::{
    model::path::RepoPath,
    store::{Kind, ObjectId, Repository, checkpoint, objects::Writer},
    worktree::snapshot::settings::SnapshotSettings,
};

/// Two paths of a tree that differ in case or Unicode form alone, where `core.ignoreCase` is set although the file system
/// distinguishes them: it could not have both otherwise. Reads through what the writer holds.
pub fn alike(repo: &Repository, writer: &Writer, tree: ObjectId) -> Result<Option<(RepoPath, RepoPath)>, Error> {
    // Where names are folded by the system itself, no working tree has both.
    if cfg!(any(windows, target_os = "macos")) || !SnapshotSettings::of(repo)?.ignore_case {
        return Ok(None);
    }
    below(&writer.overlay(repo), tree, b"")
}

fn below(repo: &Repository, tree: ObjectId, path: &[u8]) -> Result<Option<(RepoPath, RepoPath)>, Error> {
    if tree == ObjectId::empty_tree(repo.object_hash()) {
        return Ok(None);
    }
    let broken = |why: String| Error::Tree {
        path: RepoPath::new(path),
        id: tree,
        why,
    };
    let data = checkpoint::read(repo, tree, Kind::Tree, "tree").map_err(|fault| broken(fault.to_string()))?;
    let entries = TreeRefIter::from_bytes(&data, repo.object_hash());
    let entries: Result<Vec<_>, _> = entries.collect();
    let entries = entries.map_err(|error| broken(error.to_string()))?;
    let full = |name: &[u8]| RepoPath::new([path, name].concat());
    let names = entries.iter().map(|entry| -> &[u8] { entry.filename });
    if let Some((one, other)) = FileSystem::of(true).collision(names) {
        return Ok(Some((full(one), full(other))));
    }
    for entry in entries.iter().filter(|entry| entry.mode.is_tree()) {
        let inner = [path, entry.filename, b"/"].concat();
        let found = below(repo, entry.oid.to_owned(), &inner)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

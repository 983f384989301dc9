//! After an apply with conflicts: what is left to resolve, and whether there is a way back.

use super::super::{Error, Scene, compose};
use crate::{
    model::path::RepoPath,
    store::{objects::Writer, undo},
};

/// Fails unless this operation is what undo comes to.
pub fn is_last(scene: &Scene<'_>, operation: &str) -> Result<(), Error> {
    let list = undo::read(scene.repo)?;
    match list.undoable() {
        Some(entry) if entry.operation == operation => Ok(()),
        _ => Err(Error::NothingTo { what: "go back from" }),
    }
}

/// The unmerged paths of the index.
pub fn unmerged_paths(scene: &Scene<'_>) -> Result<Vec<RepoPath>, Error> {
    let snapshot = compose::snapshot(scene, &Writer::memory(scene.repo), &[])?;
    let mut paths: Vec<_> = snapshot
        .lists
        .conflicts
        .into_iter()
        .map(|conflict| conflict.path)
        .collect();
    paths.dedup();
    Ok(paths)
}

//! Where the working tree is, for naming its files.

use std::path::PathBuf;

use super::Scene;
use crate::store;

/// The root of the working tree; `None` in a bare repository.
pub fn root(scene: &Scene<'_>) -> Option<PathBuf> {
    store::work_tree(scene.repo).ok().map(std::path::Path::to_owned)
}

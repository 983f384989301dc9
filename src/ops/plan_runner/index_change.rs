//! The entries of the index that a plan changes.

use std::collections::HashSet;

use super::{
    super::{
        Error, Scene,
        compose::CurrentSnapshot,
        target_state::{self, TargetState},
    },
    scope::PathScope,
};
use crate::{
    model::{
        list::{Lists, Source},
        path::RepoPath,
        tree_mode,
    },
    store::{self, Repository, tree},
    worktree::restore::index::{self, IndexChange},
};

/// The entries that differ between the present and the goal, as far as the index is meant. `own` are the paths that the
/// operation changed before, or that of which it is the way back.
pub(super) fn plan(
    scene: &Scene<'_>,
    scope: &PathScope,
    own: Option<&HashSet<RepoPath>>,
    repo: &Repository,
    (present, goal): (&CurrentSnapshot, &TargetState),
) -> Result<IndexChange, Error> {
    // Where the index cannot be written, conflicts are in the files alone.
    let is_meant = scope.index && store::read_only_directory(scene.repo).is_none();
    let (true, Some(snapshot)) = (is_meant, &present.snapshot) else {
        return Ok(IndexChange::default());
    };
    let mut paths = scope.paths.clone();
    let mut change = index::compare(repo, target_state::staged(snapshot), goal.staged(), paths.as_mut())?;
    let own = own.into_iter().flatten().filter(|_| scope.enters);
    for path in own.filter(|path| is_skipped(&goal.lists, path) && !is_skipped(&snapshot.lists, path)) {
        // It lost its flag when it was unmerged or staged, whatever its content is now.
        if tree::entry(repo, goal.index, path)?.is_some_and(|entry| entry.mode != tree_mode::DIRECTORY) {
            change.paths.push(path.clone());
        }
    }
    change.paths.sort();
    change.paths.dedup();
    Ok(change)
}

/// Whether sparse checkout leaves a path out of the working tree.
fn is_skipped(lists: &Lists, path: &RepoPath) -> bool {
    let origin = lists.origin_of(path.as_bytes());
    origin.is_some_and(|origin| origin.source == Source::Index && origin.flags.skip_worktree)
}

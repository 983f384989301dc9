//! Whether the disk is as a goal has it.

use std::collections::HashSet;

use super::super::{
    Error, Scene,
    target_state::{self, TargetState},
};
use crate::{
    model::path::RepoPath,
    store::Repository,
    worktree::{
        restore::{self, RestoreOptions},
        snapshot::Snapshot,
    },
};

/// The paths among `only`, or of all, at which the disk is not as a goal has it, reported by the bytes. The present has
/// all of them that are on the disk. `is_earlier` is whether the goal is an earlier state of this working tree.
pub(in crate::ops) fn unmet(
    scene: &Scene<'_>,
    repo: &Repository,
    snapshot: &Snapshot,
    (goal, is_earlier): (&TargetState, bool),
    only: Option<&HashSet<RepoPath>>,
) -> Result<Vec<RepoPath>, Error> {
    let directories = only.map(with_directories);
    let options = RestoreOptions {
        only,
        trusted: true,
        umask: snapshot.umask,
        index: scene.index,
        included: only,
        entered: directories.as_ref(),
        own: only,
        is_earlier,
        ..RestoreOptions::default()
    };
    let plan = restore::plan(repo, target_state::files(snapshot), goal.files(), options)?;
    Ok(plan.unmet(repo)?)
}

/// The paths and the directories above them.
fn with_directories(paths: &HashSet<RepoPath>) -> HashSet<RepoPath> {
    let above = |path: &RepoPath| {
        let bytes = path.as_bytes();
        let slashes = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        slashes.map(|(at, _)| RepoPath::from(&bytes[..at])).collect::<Vec<_>>()
    };
    paths.iter().flat_map(above).chain(paths.iter().cloned()).collect()
}

//! Whether the disk is as a goal has it.

use std::collections::HashSet;

use super::super::{
    Error, Scene,
    target_state::{self, TargetState},
};
use crate::{
    model::{path::RepoPath, plan::BlockReason},
    store::Repository,
    worktree::{
        journal::is_temporary,
        restore::{self, RestoreOptions, RestorePlan},
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
    Ok(plan(scene, repo, snapshot, (goal, is_earlier), only)?.unmet(repo)?)
}

/// The paths outside of `only` that are in a directory whose place a file or symlink of `only` takes: they came later. Those
/// that are ignored are among them.
pub(in crate::ops) fn displaced(
    scene: &Scene<'_>,
    repo: &Repository,
    snapshot: &Snapshot,
    (goal, is_earlier): (&TargetState, bool),
    only: &HashSet<RepoPath>,
) -> Result<Vec<RepoPath>, Error> {
    let plan = plan(scene, repo, snapshot, (goal, is_earlier), Some(only))?;
    let mut paths = plan.displaced(only);
    let is_unsaved = |why: &BlockReason| matches!(why, BlockReason::Ignored | BlockReason::NotHeld(_));
    let in_the_way = plan.blocked.into_iter().filter(|blocked| is_unsaved(&blocked.why));
    let in_the_way = in_the_way.map(|blocked| blocked.path);
    // A file that a killed command was writing goes by itself.
    paths.extend(in_the_way.filter(|path| !only.contains(path) && !is_temporary(path.as_bytes())));
    Ok(paths)
}

fn plan(
    scene: &Scene<'_>,
    repo: &Repository,
    snapshot: &Snapshot,
    (goal, is_earlier): (&TargetState, bool),
    only: Option<&HashSet<RepoPath>>,
) -> Result<RestorePlan, Error> {
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
    Ok(restore::plan(
        repo,
        target_state::files(snapshot),
        goal.files(),
        options,
    )?)
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

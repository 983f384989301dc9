//! Work that came after an interruption: files that are neither as an interrupted operation found them nor as it makes
//! them. Going on or back would replace it, so it is refused.

use std::collections::BTreeSet;

use super::{Error, Scene, apply, clean, compose, plan_runner, restore, restore::short, undo as taking_back};
use crate::{
    model::path::RepoPath,
    store::{
        ObjectId, Repository,
        checkpoint::{self, object_id},
        objects::Writer,
        tree,
    },
    worktree::{self, restore::TEMPORARY},
};

/// Target state of an interrupted operation.
pub(super) struct InterruptedTarget {
    /// The tree.
    pub(super) tree: Option<ObjectId>,
    /// The paths that are meant, if not all are.
    pub(super) only: Option<BTreeSet<RepoPath>>,
}

/// Refuses with the paths, if there are any. Going `back` concerns all files, going on only those that are meant.
pub(super) fn refuse(scene: &Scene<'_>, noted: &plan_runner::PlanJournal, back: bool) -> Result<(), Error> {
    let before = tree_of(scene, object_id(&noted.safety))?;
    let writer = Writer::memory(scene.repo);
    let mut present = compose::present(scene, &writer, true, &[])?;
    let aim_in = |overlay: &Repository| match noted.operation.as_str() {
        "undo" | "redo" => taking_back::interrupted_target(scene, noted),
        "apply" => apply::interrupted_target(scene, noted, overlay),
        clean::OPERATION => clean::aim(noted, overlay),
        _ => restore::interrupted_target(scene, noted),
    };
    let mut overlay = writer.overlay(scene.repo);
    let mut aim = aim_in(&overlay)?;
    if let (Some(snapshot), Some(only)) = (&mut present.snapshot, &aim.only) {
        worktree::restore::enter(scene.repo, &writer, snapshot, only)?;
        // The merge of an apply is in the old one alone.
        overlay = writer.overlay(scene.repo);
        aim = aim_in(&overlay)?;
    }
    let now = present.snapshot.as_ref().map(|snapshot| snapshot.tree);
    let since = differ(&overlay, before, now)?;
    if since.is_empty() {
        return Ok(());
    }
    let not_made = differ(&overlay, aim.tree, now)?;
    let is_meant = |path: &RepoPath| aim.only.as_ref().is_none_or(|only| only.contains(path));
    let is_newer = |path: &RepoPath| {
        if is_temporary(path) {
            return false;
        }
        // What was not meant was not made by the operation, however it is.
        if is_meant(path) { not_made.contains(path) } else { back }
    };
    let paths: Vec<_> = since.into_iter().filter(is_newer).collect();
    if paths.is_empty() {
        Ok(())
    } else {
        Err(Error::NewerWork { paths })
    }
}

/// The tree of the files of a checkpoint.
pub(super) fn tree_of(scene: &Scene<'_>, id: ObjectId) -> Result<Option<ObjectId>, Error> {
    let checkpoint = checkpoint::load(scene.repo, id).map_err(Error::damaged(short(id)))?;
    Ok(checkpoint.document.snapshot.map(|files| object_id(&files.tree)))
}

/// The paths that differ.
pub(super) fn differ(repo: &Repository, a: Option<ObjectId>, b: Option<ObjectId>) -> Result<BTreeSet<RepoPath>, Error> {
    let changes = tree::diff(repo, a, b, tree::Renames::Off)?;
    Ok(changes.into_iter().map(|change| change.path).collect())
}

fn is_temporary(path: &RepoPath) -> bool {
    let name = path.as_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    name.starts_with(TEMPORARY.as_bytes())
}

//! Work that came after an interruption: files that are neither as an interrupted operation found them nor as it makes
//! them. Going on or back would replace it, so it is refused. Both are reported by the bytes on the disk.

use std::collections::HashSet;

use super::{
    Error, Scene, apply, clean, compose, merge, plan_runner, restore, restore::short, target_state::TargetState,
    undo as taking_back,
};
use crate::{
    model::path::RepoPath,
    store::{
        Repository,
        checkpoint::{self, object_id},
        objects::Writer,
    },
    worktree::{
        self,
        restore::{TEMPORARY, journal::Journal},
    },
};

/// Refuses with the paths, if there are any among those that the operation changes.
pub(super) fn refuse(scene: &Scene<'_>, journal: &Journal, noted: &plan_runner::PlanJournal) -> Result<(), Error> {
    let only: Option<HashSet<RepoPath>> = journal.paths.clone().map(|paths| paths.into_iter().collect());
    let writer = Writer::memory(scene.repo);
    let mut present = compose::present(scene, &writer, true, &[])?;
    if let (Some(only), Some(snapshot)) = (&only, &mut present.snapshot) {
        worktree::restore::enter(scene.repo, &writer, snapshot, only)?;
    }
    let Some(snapshot) = &present.snapshot else {
        return Ok(());
    };
    let overlay = writer.overlay(scene.repo);
    let subject = short(object_id(&noted.safety));
    let before = checkpoint::load(scene.repo, object_id(&noted.safety)).map_err(Error::damaged(&*subject))?;
    let before = TargetState::of(scene, &before, &subject)?;
    let since = plan_runner::unmet(scene, &overlay, snapshot, &before, only.as_ref())?;
    if since.is_empty() {
        return Ok(());
    }
    let aim = aim(scene, noted, &overlay, &present)?;
    let not_made = plan_runner::unmet(scene, &overlay, snapshot, &aim, only.as_ref())?;
    let not_made: HashSet<RepoPath> = not_made.into_iter().collect();
    let is_newer = |path: &RepoPath| not_made.contains(path) && !is_temporary(path);
    let paths: Vec<_> = since.into_iter().filter(is_newer).collect();
    if paths.is_empty() {
        Ok(())
    } else {
        Err(Error::NewerWork { paths })
    }
}

/// Target state of an interrupted operation.
fn aim(
    scene: &Scene<'_>,
    noted: &plan_runner::PlanJournal,
    overlay: &Repository,
    present: &compose::CurrentSnapshot,
) -> Result<TargetState, Error> {
    match noted.operation.as_str() {
        "undo" | "redo" => taking_back::interrupted_target(scene, noted),
        "apply" => apply::interrupted_target(scene, noted, overlay),
        merge::OPERATION => merge::interrupted_target(scene, noted, overlay),
        clean::OPERATION => clean::interrupted_target(noted, overlay, present),
        _ => restore::interrupted_target(scene, noted, overlay),
    }
}

fn is_temporary(path: &RepoPath) -> bool {
    let name = path.as_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    name.starts_with(TEMPORARY.as_bytes())
}

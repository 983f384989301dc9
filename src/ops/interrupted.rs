//! Interrupted operations: finished by another run, or taken back.
//!
//! Work may have come after an interruption: files that are neither as an interrupted operation found them nor as it makes
//! them. Going on or back would replace it, so it is refused. Both are reported by the bytes on the disk.

use std::collections::HashSet;

use super::{
    Error, Scene, apply, clean, compose,
    ids::short,
    merge,
    plan_runner::{
        self, MeanwhilePolicy, OperationLocks, OperationWait, PathScope, PlanJob, PlanJournal, PlanOperation,
        ProgressCallback,
    },
    record::RecordFate,
    restore,
    restore_outcome::RestoreOutcome,
    session_choice,
    target_state::{TargetState, UnstagedChanges},
    undo as taking_back,
    unfinished::{self, OperationFate},
};
use crate::{
    model::path::RepoPath,
    store::{
        Repository,
        checkpoint::{self, object_id},
        objects::Writer,
        undo,
    },
    worktree::{
        self,
        journal::{self, Journal},
    },
};

/// Refuses with the paths, if there are any among those that the operation changes, or any that would have to make room for
/// them. `is_abort` is whether it goes back.
fn refuse(scene: &Scene<'_>, journal: &Journal, noted: &PlanJournal, is_abort: bool) -> Result<(), Error> {
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
    let since = plan_runner::unmet(scene, &overlay, snapshot, (&before, true), only.as_ref())?;
    if since.is_empty() && is_abort {
        return Ok(());
    }
    let aim = aim(scene, noted, &overlay, &present)?;
    let is_earlier = matches!(noted.operation, PlanOperation::Undo | PlanOperation::Redo);
    let target = if is_abort { (&before, true) } else { (&aim, is_earlier) };
    let displaced = match &only {
        Some(only) => plan_runner::displaced(scene, &overlay, snapshot, target, only)?,
        None => Vec::new(),
    };
    let not_made = plan_runner::unmet(scene, &overlay, snapshot, (&aim, is_earlier), only.as_ref())?;
    let not_made: HashSet<RepoPath> = not_made.into_iter().collect();
    let is_newer = |path: &RepoPath| not_made.contains(path) && !journal::is_temporary(path.as_bytes());
    let mut paths: Vec<_> = since.into_iter().filter(is_newer).chain(displaced).collect();
    paths.sort();
    paths.dedup();
    if paths.is_empty() {
        Ok(())
    } else {
        Err(Error::NewerWork { paths })
    }
}

/// Target state of an interrupted operation.
fn aim(
    scene: &Scene<'_>,
    noted: &PlanJournal,
    overlay: &Repository,
    present: &compose::CurrentSnapshot,
) -> Result<TargetState, Error> {
    match noted.operation {
        PlanOperation::Undo | PlanOperation::Redo => taking_back::interrupted_target(scene, noted),
        PlanOperation::Apply => apply::interrupted_target(scene, noted, overlay),
        PlanOperation::Merge => merge::interrupted_target(scene, noted, overlay),
        PlanOperation::Clean => clean::interrupted_target(noted, overlay, present),
        PlanOperation::Restore => restore::interrupted_target(scene, noted, overlay),
    }
}

/// How something that was interrupted is finished or taken back.
#[derive(Clone, Copy, Debug)]
pub struct Resume {
    /// Whether it is done although files were changed since.
    pub force: bool,
    /// Whether nothing is changed.
    pub dry_run: bool,
}

/// Finishes what was interrupted: plans again from the files as they are now.
pub fn resume(scene: &Scene<'_>, how: Resume, progress: ProgressCallback<'_>) -> Result<RestoreOutcome, Error> {
    let _locks = OperationLocks::take(scene, OperationWait::Patient, how.dry_run)?;
    let (journal, noted) = plan_runner::interruption(scene, how.dry_run)?;
    if !how.force {
        refuse(scene, &journal, &noted, false)?;
    }
    match noted.operation {
        PlanOperation::Undo | PlanOperation::Redo => taking_back::resume(scene, journal, noted, how.dry_run, progress),
        PlanOperation::Apply => apply::resume(scene, journal, &noted, how.dry_run, progress),
        PlanOperation::Merge => merge::resume(scene, journal, &noted, how.dry_run, progress),
        PlanOperation::Clean => clean::resume(scene, journal, &noted, how.dry_run, progress),
        PlanOperation::Restore => restore::resume(scene, journal, &noted, how.dry_run, progress),
    }
}

/// Goes back to the state before what was interrupted.
pub fn abort(scene: &Scene<'_>, how: Resume, progress: ProgressCallback<'_>) -> Result<RestoreOutcome, Error> {
    let _locks = OperationLocks::take(scene, OperationWait::Patient, how.dry_run)?;
    let (journal, noted) = plan_runner::interruption(scene, how.dry_run)?;
    if !how.force {
        refuse(scene, &journal, &noted, true)?;
    }
    let safety = object_id(&noted.safety);
    let subject = short(safety);
    let safety = checkpoint::load(scene.repo, safety).map_err(Error::damaged(&*subject))?;
    let goal = TargetState::of(scene, &safety, &subject)?;
    let job = PlanJob {
        operation: PlanOperation::Restore,
        summary: format!("before taking back an interrupted {}", noted.operation),
        scope: PathScope {
            only: journal.paths.clone().map(|paths| paths.into_iter().collect()),
            enters: true,
            trusted: true,
            include: how.force,
            index: noted.index,
            ..PathScope::default()
        },
        goal: &|_, _| Ok(goal.clone()),
        refuse: &|_, _, _| Ok(Vec::new()),
        meanwhile: MeanwhilePolicy::Replace,
        note: journal.what.clone(),
        journal: Some(journal),
        dry_run: how.dry_run,
        expectation: plan_runner::PlanExpectation::default(),
        progress,
    };
    let brought = plan_runner::apply_plan(scene, &job)?;
    let mut record = RecordFate::NotMeant;
    if brought.is_complete() && brought.refusals.is_empty() && !how.dry_run {
        if matches!(noted.operation, PlanOperation::Restore | PlanOperation::Apply) {
            unfinished::take_back(scene, &noted)?;
        }
        let last = match &noted.record {
            Some(change) => change.take_back(scene)?,
            None => None,
        };
        if last.is_some() {
            record = match session_choice::session_for_command(scene)? {
                Some(chosen) => RecordFate::Restored {
                    session: chosen.name,
                    changes: Vec::new(),
                },
                None => RecordFate::Same,
            };
        }
        forget(scene, &noted, last)?;
        journal::remove(scene.repo)?;
    }
    Ok(RestoreOutcome {
        operation: noted.operation,
        from: None,
        brought: Some(brought),
        unstaged: UnstagedChanges::default(),
        record,
        in_progress: OperationFate::NotMeant,
        dry_run: how.dry_run,
        aborted: true,
    })
}

/// Notes in the undo list that an operation that is taken back did not happen, if the list has it. `last` is the
/// number of the last operation in the draft, if the record went back.
fn forget(scene: &Scene<'_>, noted: &PlanJournal, last: Option<u64>) -> Result<(), Error> {
    match noted.operation {
        PlanOperation::Undo | PlanOperation::Redo => return taking_back::forget(scene, noted, last),
        PlanOperation::Merge => merge::forget(scene, noted)?,
        PlanOperation::Restore | PlanOperation::Apply | PlanOperation::Clean => {}
    }
    if undo::read(scene.repo)?.entry(noted.n).is_some() {
        undo::settle(scene.repo, noted.n, false, None)?;
    }
    if noted.operation == PlanOperation::Restore {
        restore::forget(scene, noted)?;
    }
    Ok(())
}

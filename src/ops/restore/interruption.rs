//! Interrupted operations: finished by another run, or taken back.

use super::{
    super::{
        Error, Scene, apply, clean, interrupted, merge, parts,
        plan_runner::{self, PathScope, PlanJob},
        session_choice,
        target_state::{TargetState, UnstagedChanges},
        undo as taking_back,
        unfinished::{self, OperationFate},
    },
    ProgressCallback, RecordFate, RestoreJournal, RestoreOutcome, RestoreRun, short,
};
use crate::{
    store::{
        self, Repository,
        checkpoint::{self, object_id},
        lock, refs, restored, undo,
    },
    worktree::restore::{index, journal},
};

/// Name of the command that was interrupted in this working tree.
pub fn interrupted(scene: &Scene<'_>) -> Result<Option<String>, Error> {
    let Some(journal) = journal::read(scene.repo)? else {
        return Ok(None);
    };
    Ok(Some(plan_runner::noted(&journal)?.operation))
}

/// Target state of an interrupted restore.
pub(in crate::ops) fn interrupted_target(
    scene: &Scene<'_>,
    noted: &plan_runner::PlanJournal,
    repo: &Repository,
) -> Result<TargetState, Error> {
    let note: RestoreJournal = read_note(noted)?;
    let target = object_id(&note.target);
    let subject = short(target);
    let checkpoint = checkpoint::load(scene.repo, target).map_err(Error::damaged(&*subject))?;
    let goal = TargetState::of(scene, &checkpoint, &subject)?;
    match &note.parts {
        Some(parts) => parts::target(repo, TargetState::before(scene, noted)?, &goal, parts),
        None => Ok(goal),
    }
}

/// Journal entry of an operation.
pub(in crate::ops) fn read_note<T: serde::de::DeserializeOwned>(noted: &plan_runner::PlanJournal) -> Result<T, Error> {
    serde_json::from_value(noted.note.clone()).map_err(|error| Error::Journal { why: error.to_string() })
}

/// The journal of what was interrupted, after the leftovers of its process are gone.
fn interruption(scene: &Scene<'_>, how: Resume) -> Result<journal::Journal, Error> {
    let Some(journal) = journal::read(scene.repo)? else {
        return Err(Error::NotInterrupted);
    };
    if !how.dry_run {
        refs::recover(scene.repo, scene.wait)?;
        store::sweep(scene.repo)?;
        index::unlock(scene.repo, scene.index, &journal.token)?;
    }
    Ok(journal)
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
    let _worktree = lock::worktree(scene.repo, scene.wait)?;
    let journal = interruption(scene, how)?;
    let noted = plan_runner::noted(&journal)?;
    if !how.force {
        interrupted::refuse(scene, &journal, &noted)?;
    }
    match noted.operation.as_str() {
        "undo" | "redo" => taking_back::resume(scene, journal, noted, how.dry_run, progress),
        "apply" => apply::resume(scene, journal, &noted, how.dry_run, progress),
        merge::OPERATION => merge::resume(scene, journal, &noted, how.dry_run, progress),
        clean::OPERATION => clean::resume(scene, journal, &noted, how.dry_run, progress),
        _ => {
            let note: RestoreJournal = read_note(&noted)?;
            let target = object_id(&note.target);
            let checkpoint = checkpoint::load(scene.repo, target).map_err(Error::damaged(short(target)))?;
            let run = RestoreRun {
                scene,
                note,
                checkpoint,
                files: true,
                reverts: true,
                expected: None,
                dry_run: how.dry_run,
                progress,
            };
            run.restore(Some((journal, noted.record)))
        }
    }
}

/// Goes back to the state before what was interrupted.
pub fn abort(scene: &Scene<'_>, how: Resume, progress: ProgressCallback<'_>) -> Result<RestoreOutcome, Error> {
    let _worktree = lock::worktree(scene.repo, scene.wait)?;
    let journal = interruption(scene, how)?;
    let noted = plan_runner::noted(&journal)?;
    if !how.force {
        interrupted::refuse(scene, &journal, &noted)?;
    }
    let safety = object_id(&noted.safety);
    let subject = short(safety);
    let safety = checkpoint::load(scene.repo, safety).map_err(Error::damaged(&*subject))?;
    let goal = TargetState::of(scene, &safety, &subject)?;
    let job = PlanJob {
        operation: "restore",
        summary: format!("before taking back an interrupted {}", noted.operation),
        scope: PathScope {
            only: journal.paths.clone().map(|paths| paths.into_iter().collect()),
            enters: true,
            trusted: true,
            include: true,
            index: noted.index,
            ..PathScope::default()
        },
        goal: &|_, _| Ok(goal.clone()),
        refuse: &|_, _, _| Ok(Vec::new()),
        note: journal.what.clone(),
        journal: Some(journal),
        dry_run: how.dry_run,
        expectation: plan_runner::PlanExpectation::default(),
        progress,
    };
    let brought = plan_runner::apply_plan(scene, &job)?;
    let mut record = RecordFate::NotMeant;
    if brought.is_complete() && brought.refusals.is_empty() && !how.dry_run {
        if matches!(noted.operation.as_str(), "restore" | "apply") {
            unfinished::take_back(scene, &noted)?;
        }
        let last = match &noted.record {
            Some(change) => change.take_back(scene)?,
            None => None,
        };
        if last.is_some() {
            record = match session_choice::session_for_command(scene)? {
                Some(chosen) => RecordFate::Restored(chosen.name),
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

/// Lets the undo list say that an operation that is taken back did not happen, if it says that it did. `last` is the
/// number of the last operation in the draft, if the record went back.
fn forget(scene: &Scene<'_>, noted: &plan_runner::PlanJournal, last: Option<u64>) -> Result<(), Error> {
    if matches!(noted.operation.as_str(), "undo" | "redo") {
        return taking_back::forget(scene, noted, last);
    }
    if noted.operation == merge::OPERATION {
        merge::forget(scene, noted)?;
    }
    if undo::read(scene.repo)?.entry(noted.n).is_some() {
        undo::settle(scene.repo, noted.n, false, None)?;
    }
    if noted.operation == "restore" {
        let note: RestoreJournal = read_note(noted)?;
        restored::write(scene.repo, note.earlier.as_ref())?;
    }
    Ok(())
}

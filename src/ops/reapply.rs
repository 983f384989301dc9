//! `resume --apply` and `resume --restore`: the saved files of a session back in the working tree, staged ones staged.

use super::{
    Error, Scene,
    apply::{self, ApplyOutcome},
    clean,
    plan_runner::{AppliedPlan, PlanOperation, ProgressCallback},
    put_aside,
    record::RecordFate,
    restore,
    restore_outcome::{RestoreOutcome, RestoreSource},
    returned, select,
    target_state::UnstagedChanges,
    unfinished::OperationFate,
};
use crate::{
    model::{
        path::RepoPath,
        selector::{Base, Selector},
    },
    store::{
        checkpoint::{Checkpoint, oid},
        objects::Writer,
    },
};

/// How the files come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The saved changes are merged into the working tree. Where that is as HEAD has it, and HEAD as at save time, every
    /// file and the index become exactly what was saved.
    Apply,
    /// The files become what was saved, and the index where HEAD is as at save time.
    Restore,
}

/// Request to apply changes again.
#[derive(Clone, Debug)]
pub struct Request {
    /// The checkpoint.
    pub selector: Selector,
    /// How.
    pub way: Way,
    /// The directory that the command was started in, relative to the root of the working tree.
    pub directory: RepoPath,
    /// Whether nothing is changed.
    pub dry_run: bool,
    /// Whether the session is meant, not just this checkpoint, which is its latest: then work that `pause --clean` removed
    /// before it comes back as well.
    pub is_session: bool,
}

/// Brings the files of a checkpoint back. Where nothing of them is missing, the latest work before it that was put aside
/// and is missing.
pub fn reapply(scene: &Scene<'_>, request: &Request, progress: ProgressCallback<'_>) -> Result<ApplyOutcome, Error> {
    let checkpoint = select::checkpoint(scene, &request.selector)?.checkpoint;
    let (mut asides, mut elsewhere) = (Vec::new(), None);
    if request.is_session && request.way == Way::Apply {
        let writer = Writer::memory(scene.repo);
        elsewhere = put_aside::committed_elsewhere(scene, &writer, &checkpoint)?;
        for aside in put_aside::buried(scene, &checkpoint)? {
            if put_aside::committed_elsewhere(scene, &writer, &aside)?.is_none() {
                asides.push(aside);
            }
        }
    }
    if let (Some(elsewhere), []) = (&elsewhere, &*asides)
        && is_missing(scene, request, progress)?
    {
        return Err(Box::new(elsewhere.clone()).into());
    }
    if checkpoint.document.snapshot.is_none() && asides.is_empty() {
        return nothing(scene, request, &checkpoint);
    }
    let Some(latest) = asides.first() else {
        return bring(scene, request, &checkpoint, progress);
    };
    if checkpoint.document.snapshot.is_some() && elsewhere.is_none() && is_missing(scene, request, progress)? {
        return bring(scene, request, &checkpoint, progress);
    }
    for aside in &asides {
        let earlier = of(request, aside);
        if is_missing(scene, &earlier, progress)? {
            return bring(scene, &earlier, aside, progress);
        }
    }
    bring(scene, &of(request, latest), latest, progress)
}

/// Result where no files were saved: there is nothing to bring, and that is no failure.
fn nothing(scene: &Scene<'_>, request: &Request, checkpoint: &Checkpoint) -> Result<ApplyOutcome, Error> {
    let session = select::checkpoint(scene, &request.selector)?.session;
    Ok(ApplyOutcome {
        restored: RestoreOutcome {
            operation: match request.way {
                Way::Apply => PlanOperation::Apply,
                Way::Restore => PlanOperation::Restore,
            },
            from: Some(RestoreSource {
                id: checkpoint.entry.id,
                session,
                document: Box::new(checkpoint.document.clone()),
            }),
            brought: Some(AppliedPlan::nothing()),
            unstaged: UnstagedChanges::default(),
            record: RecordFate::NotMeant,
            in_progress: OperationFate::NotMeant,
            dry_run: request.dry_run,
            aborted: false,
        },
        conflicts: Vec::new(),
        kept: apply::KeptEdits::default(),
        resolved: Vec::new(),
    })
}

/// The request for another checkpoint.
fn of(request: &Request, checkpoint: &Checkpoint) -> Request {
    Request {
        selector: Selector {
            base: Base::Word(oid(checkpoint.entry.id).to_string()),
            steps: Vec::new(),
        },
        ..request.clone()
    }
}

/// Whether something of a checkpoint is to be brought back.
fn is_missing(scene: &Scene<'_>, request: &Request, progress: ProgressCallback<'_>) -> Result<bool, Error> {
    let planned = apply::apply(scene, &apply_request(scene, request, true), progress)?;
    Ok(planned.restored.brought.as_ref().is_some_and(|plan| !plan.is_nothing()))
}

fn apply_request(scene: &Scene<'_>, request: &Request, dry_run: bool) -> apply::ApplyRequest {
    apply::ApplyRequest {
        selector: request.selector.clone(),
        pathspecs: Vec::new(),
        directory: request.directory.clone(),
        dry_run,
        index: crate::store::read_only_directory(scene.repo).is_none(),
        force: false,
        reverse: false,
        merge_base: false,
        parts: None,
        resumed: true,
    }
}

fn bring(
    scene: &Scene<'_>,
    request: &Request,
    checkpoint: &Checkpoint,
    progress: ProgressCallback<'_>,
) -> Result<ApplyOutcome, Error> {
    // What was purged and came back is left out, and every file as it was saved would have it.
    let is_clean = clean::is_clean_at(scene, checkpoint)? && returned::purged(scene, checkpoint.entry.id)?.is_empty();
    let head = crate::store::facts::git_facts(scene.repo, None)?.head;
    let has_index = crate::store::read_only_directory(scene.repo).is_none();
    let restore = restore::RestoreRequest {
        selector: request.selector.clone(),
        pathspecs: Vec::new(),
        directory: request.directory.clone(),
        dry_run: true,
        index: head == checkpoint.document.git.head && has_index,
        files: true,
        record: false,
        // A clean working tree has nothing that came later, and what the checkpoint deleted is deleted again.
        overlay: false,
        force: false,
        reverts: false,
        expected: None,
        parts: None,
    };
    let restored = |dry_run: bool| {
        let request = restore::RestoreRequest {
            dry_run,
            ..restore.clone()
        };
        let restored = restore::restore(scene, &request, progress)?;
        Ok::<_, Error>(ApplyOutcome {
            restored,
            conflicts: Vec::new(),
            kept: apply::KeptEdits::default(),
            resolved: Vec::new(),
        })
    };
    if request.way == Way::Restore {
        return restored(request.dry_run);
    }
    if is_clean {
        let planned = restored(true)?;
        if planned.restored.refusals().is_empty() {
            return if request.dry_run { Ok(planned) } else { restored(false) };
        }
    }
    apply::apply(scene, &apply_request(scene, request, request.dry_run), progress)
}

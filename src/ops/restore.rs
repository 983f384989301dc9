//! `restore`: files, index and record as a checkpoint has them; and finishing or taking back what was interrupted.
//!
//! HEAD and branches never move. The record goes back only where it came from: into the draft of its own session, when
//! that is current.

use std::cell::Cell;

use serde::{Deserialize, Serialize};

use super::{
    Error, Scene, interrupted, pathspecs,
    plan_runner::{self, AppliedPlan, PathScope, PlanJob},
    record, refuse, save,
    select::{self, SelectedCheckpoint},
    target_state::{self, TargetState, UnstagedChanges},
    undo as taking_back,
};
use crate::{
    model::{document::Document, id::Oid, name::ShortName, path::RepoPath, selector::Selector},
    store::{
        self, ObjectId,
        checkpoint::{self, Checkpoint, object_id, oid},
        lock, refs, restored,
        undo::{self, Effect, UndoEntry},
    },
    worktree::restore::{index, journal},
};

/// Request of a restore.
#[derive(Clone, Debug)]
pub struct RestoreRequest {
    /// The checkpoint.
    pub selector: Selector,
    /// Which paths are meant; all without any. As they are typed in `folder`.
    pub pathspecs: Vec<Vec<u8>>,
    /// The directory the command was started in, relative to the root of the working tree; empty for the root.
    pub directory: RepoPath,
    /// Whether nothing is changed.
    pub dry_run: bool,
    /// Whether the index is restored as well.
    pub index: bool,
    /// Whether files are restored.
    pub files: bool,
    /// Whether the record is restored.
    pub record: bool,
    /// Whether later files stay.
    pub overlay: bool,
    /// Whether it is done although there are reasons not to.
    pub force: bool,
}

/// Result of a restore, or of its dry run.
#[derive(Debug)]
pub struct RestoreOutcome {
    /// The command: `restore`, `apply`, `undo` and so on.
    pub operation: String,
    /// The checkpoint the files came from; `None` if it was a state of the undo list.
    pub from: Option<RestoreSource>,
    /// Result for the files; `None` if they were not selected.
    pub brought: Option<AppliedPlan>,
    /// Staged content of the checkpoint that is not in the index now.
    pub unstaged: UnstagedChanges,
    /// Result for the record.
    pub record: RecordFate,
    /// Whether nothing was changed because that was asked for.
    pub dry_run: bool,
    /// Whether it went back instead of forth.
    pub aborted: bool,
}

impl RestoreOutcome {
    /// Why nothing was done.
    pub fn refusals(&self) -> &[refuse::Refusal] {
        self.brought.as_ref().map_or(&[], |brought| &brought.refusals)
    }
}

/// A checkpoint that files came from.
#[derive(Debug, Clone)]
pub struct RestoreSource {
    /// Its commit.
    pub id: ObjectId,
    /// The session it was found through.
    pub session: Option<ShortName>,
    /// Its document.
    pub document: Box<Document>,
}

/// Result of a restore for the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordFate {
    /// It was not meant.
    NotMeant,
    /// It is that of the checkpoint now, in the draft of this session.
    Restored(ShortName),
    /// It was that of the checkpoint already.
    Same,
    /// The checkpoint belongs to a session that is not current.
    OfAnotherSession,
}

/// Journal note of a restore.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RestoreJournal {
    pub(super) target: Oid,
    pub(super) session: Option<ShortName>,
    pathspecs: Vec<RepoPath>,
    #[serde(rename = "folder")]
    directory: RepoPath,
    index: bool,
    record: bool,
    overlay: bool,
    force: bool,
}

/// Called with the number of steps done and of all steps.
pub type ProgressCallback<'a> = &'a dyn Fn(usize, usize);

/// Restores a checkpoint.
pub fn restore(
    scene: &Scene<'_>,
    request: &RestoreRequest,
    progress: ProgressCallback<'_>,
) -> Result<RestoreOutcome, Error> {
    save::guard(scene)?;
    let _worktree = lock::worktree(scene.repo, scene.wait)?;
    begin(scene, request.dry_run)?;
    let SelectedCheckpoint {
        session, checkpoint, ..
    } = select::checkpoint(scene, &request.selector)?;
    let note = RestoreJournal {
        target: oid(checkpoint.entry.id),
        session,
        pathspecs: request
            .pathspecs
            .iter()
            .map(|spec| RepoPath::new(spec.clone()))
            .collect(),
        directory: request.directory.clone(),
        index: request.index,
        record: request.record,
        overlay: request.overlay,
        force: request.force,
    };
    let run = RestoreRun {
        scene,
        note,
        checkpoint,
        files: request.files,
        dry_run: request.dry_run,
        progress,
    };
    run.restore(None)
}

/// Refuses while something is interrupted, and cleans up behind killed processes.
pub(super) fn begin(scene: &Scene<'_>, dry_run: bool) -> Result<(), Error> {
    if let Some(journal) = journal::read(scene.repo)? {
        return Err(Error::Interrupted {
            operation: plan_runner::noted(&journal)?.operation,
        });
    }
    if !dry_run {
        refs::recover(scene.repo, scene.wait)?;
        store::sweep(scene.repo)?;
    }
    Ok(())
}

/// Name of the command that was interrupted in this working tree.
pub fn interrupted(scene: &Scene<'_>) -> Result<Option<String>, Error> {
    let Some(journal) = journal::read(scene.repo)? else {
        return Ok(None);
    };
    Ok(Some(plan_runner::noted(&journal)?.operation))
}

/// Target state of an interrupted restore.
pub(super) fn interrupted_target(
    scene: &Scene<'_>,
    noted: &plan_runner::PlanJournal,
) -> Result<interrupted::InterruptedTarget, Error> {
    let note: RestoreJournal =
        serde_json::from_value(noted.note.clone()).map_err(|error| Error::Journal { why: error.to_string() })?;
    Ok(interrupted::InterruptedTarget {
        tree: interrupted::tree_of(scene, object_id(&note.target))?,
        only: None,
    })
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
        interrupted::refuse(scene, &noted, false)?;
    }
    match noted.operation.as_str() {
        "undo" | "redo" => taking_back::resume(scene, journal, noted, how.dry_run, progress),
        "apply" => super::apply::resume(scene, journal, &noted, how.dry_run, progress),
        super::clean::OPERATION => super::clean::resume(scene, journal, &noted, how.dry_run, progress),
        _ => {
            let note: RestoreJournal =
                serde_json::from_value(noted.note).map_err(|error| Error::Journal { why: error.to_string() })?;
            let target = object_id(&note.target);
            let checkpoint = checkpoint::load(scene.repo, target).map_err(Error::damaged(short(target)))?;
            let run = RestoreRun {
                scene,
                note,
                checkpoint,
                files: true,
                dry_run: how.dry_run,
                progress,
            };
            run.restore(Some(journal))
        }
    }
}

/// Goes back to the state before what was interrupted.
pub fn abort(scene: &Scene<'_>, how: Resume, progress: ProgressCallback<'_>) -> Result<RestoreOutcome, Error> {
    let _worktree = lock::worktree(scene.repo, scene.wait)?;
    let journal = interruption(scene, how)?;
    let noted = plan_runner::noted(&journal)?;
    if !how.force {
        interrupted::refuse(scene, &noted, true)?;
    }
    let safety = object_id(&noted.safety);
    let subject = short(safety);
    let safety = checkpoint::load(scene.repo, safety).map_err(Error::damaged(&*subject))?;
    let goal = TargetState::of(scene, &safety, &subject)?;
    let job = PlanJob {
        operation: "restore",
        summary: format!("before taking back an interrupted {}", noted.operation),
        scope: PathScope {
            trusted: true,
            include: true,
            index: true,
            ..PathScope::default()
        },
        goal: &|_, _| Ok(goal.clone()),
        refuse: &|_, _, _| Ok(Vec::new()),
        note: journal.what.clone(),
        journal: Some(journal),
        dry_run: how.dry_run,
        progress,
    };
    let brought = plan_runner::apply_plan(scene, &job)?;
    if brought.is_complete() && brought.refusals.is_empty() && !how.dry_run {
        journal::remove(scene.repo)?;
    }
    Ok(RestoreOutcome {
        operation: noted.operation,
        from: None,
        brought: Some(brought),
        unstaged: UnstagedChanges::default(),
        record: RecordFate::NotMeant,
        dry_run: how.dry_run,
        aborted: true,
    })
}

/// Gives a working tree that was just made the files and the index of a checkpoint. The caller holds its lock.
pub(super) fn into_new(
    scene: &Scene<'_>,
    checkpoint: Checkpoint,
    session: &ShortName,
    progress: ProgressCallback<'_>,
) -> Result<AppliedPlan, Error> {
    if checkpoint.document.snapshot.is_none() {
        return Ok(AppliedPlan::nothing());
    }
    let note = RestoreJournal {
        target: oid(checkpoint.entry.id),
        session: Some(session.clone()),
        pathspecs: Vec::new(),
        directory: RepoPath::default(),
        index: true,
        record: false,
        overlay: false,
        force: true,
    };
    let run = RestoreRun {
        scene,
        note,
        checkpoint,
        files: true,
        dry_run: false,
        progress,
    };
    Ok(run.restore(None)?.brought.unwrap_or_else(AppliedPlan::nothing))
}

struct RestoreRun<'a> {
    scene: &'a Scene<'a>,
    note: RestoreJournal,
    checkpoint: Checkpoint,
    files: bool,
    dry_run: bool,
    progress: ProgressCallback<'a>,
}

impl RestoreRun<'_> {
    fn restore(self, journal: Option<journal::Journal>) -> Result<RestoreOutcome, Error> {
        let Self {
            scene,
            note,
            checkpoint,
            files,
            dry_run,
            progress,
        } = &self;
        let subject = note
            .session
            .as_ref()
            .map_or_else(|| short(checkpoint.entry.id), ToString::to_string);
        let continued = journal.is_some();
        let unstaged = Cell::new(UnstagedChanges::default());
        let brought = if *files {
            let goal = TargetState::of(scene, checkpoint, &subject)?;
            let scope = self.scope()?;
            let job = PlanJob {
                operation: "restore",
                summary: format!("before restoring {}", short(checkpoint.entry.id)),
                scope: scope.clone(),
                goal: &|repo, present| {
                    if let Some(paths) = scope.paths.as_ref().filter(|_| !continued) {
                        pathspecs::require(repo, paths, present, &goal, &[])?;
                    }
                    if let Some(present) = present.snapshot.as_ref().filter(|_| !note.index) {
                        let paths = scope.paths.clone();
                        unstaged.set(target_state::unstaged(repo, checkpoint, &goal, present, paths)?);
                    }
                    Ok(goal.clone())
                },
                refuse: &|repo, present, plan| {
                    if note.force || continued {
                        return Ok(Vec::new());
                    }
                    let mut refusals = refuse::by_place(scene, checkpoint, present)?;
                    refusals.extend(refuse::by_plan(scene, repo, checkpoint, present, plan)?);
                    Ok(refusals)
                },
                note: serde_json::to_value(note).unwrap_or_default(),
                journal,
                dry_run: *dry_run,
                progress: *progress,
            };
            Some(plan_runner::apply_plan(scene, &job)?)
        } else {
            None
        };
        let from = Some(RestoreSource {
            id: checkpoint.entry.id,
            session: note.session.clone(),
            document: Box::new(checkpoint.document.clone()),
        });
        let mut restored = RestoreOutcome {
            operation: "restore".to_owned(),
            from,
            brought,
            unstaged: unstaged.get(),
            record: RecordFate::NotMeant,
            dry_run: *dry_run,
            aborted: false,
        };
        let whole = restored
            .brought
            .as_ref()
            .is_none_or(|brought| brought.is_complete() && brought.refusals.is_empty());
        if whole {
            self.finish(&mut restored)?;
        }
        Ok(restored)
    }

    fn scope(&self) -> Result<PathScope, Error> {
        let note = &self.note;
        Ok(PathScope {
            paths: pathspecs::filter(self.scene, &note.pathspecs, &note.directory)?,
            only: None,
            enters: false,
            overlay: note.overlay,
            keep_ignored: true,
            trusted: note.force,
            include: note.force,
            index: note.index,
            cwd: (!note.directory.as_bytes().is_empty()).then(|| note.directory.clone()),
        })
    }

    /// The record, and what there is to take back.
    fn finish(&self, restored: &mut RestoreOutcome) -> Result<(), Error> {
        let scene = self.scene;
        let mut change = None;
        if self.note.record {
            (restored.record, change) = record::plan(scene, &self.checkpoint)?;
        }
        if self.dry_run {
            return Ok(());
        }
        let what = format!("restored {}", short(self.checkpoint.entry.id));
        if let (false, Some(change)) = (self.files, &change) {
            // No journal says that it was begun, so it is noted before it is done.
            let n = undo::mean(scene.repo, scene.now, "restore", what, vec![change.meant()])?;
            let last = change.make(scene)?;
            let _ = undo::settle(scene.repo, n, true, Some(last));
            return Ok(());
        }
        let effects = change
            .map(|change| change.made(scene))
            .transpose()?
            .into_iter()
            .collect();
        note_done(scene, "restore", what, restored.brought.as_ref(), effects)?;
        if self.files {
            restored::write(scene.repo, Some(&self.checkpoint.digest))?;
        }
        Ok(journal::remove(scene.repo)?)
    }
}

/// Writes an entry of the undo list for what was done, unless it was nothing.
pub(super) fn note_done(
    scene: &Scene<'_>,
    operation: &str,
    what: String,
    brought: Option<&AppliedPlan>,
    more: Vec<Effect>,
) -> Result<(), Error> {
    let mut effects = brought.map(AppliedPlan::effects).unwrap_or_default();
    effects.extend(more);
    if effects.is_empty() {
        return Ok(());
    }
    let n = match brought.and_then(|brought| brought.safety) {
        Some(safety) => safety.n,
        None => undo::next(scene.repo)?,
    };
    // A kill may have come between the note and the end of the journal.
    if undo::read(scene.repo)?.entries().any(|(entry, _)| entry.n == n) {
        return Ok(());
    }
    if let Some(brought) = brought {
        undo::write_changes(scene.repo, n, &brought.changes)?;
    }
    let entry = UndoEntry {
        n,
        at: scene.now,
        operation: operation.to_owned(),
        what,
        effects,
    };
    Ok(undo::note(scene.repo, entry)?)
}

/// The first digits of a commit's id.
pub(super) fn short(id: ObjectId) -> String {
    id.to_hex_with_len(8).to_string()
}

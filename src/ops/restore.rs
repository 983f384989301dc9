//! `restore`: files, index and record as a checkpoint has them; and finishing or taking back what was interrupted.
//!
//! HEAD and branches never move. The record goes back only where it came from: into the draft of its own session, when
//! that is current.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
};

use serde::{Deserialize, Serialize};

use super::{
    Error, Scene,
    ids::short,
    parts::{self, ChosenPart},
    pathspecs,
    plan_runner::{
        self, AppliedPlan, MeanwhilePolicy, OperationLocks, OperationWait, PathScope, PlanJob, PlanJournal,
        PlanOperation, ProgressCallback,
    },
    put_aside,
    record::{self, ClaimedRecord, RecordFate},
    refuse,
    restore_outcome::{self, RestoreOutcome, RestoreSource},
    select::{self, SelectedCheckpoint},
    session_choice,
    target_state::{self, TargetState, UnstagedChanges},
    unfinished::{self, OperationFate},
};
use crate::{
    model::{
        id::{Digest, Oid},
        name::ShortName,
        path::RepoPath,
        selector::Selector,
    },
    store::{
        self, Repository,
        checkpoint::{self, Checkpoint, object_id, oid},
        restored,
        undo::{self, UndoEntry},
    },
    worktree::journal::{self, Journal},
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
    /// Whether what was committed since may be taken back.
    pub reverts: bool,
    /// The token of the plan that a dry run showed: that plan is carried out or none.
    pub expected: Option<String>,
    /// The parts that were chosen; all without a choice.
    pub parts: Option<Vec<ChosenPart>>,
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
    /// The checkpoint that was restored last before this one.
    #[serde(default)]
    earlier: Option<Digest>,
    #[serde(default)]
    parts: Option<Vec<ChosenPart>>,
}

/// Restores a checkpoint.
pub fn restore(
    scene: &Scene<'_>,
    request: &RestoreRequest,
    progress: ProgressCallback<'_>,
) -> Result<RestoreOutcome, Error> {
    refuse::too_broad(scene)?;
    if request.index {
        store::require_own_directory(scene.repo, "the index stays as it is; the files alone can be written")?;
    }
    let _locks = OperationLocks::take(scene, OperationWait::Patient, request.dry_run)?;
    plan_runner::begin(scene, request.dry_run)?;
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
        earlier: restored::read(scene.repo)?,
        parts: request.parts.clone(),
    };
    let run = RestoreRun {
        scene,
        note,
        checkpoint,
        files: request.files,
        reverts: request.reverts,
        expected: request.expected.clone(),
        dry_run: request.dry_run,
        progress,
    };
    run.restore(None)
}

/// Parts of what a restore would change, chosen by a person. Changes nothing.
pub fn choose_parts(
    scene: &Scene<'_>,
    request: &RestoreRequest,
    chooser: parts::PartsChooser<'_>,
) -> Result<Vec<ChosenPart>, Error> {
    let selected = select::checkpoint(scene, &request.selector)?;
    let subject = short(selected.checkpoint.entry.id);
    let goal = TargetState::of(scene, &selected.checkpoint, &subject)?;
    let specs: Vec<RepoPath> = request.pathspecs.iter().cloned().map(RepoPath::new).collect();
    let paths = pathspecs::filter(scene, &specs, &request.directory)?;
    parts::choose(scene, chooser, &|repo, present| {
        if let Some(paths) = &paths {
            pathspecs::require(repo, paths, present, &goal, &[])?;
        }
        let mut paths = paths.clone();
        parts::restricted(repo, present, &goal, &mut |path, is_deleted| {
            paths.as_mut().is_none_or(|paths| paths.keeps(path)) && !(is_deleted && request.overlay)
        })
    })
}

/// Gives a working tree that was just made the files and the index of a checkpoint. The caller holds its lock.
pub(super) fn into_new(
    scene: &Scene<'_>,
    checkpoint: Checkpoint,
    session: &ShortName,
    overlay: bool,
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
        overlay,
        force: true,
        earlier: None,
        parts: None,
    };
    let run = RestoreRun {
        scene,
        note,
        checkpoint,
        files: true,
        reverts: true,
        expected: None,
        dry_run: false,
        progress,
    };
    Ok(run.restore(None)?.brought.unwrap_or_else(AppliedPlan::nothing))
}

/// Finishes a restore that was interrupted.
pub(super) fn resume(
    scene: &Scene<'_>,
    journal: Journal,
    noted: &PlanJournal,
    dry_run: bool,
    progress: ProgressCallback<'_>,
) -> Result<RestoreOutcome, Error> {
    let note: RestoreJournal = noted.parsed_note()?;
    let target = object_id(&note.target);
    let checkpoint = checkpoint::load(scene.repo, target).map_err(Error::damaged(short(target)))?;
    let run = RestoreRun {
        scene,
        note,
        checkpoint,
        files: true,
        reverts: true,
        expected: None,
        dry_run,
        progress,
    };
    run.restore(Some((journal, noted.record.clone())))
}

/// Lets the repository say again what was restored before a restore that is taken back.
pub(super) fn forget(scene: &Scene<'_>, noted: &PlanJournal) -> Result<(), Error> {
    let note: RestoreJournal = noted.parsed_note()?;
    Ok(restored::write(scene.repo, note.earlier.as_ref())?)
}

/// Target state of an interrupted restore.
pub(super) fn interrupted_target(
    scene: &Scene<'_>,
    noted: &PlanJournal,
    repo: &Repository,
) -> Result<TargetState, Error> {
    let note: RestoreJournal = noted.parsed_note()?;
    let target = object_id(&note.target);
    let subject = short(target);
    let checkpoint = checkpoint::load(scene.repo, target).map_err(Error::damaged(&*subject))?;
    let goal = TargetState::of(scene, &checkpoint, &subject)?;
    match &note.parts {
        Some(parts) => parts::target(repo, noted.start_state(scene)?, &goal, parts),
        None => put_aside::with_bytes(scene, repo, &checkpoint, goal),
    }
}

struct RestoreRun<'a> {
    scene: &'a Scene<'a>,
    note: RestoreJournal,
    checkpoint: Checkpoint,
    files: bool,
    reverts: bool,
    expected: Option<String>,
    dry_run: bool,
    progress: ProgressCallback<'a>,
}

impl RestoreRun<'_> {
    fn restore(self, interrupted: Option<(Journal, Option<record::RecordReset>)>) -> Result<RestoreOutcome, Error> {
        let Self {
            scene,
            note,
            checkpoint,
            files,
            reverts,
            dry_run,
            progress,
            ..
        } = &self;
        let subject = note
            .session
            .as_ref()
            .map_or_else(|| short(checkpoint.entry.id), ToString::to_string);
        let continued = interrupted.is_some();
        if !files && !note.force && !continued {
            self.refuse_claimed()?;
        }
        let (journal, change) = interrupted.unzip();
        let began = parts::began(scene, journal.as_ref())?;
        let unstaged = Cell::new(UnstagedChanges::default());
        let reversals = RefCell::new(Vec::new());
        let brought = if *files {
            let goal = TargetState::of(scene, checkpoint, &subject)?;
            let mut scope = self.scope()?;
            // What came since the interruption is none of its.
            scope.only = journal
                .as_ref()
                .and_then(|journal| Some(journal.paths.clone()?.into_iter().collect()));
            let job = PlanJob {
                operation: PlanOperation::Restore,
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
                    match &note.parts {
                        Some(parts) => parts::target(repo, parts::start(began.as_ref(), present)?, &goal, parts),
                        None => put_aside::with_bytes(scene, repo, checkpoint, goal.clone()),
                    }
                },
                refuse: &|repo, present, plan| {
                    let taken_back = refuse::reversals(scene, checkpoint, present, plan)?;
                    reversals.borrow_mut().clone_from(&taken_back);
                    if note.force || continued {
                        return Ok(Vec::new());
                    }
                    let mut refusals = refuse::by_place(scene, checkpoint, present)?;
                    if !taken_back.is_empty() && !reverts {
                        refusals.push(refuse::Refusal::Reverts { paths: taken_back });
                    }
                    refusals.extend(refuse::by_plan(scene, repo, checkpoint, present, plan)?);
                    Ok(refusals)
                },
                meanwhile: MeanwhilePolicy::Replace,
                note: serde_json::to_value(note).unwrap_or_default(),
                journal,
                dry_run: *dry_run,
                expectation: plan_runner::PlanExpectation {
                    state: self.record_state()?,
                    token: self.expected.as_deref(),
                },
                progress: *progress,
            };
            let mut brought = plan_runner::apply_plan(scene, &job)?;
            for reversal in reversals.into_inner() {
                brought.revert(&reversal);
            }
            Some(brought)
        } else {
            None
        };
        let from = Some(RestoreSource {
            id: checkpoint.entry.id,
            session: note.session.clone(),
            document: Box::new(checkpoint.document.clone()),
        });
        let mut restored = RestoreOutcome {
            operation: PlanOperation::Restore,
            from,
            brought,
            unstaged: unstaged.get(),
            record: RecordFate::NotMeant,
            in_progress: OperationFate::NotMeant,
            dry_run: *dry_run,
            aborted: false,
        };
        let whole = restored
            .brought
            .as_ref()
            .is_none_or(|brought| brought.is_complete() && brought.refusals.is_empty());
        if whole {
            self.finish(&mut restored, change.flatten())?;
        }
        Ok(restored)
    }

    /// Refuses to change nothing but the record of a session that another agent or person has claimed.
    fn refuse_claimed(&self) -> Result<(), Error> {
        if let Some(chosen) = session_choice::session_for_command(self.scene)?
            && let (RecordFate::Restored { .. }, _) = record::plan(self.scene, &self.checkpoint)?
        {
            refuse::claimed(self.scene, &chosen.name, &chosen.tip.document.session)?;
        }
        Ok(())
    }

    /// The claim of another one under which the record stays as it is, unless an earlier process has begun to change it.
    fn claimed(
        &self,
        planned: &RecordFate,
        begun: Option<&record::RecordReset>,
    ) -> Result<Option<ClaimedRecord>, Error> {
        if self.note.force || begun.is_some() || !matches!(planned, RecordFate::Restored { .. }) {
            return Ok(None);
        }
        let chosen = session_choice::session_for_command(self.scene)?;
        Ok(chosen.and_then(|chosen| ClaimedRecord::of(self.scene, &chosen)))
    }

    /// State of the record that the restore would replace.
    fn record_state(&self) -> Result<serde_json::Value, Error> {
        if !self.note.record {
            return Ok(serde_json::Value::Null);
        }
        let Some(chosen) = session_choice::session_for_command(self.scene)? else {
            return Ok(serde_json::Value::Null);
        };
        // A record that cannot be changed is a reason to refuse before any file is.
        record::plan(self.scene, &self.checkpoint)?;
        let id = &chosen.tip.document.session.id;
        let last = store::draft::read(self.scene.repo, id)?.last();
        Ok(serde_json::json!({ "session": id, "checkpoint": chosen.tip.digest, "draft": last }))
    }

    fn scope(&self) -> Result<PathScope, Error> {
        let note = &self.note;
        Ok(PathScope {
            paths: pathspecs::filter(self.scene, &note.pathspecs, &note.directory)?,
            only: None,
            enters: false,
            overlay: note.overlay,
            keep_ignored: true,
            trusted: note.force || put_aside::was_put_aside(self.scene, &self.checkpoint)?,
            include: note.force,
            index: note.index,
            cwd: (!note.directory.as_bytes().is_empty()).then(|| note.directory.clone()),
        })
    }

    /// The record, and what there is to take back. `begun` is the change of the record that an earlier process may have
    /// made.
    fn finish(&self, restored: &mut RestoreOutcome, begun: Option<record::RecordReset>) -> Result<(), Error> {
        let scene = self.scene;
        let mut change = None;
        let mut effects = Vec::new();
        if self.note.index && self.note.pathspecs.is_empty() {
            let safety = restored.brought.as_ref().and_then(|brought| brought.safety);
            let (fate, effect) = unfinished::set_up(
                scene,
                &self.checkpoint,
                UnstagedChanges::default(),
                (safety, self.dry_run),
            )?;
            restored.in_progress = fate;
            effects.extend(effect);
        }
        if self.note.record {
            (restored.record, change) = record::plan(scene, &self.checkpoint)?;
            if let Some(claimed) = self.claimed(&restored.record, begun.as_ref())? {
                restored.record = RecordFate::Claimed(claimed);
                change = None;
            }
        }
        if self.dry_run {
            return Ok(());
        }
        let what = format!("restored {}", short(self.checkpoint.entry.id));
        let made = match begun {
            Some(begun) => begun.complete(scene)?.map(|last| begun.effect(last)),
            None => None,
        };
        if let (Some(_), Some(chosen)) = (&made, session_choice::session_for_command(scene)?) {
            restored.record = RecordFate::Restored {
                session: chosen.name,
                changes: Vec::new(),
            };
        }
        let made = match (made, change) {
            (None, Some(change)) => {
                if !plan_runner::note_record(scene, &change)? {
                    // No journal records that it was begun, so it is noted before it is done.
                    let meant = UndoEntry {
                        n: undo::next(scene.repo)?,
                        at: scene.now,
                        operation: "restore".to_owned(),
                        what,
                        effects: vec![change.meant()],
                        standing: None,
                        files: None,
                        separated: None,
                        extended: BTreeMap::new(),
                    };
                    let n = undo::mean(scene.repo, meant)?;
                    let last = change.make(scene)?;
                    let _ = undo::settle(scene.repo, n, true, Some(last));
                    return self.note_restored();
                }
                Some(change.made(scene)?)
            }
            (made, _) => made,
        };
        effects.extend(made);
        let is_whole = self.files && self.note.pathspecs.is_empty() && self.note.parts.is_none();
        let files = Some(&self.checkpoint).filter(|_| is_whole);
        restore_outcome::note_done(
            scene,
            PlanOperation::Restore,
            what,
            restored.brought.as_ref(),
            effects,
            files,
        )?;
        self.note_restored()?;
        Ok(journal::remove(scene.repo)?)
    }

    fn note_restored(&self) -> Result<(), Error> {
        let (repo, digest) = (self.scene.repo, &self.checkpoint.digest);
        if self.files && self.note.pathspecs.is_empty() && self.note.parts.is_none() {
            restored::write(repo, Some(digest))?;
        } else if self.files {
            restored::write_part(repo, digest)?;
        }
        Ok(())
    }
}

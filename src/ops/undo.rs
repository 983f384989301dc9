//! `undo` and `redo`: the last thing that was done taken back, and done again.
//!
//! Each effect is taken back only if what it left is still there; otherwise the reason is given and nothing is done. A
//! tip that a ref leaves behind is kept on a ref of the undo list.

mod abandoned;
mod draft_rest;
mod files;
mod last;
mod later;
mod left;
mod moved;
mod parted;
mod passed;
mod pushed;
mod records;
mod request;
mod resolutions;
mod sessions;
mod unsaved;

use std::cell::RefCell;

use serde::{Deserialize, Serialize};

use abandoned::AbandonRule;
pub use abandoned::{AbandonedCheckpoints, saved_since};
pub use later::{UndoSubject, subject};
pub use passed::PassedEntry;
pub use pushed::BehindRemote;
use records::{RecordUndo, leaves_a_draft, part_only};
pub use request::{Direction, UndoRequest};

use super::{
    Error, Scene, compose,
    ids::short,
    plan_runner::{self, OperationLocks, OperationWait, PlanJournal, PlanOperation, ProgressCallback},
    record::{self, ClaimedRecord, RecordFate},
    ref_target,
    restore_outcome::RestoreOutcome,
    resume,
    safety::Safety,
    target_state::TargetState,
};
use crate::{
    model::id::Oid,
    os::CleanupFailure,
    store::{
        checkpoint::{self, object_id, oid},
        current,
        refs::{self, ExpectedValue, RefUpdate},
        session,
        undo::{self, Effect, RecordStep, UndoEntry},
    },
    worktree::journal::{self, Journal},
};

/// A ref, what it is at, and what it is to be at; `None` is absence.
type RefEdit = (String, Option<Oid>, Option<Oid>);

/// Result of an undo or redo, or of its dry run.
#[derive(Debug)]
pub struct UndoOutcome {
    /// Which way.
    pub direction: Direction,
    /// Entry of the undo list.
    pub entry: UndoEntry,
    /// Result for the files; `None` if the action had changed none.
    pub files: Option<RestoreOutcome>,
    /// Refs that moved: name, what it was and what it is.
    pub refs: Vec<(String, Option<Oid>, Option<Oid>)>,
    /// Whether the record went back as well.
    pub record: bool,
    /// The record that stays, as another agent or person has claimed its session.
    pub claimed: Option<ClaimedRecord>,
    /// Working trees that stay although what made them was taken back: directory and branch. Those that are missing are left
    /// out.
    pub stays: Vec<(String, String)>,
    /// Checkpoints that left their session with an aborted merge.
    pub abandoned: Vec<AbandonedCheckpoints>,
    /// Sessions that are behind a remote now.
    pub behind: Vec<BehindRemote>,
    /// Later actions that stay, as their sessions were changed elsewhere.
    pub passed: Vec<PassedEntry>,
    /// Files of ours that could not be removed.
    pub left: Vec<CleanupFailure>,
}

/// Journal note of an undo.
#[derive(Debug, Serialize, Deserialize)]
struct UndoJournal {
    n: u64,
    force: bool,
    /// The safety checkpoint of the state to go to.
    #[serde(default)]
    target: Option<Oid>,
    /// In a redo, the number of the last operation in the draft as the undo left it, where that is known.
    #[serde(default)]
    left: Option<u64>,
    /// Whether it aborts a merge or apply in conflict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    aborts: bool,
    /// Whether the step before this one left the record as it was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    without_record: bool,
}

/// Takes the last operation back, or does the last one that was taken back again.
pub fn run(scene: &Scene<'_>, request: UndoRequest, progress: ProgressCallback<'_>) -> Result<UndoOutcome, Error> {
    let _locks = OperationLocks::take(scene, OperationWait::Patient, request.dry_run)?;
    plan_runner::begin(scene, request.dry_run)?;
    let list = undo::read(scene.repo)?;
    let nothing = Error::NothingTo {
        what: request.direction.word(),
    };
    let aborted = request.aborts.map(|n| abandoned::entry(&list, n)).transpose()?;
    let mut passed = Vec::new();
    let (entry, kept) = match (request.direction, &aborted) {
        (_, Some(entry)) => (entry, None),
        (Direction::Undo, None) if request.older => {
            let (entry, over) = passed::entry(scene, &list)?.ok_or(nothing)?;
            passed = over;
            (entry, None)
        }
        (Direction::Undo, None) => (list.undoable().ok_or(nothing)?, None),
        (Direction::Redo, None) => list.redoable().ok_or(nothing)?,
    };
    let mut entry = part_only(scene, entry, request.direction)?;
    if request.direction == Direction::Undo {
        abandoned::shorten(&mut entry);
    }
    let is_forced = request.direction == Direction::Undo && request.force;
    let abandoned = abandoned::extend(scene, &mut entry, AbandonRule::of(aborted.is_some(), is_forced))?;
    let length = list.length_at(entry.n);
    let mut taken = UndoRun {
        scene,
        entry: &entry,
        abandoned,
        kept,
        left: list.undone_last(entry.n),
        begun: None,
        without_record: list.is_without_record(entry.n),
        is_forced: request.force,
        request,
        progress,
    }
    .run(None)?;
    taken.passed = passed;
    let is_done = taken
        .files
        .as_ref()
        .and_then(|files| files.brought.as_ref())
        .is_none_or(plan_runner::AppliedPlan::is_done);
    if request.direction == Direction::Undo && !request.dry_run && is_done {
        // An undo of an older command passes over those that came since.
        undo::pass_over(scene.repo, length)?;
    }
    Ok(taken)
}

/// Finishes what was interrupted.
pub(super) fn resume(
    scene: &Scene<'_>,
    journal: Journal,
    noted: PlanJournal,
    dry_run: bool,
    progress: ProgressCallback<'_>,
) -> Result<RestoreOutcome, Error> {
    let invalid = |why: String| Error::Journal { why };
    let note: UndoJournal = noted.parsed_note()?;
    let list = undo::read(scene.repo)?;
    let (entry, known) = list
        .entry(note.n)
        .ok_or_else(|| invalid(format!("entry {} of the undo list is missing", note.n)))?;
    let direction = if noted.operation == PlanOperation::Redo {
        Direction::Redo
    } else {
        Direction::Undo
    };
    // Whether files had changed was asked before.
    let request = UndoRequest {
        direction,
        dry_run,
        force: true,
        displaces: true,
        older: true,
        aborts: note.aborts.then_some(note.n),
    };
    let mut entry = entry.clone();
    if direction == Direction::Undo {
        abandoned::shorten(&mut entry);
    }
    let is_forced = direction == Direction::Undo && note.force;
    let abandoned = abandoned::extend(scene, &mut entry, AbandonRule::of(note.aborts, is_forced))?;
    let taken = UndoRun {
        scene,
        entry: &entry,
        abandoned,
        // The list may say by now that it is done.
        kept: note.target.as_ref().filter(|_| direction == Direction::Redo).or(known),
        left: note.left.or_else(|| list.undone_last(entry.n)),
        begun: noted.record,
        // The list may have this step already.
        without_record: note.without_record,
        is_forced: note.force,
        request,
        progress,
    }
    .run(Some(journal))?;
    taken.files.ok_or(Error::NotInterrupted)
}

/// Target state of an interrupted undo or redo.
pub(super) fn interrupted_target(scene: &Scene<'_>, noted: &PlanJournal) -> Result<TargetState, Error> {
    let note: UndoJournal = noted.parsed_note()?;
    let list = undo::read(scene.repo)?;
    let gone = || Error::Journal {
        why: format!("entry {} of the undo list is missing", note.n),
    };
    let (entry, kept) = list.entry(note.n).ok_or_else(gone)?;
    let before = entry.files_before();
    let known = if noted.operation == PlanOperation::Redo {
        kept
    } else {
        before
    };
    let target = object_id(note.target.as_ref().or(known).ok_or_else(gone)?);
    let subject = short(target);
    let target = checkpoint::load(scene.repo, target).map_err(Error::damaged(&*subject))?;
    TargetState::of(scene, &target, &subject)
}

/// Notes in the list that an undo or redo that is taken back did not happen, if the list has it, or if the record has
/// got a new last operation.
pub(super) fn forget(scene: &Scene<'_>, noted: &PlanJournal, last: Option<u64>) -> Result<(), Error> {
    let note: UndoJournal = noted.parsed_note()?;
    let list = undo::read(scene.repo)?;
    let is_in_force = list.entries().find(|(entry, _)| entry.n == note.n).map(|(_, is)| is);
    let is_undo = noted.operation == PlanOperation::Undo;
    match is_in_force {
        Some(in_force) if last.is_none() && in_force == is_undo => Ok(()),
        Some(_) => {
            let last = if is_undo { last } else { last.or(note.left) };
            let record = RecordStep {
                last,
                is_left: note.without_record,
            };
            if is_undo {
                undo::redone(scene.repo, note.n, scene.now, record, None)?;
            } else {
                undo::undone(scene.repo, note.n, scene.now, note.target, record)?;
            }
            Ok(())
        }
        None => Ok(()),
    }
}

struct UndoRun<'a> {
    scene: &'a Scene<'a>,
    entry: &'a UndoEntry,
    /// Checkpoints after those that the entry ended at.
    abandoned: Vec<AbandonedCheckpoints>,
    /// In a redo, the safety checkpoint of the state to go to.
    kept: Option<&'a Oid>,
    /// In a redo, the number of the last operation in the draft as the undo left it, where that is known.
    left: Option<u64>,
    /// The change of the record that an earlier process may have made.
    begun: Option<record::RecordReset>,
    /// Whether the step before this one left the record as it was: then it is where this one leads.
    without_record: bool,
    /// Whether it is forced: then the record also changes where another agent or person has claimed its session, and files
    /// that came later make room.
    is_forced: bool,
    request: UndoRequest,
    progress: ProgressCallback<'a>,
}

impl UndoRun<'_> {
    fn run(&self, journal: Option<Journal>) -> Result<UndoOutcome, Error> {
        // First everything is looked at, then everything is done.
        let edits = self.edits()?;
        if self.is_undo() && !self.request.older && !self.request.force {
            last::check(self.scene, self.entry)?;
        }
        if self.is_undo() && !self.is_forced {
            unsaved::check(self.scene, self.entry, &edits, &self.request)?;
        }
        let behind = pushed::behind(self, &edits)?;
        let (record, claimed) = self.record()?;
        let displaced = RefCell::default();
        let files = self.files(journal, &displaced)?;
        let mut taken = UndoOutcome {
            direction: self.request.direction,
            entry: self.entry.clone(),
            refs: edits
                .iter()
                .map(|(name, from, to)| (name.clone(), from.clone(), to.clone()))
                .collect(),
            record: record.is_some(),
            claimed,
            files: None,
            stays: self.stays(),
            abandoned: self.abandoned.clone(),
            behind,
            passed: Vec::new(),
            left: Vec::new(),
        };
        let (whole, safety) = match &files {
            Some(brought) => (brought.is_done(), brought.safety),
            None => (true, None),
        };
        taken.files = files.map(|brought| RestoreOutcome {
            operation: self.request.direction.operation(),
            from: None,
            brought: Some(brought),
            unstaged: super::target_state::UnstagedChanges::default(),
            record: RecordFate::NotMeant,
            in_progress: super::unfinished::OperationFate::NotMeant,
            dry_run: self.request.dry_run,
            aborted: false,
        });
        if self.request.dry_run || !whole {
            return Ok(taken);
        }
        if let Some(brought) = taken.files.as_ref().and_then(|files| files.brought.as_ref()) {
            self.note_displaced(brought, &displaced.into_inner())?;
        }
        if !self.abandoned.is_empty() {
            // A redo brings them back with the rest.
            undo::note(self.scene.repo, self.entry.clone())?;
        }
        taken.left = self.move_refs(&edits)?;
        let mut begun = !edits.is_empty();
        match self.rest(record, (taken.claimed.is_some(), safety), &mut begun) {
            Ok(()) if taken.files.is_none() => Ok(taken),
            Ok(()) => {
                journal::remove(self.scene.repo)?;
                Ok(taken)
            }
            // Otherwise there is a journal, and its cost is reported.
            Err(error) if begun && taken.files.is_none() => Err(Error::PartiallyApplied {
                source: Box::new(error),
                remedy: format!(
                    "it is half done; do the rest: git checkpoint {}",
                    self.request.direction.word()
                ),
            }),
            Err(error) => Err(error),
        }
    }

    /// Work after the ref transaction; `is_left` says that the record stays, and `begun` becomes true when part is done.
    fn rest(
        &self,
        record: Option<RecordUndo<'_>>,
        (is_left, safety): (bool, Option<Safety>),
        begun: &mut bool,
    ) -> Result<(), Error> {
        let scene = self.scene;
        if leaves_a_draft(self.entry) {
            // Also when a killed undo has moved the refs already: what is there is not carried twice.
            for (from, to) in self.draft_sides()? {
                super::chat::carry(scene, from.as_ref(), to.as_ref(), self.is_undo())?;
            }
        }
        let last = record.map(|change| self.put_record(&change)).transpose()?;
        *begun |= last.is_some();
        super::unfinished::turn(scene, &self.entry.effects, self.is_undo())?;
        parted::carry(scene, self.entry, self.is_undo())?;
        resolutions::turn(scene, self.entry, self.is_undo())?;
        self.current()?;
        if let (true, Some(files)) = (
            self.is_undo() && self.entry.operation == PlanOperation::Clean.word(),
            &self.entry.files,
        ) {
            resume::unpause(scene, &files.session, &files.digest)?;
        }
        let n = self.entry.n;
        // A redo that was done before a kill needs no second line; an undo neither, and its line has the right checkpoint.
        let list = undo::read(scene.repo)?;
        let in_force = list.entries().find(|(entry, _)| entry.n == n).map(|(_, is)| is);
        if in_force == Some(!self.is_undo()) {
            return Ok(());
        }
        let step = RecordStep { last, is_left };
        match self.request.direction {
            Direction::Undo => undo::undone(scene.repo, n, scene.now, safety.map(|safety| oid(safety.id)), step)?,
            Direction::Redo => {
                // What a forced redo replaced is what an undo of it goes back to.
                let before = safety.filter(|_| self.is_forced);
                undo::redone(scene.repo, n, scene.now, step, before.map(|safety| oid(safety.id)))?;
            }
        }
        Ok(())
    }

    fn is_undo(&self) -> bool {
        self.request.direction == Direction::Undo
    }

    fn stays(&self) -> Vec<(String, String)> {
        let made = self.entry.effects.iter().filter_map(|effect| match effect {
            Effect::WorkTree { path, branch } => Some((path.clone(), branch.clone())),
            _ => None,
        });
        let is_there = |(path, _): &(String, String)| std::path::Path::new(path).join(".git").exists();
        made.filter(|_| self.is_undo()).filter(is_there).collect()
    }

    /// Whether a session is at the conclusion of the merge that is undone, with checkpoints in between.
    fn is_concluded(&self, name: &str, now: Option<&Oid>, merge: Option<&Oid>) -> bool {
        let (Some(now), Some(merge)) = (now, merge) else {
            return false;
        };
        self.entry.operation == PlanOperation::Merge.word()
            && name.starts_with(session::PREFIX)
            && abandoned::since_merge(self.scene, object_id(now), merge).is_some()
    }

    /// The moves of refs: name, from, to.
    fn moves(&self) -> Vec<(&String, &Option<Oid>, &Option<Oid>)> {
        let mut out = Vec::new();
        for effect in &self.entry.effects {
            if let Effect::Ref { name, old, new } = effect {
                let (from, to) = if self.is_undo() { (new, old) } else { (old, new) };
                out.push((name, from, to));
            }
        }
        out
    }

    /// The same, without those that are made already, before a kill.
    fn edits(&self) -> Result<Vec<RefEdit>, Error> {
        let mut edits = Vec::new();
        for (name, from, to) in self.moves() {
            let now = refs::read(self.scene.repo, name)?.map(oid);
            if now == *to && from != to {
                continue;
            }
            if now != *from {
                let (why, mut hints) =
                    moved::fault(self.scene, self.entry, name, now.as_ref(), (from.as_ref(), to.as_ref()));
                if self.is_undo() && !self.request.older && self.has_older()? {
                    hints.push("undo what came before it: git checkpoint undo --older".to_owned());
                }
                let remedies = if self.is_undo() && self.is_concluded(name, now.as_ref(), from.as_ref()) {
                    (hints, "git checkpoint undo --force".to_owned()).into()
                } else {
                    hints.into()
                };
                return Err(Error::ChangedSince {
                    what: format!("{} '{}'", self.request.direction.word(), self.entry.what),
                    why,
                    remedies,
                });
            }
            if let Some(to) = to.as_ref().filter(|_| from != to) {
                self.check_target(name, to)?;
            }
            edits.push((name.clone(), from.clone(), to.clone()));
        }
        if let Some((name, twin)) = sessions::continued_elsewhere(self.scene, &edits)? {
            let deleted = format!("bring it back as a session of its own: git checkpoint undelete {name}");
            let is_deleted = self.entry.operation == "delete";
            return Err(Error::ChangedSince {
                what: format!("{} '{}'", self.request.direction.word(), self.entry.what),
                why: format!("session '{twin}' continues session '{name}' by now"),
                remedies: is_deleted.then_some(deleted).into_iter().collect::<Vec<_>>().into(),
            });
        }
        Ok(edits)
    }

    /// Whether `--older` passes over the action and finds another one.
    fn has_older(&self) -> Result<bool, Error> {
        let list = undo::read(self.scene.repo)?;
        let found = passed::entry(self.scene, &list)?;
        Ok(found.is_some_and(|(_, passed)| !passed.is_empty()))
    }

    /// Fails if a ref cannot go to a commit, as that or a part of it is missing.
    fn check_target(&self, name: &str, to: &Oid) -> Result<(), Error> {
        let Some(missing) = ref_target::missing(self.scene, name, object_id(to)) else {
            return Ok(());
        };
        let list = "empty the trash, and take what cannot be undone off the list: git checkpoint prune --trash";
        Err(Error::ChangedSince {
            what: format!("{} '{}'", self.request.direction.word(), self.entry.what),
            why: missing,
            remedies: vec![list.to_owned()].into(),
        })
    }

    fn move_refs(&self, moves: &[(String, Option<Oid>, Option<Oid>)]) -> Result<Vec<CleanupFailure>, Error> {
        let scene = self.scene;
        if moves.is_empty() {
            return Ok(Vec::new());
        }
        let message = format!("checkpoint: {} {}", self.request.direction.word(), self.entry.operation);
        let mut edits = Vec::new();
        let mut n = undo::next(scene.repo)?;
        let deletions = sessions::deletions(moves);
        for (name, from, to) in moves {
            let deletion = deletions
                .iter()
                .find(|(session, _)| name.starts_with(*session) && from.is_none());
            let id = |id: &Option<Oid>| id.as_ref().map(object_id);
            edits.push(RefUpdate {
                name: name.clone(),
                expected: id(from).map_or(ExpectedValue::Absent, ExpectedValue::Is),
                new: id(to),
                message: deletion.map_or_else(|| message.clone(), |(_, deletion)| deletion.clone()),
            });
            // What no ref may name any more is kept for the way back.
            let is_named = moves.iter().any(|(_, _, to)| to == from);
            if let Some(left) = id(from).filter(|_| !is_named) {
                edits.push(RefUpdate {
                    name: undo::ref_name(scene.repo, n),
                    expected: ExpectedValue::Absent,
                    new: Some(left),
                    message: message.clone(),
                });
                n += 1;
            }
        }
        Ok(refs::update(
            scene.repo,
            &edits,
            &compose::people(scene).committer,
            scene.wait,
        )?)
    }

    fn current(&self) -> Result<(), Error> {
        for effect in &self.entry.effects {
            let Effect::Current { before, after } = effect else {
                continue;
            };
            let (from, to) = if self.is_undo() {
                (after, before)
            } else {
                (before, after)
            };
            // A session that was made current since stays current.
            let now = current::read(self.scene.repo)?;
            current::write(self.scene.repo, &now.with_change(from, to))?;
        }
        Ok(())
    }
}

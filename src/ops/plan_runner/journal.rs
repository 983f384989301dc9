//! Journal note of an operation: enough to finish it and to take it back, record and all.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::super::{Error, Scene, ids::short, record, target_state::TargetState};
use crate::{
    model::{id::Oid, path::RepoPath},
    store::{
        self,
        checkpoint::{self, object_id},
        lock::{self, HeldLock},
        refs, tree,
    },
    worktree::{
        journal::{self, Journal},
        restore::index,
    },
};

/// A command that changes files, as journals and the undo list name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlanOperation {
    /// Files as a checkpoint has them.
    Restore,
    /// Changes of a checkpoint merged into the files.
    Apply,
    /// Files of another session merged into the files.
    Merge,
    /// Files as HEAD has them.
    Clean,
    /// Files as they were before an operation.
    Undo,
    /// Files as an operation left them.
    Redo,
}

impl PlanOperation {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Restore => "restore",
            Self::Apply => "apply",
            Self::Merge => "merge",
            Self::Clean => "clean",
            Self::Undo => "undo",
            Self::Redo => "redo",
        }
    }

    /// Its word with an article.
    pub(in crate::ops) fn with_article(self) -> &'static str {
        match self {
            Self::Restore => "a restore",
            Self::Apply => "an apply",
            Self::Merge => "a merge",
            Self::Clean => "a clean",
            Self::Undo => "an undo",
            Self::Redo => "a redo",
        }
    }

    /// The command whose `--continue` and `--abort` finish it or go back.
    pub fn command(self) -> &'static str {
        match self {
            Self::Apply | Self::Merge => self.word(),
            Self::Restore | Self::Clean | Self::Undo | Self::Redo => Self::Restore.word(),
        }
    }
}

impl fmt::Display for PlanOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Part of a job that the journal keeps.
#[derive(Serialize, Deserialize)]
pub(in crate::ops) struct PlanJournal {
    pub(in crate::ops) operation: PlanOperation,
    /// The number and commit of the first safety checkpoint.
    pub(in crate::ops) n: u64,
    pub(in crate::ops) safety: Oid,
    /// The files of that checkpoint without what is in it byte for byte for the way back alone.
    #[serde(default)]
    pub(in crate::ops) plain: Option<Plain>,
    /// Whether the index changes as well.
    #[serde(default = "yes")]
    pub(in crate::ops) index: bool,
    /// The change of the record, noted before it is made.
    #[serde(default)]
    pub(in crate::ops) record: Option<record::RecordReset>,
    /// By the operation.
    pub(in crate::ops) note: Value,
}

/// The present as a save would have it.
#[derive(Clone, Serialize, Deserialize)]
pub(in crate::ops) struct Plain {
    /// The tree of the files.
    pub(in crate::ops) tree: Oid,
    /// The paths that the safety checkpoint has byte for byte, and this tree as a save has them.
    pub(in crate::ops) kept: Vec<RepoPath>,
}

/// Journals of versions before this one do not say.
fn yes() -> bool {
    true
}

impl PlanJournal {
    /// Parses the note of our journal.
    pub(in crate::ops) fn of(journal: &Journal) -> Result<Self, Error> {
        crate::model::json::from_value(journal.what.clone()).map_err(|error| Error::Journal { why: error.to_string() })
    }

    /// The part that its operation wrote.
    pub(in crate::ops) fn parsed_note<T: DeserializeOwned>(&self) -> Result<T, Error> {
        crate::model::json::from_value(self.note.clone()).map_err(|error| Error::Journal { why: error.to_string() })
    }

    /// The files that the operation began with, as a save would have them.
    pub(in crate::ops) fn start_state(&self, scene: &Scene<'_>) -> Result<TargetState, Error> {
        let safety = object_id(&self.safety);
        let checkpoint = checkpoint::load(scene.repo, safety).map_err(Error::damaged(short(safety)))?;
        let mut goal = TargetState::of(scene, &checkpoint, "the safety checkpoint")?;
        // No ref holds that tree: a collection of garbage may have taken it.
        if let Some(plain) = &self.plain
            && tree::entry(scene.repo, object_id(&plain.tree), &RepoPath::from("x")).is_ok()
        {
            goal.tree = object_id(&plain.tree);
            goal.lists.raw.retain(|path| !plain.kept.contains(path));
        }
        Ok(goal)
    }
}

/// The command that was interrupted in this working tree. One that runs right now was not.
pub fn interrupted(scene: &Scene<'_>) -> Result<Option<PlanOperation>, Error> {
    if noted(scene)?.is_none() || lock::is_operation_running(scene.repo) {
        return Ok(None);
    }
    // One that ended meanwhile has left no journal.
    noted(scene)
}

/// The command that changes the files of this working tree right now, in another process.
pub fn running(scene: &Scene<'_>) -> Result<Option<PlanOperation>, Error> {
    if !lock::is_operation_running(scene.repo) {
        return Ok(None);
    }
    noted(scene)
}

/// The command that the journal is of.
fn noted(scene: &Scene<'_>) -> Result<Option<PlanOperation>, Error> {
    let Some(journal) = journal::read(scene.repo)? else {
        return Ok(None);
    };
    Ok(Some(PlanJournal::of(&journal)?.operation))
}

/// Time to wait for another command where two at once make no sense. Long enough for a process that only looks whether one
/// runs.
const AT_ONCE: Duration = Duration::from_millis(300);

/// Waiting for another command that changes files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ops) enum OperationWait {
    /// As for every lock: what is left to do is judged afterwards.
    Patient,
    /// Not at all: what the other one makes of the files is another beginning.
    AtOnce,
}

/// Locks that a command holds while it changes files; a dry run takes that of the working tree alone.
#[must_use]
pub(in crate::ops) struct OperationLocks {
    _worktree: HeldLock,
    _operation: Option<HeldLock>,
}

impl OperationLocks {
    /// Takes both.
    pub(in crate::ops) fn take(scene: &Scene<'_>, wait: OperationWait, dry_run: bool) -> Result<Self, Error> {
        let operation = if dry_run {
            None
        } else {
            Some(operation_lock(scene, wait)?)
        };
        Ok(Self {
            _worktree: lock::worktree(scene.repo, scene.wait)?,
            _operation: operation,
        })
    }
}

/// The lock of a command that is about to change files.
pub(in crate::ops) fn operation_lock(scene: &Scene<'_>, wait: OperationWait) -> Result<HeldLock, Error> {
    let patience = match wait {
        OperationWait::Patient => scene.wait,
        OperationWait::AtOnce => scene.wait.min(AT_ONCE),
    };
    match lock::operation(scene.repo, patience) {
        Err(store::Error::Busy { .. }) if wait == OperationWait::AtOnce => {
            let what = match noted(scene) {
                Ok(Some(operation)) => operation.with_article(),
                _ => "another command that changes files",
            };
            let what = what.to_owned();
            Err(store::Error::Running { what }.into())
        }
        held => Ok(held?),
    }
}

/// Refuses while something is interrupted or running in this working tree. A command that holds the
/// lock for changes of files calls [`begin`] instead.
pub(in crate::ops) fn refuse_pending(scene: &Scene<'_>) -> Result<(), Error> {
    if let Some(operation) = running(scene)? {
        let what = operation.with_article().to_owned();
        return Err(store::Error::Running { what }.into());
    }
    match interrupted(scene)? {
        Some(operation) => Err(Error::Interrupted { operation }),
        None => Ok(()),
    }
}

/// Refuses while something is interrupted, and cleans up behind killed processes. The caller holds the lock of the working
/// tree, so nothing is running.
pub(in crate::ops) fn begin(scene: &Scene<'_>, dry_run: bool) -> Result<(), Error> {
    if let Some(operation) = noted(scene)? {
        return Err(Error::Interrupted { operation });
    }
    if !dry_run {
        refs::recover(scene.repo, scene.wait)?;
        store::sweep(scene.repo)?;
    }
    Ok(())
}

/// The journal of what was interrupted, after the leftovers of its process are gone.
pub(in crate::ops) fn interruption(scene: &Scene<'_>, dry_run: bool) -> Result<(Journal, PlanJournal), Error> {
    let Some(journal) = journal::read(scene.repo)? else {
        return Err(Error::NotInterrupted);
    };
    if !dry_run {
        refs::recover(scene.repo, scene.wait)?;
        store::sweep(scene.repo)?;
        index::unlock(scene.repo, scene.index, &journal.token)?;
    }
    let noted = PlanJournal::of(&journal)?;
    Ok((journal, noted))
}

/// Notes a change of the record that is about to be made, if an operation is under way. Returns whether one is.
pub(in crate::ops) fn note_record(scene: &Scene<'_>, change: &record::RecordReset) -> Result<bool, Error> {
    let Some(mut journal) = journal::read(scene.repo)? else {
        return Ok(false);
    };
    let mut noted = PlanJournal::of(&journal)?;
    noted.record = Some(change.clone());
    journal.what = serde_json::to_value(noted).unwrap_or_default();
    journal::write(scene.repo, &journal)?;
    Ok(true)
}

//! Outcome of a command that changed files, and its entry in the undo list.

use std::collections::BTreeMap;

use super::{
    Error, Scene,
    plan_runner::{AppliedPlan, PlanOperation},
    record::RecordFate,
    refuse::Refusal,
    target_state::UnstagedChanges,
    unfinished::OperationFate,
};
use crate::{
    model::{document::Document, name::ShortName},
    store::{
        ObjectId,
        checkpoint::Checkpoint,
        restored,
        undo::{self, Effect, UndoEntry},
    },
};

/// Result of a restore, or of its dry run.
#[derive(Debug)]
pub struct RestoreOutcome {
    /// The command.
    pub operation: PlanOperation,
    /// The checkpoint the files came from; `None` if it was a state of the undo list.
    pub from: Option<RestoreSource>,
    /// Result for the files; `None` if they were not selected.
    pub brought: Option<AppliedPlan>,
    /// Staged content of the checkpoint that is not in the index now.
    pub unstaged: UnstagedChanges,
    /// Result for the record.
    pub record: RecordFate,
    /// Result for the operation of git that was in progress.
    pub in_progress: OperationFate,
    /// Whether nothing was changed because that was asked for.
    pub dry_run: bool,
    /// Whether it went back instead of forth.
    pub aborted: bool,
}

impl RestoreOutcome {
    /// Why nothing was done.
    pub fn refusals(&self) -> &[Refusal] {
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

/// Writes an entry of the undo list for what was done, unless it was nothing.
pub(super) fn note_done(
    scene: &Scene<'_>,
    operation: PlanOperation,
    what: String,
    brought: Option<&AppliedPlan>,
    more: Vec<Effect>,
    files: Option<&Checkpoint>,
) -> Result<(), Error> {
    if files.is_some() {
        // From here on what is missing of it is what a person wants.
        restored::write_unapplied(scene.repo, None)?;
    }
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
        operation: operation.word().to_owned(),
        what,
        effects,
        standing: None,
        files: files.map(|files| undo::CheckpointFiles {
            session: files.document.session.id.clone(),
            digest: files.digest.clone(),
        }),
        separated: None,
        extended: BTreeMap::new(),
    };
    Ok(undo::note(scene.repo, entry)?)
}

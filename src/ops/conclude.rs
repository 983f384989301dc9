//! The end of a merge whose conflicts were open: the first checkpoint of its session that has the resolution concludes it,
//! whether a person, a hook of git or the turn of an agent made it.

use super::{
    Scene,
    apply::{self, ResolutionState},
    receipt::{CheckpointOutcome, MergeFate},
};
use crate::model::document::CheckpointKind;

/// Concludes the merge that is pending in the session of a checkpoint, if that has the resolution, and notes in the
/// receipt what became of it.
///
/// The checkpoint is made: what cannot be read or written is no failure of it.
pub fn conclude(scene: &Scene<'_>, outcome: &mut CheckpointOutcome) {
    let is_planned = matches!(outcome, CheckpointOutcome::Planned(_));
    let (CheckpointOutcome::Saved(receipt)
    | CheckpointOutcome::Planned(receipt)
    | CheckpointOutcome::Unchanged(receipt)) = outcome;
    // Others are steps of commands, as of the merge itself.
    let is_work = matches!(
        receipt.kind(),
        CheckpointKind::Save
            | CheckpointKind::Pause
            | CheckpointKind::Finish
            | CheckpointKind::Commit
            | CheckpointKind::Turn
            | CheckpointKind::Edit
    );
    if receipt.unmerged > 0 || !is_work || receipt.document.snapshot.is_none() {
        return;
    }
    let Some((state, resolution)) = apply::concludable(scene, &receipt.session).ok().flatten() else {
        return;
    };
    receipt.merge = match (resolution, is_planned) {
        (ResolutionState::Resolved, true) => MergeFate::Resolved,
        (ResolutionState::Resolved, false) => match apply::conclude_with_save(scene, &state) {
            Ok(()) => MergeFate::Concluded(state),
            Err(error) => MergeFate::Failed(state, error.to_string()),
        },
        (ResolutionState::Reset(_), _) => MergeFate::Unresolved(state),
        (ResolutionState::Discarded(_), _) => MergeFate::Discarded(state),
    };
}

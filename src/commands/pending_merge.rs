//! A merge or apply whose conflicts are not resolved, named where a session is saved, ended or merged again.

use super::{Context, error::CommandError, opening::OpenedRepository};
use crate::{
    model::document::CheckpointKind,
    ops::{
        apply::{self, ResolutionState},
        receipt::{CheckpointOutcome, CheckpointReceipt},
    },
    render::count::CountedNoun,
    store::merge_state::{ConflictCommand, MergeState},
};

/// Concludes a merge of which a save has the resolution, and reports that; else warns as [`warn`] does.
pub(super) fn conclude_or_warn(context: &Context, opened: &OpenedRepository, outcome: &CheckpointOutcome) {
    let receipt = outcome.receipt();
    let is_save = matches!(
        receipt.kind(),
        CheckpointKind::Save | CheckpointKind::Pause | CheckpointKind::Finish
    );
    let has_files = receipt.document.snapshot.is_some();
    if receipt.unmerged > 0 || !is_save || !has_files {
        return warn(context, opened, receipt);
    }
    let scene = opened.scene();
    // What cannot be read is no reason to fail: the checkpoint is made.
    let Some((state, resolution)) = apply::concludable(&scene, &receipt.session).ok().flatten() else {
        return warn(context, opened, receipt);
    };
    match (resolution, outcome) {
        (ResolutionState::Resolved, CheckpointOutcome::Planned(_)) => {}
        (ResolutionState::Resolved, _) => match apply::conclude_with_save(&scene, &state) {
            Ok(()) => context.ui.status(format!(
                "the merge of '{}' is concluded: the checkpoint has its resolution",
                state.from
            )),
            Err(error) => context
                .ui
                .warning(&format!("the {}: {}", pending_words(&state), CommandError::from(error))),
        },
        _ => context.ui.warning(&format!(
            "the {}; to save its resolution: {}",
            pending_words(&state),
            continuation(&state)
        )),
    }
}

/// Warns of conflicts in the checkpoint, and of a merge that is left unfinished with the session.
fn warn(context: &Context, opened: &OpenedRepository, receipt: &CheckpointReceipt) {
    // What cannot be read is no reason to fail: the checkpoint is made.
    let pending = apply::in_conflict(&opened.scene()).ok().flatten();
    let is_left = matches!(receipt.kind(), CheckpointKind::Finish | CheckpointKind::Pause);
    if receipt.unmerged > 0 {
        let paths = CountedNoun::new(receipt.unmerged, "unmerged path");
        let (warning, then) = match &pending {
            Some(state) => (
                format!(
                    "the {}: {paths}, with conflict markers in the files",
                    pending_words(state)
                ),
                continuation(state),
            ),
            None => (
                format!("the checkpoint has {paths}, with conflict markers in the files"),
                "save again".to_owned(),
            ),
        };
        context.ui.warning(&warning);
        context
            .ui
            .hint("Conflict", &format!("resolve them, 'git add' them, then: {then}"));
    } else if let Some(state) = pending.filter(|state| is_left && state.operation == ConflictCommand::Merge) {
        context.ui.warning(&format!(
            "the {}; to save its resolution: {}",
            pending_words(&state),
            continuation(&state)
        ));
    }
}

fn pending_words(state: &MergeState) -> String {
    format!("{} of '{}' is pending", state.operation, state.from)
}

fn continuation(state: &MergeState) -> String {
    format!("git checkpoint {} --continue", state.operation)
}

/// The error with the merge that is pending in this working tree, which may be why the command fails.
pub(super) fn named(opened: &OpenedRepository, error: CommandError) -> CommandError {
    match apply::in_conflict(&opened.scene()) {
        Ok(Some(state)) if state.operation == ConflictCommand::Merge => {
            let continued = continuation(&state);
            error.hint(format!("the {}: {continued}, or --abort", pending_words(&state)))
        }
        _ => error,
    }
}

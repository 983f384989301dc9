//! A merge or apply whose conflicts are not resolved, named where a session is saved, ended or merged again.

use super::{Context, error::CommandError, opening::OpenedRepository};
use crate::{
    model::document::CheckpointKind,
    ops::{
        apply,
        receipt::{CheckpointReceipt, MergeFate},
    },
    render::count::CountedNoun,
    store::merge_state::{ConflictCommand, MergeState},
};

/// Reports a merge that a save concluded; else warns as [`warn`] does.
pub(super) fn report(context: &Context, opened: &OpenedRepository, receipt: &CheckpointReceipt) {
    match &receipt.merge {
        MergeFate::NotMeant => warn(context, opened, receipt),
        MergeFate::Resolved => {}
        MergeFate::Concluded(state) => {
            context.ui.status(format!(
                "the merge of '{}' is concluded: the checkpoint has its resolution",
                state.from
            ));
            warn_of_record(context, receipt.document.record.conflicts.len());
        }
        MergeFate::Failed(state, why) => context.ui.warning(&format!("the {}: {why}", pending_words(state))),
        MergeFate::Unresolved(state) => context.ui.warning(&format!(
            "the {}; to save its resolution: {}",
            pending_words(state),
            continuation(state)
        )),
        MergeFate::Discarded(state) => {
            let pending = pending_words(state);
            context
                .ui
                .warning(&format!("the {pending}, but nothing of it is in the files any more"));
            let (operation, continued) = (state.operation, continuation(state));
            context.ui.hint(
                "Conflict",
                &format!("to end it: git checkpoint {operation} --abort; to keep your side of it: {continued} --force"),
            );
        }
    }
}

/// Warns of conflicts in the checkpoint, and of a merge that is left unfinished with the session.
fn warn(context: &Context, opened: &OpenedRepository, receipt: &CheckpointReceipt) {
    // What cannot be read is no reason to fail: the checkpoint is made.
    let pending = apply::in_conflict(&opened.scene()).ok().flatten();
    let is_left = matches!(receipt.kind(), CheckpointKind::Finish | CheckpointKind::Pause);
    if receipt.unmerged > 0 {
        let paths = unmerged_words(receipt.unmerged, receipt.marked);
        let (warning, then) = match &pending {
            Some(state) => (format!("the {}: {paths}", pending_words(state)), continuation(state)),
            None => (format!("the checkpoint has {paths}"), "save again".to_owned()),
        };
        context.ui.warning(&warning);
        let resolve = if receipt.marked > 0 { "resolve them, " } else { "" };
        context
            .ui
            .hint("Conflict", &format!("{resolve}'git add' them, then: {then}"));
    } else if let Some(state) = pending.filter(|state| is_left && state.operation == ConflictCommand::Merge) {
        context.ui.warning(&format!(
            "the {}; to save its resolution: {}",
            pending_words(&state),
            continuation(&state)
        ));
    }
}

/// Unmerged paths, and how many of their files have conflict markers.
pub(super) fn unmerged_words(unmerged: usize, marked: usize) -> String {
    let paths = CountedNoun::new(unmerged, "unmerged path");
    match marked {
        0 => paths.to_string(),
        _ if marked >= unmerged => format!("{paths}, with conflict markers in the files"),
        _ => format!("{paths}, {marked} of them with conflict markers in the file"),
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

/// Says that conflicts of the record are left, which no file shows.
pub(super) fn warn_of_record(context: &Context, count: usize) {
    if count > 0 {
        let are = if count == 1 { "is" } else { "are" };
        let conflicts = CountedNoun::new(count, "conflict");
        context.ui.warning(&format!(
            "{conflicts} of the record {are} left; see: git checkpoint conflict"
        ));
    }
}

//! A compaction with a checkpoint of its own.

use super::{
    Error, Scene,
    chat::{
        ChatChange,
        compact::{CompactionRequest, PreparedSummary, complete, prepare},
        messages_in_words, running,
    },
    clear::PendingRule,
    receipt::CheckpointOutcome,
    save,
};
use crate::model::document::CheckpointKind;

/// Who wants a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionCause {
    /// A person or agent, with a command that undo reverts.
    Command,
    /// The length of the chat.
    Length,
}

/// Summarises and puts the summary on the session at once, with a checkpoint of its own. For a command what waits is saved
/// first, in another checkpoint: undo goes back to that one, so that it takes nothing but the summary.
pub fn compact(
    scene: &Scene<'_>,
    cause: CompactionCause,
    request: &mut CompactionRequest<'_>,
) -> Result<Option<(CheckpointOutcome, PreparedSummary)>, Error> {
    let Some(prepared) = prepare(scene, request, None)? else {
        return Ok(None);
    };
    let chosen = running(scene)?;
    let checkpoint = |kind| {
        let mut save = save::SaveRequest::new(kind);
        save.status = chosen.tip.document.session.status;
        save.start = false;
        save
    };
    if cause == CompactionCause::Command && PendingRule::of(scene, &chosen)? != PendingRule::Nothing {
        let mut first = checkpoint(CheckpointKind::Save);
        first.trigger = Some("before-compact".to_owned());
        save::save(scene, first)?;
    }
    let mut save = checkpoint(CheckpointKind::Compact);
    save.is_undoable = cause == CompactionCause::Command;
    save.summary = Some(format!(
        "compacted {} of the chat",
        messages_in_words(prepared.compaction.messages)
    ));
    save.chat = ChatChange::Compact(Box::new(prepared.clone()));
    let outcome = save::save(scene, save)?;
    (request.events)(complete(
        outcome.receipt().session.as_str(),
        &outcome.receipt().document,
    ));
    Ok(Some((outcome, prepared)))
}

//! A compaction with a checkpoint of its own.

use super::{
    Error, Scene,
    chat::{
        ChatChange,
        compact::{CompactionRequest, PreparedSummary, complete, prepare},
        messages_in_words, running,
    },
    receipt::CheckpointOutcome,
    save,
};
use crate::model::document::CheckpointKind;

/// Summarises and puts the summary on the session at once, with a checkpoint of its own.
pub fn compact(
    scene: &Scene<'_>,
    request: &mut CompactionRequest<'_>,
) -> Result<Option<(CheckpointOutcome, PreparedSummary)>, Error> {
    let Some(prepared) = prepare(scene, request, None)? else {
        return Ok(None);
    };
    let mut save = save::SaveRequest::new(CheckpointKind::Compact);
    save.status = running(scene)?.tip.document.session.status;
    save.start = false;
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

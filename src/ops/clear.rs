//! Clearing the chat: a checkpoint without it. What was there stays in the checkpoint before, so `undo` brings it back.
//! A checkpoint that is made first, of what waits, is part of it: undo goes back to the one before that, and what waited
//! waits again. So earlier entries of the undo list find the session as they left it.

use serde_json::{Map, Value, json};

use super::{
    Error, Scene,
    chat::{ChatChange, messages_in_words, running},
    receipt::CheckpointOutcome,
    record, save,
    session_choice::SessionChoice,
};
use crate::{
    model::{document::CheckpointKind, operation::Operation},
    store::{
        chat::{self as stored, PendingMessage},
        draft,
    },
};

/// Part of the chat to clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClearScope {
    /// The messages; the summary of earlier ones, the context, the agent description and the record stay.
    Messages,
    /// Besides these also the summary, the context, the agent description and the record.
    All,
}

/// Members of a record that clearing it empties.
const RECORD: [&str; 22] = [
    "accomplishments",
    "next_steps",
    "step",
    "phase",
    "tasks",
    "todos",
    "decisions",
    "blockers",
    "questions",
    "approvals",
    "fork_points",
    "delegations",
    "partitions",
    "resume_instructions",
    "memory_refs",
    "open_files",
    "agent_history",
    "checks",
    "iteration",
    "state",
    "extra",
    "attachments",
];

/// Rule for pending messages when the chat is cleared or compacted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PendingRule {
    Nothing,
    /// Messages, and changes of the record that an undo brings back into the draft.
    Plain,
    /// More than that: what was saved of it stays saved.
    Other,
}

impl PendingRule {
    pub(super) fn of(scene: &Scene<'_>, chosen: &SessionChoice) -> Result<Self, Error> {
        let document = &chosen.tip.document;
        let draft = draft::read(scene.repo, &document.session.id)?;
        let chat = stored::read(scene.repo, &document.session.id)?;
        let operations: Vec<_> = draft
            .after(&document.folded)
            .map(|(_, operation)| operation)
            .filter(|operation| operation.says_something())
            .collect();
        let entries: Vec<_> = chat.after(&document.folded).collect();
        if operations.is_empty() && entries.is_empty() {
            return Ok(Self::Nothing);
        }
        // These are about one checkpoint alone.
        let is_single = |record: &Value| {
            ["summary", "error", "attachments"]
                .iter()
                .any(|name| record.get(name).is_some())
        };
        let is_plain = |operation: &&Operation| {
            operation.session.is_none()
                && operation.log.is_none()
                && operation.step.is_none()
                && operation.unknown.is_empty()
                && !operation.record.as_ref().is_some_and(is_single)
        };
        let plain = operations.iter().all(is_plain)
            && entries
                .iter()
                .all(|entry| matches!(entry, PendingMessage::Message(_) | PendingMessage::Update { .. }));
        Ok(if plain { Self::Plain } else { Self::Other })
    }
}

/// Clears. What waits, if anything does, is saved first, in a checkpoint of its own, so that nothing is lost that was acknowledged. `None`
/// when there is nothing to clear.
pub fn clear(scene: &Scene<'_>, what: ClearScope) -> Result<Option<CheckpointOutcome>, Error> {
    let chosen = running(scene)?;
    let status = chosen.tip.document.session.status;
    let request = |kind| {
        let mut request = save::SaveRequest::new(kind);
        request.status = status;
        request.start = false;
        request
    };
    let waiting = PendingRule::of(scene, &chosen)?;
    let (mut document, mut first) = (chosen.tip.document.clone(), None);
    if waiting != PendingRule::Nothing {
        let mut before = request(CheckpointKind::Save);
        before.trigger = Some("before-clear".to_owned());
        let saved = save::save(scene, before)?;
        let receipt = saved.receipt();
        document = receipt.document.clone();
        let on_tip = receipt.parent == Some(chosen.tip.entry.id) && receipt.id.is_some();
        first = (on_tip && waiting == PendingRule::Plain).then(|| save::First {
            before: chosen.tip.entry.id,
            record: record::kept_value(&document.record),
        });
    }
    let nothing = match what {
        ClearScope::Messages => document.chat.is_none(),
        ClearScope::All => false,
    };
    if nothing {
        return Ok(None);
    }
    let messages = messages_in_words(document.chat.as_ref().map_or(0, |chat| chat.messages));
    let mut clearing = request(CheckpointKind::Clear);
    clearing.allow_empty = true;
    clearing.first = first;
    clearing.summary = Some(format!("cleared {messages} of the chat"));
    clearing.chat = ChatChange::ClearMessages;
    if what == ClearScope::All {
        clearing.chat = ChatChange::ClearAll;
        clearing.summary = Some(format!("cleared the chat ({messages}) and the record"));
        let members: Map<String, Value> = RECORD.iter().map(|name| ((*name).to_owned(), json!(null))).collect();
        clearing.changes.push(Value::Object(members));
    }
    Ok(Some(save::save(scene, clearing)?))
}

//! Clearing the chat: a checkpoint without it. What was there stays in the checkpoint before, so `undo` brings it back.

use serde_json::{Map, Value, json};

use super::{Change, Error, Scene, running, spoken};
use crate::{
    model::document::Kind,
    ops::{receipt::Outcome, save},
};

/// What to clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
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

/// Clears. What waits is saved first, in a checkpoint of its own, so that nothing is lost that was acknowledged. `None`
/// when there is nothing to clear.
pub fn clear(scene: &Scene<'_>, what: What) -> Result<Option<Outcome>, Error> {
    let chosen = running(scene)?;
    let status = chosen.tip.document.session.status;
    let request = |kind| {
        let mut request = save::Request::new(kind);
        request.status = status;
        request.start = false;
        request
    };
    let mut before = request(Kind::Save);
    before.trigger = Some("before-clear".to_owned());
    let saved = save::save(scene, before)?;
    let receipt = saved.receipt();
    let document = &receipt.document;
    let nothing = match what {
        What::Messages => document.chat.is_none(),
        What::All => false,
    };
    if nothing {
        return Ok(None);
    }
    let messages = spoken(document.chat.as_ref().map_or(0, |chat| chat.messages));
    let mut clearing = request(Kind::Clear);
    clearing.allow_empty = true;
    clearing.summary = Some(format!("cleared {messages} of the chat"));
    clearing.chat = Change::ClearMessages;
    if what == What::All {
        clearing.chat = Change::ClearAll;
        clearing.summary = Some(format!("cleared the chat ({messages}) and the record"));
        let members: Map<String, Value> = RECORD.iter().map(|name| ((*name).to_owned(), json!(null))).collect();
        clearing.changes.push(Value::Object(members));
    }
    Ok(Some(save::save(scene, clearing)?))
}

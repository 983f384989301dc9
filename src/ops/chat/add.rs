//! Adding to the chat: messages and the texts next to the record, appended to what waits, without their secrets.

use serde_json::{Map, Value};

use super::{
    super::{
        Error, Scene, ids,
        redact::{RedactedSecret, Redactor},
        session_choice,
    },
    has_ended, receiving, stored,
};
use crate::{
    model::{
        chat::{Message, Role},
        name::ShortName,
        time::Timestamp,
    },
    store::{chat::PendingMessage, identity},
};

/// A message to add.
#[derive(Debug)]
pub struct NewMessage {
    /// The role of the speaker.
    pub role: Role,
    /// A string or a list of blocks.
    pub content: Value,
    /// Metadata of the message.
    pub meta: Map<String, Value>,
    /// When it was said, unless now.
    pub at: Option<Timestamp>,
}

/// Receipt of an added message.
#[derive(Debug)]
pub struct MessageReceipt {
    /// The session.
    pub session: ShortName,
    /// The message.
    pub message: Message,
    /// Secrets found in it.
    pub redactions: Vec<RedactedSecret>,
}

/// Adds a message; it is on disk when this returns. Costs the same whatever the chat's length.
pub fn add(scene: &Scene<'_>, new: NewMessage) -> Result<MessageReceipt, Error> {
    let to = receiver(scene)?;
    let mut redactor = Redactor::new(scene)?;
    let mut message = Message {
        id: ids::item_id()?,
        at: new.at.unwrap_or(scene.now),
        role: new.role,
        agent: scene.agent.map(str::to_owned),
        content: new.content,
        meta: new.meta,
        unknown: Map::new(),
    };
    redact(&mut message, &mut redactor);
    append(scene, &to.id, &[PendingMessage::Message(message.clone())])?;
    Ok(MessageReceipt {
        session: to.name,
        message,
        redactions: redactor.found,
    })
}

/// Takes the secrets out of a message.
pub(in crate::ops) fn redact(message: &mut Message, redactor: &mut Redactor) {
    redactor.json(&mut message.content, "message");
    across_blocks(&mut message.content, redactor);
    for (members, place) in [(&mut message.meta, "message/meta"), (&mut message.unknown, "message")] {
        let mut value = Value::Object(std::mem::take(members));
        redactor.json(&mut value, place);
        if let Value::Object(clean) = value {
            *members = clean;
        }
    }
    if let Some(agent) = &mut message.agent {
        redactor.text(agent, "agent");
    }
    redactor.text(&mut message.id, "message/id");
}

/// Takes out secrets that extend across the borders of blocks of text, as programs that stream leave them.
fn across_blocks(content: &mut Value, redactor: &mut Redactor) {
    let Value::Array(blocks) = content else { return };
    let mut texts = Vec::new();
    for block in blocks {
        let is_text = block.get("type").and_then(Value::as_str) == Some("text");
        let text = if is_text {
            block.get_mut("text").and_then(as_text)
        } else if block.is_string() {
            as_text(block)
        } else {
            if let Some(inner) = block.get_mut("content") {
                across_blocks(inner, redactor);
            }
            None
        };
        match text {
            Some(text) => texts.push(text),
            None => redactor.across(&mut std::mem::take(&mut texts), "message"),
        }
    }
    redactor.across(&mut texts, "message");
}

fn as_text(value: &mut Value) -> Option<&mut String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// Adds to what waits of the session of this identity.
fn append(scene: &Scene<'_>, session_id: &str, entries: &[PendingMessage]) -> Result<(), Error> {
    let id = ids::item_id()?;
    stored::add(scene.repo, session_id, entries, || id, true, scene.wait)?;
    Ok(())
}

/// The session that something is added to.
struct Receiver {
    name: ShortName,
    id: String,
}

/// The one that [`receiving`] gives, without reading its latest checkpoint where that was noted.
fn receiver(scene: &Scene<'_>) -> Result<Receiver, Error> {
    if let Some((name, noted)) = session_choice::session_for_command_noted(scene)?
        && !has_ended(noted.status)
    {
        return Ok(Receiver { name, id: noted.id });
    }
    let chosen = receiving(scene)?;
    // Only saves the next one the reading.
    let _ = identity::note(scene.repo, &chosen.name, &chosen.tip);
    Ok(Receiver {
        id: chosen.tip.document.session.id,
        name: chosen.name,
    })
}

/// Replaces `context.md` or `agent.md` of the session with the next save. Gives its name and the secrets found.
pub fn set_text(scene: &Scene<'_>, name: &str, mut text: String) -> Result<(ShortName, Vec<RedactedSecret>), Error> {
    let to = receiver(scene)?;
    let mut redactor = Redactor::new(scene)?;
    redactor.text(&mut text, name);
    let entry = PendingMessage::Text {
        name: name.to_owned(),
        text,
    };
    append(scene, &to.id, &[entry])?;
    Ok((to.name, redactor.found))
}

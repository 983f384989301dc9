//! The chat of a foreign session in the stored form, as it grows from checkpoint to checkpoint.
//!
//! Written from its beginning in every import, because the same messages give the same chunks. What a message came with
//! and has no place of its own stays in it: under its own name, or with `foreign_` before a name that is read here.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::super::{
    Error,
    chat::{Length, compaction},
    redact::Redactor,
};
use crate::{
    formats,
    model::{
        chat::{Message, Role},
        document::Document,
        id::Digest,
        json,
        time::Timestamp,
    },
    store::{chat::Chunks, checkpoint::Siblings, objects::Writer},
};

/// The messages so far.
#[derive(Default)]
pub(super) struct ImportedChat {
    chunks: Chunks,
    ids: HashSet<String>,
    /// The bytes of each message's line.
    lengths: Vec<u64>,
    /// The digest of each message as its source has it.
    said: Vec<Digest>,
}

impl ImportedChat {
    /// Takes messages that came with a checkpoint of this time.
    pub(super) fn add(
        &mut self,
        writer: &Writer,
        messages: Vec<Value>,
        at: Timestamp,
        redactor: &mut Redactor,
    ) -> Result<(), Error> {
        let given: Vec<Digest> = messages
            .iter()
            .map(|message| Digest::of(&json::to_line(message)))
            .collect();
        // A later state of the same chat begins with all that was said before.
        let known = if given.starts_with(&self.said) {
            self.said.len()
        } else {
            0
        };
        self.said.extend_from_slice(&given[known..]);
        for mut message in messages.into_iter().skip(known) {
            redactor.json(&mut message, "chat");
            let message = self.stored(message, at);
            self.ids.insert(message.id.clone());
            self.lengths.push(self.chunks.push(writer, &message)?);
        }
        Ok(())
    }

    /// How many messages there are so far.
    pub(super) fn count(&self) -> usize {
        self.lengths.len()
    }

    /// A message in the stored form. A role that is none of ours speaks as the system's, and its own word is kept.
    fn stored(&self, message: Value, at: Timestamp) -> Message {
        let mut given = match message {
            Value::Object(given) => given,
            // What is no object has no author; it is kept as it is said.
            other => Map::from_iter([("content".to_owned(), other)]),
        };
        let own = match given.get("id") {
            Some(Value::String(id)) if !id.is_empty() && !self.ids.contains(id) => Some(id.clone()),
            _ => None,
        };
        if own.is_some() {
            given.shift_remove("id");
        }
        let word = given.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
        given.shift_remove("role");
        let role = Role::parse(&word).unwrap_or(Role::System);
        let content = match given.shift_remove("content") {
            Some(content @ (Value::String(_) | Value::Array(_))) => content,
            None | Some(Value::Null) => "".into(),
            Some(other) => other.to_string().into(),
        };
        // `at` is the member of our own export.
        let said = ["timestamp", "at"]
            .iter()
            .find_map(|key| formats::time_of(given.get(*key)?));
        if given.get("at").is_some_and(|at| formats::time_of(at).is_some()) {
            given.shift_remove("at");
        }
        let id = own.unwrap_or_else(|| {
            let seed = format!("{}\n{word}\n{content}", self.lengths.len());
            let hex = Digest::of(seed.as_bytes()).hex().to_owned();
            // Eight digits do in nearly every chat; more only where they are taken.
            let free = (8..=hex.len()).find(|length| !self.ids.contains(&hex[..*length]));
            hex[..free.unwrap_or(hex.len())].to_owned()
        });
        let mut meta = Map::new();
        for key in ["meta", "metadata"] {
            match given.shift_remove(key) {
                None => {}
                Some(Value::Object(members)) if meta.is_empty() => meta = members,
                Some(other) => {
                    meta.insert(key.to_owned(), other);
                }
            }
        }
        if role.word() != word {
            meta.entry("role").or_insert_with(|| word.into());
        }
        let agent = match given.get("agent") {
            Some(Value::String(agent)) => Some(agent.clone()),
            _ => None,
        };
        if agent.is_some() {
            given.shift_remove("agent");
        }
        let taken = |key: &str| ["id", "at", "agent"].contains(&key);
        Message {
            id,
            at: said.unwrap_or(at),
            role,
            agent,
            content,
            meta,
            unknown: given
                .into_iter()
                .map(|(key, value)| (if taken(&key) { format!("foreign_{key}") } else { key }, value))
                .collect(),
        }
    }

    /// Puts the messages so far next to a document, and records in it how many and how long they are. A summary represents
    /// no more of them than there are: where a source counts more, it had removed them.
    pub(super) fn place(
        &mut self,
        writer: &Writer,
        document: &mut Document,
        siblings: &mut Siblings,
    ) -> Result<(), Error> {
        self.chunks.place(writer, document, siblings)?;
        let summarized = compaction(document).map_or(0, |compaction| compaction.messages);
        let live = usize::try_from(summarized)
            .ok()
            .and_then(|first| self.lengths.get(first..));
        let live = live.unwrap_or_default();
        let length = Length {
            messages: live.len() as u64,
            bytes: live.iter().sum(),
            ..Length::default()
        };
        document.tokens = length.value();
        Ok(())
    }
}

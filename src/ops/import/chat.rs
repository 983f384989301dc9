//! The chat of a foreign session in the stored form, as it grows from checkpoint to checkpoint.
//!
//! Written from its beginning in every import, because the same messages give the same chunks. What a message came with
//! and has no place of its own stays in it: under its own name, or with `foreign_` before a name that is read here.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    super::{
        Error, Scene,
        chat::{Length, compaction},
        redact::Redactor,
    },
    existing::ImportedSession,
};
use crate::{
    formats::{self, ForeignSession},
    model::{
        chat::{Message, Role},
        document::Document,
        id::Digest,
        json,
        time::Timestamp,
    },
    store::{
        chat::{Chunks, SavedMessages},
        checkpoint::{self, Fault, Siblings},
        objects::Writer,
    },
};

/// Digests of the messages of a chat, in their order.
pub(super) struct MessageDigests(Vec<Digest>);

impl MessageDigests {
    /// Those of a foreign session, as an import would store them.
    pub(super) fn of(scene: &Scene<'_>, foreign: &ForeignSession) -> Result<Self, Error> {
        let mut redactor = Redactor::new(scene)?;
        let mut chat = ImportedChat::default();
        let all = foreign.checkpoints.iter();
        let all = all.flat_map(|checkpoint| chat.pass(&checkpoint.messages, scene.now, &mut redactor));
        Ok(Self(all.map(|message| digest(&message)).collect()))
    }

    /// Whether there is no message.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether they begin with all that an imported session had when it was imported.
    pub(super) fn begin_with(&self, scene: &Scene<'_>, known: &ImportedSession) -> Result<bool, Error> {
        let damaged = |fault| Error::damaged(known.name.as_str())(fault);
        let imported = checkpoint::load(scene.repo, known.imported).map_err(damaged)?;
        let saved = SavedMessages::of(scene.repo, &imported.document).map_err(damaged)?;
        let (mut is_same, mut count) = (true, 0);
        let each = |_, message: Message| {
            is_same &= self.0.get(count) == Some(&digest(&message));
            count += 1;
            Ok(())
        };
        saved.each::<Fault>(0, each).map_err(damaged)?;
        Ok(is_same && count > 0)
    }
}

/// The digest of who says what in a message. Its time is left out: one without a time has that of its first import.
fn digest(message: &Message) -> Digest {
    Digest::of(&json::to_line(&(
        message.id.as_str(),
        message.role.word(),
        &message.content,
    )))
}

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

    /// The stored form of messages, which are counted but not written.
    fn pass(&mut self, messages: &[Value], at: Timestamp, redactor: &mut Redactor) -> Vec<Message> {
        let stored = messages.iter().map(|message| {
            let mut message = message.clone();
            redactor.json(&mut message, "chat");
            // The time of a message without one is that of its import, which does not count.
            let message = self.stored(message, at);
            self.ids.insert(message.id.clone());
            self.lengths.push(0);
            message
        });
        stored.collect()
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

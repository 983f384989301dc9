//! Messages from a file: the session file of a coding agent, or JSONL of `{role, content, timestamp}`.
//!
//! A message is the same by the id that its source gave it, never by its text alone. Importing a file again adds nothing;
//! the same id with other content is the later state of the message, or, where it comes from another session, another
//! message. What cannot be read is reported with its line.

mod ahead;
mod copy;
mod plain;
mod source;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{super::ids, Error, Scene, SessionChat, receiving, redact, stored};
use crate::{
    agents::{
        self, Agent, HelperRun, Layout, MessageUpdate, Reader, Reading, SessionFacts, State, TaskItem, Turn, blocks,
        lines::Report,
    },
    formats::opencode_database,
    model::{
        chat::{KNOWN_AS, Message, Role, hex},
        name::ShortName,
    },
    ops::{
        redact::{RedactedSecret, Redactor},
        session_choice::{self, SessionChoice},
    },
    os::parallel_edit,
    store::{
        chat::{Fingerprint, Known, PendingMessage, lock_transcripts},
        config::TranscriptExtent,
    },
};

use copy::TranscriptCopy;
pub use source::{import_file, import_named};

/// Result of an import of a chat.
#[derive(Debug)]
pub struct ChatImport {
    /// The session.
    pub session: ShortName,
    /// The agent whose session file it was, if it was one.
    pub agent: Option<&'static str>,
    /// How many messages were added.
    pub added: u64,
    /// How many have a later state now.
    pub updated: u64,
    /// How many were there already.
    pub known: u64,
    /// Findings about the file.
    pub report: Report,
    /// Secrets found.
    pub redactions: Vec<RedactedSecret>,
    /// Facts of the agent's file beyond messages.
    pub transcript: Option<TranscriptFacts>,
}

/// Facts of an agent's session file beyond its messages.
#[derive(Debug)]
pub struct TranscriptFacts {
    /// The session.
    pub facts: SessionFacts,
    /// The turns that this reading saw, the latest last.
    pub turns: Vec<Turn>,
    /// The helpers that this reading saw.
    pub helpers: Vec<HelperRun>,
    /// The to-do list, if it changed in this reading.
    pub tasks: Option<Vec<TaskItem>>,
    /// The text of the agent's last message in this reading.
    pub answer: Option<String>,
    /// Records that were read.
    pub records: u64,
    /// Records that the reader does not know, by their type.
    pub unknown: Vec<(String, u64)>,
    /// Whether a torn last line waits for the rest of it.
    pub is_torn: bool,
}

/// A file of messages in memory.
#[derive(Debug)]
pub struct MessageFile<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Its name, empty for a stream: it represents the session where the content does not say it.
    pub name: &'a str,
    /// The agent whose session file it is; `None` to find out.
    pub agent: Option<&'static dyn Agent>,
}

/// Imports a file. One of which nothing can be taken is an error, and nothing is changed then.
pub fn import(scene: &Scene<'_>, file: &MessageFile<'_>) -> Result<ChatImport, Error> {
    let found = match file.agent {
        Some(agent) => Some((agent, agents::layout(agent, file.bytes))),
        None => agents::detect(file.bytes),
    };
    let Some((agent, layout)) = found else {
        return plain::import(scene, file.bytes);
    };
    let redactor = Redactor::with_memory(scene)?;
    let mut reader = Reader::new(agent, layout, State::of_file(stem(file.name)), 0, scene.now);
    let is_kept = is_copied(scene, session_choice::session_for_command(scene)?.as_ref());
    let mut lines = Vec::new();
    if layout == Layout::Lines {
        ahead::feed(
            file.bytes,
            &mut reader,
            is_kept.then_some(&redactor),
            &mut |line, clean, _| lines.push((line.len(), clean)),
        );
    } else {
        reader.feed(file.bytes);
    }
    let reading = reader.end();
    if reading.messages.is_empty() && (reading.records == 0 || file.agent.is_some()) {
        let (line, why) = reading
            .report
            .skipped
            .first()
            .cloned()
            .unwrap_or_else(|| (1, format!("no message of {} is in it", agent.title())));
        return Err(Error::NoMessages {
            line,
            why,
            is_document: false,
        });
    }
    let is_torn = reading.taken < file.bytes.len() as u64;
    let copied = if is_kept && reading.taken > 0 {
        copied(scene, file, agent, &reading, redactor.fork(), lines)?
    } else {
        Vec::new()
    };
    let open = OpenChat::new(scene)?;
    Ok(take(scene, agent, reading, is_torn, copied, (redactor, open))?.0)
}

/// Whether the lines of session files are kept. What is kept of one already is not known where the record cannot be read: the
/// next reading with the key reads the file from its beginning.
fn is_copied(scene: &Scene<'_>, chosen: Option<&SessionChoice>) -> bool {
    let is_locked = chosen.is_some_and(|chosen| chosen.tip.document.is_locked());
    scene.settings.transcripts == TranscriptExtent::Full && !is_locked
}

/// Adds messages that the events of an agent have, by their ids.
pub fn add_reported(scene: &Scene<'_>, messages: Vec<Message>) -> Result<ChatImport, Error> {
    let mut adding = Adding::to(OpenChat::new(scene)?, Redactor::new(scene)?);
    for mut message in messages {
        redact(&mut message, &mut adding.redactor);
        let print = Fingerprint::of(&message);
        match adding.known.get(&message.id) {
            None => adding.add(message, print),
            Some(before) => adding.later(message, before, print),
        }
    }
    adding.end(scene)
}

/// Imports the sessions of OpenCode that work in this working tree, from its database and the log next to it. What of these
/// could not be read is added to `damage`.
pub fn import_database(
    scene: &Scene<'_>,
    bytes: &[u8],
    log: Option<&[u8]>,
    damage: &mut Vec<String>,
) -> Result<ChatImport, Error> {
    let refused = |why: String| Error::NoMessages {
        line: 1,
        why,
        is_document: false,
    };
    let root = crate::store::work_tree(scene.repo)?;
    let mut sessions = opencode_database::sessions(bytes, log, damage).map_err(refused)?;
    sessions.retain(|session| std::path::Path::new(&session.directory).starts_with(root));
    let mut sum: Option<ChatImport> = None;
    for session in sessions {
        let document = session.document.to_string();
        let file = MessageFile {
            bytes: document.as_bytes(),
            name: "",
            agent: agents::named("opencode"),
        };
        let mut done = match import(scene, &file) {
            Err(Error::NoMessages { .. }) => continue,
            done => done?,
        };
        if let Some(before) = sum {
            done.added += before.added;
            done.updated += before.updated;
            done.known += before.known;
            done.redactions.splice(0..0, before.redactions);
        }
        sum = Some(done);
    }
    sum.ok_or_else(|| refused("the database has no session of this working tree".to_owned()))
}

/// The part of a file in memory that is kept. `lines` are those that it consists of, by their lengths; a file that is one
/// document has none.
fn copied(
    scene: &Scene<'_>,
    file: &MessageFile<'_>,
    agent: &dyn Agent,
    reading: &Reading,
    redactor: Redactor,
    lines: Vec<(usize, Option<ahead::CleanLine>)>,
) -> Result<Vec<PendingMessage>, Error> {
    receiving(scene)?;
    let chat = SessionChat::open(scene)?;
    let facts = &reading.state.facts;
    let session = facts.id.as_deref().unwrap_or(stem(file.name));
    let known = chat
        .transcripts
        .iter()
        .find(|info| info.agent == agent.name() && info.agent_session == session);
    if !lines.is_empty() {
        let mut copy = TranscriptCopy::new(redactor, known);
        copy.of_file(file.name);
        let mut rest = file.bytes;
        for (length, clean) in lines {
            let (line, behind) = rest.split_at(length);
            rest = behind;
            if line.ends_with(b"\n") {
                copy.feed_line(line, clean, false);
            } else {
                copy.feed(line);
            }
        }
        let outcome = copy.end(reading.taken, stem(file.name), agent.name(), facts);
        return outcome.into_entries(scene, &chat);
    }
    if known.is_some_and(|known| known.source == hex(&Sha256::digest(file.bytes))) {
        return Ok(Vec::new());
    }
    copy::whole(redactor, file.bytes, (file.name, agent.name(), facts)).into_entries(scene, &chat)
}

/// The name of a file without its extension.
fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Adds what a reading gave to the chat. Gives the id of its last message as well.
fn take<'r>(
    scene: &Scene<'r>,
    agent: &'static dyn Agent,
    reading: Reading,
    is_torn: bool,
    copied: Vec<PendingMessage>,
    (redactor, open): (Redactor, OpenChat<'r>),
) -> Result<(ChatImport, Option<String>), Error> {
    let mut adding = Adding::to(open, redactor);
    let answer = last_answer(&reading.messages);
    let updates = redacted_updates(latest_states(reading.messages), &mut adding.redactor);
    let last = updates.last().map(|(update, _)| update.message.id.clone());
    for (update, print) in updates {
        adding.update(update, print);
    }
    adding.entries.extend(copied);
    let mut out = adding.end(scene)?;
    out.agent = Some(agent.name());
    out.report = reading.report;
    out.transcript = Some(TranscriptFacts {
        facts: reading.state.facts,
        turns: reading.turns,
        helpers: reading.helpers,
        tasks: reading.tasks,
        answer,
        records: reading.records,
        unknown: reading.unknown.into_iter().collect(),
        is_torn,
    });
    Ok((out, last))
}

/// The text of the agent's own last message that has one.
fn last_answer(updates: &[MessageUpdate]) -> Option<String> {
    let own = updates.iter().rev().map(|update| &update.message);
    own.filter(|message| message.role == Role::Assistant && !message.meta.contains_key("helper"))
        .map(|message| blocks::texts(&blocks::of(Some(&message.content))))
        .find(|text| !text.trim().is_empty())
}

/// The messages of a reading, each once, where it was said first, in its latest state.
pub(in crate::ops) fn latest_states(updates: Vec<MessageUpdate>) -> Vec<MessageUpdate> {
    let mut out: Vec<MessageUpdate> = Vec::with_capacity(updates.len());
    let mut places = std::collections::HashMap::<String, usize>::new();
    for mut update in updates {
        let session = update.message.meta.get("session").cloned();
        let known = places.get(&update.message.id).copied();
        match known.filter(|at| out[*at].message.meta.get("session") == session.as_ref()) {
            None => {
                places.insert(update.message.id.clone(), out.len());
                out.push(update);
            }
            Some(at) => {
                let before = &mut out[at];
                let first = before.message.at.min(update.message.at);
                let turn = before.message.meta.get("turn").cloned();
                let later = Fingerprint::of(&update.message).is_later(Fingerprint::of(&before.message));
                // A copy has less in it; a record of the message itself is worth more than any copy.
                if later && (before.is_copy || !update.is_copy) || before.is_copy && !update.is_copy {
                    if let Some(turn) = turn {
                        update.message.meta.insert("turn".to_owned(), turn);
                    }
                    update.replaces = before.replaces.take().or(update.replaces);
                    *before = update;
                }
                before.message.at = first;
            }
        }
    }
    out
}

/// The messages without their secrets, with their fingerprints.
fn redacted_updates(updates: Vec<MessageUpdate>, redactor: &mut Redactor) -> Vec<(MessageUpdate, Fingerprint)> {
    /// The messages that a thread takes at a time.
    const RUN: usize = 16;
    let mut updates: Vec<(MessageUpdate, Option<Fingerprint>)> =
        updates.into_iter().map(|update| (update, None)).collect();
    let parent = &*redactor;
    let forks = parallel_edit(
        &mut updates,
        RUN,
        || (),
        |(), run| {
            let mut fork = parent.fork();
            for (update, print) in run {
                redact(&mut update.message, &mut fork);
                *print = Some(Fingerprint::of(&update.message));
            }
            fork
        },
    );
    for fork in forks {
        redactor.join(fork);
    }
    let with_print = |(update, print): (MessageUpdate, Option<Fingerprint>)| {
        let print = print.unwrap_or_else(|| Fingerprint::of(&update.message));
        (update, print)
    };
    updates.into_iter().map(with_print).collect()
}

/// The chat of the session that is added to, under the lock by which two imports at once do not both add what neither has
/// seen.
struct OpenChat<'r> {
    chat: SessionChat<'r>,
    known: Known,
    /// Whether what is added has to be on disk at the end. It can be lost where it is read again then.
    sync: bool,
    lock: crate::store::lock::HeldLock,
}

impl<'r> OpenChat<'r> {
    fn new(scene: &Scene<'r>) -> Result<Self, Error> {
        Self::of(scene, &receiving(scene)?.tip.document.session.id)
    }

    /// The same where the identity of the session is known.
    fn of(scene: &Scene<'r>, id: &str) -> Result<Self, Error> {
        let lock = lock_transcripts(scene.repo, id, scene.wait)?;
        let chat = SessionChat::open(scene)?;
        let waiting = chat.waiting.iter().chain(chat.updates.values());
        let known = Known::load(scene.repo, id, &chat.saved, (waiting, &chat.unread))
            .map_err(Error::damaged(chat.session.as_str()))?;
        Ok(Self {
            chat,
            known,
            sync: true,
            lock,
        })
    }

    /// The identity of the session.
    fn id(&self) -> &str {
        &self.chat.document.session.id
    }
}

/// Messages on their way into the chat of a session.
struct Adding {
    session: ShortName,
    id: String,
    known: Known,
    redactor: Redactor,
    entries: Vec<PendingMessage>,
    added: u64,
    updated: u64,
    again: u64,
    /// Whether what is added has to be on disk.
    sync: bool,
    _lock: crate::store::lock::HeldLock,
}

impl Adding {
    fn to(open: OpenChat<'_>, redactor: Redactor) -> Self {
        Self {
            id: open.id().to_owned(),
            session: open.chat.session,
            known: open.known,
            redactor,
            entries: Vec::new(),
            added: 0,
            updated: 0,
            again: 0,
            sync: open.sync,
            _lock: open.lock,
        }
    }

    /// Takes a message of an agent's session file.
    fn update(&mut self, update: MessageUpdate, print: Fingerprint) {
        let mut message = update.message;
        // A file that is read again from its beginning gives the message under its later id alone.
        let known_as = || Some(message.meta.get(KNOWN_AS)?.as_str()?.to_owned());
        if let Some(before) = update.replaces.or_else(known_as)
            && self.known.get(&before).is_some()
            && self.known.get(&message.id).is_none()
        {
            self.known.insert(&message, print);
            self.updated += 1;
            return self.entries.push(PendingMessage::Update { id: before, message });
        }
        let Some(before) = self.known.get(&message.id) else {
            return self.add(message, print);
        };
        if before.is_same(print) || update.is_copy {
            self.again += 1;
        } else if before.session == print.session {
            self.later(message, before, print);
        } else {
            // Another session of the agent, in which the same id represents another message.
            message.id = format!("{}~{:08x}", message.id, print.session >> 32);
            match self.known.get(&message.id) {
                None => self.add(message, print),
                Some(before) if before.is_same(print) => self.again += 1,
                Some(before) => self.later(message, before, print),
            }
        }
    }

    fn later(&mut self, message: Message, before: Fingerprint, print: Fingerprint) {
        if print.is_later(before) {
            self.known.insert(&message, print);
            self.updated += 1;
            let id = message.id.clone();
            self.entries.push(PendingMessage::Update { id, message });
        } else {
            self.again += 1;
        }
    }

    fn add(&mut self, message: Message, print: Fingerprint) {
        self.known.insert(&message, print);
        self.added += 1;
        self.entries.push(PendingMessage::Message(message));
    }

    /// Writes what was taken; it is on disk when this returns, unless it can be lost.
    fn end(self, scene: &Scene<'_>) -> Result<ChatImport, Error> {
        if !self.entries.is_empty() {
            let id = ids::item_id()?;
            stored::add(scene.repo, &self.id, &self.entries, || id, self.sync, scene.wait)?;
        }
        Ok(ChatImport {
            session: self.session,
            agent: None,
            added: self.added,
            updated: self.updated,
            known: self.again,
            report: Report::default(),
            redactions: self.redactor.found,
            transcript: None,
        })
    }
}

/// Whether the whole is one JSON list or object, not one a line.
fn is_document(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    matches!(serde_json::from_slice(text), Ok(Value::Array(_) | Value::Object(_)))
}

//! The directory `chat` next to a document: messages in numbered chunks, a line each, and the pictures of messages by their
//! digest.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{
    Error, ObjectId, Repository,
    blob_batch::BlobBatch,
    checkpoint::{self, Fault, Siblings, WriteError},
    objects::Writer,
};
use crate::{
    model::{
        chat::Message,
        document::{self, Document},
        json,
    },
    os::parallel_runs,
};

/// The directory.
pub(super) const DIRECTORY: &str = "chat";
/// The most messages of a chunk.
const MESSAGES: usize = 512;
/// The bytes beyond which a chunk takes no further message. A longer message is a chunk of its own.
const BYTES: usize = 256 << 10;
/// A last chunk with fewer bytes is extended by the next save, so that short turns do not leave thousands of chunks; a
/// longer one stays, so that a save writes little more than what is new.
const SMALL: usize = 64 << 10;

/// The messages saved next to a document.
#[derive(Debug)]
pub struct SavedMessages<'r> {
    repo: &'r Repository,
    /// The chunks in order.
    chunks: Vec<(String, ObjectId)>,
    /// Pictures.
    files: BTreeMap<String, ObjectId>,
    /// How many messages there are, by the document.
    pub messages: u64,
}

impl<'r> SavedMessages<'r> {
    /// The chat of a checkpoint.
    pub fn of(repo: &'r Repository, document: &Document) -> Result<Self, Fault> {
        let id = document.trees.get(DIRECTORY).map(checkpoint::object_id);
        let messages = document.chat.as_ref().map_or(0, |chat| chat.messages);
        Self::at(repo, id, messages)
    }

    /// The chat in a directory, which has so many messages by the document.
    pub fn at(repo: &'r Repository, directory: Option<ObjectId>, messages: u64) -> Result<Self, Fault> {
        let mut out = Self {
            repo,
            chunks: Vec::new(),
            files: BTreeMap::new(),
            messages,
        };
        if let Some(id) = directory {
            for (name, _, id) in checkpoint::directory(repo, id, "the chat")? {
                if name.strip_suffix(".jsonl").is_some() {
                    out.chunks.push((name, id));
                } else {
                    out.files.insert(name, id);
                }
            }
        }
        Ok(out)
    }

    /// The objects of the chunks, in order.
    pub(super) fn chunk_ids(&self) -> Vec<ObjectId> {
        self.chunks.iter().map(|(_, id)| *id).collect()
    }

    /// How many chunks there are.
    pub(super) fn chunk_count(&self) -> usize {
        self.chunks.len()
    }

    /// The messages of a chunk.
    pub(super) fn messages_of(&self, at: usize) -> Result<Vec<Message>, Fault> {
        let chunk = self.chunk(at)?;
        chunk
            .split_inclusive(|byte| *byte == b'\n')
            .map(|line| self.message(line, at))
            .collect()
    }

    fn chunk(&self, at: usize) -> Result<Vec<u8>, Fault> {
        checkpoint::read_private(self.repo, self.chunks[at].1, "a chunk of the chat")
    }

    /// Calls `each` with every message from a position on, counted from 0, until it gives an error. Chunks before it
    /// are not read, and one chunk at a time is in memory. Lines that are no message are damage.
    pub fn each<E: From<Fault>>(
        &self,
        from: u64,
        mut each: impl FnMut(u64, Message) -> Result<(), E>,
    ) -> Result<(), E> {
        // Counted from the end, because the latest are what is nearly always wanted.
        let mut first = self.chunks.len();
        let mut position = self.messages;
        let mut read = Vec::new();
        while first > 0 && position > from {
            first -= 1;
            let chunk = self.chunk(first)?;
            let lines = lines(&chunk) as u64;
            position = position.saturating_sub(lines);
            // Most often one or two chunks are wanted; of more only the numbers are kept.
            read.push(if read.len() < 8 { Some(chunk) } else { None });
        }
        for (at, chunk) in (first..).zip(read.into_iter().rev()) {
            let chunk = match chunk {
                Some(chunk) => chunk,
                None => self.chunk(at)?,
            };
            for line in chunk.split_inclusive(|byte| *byte == b'\n') {
                if position >= from {
                    each(position, self.message(line, at)?)?;
                }
                position += 1;
            }
        }
        Ok(())
    }

    fn message(&self, line: &[u8], chunk: usize) -> Result<Message, Fault> {
        serde_json::from_slice(line).map_err(|error| Fault::Corrupt {
            what: format!("'chat/{}'", self.chunks[chunk].0),
            id: self.chunks[chunk].1,
            why: error.to_string(),
        })
    }

    /// Puts the pictures of a message back into it. One that is missing stays away.
    pub fn attach(&self, message: &mut Message) {
        message.attach(|digest| {
            let id = self.files.get(digest)?;
            checkpoint::read_private(self.repo, *id, "a picture of the chat").ok()
        });
    }
}

/// The lines of a chunk, each of which ends with a line end.
fn lines(chunk: &[u8]) -> usize {
    chunk.split(|byte| *byte == b'\n').count() - 1
}

/// Result of appending messages.
#[derive(Debug, Default)]
pub struct AppendOutcome {
    /// The bytes of the new lines.
    pub bytes: u64,
    /// How many messages were appended.
    pub messages: u64,
    /// The messages that have a later state now.
    pub updates: Vec<ReplacedMessage>,
    /// The bytes of the lines that later states replaced.
    pub replaced: u64,
}

/// A saved message that has a later state now.
#[derive(Debug)]
pub struct ReplacedMessage {
    /// Its position, counted from 0.
    pub at: u64,
    /// Its state so far.
    pub before: Message,
    /// Its later state.
    pub after: Message,
}

/// Writes the chat of a new checkpoint: the chunks of the one before, of which the last may be rewritten, and new ones
/// for what is added. Later states of saved messages, by the id they are saved under, replace them in their chunks. Sets
/// `document.chat`.
pub fn append(
    repo: &Repository,
    writer: &Writer,
    previous: Option<ObjectId>,
    messages: &[Message],
    updates: &BTreeMap<String, Message>,
    document: &mut Document,
    siblings: &mut Siblings,
) -> Result<AppendOutcome, WriteError> {
    let before = document.chat.as_ref().map_or(0, |chat| chat.messages);
    let saved = SavedMessages::at(repo, previous, before)?;
    let mut out = AppendOutcome::default();
    if messages.is_empty() && updates.is_empty() {
        return Ok(out);
    }
    let mut chunks = Chunks {
        full: saved.chunks.clone(),
        files: saved.files.iter().map(|(name, id)| (name.clone(), *id)).collect(),
        messages: before,
        ..Chunks::default()
    };
    let mut rewritten = rewrite(&saved, writer, updates, &mut chunks, &mut out)?;
    if let Some(at) = chunks.full.len().checked_sub(1) {
        let last = rewritten.remove(&at).map_or_else(|| saved.chunk(at), Ok)?;
        if last.len() < SMALL {
            chunks.open = last;
            chunks.full.pop();
            chunks.lines = lines(&chunks.open);
        }
    }
    // So many at a time that the lines take little memory.
    for some in messages.chunks(ENCODED_TOGETHER) {
        let encode = |(): &mut (), run: &[Message]| run.iter().map(EncodedMessage::of).collect();
        for message in parallel_runs(some, RUN, || (), encode) {
            out.bytes += chunks.push_encoded(writer, &message)?;
            out.messages += 1;
        }
    }
    chunks.place(writer, document, siblings)?;
    Ok(out)
}

/// Puts later states into the chunks that hold the messages. Gives the chunks that changed.
fn rewrite(
    saved: &SavedMessages<'_>,
    writer: &Writer,
    updates: &BTreeMap<String, Message>,
    chunks: &mut Chunks,
    out: &mut AppendOutcome,
) -> Result<BTreeMap<usize, Vec<u8>>, WriteError> {
    let mut rewritten = BTreeMap::new();
    let mut position = saved.messages;
    // What changes was said lately, nearly always.
    for at in (0..saved.chunks.len()).rev() {
        if out.updates.len() == updates.len() {
            break;
        }
        let before = saved.chunk(at)?;
        position = position.saturating_sub(lines(&before) as u64);
        let mut after = Vec::with_capacity(before.len());
        let mut changed = false;
        for (line, position) in before.split_inclusive(|byte| *byte == b'\n').zip(position..) {
            let message = saved.message(line, at)?;
            let Some(later) = updates.get(&message.id) else {
                after.extend_from_slice(line);
                continue;
            };
            let mut later = message.superseded_by(later.clone());
            for (digest, bytes) in later.detach() {
                chunks.files.insert((digest, writer.write_private(&bytes)?));
            }
            let written = json::to_line(&later);
            out.bytes += written.len() as u64;
            out.replaced += line.len() as u64;
            after.extend(written);
            changed = true;
            out.updates.push(ReplacedMessage {
                at: position,
                before: message,
                after: later,
            });
        }
        if changed {
            chunks.full[at].1 = writer.write_private(&after)?;
            rewritten.insert(at, after);
        }
    }
    Ok(rewritten)
}

/// The messages whose lines are made at a time.
const ENCODED_TOGETHER: usize = 4096;
/// The messages that a thread takes at a time.
const RUN: usize = 16;

/// The line of a message, and its pictures by their digests.
struct EncodedMessage {
    line: Vec<u8>,
    pictures: Vec<(String, Vec<u8>)>,
}

impl EncodedMessage {
    fn of(message: &Message) -> Self {
        if !message.has_pictures() {
            return Self {
                line: json::to_line(message),
                pictures: Vec::new(),
            };
        }
        let mut without = message.clone();
        let pictures = without.detach();
        Self {
            line: json::to_line(&without),
            pictures,
        }
    }
}

/// The chunks of a chat that is written from its beginning, checkpoint by checkpoint.
#[derive(Debug, Default)]
pub struct Chunks {
    /// Chunks that are stored and take no further message.
    full: Vec<(String, ObjectId)>,
    /// Chunks after them that are not all stored.
    added: BlobBatch,
    /// Pictures.
    files: BTreeSet<(String, ObjectId)>,
    /// The last chunk.
    open: Vec<u8>,
    /// Its lines.
    lines: usize,
    /// Messages in all.
    messages: u64,
}

impl Chunks {
    /// Begins with the first chunks of a chat, which hold so many messages.
    pub(super) fn continued(saved: &SavedMessages<'_>, chunks: usize, messages: u64) -> Self {
        Self {
            full: saved.chunks[..chunks].to_vec(),
            messages,
            ..Self::default()
        }
    }

    /// Takes the pictures of a chat.
    pub(super) fn take_files(&mut self, saved: &SavedMessages<'_>) {
        let files = saved.files.iter().map(|(name, id)| (name.clone(), *id));
        self.files.extend(files);
    }

    /// Whether there is no message.
    pub(super) fn is_empty(&self) -> bool {
        self.messages == 0
    }

    /// Takes a message; gives the bytes of its line.
    pub fn push(&mut self, writer: &Writer, message: &Message) -> Result<u64, Error> {
        self.push_encoded(writer, &EncodedMessage::of(message))
    }

    fn push_encoded(&mut self, writer: &Writer, message: &EncodedMessage) -> Result<u64, Error> {
        for (digest, bytes) in &message.pictures {
            self.files.insert((digest.clone(), writer.write_private(bytes)?));
        }
        let line = &message.line;
        if self.lines > 0 && (self.lines >= MESSAGES || self.open.len() + line.len() > BYTES) {
            self.added.push(writer, std::mem::take(&mut self.open))?;
            self.lines = 0;
        }
        self.lines += 1;
        self.messages += 1;
        self.open.extend_from_slice(line);
        Ok(line.len() as u64)
    }

    /// Puts what there is next to a document, and sets its `chat`. Nothing where there is no message.
    pub fn place(&mut self, writer: &Writer, document: &mut Document, siblings: &mut Siblings) -> Result<(), Error> {
        if self.messages == 0 {
            return Ok(());
        }
        for id in self.added.finish(writer)? {
            self.full.push((name(self.full.len()), id));
        }
        let mut entries = self.full.clone();
        if !self.open.is_empty() {
            entries.push((name(entries.len()), writer.write_private(&self.open)?));
        }
        document.chat = Some(document::ChatInfo {
            messages: self.messages,
            tokens: None,
            chunks: entries.len() as u64,
        });
        entries.extend(self.files.iter().cloned());
        siblings.files(writer, DIRECTORY, entries)
    }
}

fn name(n: usize) -> String {
    format!("{n:06}.jsonl")
}

/// The text `context.md` or `agent.md` next to a document; `None` when there is none. Not UTF-8 is replaced.
pub fn read_text(repo: &Repository, document: &Document, name: &str) -> Result<Option<String>, Fault> {
    let Some(id) = document.trees.get(name) else {
        return Ok(None);
    };
    let bytes = checkpoint::read_private(repo, checkpoint::object_id(id), name)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

//! The folder `chat` beside a document: messages in numbered chunks, a line each, and the pictures of messages by their
//! digest.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{
    Error, Kind, ObjectId, Repository,
    checkpoint::{self, Fault, Siblings},
    objects::Writer,
};
use crate::model::{
    chat::Message,
    document::{self, Document},
    json,
};

/// The folder.
const FOLDER: &str = "chat";
/// The most messages of a chunk.
const MESSAGES: usize = 512;
/// The bytes beyond which a chunk takes no further message. A longer message is a chunk of its own.
const BYTES: usize = 256 << 10;

/// The messages saved beside a document.
#[derive(Debug)]
pub struct Saved<'r> {
    repo: &'r Repository,
    /// The chunks in order.
    chunks: Vec<(String, ObjectId)>,
    /// Pictures.
    files: BTreeMap<String, ObjectId>,
    /// How many messages there are, as the document says.
    pub messages: u64,
}

impl<'r> Saved<'r> {
    /// The chat of a checkpoint.
    pub fn of(repo: &'r Repository, document: &Document) -> Result<Self, Fault> {
        let id = document.trees.get(FOLDER).map(checkpoint::object_id);
        let messages = document.chat.as_ref().map_or(0, |chat| chat.messages);
        Self::at(repo, id, messages)
    }

    /// The chat in a folder, of which the document says that it has so many messages.
    pub fn at(repo: &'r Repository, folder: Option<ObjectId>, messages: u64) -> Result<Self, Fault> {
        let mut out = Self {
            repo,
            chunks: Vec::new(),
            files: BTreeMap::new(),
            messages,
        };
        if let Some(id) = folder {
            for (name, _, id) in checkpoint::folder(repo, id, "the chat")? {
                if name.strip_suffix(".jsonl").is_some() {
                    out.chunks.push((name, id));
                } else {
                    out.files.insert(name, id);
                }
            }
        }
        Ok(out)
    }

    fn chunk(&self, at: usize) -> Result<Vec<u8>, Fault> {
        checkpoint::read(self.repo, self.chunks[at].1, Kind::Blob, "a chunk of the chat")
    }

    /// Calls `each` with every message from a position on, counted from 0, until it gives an error. Chunks before it
    /// are not read, and one chunk at a time is in memory. Lines that are no message are damage.
    pub fn each<E: From<Fault>>(
        &self,
        from: u64,
        mut each: impl FnMut(u64, Message) -> Result<(), E>,
    ) -> Result<(), E> {
        // Counted from the end, because the newest are what is nearly always wanted.
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
            checkpoint::read(self.repo, *id, Kind::Blob, "a picture of the chat").ok()
        });
    }
}

/// The lines of a chunk, each of which ends with a line end.
fn lines(chunk: &[u8]) -> usize {
    chunk.split(|byte| *byte == b'\n').count() - 1
}

/// What appending did.
#[derive(Debug, Default)]
pub struct Appended {
    /// The bytes of the new lines.
    pub bytes: u64,
    /// How many messages were appended.
    pub messages: u64,
}

/// Writes the chat of a new checkpoint: the chunks of the one before, of which the last may be rewritten, and new ones
/// for what is added. Sets `document.chat`.
pub fn append<'m>(
    repo: &Repository,
    writer: &Writer,
    previous: Option<ObjectId>,
    messages: impl Iterator<Item = &'m Message>,
    document: &mut Document,
    siblings: &mut Siblings,
) -> Result<Result<Appended, Fault>, Error> {
    let before = document.chat.as_ref().map_or(0, |chat| chat.messages);
    let saved = match Saved::at(repo, previous, before) {
        Ok(saved) => saved,
        Err(fault) => return Ok(Err(fault)),
    };
    let mut out = Appended::default();
    let mut messages = messages.peekable();
    if messages.peek().is_none() {
        return Ok(Ok(out));
    }
    let mut entries = saved.chunks.clone();
    let mut files: BTreeSet<_> = saved.files.iter().map(|(name, id)| (name.clone(), *id)).collect();
    let mut open = Vec::new();
    if let Some(at) = entries.len().checked_sub(1) {
        match saved.chunk(at) {
            Ok(chunk) => open = chunk,
            Err(fault) => return Ok(Err(fault)),
        }
        entries.pop();
    }
    let mut lines = lines(&open);
    let name = |n: usize| format!("{n:06}.jsonl");
    for message in messages {
        let mut message = message.clone();
        for (digest, bytes) in message.detach() {
            files.insert((digest, writer.write(Kind::Blob, &bytes)?));
        }
        let line = json::to_line(&message);
        if lines > 0 && (lines >= MESSAGES || open.len() + line.len() > BYTES) {
            entries.push((name(entries.len()), writer.write(Kind::Blob, &open)?));
            open.clear();
            lines = 0;
        }
        out.bytes += line.len() as u64;
        out.messages += 1;
        lines += 1;
        open.extend(line);
    }
    entries.push((name(entries.len()), writer.write(Kind::Blob, &open)?));
    document.chat = Some(document::Chat {
        messages: before + out.messages,
        tokens: None,
        chunks: entries.len() as u64,
    });
    entries.extend(files);
    siblings.files(writer, FOLDER, entries)?;
    Ok(Ok(out))
}

/// The text `context.md` or `agent.md` beside a document; `None` when there is none. Not UTF-8 is replaced.
pub fn read_text(repo: &Repository, document: &Document, name: &str) -> Result<Option<String>, Fault> {
    let Some(id) = document.trees.get(name) else {
        return Ok(None);
    };
    let bytes = checkpoint::read(repo, checkpoint::object_id(id), Kind::Blob, name)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

//! Messages that are not saved yet, one file a session among the drafts.
//!
//! A line each, with its number at its end, so that appending reads a few bytes of the file and no message. The first
//! line names the file. A last line without its end was never acknowledged and is cut off by the next one.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs::File,
    io::{Read, Seek, SeekFrom, Write},
    path::PathBuf,
    time::Duration,
};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{Error as _, IgnoredAny, MapAccess, Visitor},
};

use super::super::{
    Error, Repository, encryption, lock, paths::own_directory, private_dir, private_path, session_recipients, sharing,
};
use super::known::UnreadMessages;
use crate::{
    model::{chat::Message, json, transcript::TranscriptPart},
    os::{self, parallel_runs, parallel_stream},
};

/// Something that waits for the next save.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(clippy::large_enum_variant, reason = "nearly all are messages")]
pub enum PendingMessage {
    /// A message.
    Message(Message),
    /// A later state of a message that was added before.
    Update {
        /// The id under which it was added.
        id: String,
        /// The message as it is now.
        message: Message,
    },
    /// A text next to the document, `context.md` or `agent.md`, that replaces the one before.
    Text {
        /// Its name.
        name: String,
        /// Text; an empty one removes it.
        text: String,
    },
    /// The next lines of an agent's session file.
    Transcript(TranscriptPart),
}

/// Pending changes of a chat.
#[derive(Debug, Default)]
pub struct PendingChat {
    /// The file's id; `None` when there is none.
    pub id: Option<String>,
    /// The entries with their numbers, oldest first.
    pub entries: Vec<(u64, PendingMessage)>,
    /// Lines that could not be read, by their position counted from 1; they are kept in the file.
    pub unreadable: Vec<usize>,
    /// The messages in those of them that are encrypted.
    pub unread: UnreadMessages,
}

impl PendingChat {
    /// The entries that no document with this `folded` holds.
    pub fn after(self, folded: &BTreeMap<String, u64>) -> impl Iterator<Item = PendingMessage> {
        let done = self.id.as_ref().and_then(|id| folded.get(id)).copied().unwrap_or(0);
        self.entries
            .into_iter()
            .filter(move |(n, _)| *n > done)
            .map(|(_, entry)| entry)
    }

    /// The number of the last entry.
    pub fn last(&self) -> Option<u64> {
        self.entries.last().map(|(n, _)| *n)
    }
}

#[derive(Serialize, Deserialize)]
struct ChatHeader {
    chat: String,
    /// The number after which this file's entries begin.
    n: u64,
}

/// A line as it is written.
#[derive(Serialize)]
struct WrittenLine<'e> {
    #[serde(flatten)]
    entry: &'e PendingMessage,
    /// The last member, because it is looked for at the line's end.
    n: u64,
}

/// A line that was read. Not derived: a flattened member would be read into a form between, which takes three times as long
/// for a large chat.
struct ChatLine {
    entry: PendingMessage,
    n: u64,
}

#[derive(Deserialize)]
struct UpdateMember {
    id: String,
    message: Message,
}

#[derive(Deserialize)]
struct TextMember {
    name: String,
    text: String,
}

impl<'de> Deserialize<'de> for ChatLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LineVisitor;
        impl<'de> Visitor<'de> for LineVisitor {
            type Value = ChatLine;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an entry with its number")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<ChatLine, A::Error> {
                let (mut entry, mut n) = (None, None);
                while let Some(name) = members.next_key::<String>()? {
                    match name.as_str() {
                        "message" => entry = Some(PendingMessage::Message(members.next_value()?)),
                        "update" => {
                            let UpdateMember { id, message } = members.next_value()?;
                            entry = Some(PendingMessage::Update { id, message });
                        }
                        "text" => {
                            let TextMember { name, text } = members.next_value()?;
                            entry = Some(PendingMessage::Text { name, text });
                        }
                        "transcript" => entry = Some(PendingMessage::Transcript(members.next_value()?)),
                        "n" => n = Some(members.next_value()?),
                        _ => {
                            members.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                match (entry, n) {
                    (Some(entry), Some(n)) => Ok(ChatLine { entry, n }),
                    _ => Err(A::Error::custom("no entry or no number")),
                }
            }
        }
        deserializer.deserialize_map(LineVisitor)
    }
}

/// The entries that a thread takes at a time. Few, since one may be a megabyte of a session file.
const RUN: usize = 4;

fn name(session: &str) -> String {
    format!("{session}.chat.jsonl")
}

fn path(repo: &Repository, session: &str) -> Result<PathBuf, Error> {
    Ok(own_directory(repo, private_dir(repo)?.join("drafts"))?.join(name(session)))
}

fn locked(repo: &Repository, session: &str, wait: Duration) -> Result<lock::HeldLock, Error> {
    lock::common(
        repo,
        &format!("chat-{}", lock::file_name(session)),
        &format!("the chat of session '{session}'"),
        wait,
    )
}

/// The lines of entries.
fn encoded(entries: &[(u64, &PendingMessage)], encryptor: Option<&encryption::Encryptor>) -> Result<Vec<u8>, Error> {
    // Most messages of agents are shorter. To grow takes longer than to encode.
    let mut out = Vec::with_capacity(entries.len() << 13);
    for (n, entry) in entries {
        let line = WrittenLine { entry, n: *n };
        match encryptor {
            None => json::push_line(&mut out, &line),
            Some(encryptor) => {
                let mark = message_of(entry).map(UnreadMessages::mark);
                out.extend(encryption::line_known_by(encryptor, &line, mark.as_deref(), *n)?);
            }
        }
    }
    Ok(out)
}

/// The message of an entry.
fn message_of(entry: &PendingMessage) -> Option<&Message> {
    match entry {
        PendingMessage::Message(message) | PendingMessage::Update { message, .. } => Some(message),
        PendingMessage::Text { .. } | PendingMessage::Transcript(_) => None,
    }
}

/// Adds entries; with `sync` all are on disk when this returns. Gives the number of the last one.
///
/// Reads the end of the file only, whatever its length.
pub fn add(
    repo: &Repository,
    session: &str,
    entries: &[PendingMessage],
    fresh_id: impl FnOnce() -> String,
    sync: bool,
    wait: Duration,
) -> Result<u64, Error> {
    let encryptor = session_recipients::for_waiting(repo, session)?;
    let _lock = locked(repo, session, wait)?;
    let path = path(repo, session)?;
    let io = |action| Error::io(action, &path);
    let mut file = os::private_file(&path, sharing(repo)).map_err(io("open"))?;
    let (last, keep) = end(&mut file).map_err(io("read"))?;
    file.set_len(keep).map_err(io("write"))?;
    file.seek(SeekFrom::Start(keep)).map_err(io("write"))?;
    let mut n = last;
    let mut header = Vec::new();
    if keep == 0 {
        header = json::to_line(&ChatHeader { chat: fresh_id(), n: 0 });
        n = 0;
    }
    let numbered: Vec<(u64, &PendingMessage)> = (n + 1..).zip(entries).collect();
    let encode = |(): &mut (), run: &[(u64, &PendingMessage)]| encoded(run, encryptor.as_deref());
    let written = parallel_stream(
        &numbered,
        RUN,
        || (),
        encode,
        |run, lines| {
            let mut lines = lines?;
            if !header.is_empty() {
                lines.splice(0..0, std::mem::take(&mut header));
            }
            n += run.len() as u64;
            file.write_all(&lines).map_err(io("write"))
        },
    );
    if let Err(error) = written {
        // All or nothing, as far as the system lets it.
        let _ = file.set_len(keep);
        return Err(error);
    }
    if sync {
        os::sync_data(&file).map_err(io("write"))?;
    }
    if keep == 0 {
        os::sync_dir(path.parent().unwrap_or(&path)).map_err(io("write"))?;
    }
    os::trace::changed();
    Ok(n)
}

/// The number of the last whole line and the length of the file up to its end.
fn end(file: &mut File) -> std::io::Result<(u64, u64)> {
    let len = file.metadata()?.len();
    let mut span = 64;
    // Nearly always the first look is enough; behind a line that was cut off the span doubles.
    loop {
        let start = len.saturating_sub(span);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        Read::by_ref(file).take(len - start).read_to_end(&mut bytes)?;
        let newline = bytes.iter().rposition(|byte| *byte == b'\n');
        if let Some(at) = newline
            && let Some(n) = number(&bytes[..at])
        {
            return Ok((n, start + at as u64 + 1));
        }
        if start == 0 {
            let Some(at) = newline else { return Ok((0, 0)) };
            // The last whole line is not ours (damage in the middle): numbers go on after the highest readable one.
            let highest = bytes[..at].split(|byte| *byte == b'\n').filter_map(number).max();
            return Ok((highest.unwrap_or(0), at as u64 + 1));
        }
        span *= 2;
    }
}

/// The number at the end of a line, of which the beginning may be missing.
fn number(line: &[u8]) -> Option<u64> {
    let line = line.strip_suffix(b"}")?;
    let digits = line.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (before, digits) = line.split_at(line.len() - digits);
    before
        .ends_with(b",\"n\":")
        .then(|| std::str::from_utf8(digits).ok()?.parse().ok())
        .flatten()
}

/// A line, decrypted where it is encrypted; `None` where it cannot be read.
fn parsed(repo: &Repository, line: &[u8]) -> Option<ChatLine> {
    let line = encryption::decrypted_line(repo, line).ok()?;
    serde_json::from_slice(&line).ok()
}

fn bytes(repo: &Repository, session: &str) -> Result<Option<Vec<u8>>, Error> {
    let path = private_path(repo).join("drafts").join(name(session));
    let bytes = os::notices::if_readable(os::read_regular(&path), &path).map_err(Error::io("read", path))?;
    Ok(bytes.map(|mut bytes| {
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        bytes.truncate(whole);
        bytes
    }))
}

/// Reads the pending changes of a session; empty when there is no file.
pub fn read(repo: &Repository, session: &str) -> Result<PendingChat, Error> {
    let mut waiting = PendingChat::default();
    let Some(bytes) = bytes(repo, session)? else {
        return Ok(waiting);
    };
    let lines = whole_lines(&bytes);
    let header = lines
        .first()
        .and_then(|line| serde_json::from_slice::<ChatHeader>(line).ok());
    let skipped = usize::from(header.is_some());
    waiting.id = header.map(|header| header.chat);
    // Encrypted lines are decrypted in one thread, since that reads the repository.
    let plain: Vec<Option<Cow<'_, [u8]>>> = lines[skipped..]
        .iter()
        .map(|line| encryption::decrypted_line(repo, line).ok())
        .collect();
    let parse = |line: &Option<Cow<'_, [u8]>>| serde_json::from_slice::<ChatLine>(line.as_ref()?).ok();
    let parse_run = |(): &mut (), run: &[Option<Cow<'_, [u8]>>]| run.iter().map(parse).collect();
    for (at, line) in parallel_runs(&plain, RUN, || (), parse_run).into_iter().enumerate() {
        let Some(line) = line else {
            waiting.unreadable.push(at + skipped + 1);
            let mark = lines.get(at + skipped).and_then(|line| encryption::mark_of(line));
            waiting.unread.add(mark.as_deref().unwrap_or_default());
            continue;
        };
        waiting.entries.push((line.n, line.entry));
    }
    Ok(waiting)
}

/// The lines of a large file, each of which has its end, found by the quick search of the standard library for texts.
fn whole_lines(bytes: &[u8]) -> Vec<&[u8]> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.split_inclusive('\n').map(str::as_bytes).collect(),
        Err(_) => bytes.split_inclusive(|byte| *byte == b'\n').collect(),
    }
}

/// Whether something waits that no document with this `folded` holds, and how many bytes at most. Reads the file's
/// first and last bytes only.
pub fn waits(repo: &Repository, session: &str, folded: &BTreeMap<String, u64>) -> Result<Option<u64>, Error> {
    let Some((header, last, len)) = bounds(repo, session)? else {
        return Ok(None);
    };
    let Some(header) = header else {
        return Ok((len > 0).then_some(len));
    };
    let done = folded.get(&header.chat).copied().unwrap_or(0).max(header.n);
    Ok((last > done).then_some(len))
}

/// The id of the file of what waits in a session, and the number of its last entry.
pub fn last_entry(repo: &Repository, session: &str) -> Result<Option<(String, u64)>, Error> {
    let bounds = bounds(repo, session)?;
    Ok(bounds.and_then(|(header, last, _)| Some((header?.chat, last))))
}

/// The first line of the file, the number of its last one, and how many bytes there are up to its end.
fn bounds(repo: &Repository, session: &str) -> Result<Option<(Option<ChatHeader>, u64, u64)>, Error> {
    let path = private_path(repo).join("drafts").join(name(session));
    let found = os::notices::if_readable(os::open_regular(&path), &path).map_err(Error::io("read", &path))?;
    let Some(mut file) = found else {
        return Ok(None);
    };
    let (last, len) = end(&mut file).map_err(Error::io("read", &path))?;
    let mut first = [0; 256];
    file.seek(SeekFrom::Start(0)).map_err(Error::io("read", &path))?;
    let read = file.read(&mut first).map_err(Error::io("read", &path))?;
    let line = first[..read].split(|byte| *byte == b'\n').next().unwrap_or_default();
    Ok(Some((serde_json::from_slice(line).ok(), last, len)))
}

/// Forgets what a document with this `folded` holds, after it is on its ref. What came meanwhile stays, and so do
/// unreadable lines. A killed call leaves the old file, which is harmless.
pub fn forget(repo: &Repository, session: &str, folded: &BTreeMap<String, u64>, wait: Duration) -> Result<(), Error> {
    if !private_path(repo).join("drafts").join(name(session)).exists() {
        return Ok(());
    }
    let _lock = locked(repo, session, wait)?;
    let Some(bytes) = bytes(repo, session)? else {
        return Ok(());
    };
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let Some(header) = lines
        .next()
        .and_then(|line| serde_json::from_slice::<ChatHeader>(line).ok())
    else {
        return Ok(());
    };
    let Some(done) = folded.get(&header.chat).copied().filter(|done| *done > header.n) else {
        return Ok(());
    };
    let first = json::to_line(&ChatHeader {
        chat: header.chat,
        n: done,
    });
    let rest: Vec<_> = lines
        .filter(|line| number(&line[..line.len() - 1]).is_none_or(|n| n > done))
        .collect();
    let path = path(repo, session)?;
    // Where nothing waits any more, the content may be lost: the next one that adds begins anew then.
    let has_rest = !rest.is_empty();
    os::replace_with(&path, sharing(repo), has_rest, &mut |file| {
        file.write_all(&first)?;
        rest.iter().try_for_each(|line| file.write_all(line))
    })
    .map_err(Error::io("write", &path))?;
    if has_rest {
        return Ok(());
    }
    os::sync_dir(path.parent().unwrap_or(&path)).map_err(Error::io("write", &path))
}

/// Removes what waits in a session that is purged, whatever it is, and what is kept of the readings of transcripts.
pub fn remove(repo: &Repository, session: &str, wait: Duration) -> Result<(), Error> {
    super::known::forget_known(repo, session);
    super::marks::forget_readings(repo, session);
    if !private_path(repo).join("drafts").join(name(session)).exists() {
        return Ok(());
    }
    let _lock = locked(repo, session, wait)?;
    let path = path(repo, session)?;
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
        _ => os::sync_dir(path.parent().unwrap_or(&path)).map_err(Error::io("remove", &path)),
    }
}

/// Takes out entries that are there exactly like this.
pub fn take_out(repo: &Repository, session: &str, entries: &[PendingMessage], wait: Duration) -> Result<(), Error> {
    let _lock = locked(repo, session, wait)?;
    let Some(bytes) = bytes(repo, session)? else {
        return Ok(());
    };
    let kept: Vec<&[u8]> = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .filter(|line| parsed(repo, line).is_none_or(|line| !entries.contains(&line.entry)))
        .collect();
    let path = path(repo, session)?;
    os::replace(&path, &kept.concat(), sharing(repo), true).map_err(Error::io("write", &path))
}

//! A growing session file, read on from where the last reading ended.
//!
//! Where that was is kept in a private file of the session, with digests of the file's beginning and of the bytes right
//! before the place: a file that has both is the same one, wherever it was moved or copied to. One that has not, because
//! it was rewritten, cut or rotated, is read from its beginning, and what is known already is not added again.

use std::{
    io::{Read, Seek, SeekFrom},
    path::Path,
};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{
    ChatImport, Error, MessageFile, Scene, ahead,
    copy::{CopyMark, TranscriptCopy},
    take,
};
use crate::{
    agents::{self, Agent, Layout, Reader, State},
    model::chat::hex,
    ops::{
        chat::{SessionChat, receiving},
        redact::Redactor,
    },
    os,
    store::{
        chat::{lock_reading, read_marks, write_marks},
        config::TranscriptExtent,
    },
};

/// The bytes at either end of what was read that identify a file.
const ENDS: u64 = 4096;
/// The bytes that are read at once. A line that is longer is passed on in parts.
const PIECE: usize = 4 << 20;
/// The most files whose places are kept for a session.
const FILES: usize = 64;

/// Where a reading ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct ReadingMark {
    agent: String,
    /// The digest of the first bytes.
    head: String,
    /// The digest of the last bytes that were read.
    tail: String,
    /// The bytes that were read.
    taken: u64,
    /// The lines among them.
    lines: usize,
    /// How many messages the chat had afterwards. Where it has fewer now, as after an undo, all is read again.
    messages: u64,
    /// State of the reader.
    state: State,
    /// State of the copy, where one is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    copy: Option<CopyMark>,
}

/// Imports a session file of an agent as far as it was not read yet. Costs what is new in it, whatever its length.
pub fn import_file(scene: &Scene<'_>, path: &Path, agent: &'static dyn Agent) -> Result<ChatImport, Error> {
    let io = |action: &'static str| crate::store::Error::io(action, path);
    let chosen = receiving(scene)?;
    let session = chosen.tip.document.session.id.clone();
    // One reading at a time: the next one goes on where this one ends.
    let _lock = lock_reading(scene.repo, &session, scene.wait)?;
    let mut file = os::open_regular(path).map_err(io("read"))?;
    let len = file.metadata().map_err(io("read"))?.len();
    let head = read_at(&mut file, 0, ENDS.min(len)).map_err(io("read"))?;
    let is_copied = scene.settings.transcripts == TranscriptExtent::Full;
    let mut marks: Vec<ReadingMark> = serde_json::from_slice(&read_marks(scene.repo, &session)?).unwrap_or_default();
    let chat = SessionChat::open(scene)?;
    let messages = chat.len();
    // After an undo, a clear or a change of the setting the copy does not end where the reading did.
    let fits = |mark: &ReadingMark| match (&mark.copy, is_copied) {
        (_, false) => true,
        (None, true) => false,
        (Some(copy), true) => chat.transcripts.contains(&copy.info),
    };
    let mut found = None;
    for (at, mark) in marks.iter().enumerate() {
        if mark.agent == agent.name()
            && mark.taken <= len
            && mark.messages <= messages
            && fits(mark)
            && mark.head == digest(beginning(&head, mark.taken))
            && mark.tail == digest(&tail(&mut file, mark.taken).map_err(io("read"))?)
            && found.is_none_or(|(_, taken)| taken < mark.taken)
        {
            found = Some((at, mark.taken));
        }
    }
    if found.is_none() {
        // What is read on from a mark consists of lines.
        let sample = read_at(&mut file, 0, (agents::SAMPLE as u64).min(len)).map_err(io("read"))?;
        if agents::layout(agent, &sample) != Layout::Lines {
            let bytes = read_at(&mut file, 0, len).map_err(io("read"))?;
            let file = MessageFile {
                bytes: &bytes,
                name: &name(path),
                agent: Some(agent),
            };
            return super::import(scene, &file);
        }
    }
    let (state, lines, from, copied) = match found {
        Some((at, taken)) => {
            let mark = marks.remove(at);
            (mark.state, mark.lines, taken, mark.copy)
        }
        None => (State::of_file(&stem(path)), 0, 0, None),
    };
    let redactor = Redactor::with_memory(scene)?;
    let mut copy = match &copied {
        _ if !is_copied => None,
        Some(mark) => TranscriptCopy::resume(redactor.fork(), mark),
        None => {
            let name = name(path);
            // Its session is not known before it is read, its name is.
            let known = chat
                .transcripts
                .iter()
                .rfind(|info| info.agent == agent.name() && info.file == name);
            let mut copy = TranscriptCopy::new(redactor.fork(), known);
            copy.of_file(&name);
            Some(copy)
        }
    };
    let mut reader = Reader::new(agent, Layout::Lines, state, lines, scene.now);
    file.seek(SeekFrom::Start(from)).map_err(io("read"))?;
    let ahead_redactor = copy.is_some().then_some(&redactor);
    let mut take_piece = |bytes: &[u8]| {
        ahead::feed(bytes, &mut reader, ahead_redactor, &mut |line, clean| {
            if let Some(copy) = &mut copy {
                copy.feed_line(line, clean);
            }
        });
    };
    // The beginning of a line whose end was not read yet.
    let mut open = Vec::new();
    let mut rest = len - from;
    while rest > 0 {
        let want = usize::try_from(rest).unwrap_or(PIECE).min(PIECE);
        let start = open.len();
        open.resize(start + want, 0);
        let read = file.read(&mut open[start..]).map_err(io("read"))?;
        open.truncate(start + read);
        if read == 0 {
            break;
        }
        rest -= read as u64;
        let end = open[start..].iter().rposition(|byte| *byte == b'\n');
        if let Some(end) = end.map(|end| start + end + 1) {
            take_piece(&open[..end]);
            open.drain(..end);
        } else if open.len() > PIECE {
            take_piece(&open);
            open.clear();
        }
    }
    take_piece(&open);
    let reading = reader.end();
    let taken = from + reading.taken;
    let mut mark = ReadingMark {
        agent: agent.name().to_owned(),
        head: digest(beginning(&head, taken)),
        tail: digest(&tail(&mut file, taken).map_err(io("read"))?),
        taken,
        lines: reading.lines,
        messages,
        state: reading.state.clone(),
        copy: None,
    };
    let outcome = copy.map(|copy| copy.end(taken, &stem(path), agent.name(), &reading.state.facts));
    mark.copy = outcome.as_ref().map(|outcome| outcome.mark.clone());
    let copied = match outcome {
        Some(outcome) => outcome.into_entries(scene, &chat)?,
        None => Vec::new(),
    };
    let done = take(scene, agent, reading, taken < len, copied, redactor)?;
    mark.messages = messages + done.added;
    marks.push(mark);
    let excess = marks.len().saturating_sub(FILES);
    marks.drain(..excess);
    // Lost in a power cut, all is read again.
    write_marks(scene.repo, &session, &serde_json::to_vec(&marks).unwrap_or_default())?;
    Ok(done)
}

/// The name of a file.
fn name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// The name of a file without its extension.
pub(super) fn stem(path: &Path) -> String {
    path.file_stem()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// The first bytes of what was read.
fn beginning(head: &[u8], taken: u64) -> &[u8] {
    &head[..usize::try_from(taken).unwrap_or(usize::MAX).min(head.len())]
}

fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes)[..16])
}

fn tail(file: &mut std::fs::File, taken: u64) -> std::io::Result<Vec<u8>> {
    let from = taken.saturating_sub(ENDS);
    read_at(file, from, taken - from)
}

fn read_at(file: &mut std::fs::File, from: u64, len: u64) -> std::io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(from))?;
    let mut out = Vec::new();
    Read::by_ref(file).take(len).read_to_end(&mut out)?;
    Ok(out)
}

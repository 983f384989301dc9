//! A growing session file, read on from where the last reading ended.
//!
//! Where that was is kept in a private file of the session, with digests of the file's beginning and of the bytes right
//! before the place: a file that has both is the same one, wherever it was moved or copied to. One that has not, because
//! it was rewritten, cut or rotated, is read from its beginning, and what is known already is not added again.

use std::{
    io::{Read, Seek, SeekFrom},
    path::Path,
};

use memchr::memrchr;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{
    ChatImport, Error, MessageFile, OpenChat, Scene, ahead,
    copy::{CopyMark, TranscriptCopy},
    take,
};
use crate::{
    agents::{self, Agent, Layout, Reader, State},
    model::chat::hex,
    ops::{
        chat::{SessionChat, receiving, running},
        redact::Redactor,
        session_choice::SessionChoice,
    },
    os,
    store::{
        chat::{lock_reading, read_marks, write_marks},
        lock::HeldLock,
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
    /// The message that the file gave last. Where it is not in the chat, all is read again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<String>,
    /// The number of the file and how many messages it gave; a mark of an earlier version has neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
    /// State of the reader.
    state: State,
    /// State of the copy, where one is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    copy: Option<CopyMark>,
}

/// The file of a mark.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Origin {
    /// Its number in the file system.
    file: u64,
    /// How many messages all readings of it gave.
    messages: u64,
}

/// A session file that was opened.
struct SourceFile<'p> {
    path: &'p Path,
    file: std::fs::File,
    len: u64,
    /// Its number in the file system.
    id: u64,
    /// Its first bytes.
    head: Vec<u8>,
}

/// Imports a session file of an agent as far as it was not read yet. Costs what is new in it, whatever its length.
pub fn import_file(scene: &Scene<'_>, path: &Path, agent: &'static dyn Agent) -> Result<ChatImport, Error> {
    let mut source = SourceFile::open(path)?;
    let readings = Readings::open(scene, &receiving(scene)?)?;
    let found = readings.find(scene, &mut source, |mark| mark.agent == agent.name())?;
    if found.is_none() {
        // What is read on from a mark consists of lines.
        let sample = source.read_at(0, agents::SAMPLE as u64)?;
        if agents::layout(agent, &sample) != Layout::Lines {
            let bytes = source.read_at(0, u64::MAX)?;
            let file = MessageFile {
                bytes: &bytes,
                name: &name(path),
                agent: Some(agent),
            };
            return super::import(scene, &file);
        }
    }
    // A save follows. What a power cut takes before it is read again, since the chat lacks what the mark names.
    readings.read_on(scene, source, agent, found, false)
}

/// Imports the session file that the user names, by the same marks. A file of another number in the file system is read
/// as a whole, also where it begins and ends like one that was read before: an editor may have changed what is between.
///
/// `None` where the file does not consist of lines of an agent or its beginning has no message; nothing is changed then.
pub fn import_named(
    scene: &Scene<'_>,
    path: &Path,
    agent: Option<&'static dyn Agent>,
) -> Result<Option<ChatImport>, Error> {
    let Ok(mut source) = SourceFile::open(path) else {
        return Ok(None);
    };
    match running(scene) {
        Err(Error::NoSession { .. } | Error::NotFound { .. } | Error::SessionFromEnvNotFound { .. }) => {}
        Err(error) => return Err(error),
        Ok(chosen) => {
            let readings = Readings::open(scene, &chosen)?;
            let id = source.id;
            let found = readings.find(scene, &mut source, |mark| {
                agent.is_none_or(|agent| mark.agent == agent.name())
                    && mark.origin.is_some_and(|origin| origin.file == id)
            })?;
            if let Some(found) = found
                && let Some(agent) = agents::named(&readings.marks[found.at].agent)
            {
                let before = readings.marks[found.at].origin.map_or(0, |origin| origin.messages);
                let mut done = readings.read_on(scene, source, agent, Some(found), true)?;
                // Those of the earlier readings are known as well.
                done.known = before.saturating_sub(done.updated);
                return Ok(Some(done));
            }
        }
    }
    let sample = source.read_at(0, agents::SAMPLE as u64)?;
    let found = match agent {
        Some(agent) => Some((agent, agents::layout(agent, &sample))),
        None => agents::detect(&sample),
    };
    let Some((agent, Layout::Lines)) = found else {
        return Ok(None);
    };
    if agents::read(agent, Layout::Lines, &sample, scene.now)
        .messages
        .is_empty()
    {
        return Ok(None);
    }
    let readings = Readings::open(scene, &receiving(scene)?)?;
    readings.read_on(scene, source, agent, None, true).map(Some)
}

impl<'p> SourceFile<'p> {
    fn open(path: &'p Path) -> Result<Self, Error> {
        let io = || crate::store::Error::io("read", path);
        let file = os::open_regular(path).map_err(io())?;
        let metadata = file.metadata().map_err(io())?;
        let mut source = Self {
            path,
            file,
            len: metadata.len(),
            id: os::file_id(&metadata),
            head: Vec::new(),
        };
        source.head = source.read_at(0, ENDS)?;
        Ok(source)
    }

    /// At most so many bytes of what the file had when it was opened.
    fn read_at(&mut self, from: u64, most: u64) -> Result<Vec<u8>, Error> {
        let most = most.min(self.len.saturating_sub(from));
        let mut out = Vec::with_capacity(usize::try_from(most).unwrap_or(0));
        let io = || crate::store::Error::io("read", self.path);
        self.file.seek(SeekFrom::Start(from)).map_err(io())?;
        Read::by_ref(&mut self.file)
            .take(most)
            .read_to_end(&mut out)
            .map_err(io())?;
        Ok(out)
    }

    /// The digests of the bytes at either end of the first `taken` ones.
    fn ends(&mut self, taken: u64) -> Result<(String, String), Error> {
        let beginning = usize::try_from(taken).unwrap_or(usize::MAX).min(self.head.len());
        let from = taken.saturating_sub(ENDS);
        let tail = self.read_at(from, taken - from)?;
        Ok((digest(&self.head[..beginning]), digest(&tail)))
    }

    /// Calls `each` with the bytes from a place on, in pieces that end with a line end but for the last one and for lines
    /// that are longer than a piece.
    fn pieces(&mut self, from: u64, mut each: impl FnMut(&[u8])) -> Result<(), Error> {
        let io = || crate::store::Error::io("read", self.path);
        self.file.seek(SeekFrom::Start(from)).map_err(io())?;
        // The beginning of a line whose end was not read yet.
        let mut open = Vec::new();
        let mut rest = self.len - from;
        while rest > 0 {
            let want = usize::try_from(rest).unwrap_or(PIECE).min(PIECE);
            let start = open.len();
            open.resize(start + want, 0);
            let read = self.file.read(&mut open[start..]).map_err(io())?;
            open.truncate(start + read);
            if read == 0 {
                break;
            }
            rest -= read as u64;
            if let Some(end) = memrchr(b'\n', &open[start..]).map(|end| start + end + 1) {
                each(&open[..end]);
                open.drain(..end);
            } else if open.len() > PIECE {
                each(&open);
                open.clear();
            }
        }
        each(&open);
        Ok(())
    }
}

/// The readings of a session's files, under the lock that lets one at a time go on where the last one ended.
struct Readings {
    session: String,
    /// Whether the lines of the files are kept.
    is_copied: bool,
    /// Whether the record cannot be read here. Then the files are read again by who can.
    is_locked: bool,
    marks: Vec<ReadingMark>,
    _lock: HeldLock,
}

/// A mark that a file has, with the chat to which it belongs.
struct FoundMark<'r> {
    at: usize,
    chat: OpenChat<'r>,
}

impl Readings {
    fn open(scene: &Scene<'_>, chosen: &SessionChoice) -> Result<Self, Error> {
        let session = chosen.tip.document.session.id.clone();
        let lock = lock_reading(scene.repo, &session, scene.wait)?;
        Ok(Self {
            marks: serde_json::from_slice(&read_marks(scene.repo, &session)?).unwrap_or_default(),
            session,
            is_copied: super::is_copied(scene, Some(chosen)),
            is_locked: chosen.tip.document.is_locked(),
            _lock: lock,
        })
    }

    /// The mark that is furthest in the file, of those that may be meant.
    fn find<'r>(
        &self,
        scene: &Scene<'r>,
        source: &mut SourceFile<'_>,
        may_be: impl Fn(&ReadingMark) -> bool,
    ) -> Result<Option<FoundMark<'r>>, Error> {
        let mut places = Vec::new();
        for (at, mark) in self.marks.iter().enumerate() {
            if mark.taken <= source.len
                && may_be(mark)
                && source.ends(mark.taken)? == (mark.head.clone(), mark.tail.clone())
            {
                places.push(at);
            }
        }
        if places.is_empty() {
            return Ok(None);
        }
        let chat = OpenChat::of(scene, &self.session)?;
        let fitting = places.into_iter().filter(|at| self.fits(&self.marks[*at], &chat));
        let found = fitting.max_by_key(|at| self.marks[*at].taken);
        Ok(found.map(|at| FoundMark { at, chat }))
    }

    /// Whether the chat has what was read up to a mark. After an undo, a clear or a change of the setting it has not, and the
    /// copy does not end where the reading did.
    fn fits(&self, mark: &ReadingMark, open: &OpenChat<'_>) -> bool {
        let has_copy = match (&mark.copy, self.is_copied) {
            (_, false) => true,
            (None, true) => false,
            (Some(copy), true) => open.chat.transcripts.contains(&copy.info),
        };
        let has_last = || mark.last.as_ref().is_none_or(|id| open.known.get(id).is_some());
        open.id() == self.session && mark.messages <= open.chat.len() && has_copy && has_last()
    }

    /// Reads a file on from a mark, or from its beginning. With `sync` what is new is on disk when this returns.
    fn read_on<'r>(
        mut self,
        scene: &Scene<'r>,
        mut source: SourceFile<'_>,
        agent: &'static dyn Agent,
        found: Option<FoundMark<'r>>,
        sync: bool,
    ) -> Result<ChatImport, Error> {
        let is_copied = self.is_copied;
        let file_name = name(source.path);
        let (mark, open) = found.map(|found| (self.marks.remove(found.at), found.chat)).unzip();
        let (state, lines, from) = match &mark {
            Some(mark) => (mark.state.clone(), mark.lines, mark.taken),
            None => (State::of_file(&stem(source.path)), 0, 0),
        };
        let redactor = Redactor::with_memory(scene)?;
        let copied = mark.as_ref().and_then(|mark| mark.copy.as_ref());
        let mut copy = match copied {
            _ if !is_copied => None,
            Some(mark) => TranscriptCopy::resume(redactor.fork(), mark),
            None => {
                let chat = SessionChat::open(scene)?;
                // Its session is not known before it is read, its name is.
                let known = chat
                    .transcripts
                    .iter()
                    .rfind(|info| info.agent == agent.name() && info.file == file_name);
                let mut copy = TranscriptCopy::new(redactor.fork(), known);
                copy.of_file(&file_name);
                Some(copy)
            }
        };
        let mut reader = Reader::new(agent, Layout::Lines, state, lines, scene.now);
        let ahead_redactor = copy.is_some().then_some(&redactor);
        source.pieces(from, |bytes| {
            ahead::feed(bytes, &mut reader, ahead_redactor, &mut |line, clean, is_settled| {
                if let Some(copy) = &mut copy {
                    copy.feed_line(line, clean, is_settled);
                }
            });
        })?;
        let reading = reader.end();
        // The sender of an event names the file: one without any message is not taken for a session file.
        let is_known = mark.is_some() || !reading.messages.is_empty();
        let taken = from + reading.taken;
        let (head, tail) = source.ends(taken)?;
        let lines = reading.lines;
        let state = redacted(redactor.fork(), &reading.state);
        let outcome = copy
            .filter(|_| is_known)
            .map(|copy| copy.end(taken, &stem(source.path), agent.name(), &reading.state.facts));
        // Under the lock of the chat from here on, where it was not taken for the mark.
        let mut open = open.map_or_else(|| OpenChat::of(scene, &self.session), Ok)?;
        open.sync = sync;
        let messages = open.chat.len();
        let copy = outcome.as_ref().map(|outcome| outcome.mark.clone());
        let copied = match outcome {
            Some(outcome) => outcome.into_entries(scene, &open.chat)?,
            None => Vec::new(),
        };
        let (done, last) = take(scene, agent, reading, taken < source.len, copied, (redactor, open))?;
        // What comes again behind a mark is of the messages before it.
        let given = match &mark {
            Some(mark) => mark.origin.map(|origin| origin.messages + done.added),
            None => Some(done.added + done.updated + done.known),
        };
        self.marks.extend(state.filter(|_| is_known).map(|state| ReadingMark {
            agent: agent.name().to_owned(),
            head,
            tail,
            taken,
            lines,
            messages: messages + done.added,
            last: last.or_else(|| mark?.last),
            origin: given.map(|messages| Origin {
                file: source.id,
                messages,
            }),
            state,
            copy,
        }));
        let excess = self.marks.len().saturating_sub(FILES);
        self.marks.drain(..excess);
        if self.is_locked {
            return Ok(done);
        }
        // Lost in a power cut, all is read again.
        let bytes = serde_json::to_vec(&self.marks).unwrap_or_default();
        write_marks(scene.repo, &self.session, &bytes)?;
        Ok(done)
    }
}

/// The state of a reader without the secrets in what it has of the latest turn, as the messages are stored without them.
fn redacted(mut redactor: Redactor, state: &State) -> Option<State> {
    let mut value = serde_json::to_value(state).ok()?;
    redactor.json(&mut value, "");
    crate::model::json::from_value(value).ok()
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

fn digest(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes)[..16])
}

//! The copy of an agent's session file that is kept next to the chat: its lines, without their secrets.
//!
//! A line that is JSON keeps every byte but those of the strings that had secrets in them: ids, signatures and numbers
//! stay as the agent wrote them, so that the agent itself can read the copy.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use sha2::{
    Digest as _, Sha256,
    digest::common::hazmat::{SerializableState as _, SerializedState},
};

use crate::{
    agents::{SessionFacts, lines},
    model::{
        chat::hex,
        transcript::{TranscriptInfo, TranscriptPart},
    },
    ops::{Error, Scene, chat::SessionChat, redact::Redactor},
    store::{chat::PendingMessage, transcripts},
};

use super::ahead::CleanLine;

/// The most bytes of a part that waits to be saved. Threads share the parts of a large file.
const PART: usize = 1 << 20;
/// The most characters of a version.
const VERSION: usize = 80;

/// State from which copying goes on behind the bytes that were read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct CopyMark {
    /// The hash of what was read, in the form in which it can go on.
    hash: Vec<u8>,
    /// The entry as it was then.
    pub(super) info: TranscriptInfo,
    /// Whether the last line had no end.
    is_open: bool,
}

/// Copies a session file on its way through the reader.
pub(super) struct TranscriptCopy {
    redactor: Redactor,
    hash: Sha256,
    /// The entry so far, and its `source` before this reading.
    info: TranscriptInfo,
    after: Option<String>,
    /// The part of this file that the chain has, where the file was read again from its beginning.
    known: Option<TranscriptInfo>,
    /// The line that has not ended yet; empty and counted where it is too long to hold.
    open: Vec<u8>,
    skipped: u64,
    /// Lines that ended, which the reader may still give back.
    last: VecDeque<Line>,
    text: String,
    /// Whether the line that was copied last has no end.
    is_open: bool,
    parts: Vec<TranscriptPart>,
}

/// A line with its end, or the length of one that is too long to hold.
struct Line {
    bytes: Vec<u8>,
    skipped: u64,
    /// The line without its secrets, where that was done ahead.
    clean: Option<CleanLine>,
}

impl TranscriptCopy {
    /// A copy that begins at the beginning of a file. `known` is what the chain has of it.
    pub(super) fn new(redactor: Redactor, known: Option<&TranscriptInfo>) -> Self {
        Self {
            redactor,
            hash: Sha256::new(),
            info: TranscriptInfo::default(),
            after: None,
            known: known.cloned(),
            open: Vec::new(),
            skipped: 0,
            last: VecDeque::new(),
            text: String::new(),
            is_open: false,
            parts: Vec::new(),
        }
    }

    /// A copy that goes on; `None` where the state cannot be read.
    pub(super) fn resume(redactor: Redactor, mark: &CopyMark) -> Option<Self> {
        let state = SerializedState::<Sha256>::try_from(mark.hash.as_slice()).ok()?;
        let hash = Sha256::deserialize(&state).ok()?;
        let mut copy = Self::new(redactor, None);
        copy.hash = hash;
        copy.is_open = mark.is_open;
        copy.after = Some(mark.info.source.clone());
        copy.info = mark.info.clone();
        Some(copy)
    }

    /// Takes the next bytes of the file.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.skipped > 0 || self.open.len() + piece.len() > lines::LINE_LIMIT {
                self.skip(piece);
            } else {
                self.open.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                let bytes = std::mem::take(&mut self.open);
                let skipped = std::mem::take(&mut self.skipped);
                self.ended(Line {
                    bytes,
                    skipped,
                    clean: None,
                });
            }
        }
    }

    /// Takes a whole line whose secrets were replaced ahead. `is_settled` is whether the reader gives it back no more.
    pub(super) fn feed_line(&mut self, line: &[u8], clean: Option<CleanLine>, is_settled: bool) {
        if clean.is_none() || self.skipped > 0 || !self.open.is_empty() {
            return self.feed(line);
        }
        if is_settled {
            self.settle();
            return self.whole_line(line, clean);
        }
        self.ended(Line {
            bytes: line.to_vec(),
            skipped: 0,
            clean,
        });
    }

    /// Takes the lines that the reader gives back no more.
    fn settle(&mut self) {
        for line in std::mem::take(&mut self.last) {
            self.line(line);
        }
    }

    fn ended(&mut self, line: Line) {
        self.last.push_back(line);
        // A record that was torn by a line break can be given back by the reader: it and the line before.
        if self.last.len() > 2
            && let Some(line) = self.last.pop_front()
        {
            self.line(line);
        }
    }

    /// Passes over the bytes of a line that is too long to hold.
    fn skip(&mut self, piece: &[u8]) {
        // The lines before it are settled, since hashing goes on in order.
        self.settle();
        let held = std::mem::take(&mut self.open);
        self.hashed(&held);
        self.hashed(piece);
        self.skipped += (held.len() + piece.len()) as u64;
    }

    /// Ends the copy at the byte up to which the reader took the file.
    pub(super) fn end(mut self, taken: u64, name: &str, agent: &str, facts: &SessionFacts) -> CopyOutcome {
        let open = Line {
            bytes: std::mem::take(&mut self.open),
            skipped: 0,
            clean: None,
        };
        for line in std::mem::take(&mut self.last).into_iter().chain([open]) {
            if self.info.bytes + line.bytes.len() as u64 <= taken {
                self.line(line);
            }
        }
        self.part();
        let mut version = facts.version.clone();
        if let Some(version) = &mut version {
            *version = version.chars().take(VERSION).collect();
            self.redactor.text(version, "transcript/version");
        }
        let infos = self.parts.iter_mut().map(|part| &mut part.info);
        for info in infos.chain([&mut self.info]) {
            agent.clone_into(&mut info.agent);
            facts.id.as_deref().unwrap_or(name).clone_into(&mut info.agent_session);
            info.version.clone_from(&version);
        }
        CopyOutcome {
            mark: CopyMark {
                hash: self.hash.serialize().to_vec(),
                info: self.info,
                is_open: self.is_open,
            },
            parts: self.parts,
        }
    }

    /// The name of the file, which goes into the entry.
    pub(super) fn of_file(&mut self, name: &str) {
        name.clone_into(&mut self.info.file);
    }

    fn line(&mut self, line: Line) {
        if line.skipped > 0 {
            self.info.omitted += 1;
        } else if !line.bytes.is_empty() {
            self.whole_line(&line.bytes, line.clean);
        }
    }

    fn whole_line(&mut self, line: &[u8], clean: Option<CleanLine>) {
        if self.text.len() + line.len() > PART {
            self.part();
        }
        self.hashed(line);
        let clean = clean.unwrap_or_else(|| CleanLine::of(line, &mut self.redactor));
        self.push(line, clean);
        let Some(known) = self.known.take_if(|known| known.bytes <= self.info.bytes) else {
            return;
        };
        // What the chain has already is not added again.
        if known.bytes == self.info.bytes && known.source == self.source() {
            self.parts.clear();
            self.text.clear();
            self.after = Some(known.source.clone());
            let file = std::mem::take(&mut self.info.file);
            self.info = TranscriptInfo { file, ..known };
        }
    }

    fn push(&mut self, bytes: &[u8], clean: CleanLine) {
        // The end of a last line that had none belongs to that line.
        if !std::mem::replace(&mut self.is_open, !bytes.ends_with(b"\n")) {
            self.info.lines += 1;
        }
        self.info.redactions += clean.redactions;
        match clean.text {
            Some(text) => self.text.push_str(&text),
            None => self.text.push_str(&String::from_utf8_lossy(bytes)),
        }
    }

    /// Completes a part.
    fn part(&mut self) {
        self.info.source = self.source();
        let text = std::mem::take(&mut self.text);
        if text.is_empty() {
            return;
        }
        self.parts.push(TranscriptPart {
            after: self.after.replace(self.info.source.clone()),
            text,
            info: self.info.clone(),
        });
    }

    fn hashed(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.info.bytes += bytes.len() as u64;
    }

    fn source(&self) -> String {
        hex(&self.hash.clone().finalize())
    }
}

/// Result of copying.
pub(super) struct CopyOutcome {
    /// State for the next reading.
    pub(super) mark: CopyMark,
    /// New bytes of the file.
    parts: Vec<TranscriptPart>,
}

impl CopyOutcome {
    /// The new part, to be added to the pending ones: nothing where the file is an earlier state of what the chain has.
    pub(super) fn into_entries(self, scene: &Scene<'_>, chat: &SessionChat<'_>) -> Result<Vec<PendingMessage>, Error> {
        if let Some(first) = self.parts.first().filter(|part| part.after.is_none())
            && let Some(at) = first.place(&chat.document.transcripts)
            && chat.document.transcripts[at].bytes > self.mark.info.bytes
        {
            let kept =
                transcripts::read(scene.repo, &chat.document, at).map_err(Error::damaged(chat.session.as_str()))?;
            let mut rest = kept.as_slice();
            let mut is_earlier = |part: &TranscriptPart| {
                let found = rest.strip_prefix(part.text.as_bytes());
                rest = found.unwrap_or_default();
                found.is_some()
            };
            if self.parts.iter().all(&mut is_earlier) {
                return Ok(Vec::new());
            }
        }
        Ok(self.parts.into_iter().map(PendingMessage::Transcript).collect())
    }
}

/// A copy of a file that is rewritten as a whole.
pub(super) fn whole(redactor: Redactor, bytes: &[u8], about: (&str, &str, &SessionFacts)) -> CopyOutcome {
    let (file, agent, facts) = about;
    let mut copy = TranscriptCopy::new(redactor, None);
    copy.of_file(file);
    copy.hashed(bytes);
    let clean = CleanLine::of(bytes, &mut copy.redactor);
    copy.info.redactions += clean.redactions;
    let text = clean
        .text
        .unwrap_or_else(|| String::from_utf8_lossy(bytes).into_owned());
    copy.info.lines = text.split_inclusive('\n').count() as u64;
    copy.text = text;
    let name = file.split('.').next().unwrap_or(file);
    copy.end(bytes.len() as u64, name, agent, facts)
}

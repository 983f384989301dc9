//! Redaction of a text that comes in pieces: a chat that is imported, the output of a running command. A secret that
//! is cut by the border of a piece is found, since the end of what was read is held back until enough has followed.

use super::scan::{Hit, Scanner};
use super::{Finding, RedactionMode, Severity, marker};

/// How much is held back, in bytes: more than any rule looks ahead before it has a first match, and a private key of
/// 16,384 bits.
const HOLD: usize = 16 * 1024;

/// How much of what has gone out is kept, since a match may depend on the text before it.
const CONTEXT: usize = HOLD;

/// A match that still grows at the end of the buffer is held as a whole up to this size; a longer one is cut.
const LONGEST: usize = 1024 * 1024;

/// Redacts pieces in order. [`push`](Self::push) gives what is certain; [`finish`](Self::finish) gives the rest and the
/// findings. What comes out in all is what [`Scanner::redact_bytes`] makes of the whole, if no secret is longer than 16
/// KiB before its end is known; memory stays near 200 KiB otherwise. UTF-16 is not understood here.
pub struct ChunkRedactor<'s> {
    scanner: &'s Scanner,
    /// Context that has gone out, then what has not.
    buffer: Vec<u8>,
    /// How much of the buffer has gone out.
    sent: usize,
    /// Position of the buffer in the whole.
    offset: usize,
    /// How much must be there that has not gone out before the next look.
    wanted: usize,
    /// Lines and characters before the buffer, both from 0.
    line: usize,
    column: usize,
    findings: Vec<Finding>,
}

impl<'s> ChunkRedactor<'s> {
    /// One for a text that begins now.
    pub fn new(scanner: &'s Scanner) -> Self {
        Self {
            scanner,
            buffer: Vec::new(),
            sent: 0,
            offset: 0,
            wanted: 4 * HOLD,
            line: 0,
            column: 0,
            findings: Vec::new(),
        }
    }

    /// Takes the next piece and appends to `out` what is redacted by now; often nothing, now and then much.
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        if self.scanner.mode() == RedactionMode::Off {
            out.extend_from_slice(piece);
            return;
        }
        self.buffer.extend_from_slice(piece);
        // Each look costs a scan of the buffer: wait until most of it can go out, or it has doubled.
        if self.buffer.len() - self.sent >= self.wanted {
            self.send(false, out);
            self.wanted = (4 * HOLD).max(2 * (self.buffer.len() - self.sent));
        }
    }

    /// Appends the rest to `out` and returns all findings, with ranges and places in the whole text.
    pub fn finish(mut self, out: &mut Vec<u8>) -> Vec<Finding> {
        self.send(true, out);
        self.findings
    }

    fn send(&mut self, all: bool, out: &mut Vec<u8>) {
        let mut hits = self.scanner.hits(&self.buffer);
        let len = self.buffer.len();
        let mut cut = if all { len } else { len - HOLD };
        // What is left of a secret so long that it had to be cut.
        hits.retain(|hit| hit.end > self.sent);
        for hit in &mut hits {
            hit.start = hit.start.max(self.sent);
        }
        if !all {
            // Not inside a secret, and not before the end of one that may go on in the next piece.
            for hit in hits.iter().rev() {
                let grows = hit.end + 64 >= len && len - hit.start < LONGEST;
                if hit.start < cut && (hit.end > cut || grows) {
                    cut = if grows { hit.start } else { hit.end };
                }
            }
            // Whole characters, so that columns count them once.
            while cut > self.sent && self.buffer.get(cut).is_some_and(|byte| byte & 0xc0 == 0x80) {
                cut -= 1;
            }
        }
        let new: Vec<Hit> = hits.into_iter().filter(|hit| hit.start < cut).collect();
        let mut findings = self.scanner.findings(&self.buffer, &new, true, 1, 0);
        let mut at = self.sent;
        for finding in &mut findings {
            if finding.replaced && finding.severity == Severity::Secret {
                out.extend_from_slice(&self.buffer[at..finding.range.start]);
                out.extend_from_slice(marker(&finding.kind).as_bytes());
                at = finding.range.end;
            }
            if finding.line == 1 {
                finding.column += self.column;
            }
            finding.line += self.line;
            finding.range = finding.range.start + self.offset..finding.range.end + self.offset;
        }
        out.extend_from_slice(&self.buffer[at..cut.max(at)]);
        self.findings.append(&mut findings);
        self.sent = cut.max(at);
        self.forget();
    }

    /// Drops what is no longer needed as context.
    fn forget(&mut self) {
        let mut drop = self.sent.saturating_sub(CONTEXT);
        while drop > 0 && self.buffer.get(drop).is_some_and(|byte| byte & 0xc0 == 0x80) {
            drop -= 1;
        }
        let mut place = super::scan::TextPosition::default();
        place.advance(&self.buffer, drop);
        self.column = if place.line == 0 {
            self.column + place.column
        } else {
            place.column
        };
        self.line += place.line;
        self.buffer.drain(..drop);
        self.sent -= drop;
        self.offset += drop;
    }
}

//! Stretches that look random and must stay as they are: images in base64, signatures, encrypted reasoning. Changing
//! them breaks what they belong to, and a keyword inside them is chance.
//!
//! Only what lies wholly inside such a stretch, behind its first byte, is left alone: a token that someone put into
//! a field called `signature` begins where the value begins, and is found.

/// Members whose value only its maker can read, in the transcripts of coding agents and in HTTP APIs.
const OPAQUE: &[&str] = &[
    "signature",
    "thoughtsignature",
    "thought_signature",
    "encrypted_content",
    "encryptedcontent",
    "reasoningopaque",
    "reasoning_opaque",
    "encrypted_reasoning",
    "redacted_thinking",
];

/// A run shorter than this is not taken for an image or a signature.
const SHORT: usize = 64;

/// A run of plain base64 this long is data, whatever precedes it. Tokens of this length have other characters in them
/// or begin where the run begins.
const LONG: usize = 512;

/// Whether a member of this name holds an opaque value.
pub(super) fn is_opaque_name(name: &str) -> bool {
    OPAQUE.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Whether the value is one run of base64, standard or for URLs, long enough for an image or a signature.
pub(super) fn is_run(value: &[u8]) -> bool {
    value.len() >= SHORT && value.iter().all(|byte| is_wide(*byte))
}

/// Answers for one text, and remembers the last run, so that many questions about one long run cost one look at it.
pub(super) struct OpaqueRuns<'t> {
    text: &'t [u8],
    plain: (usize, usize, bool),
    wide: (usize, usize, bool),
}

impl<'t> OpaqueRuns<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        Self {
            text,
            plain: (0, 0, false),
            wide: (0, 0, false),
        }
    }

    /// Whether these bytes lie inside an opaque stretch.
    pub(super) fn hides(&mut self, start: usize, end: usize) -> bool {
        if start < self.plain.0 || start >= self.plain.1 {
            let (from, to) = self.run(start, is_plain);
            let opaque = to - from >= LONG || (to - from >= SHORT && self.text[..from].ends_with(b"base64,"));
            self.plain = (from, to, opaque);
        }
        if start < self.wide.0 || start >= self.wide.1 {
            let (from, to) = self.run(start, is_wide);
            self.wide = (from, to, to - from >= SHORT && self.is_named(from));
        }
        [self.plain, self.wide]
            .iter()
            .any(|&(from, to, opaque)| opaque && from < start && end <= to)
    }

    /// The longest run of the class around `at`; empty at `at` if that byte is not of the class.
    fn run(&self, at: usize, class: fn(u8) -> bool) -> (usize, usize) {
        let ahead = self.text[at..].iter().take_while(|byte| class(**byte)).count();
        if ahead == 0 {
            return (at, at);
        }
        let back = self.text[..at].iter().rev().take_while(|byte| class(**byte)).count();
        (at - back, at + ahead)
    }

    /// Whether `"name": "` with an opaque name precedes `at`, at any depth of JSON in JSON.
    fn is_named(&self, at: usize) -> bool {
        let quote = |text: &'t [u8]| text.strip_suffix(b"\"").map(|rest| trim(rest, |byte| byte == b'\\'));
        let before = &self.text[at.saturating_sub(96)..at];
        let Some(rest) = quote(before) else {
            return false;
        };
        let Some(rest) = trim(rest, |byte| byte == b' ').strip_suffix(b":") else {
            return false;
        };
        let Some(rest) = quote(trim(rest, |byte| byte == b' ')) else {
            return false;
        };
        let name = rest
            .iter()
            .rev()
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
            .count();
        std::str::from_utf8(&rest[rest.len() - name..]).is_ok_and(is_opaque_name)
    }
}

fn trim(text: &[u8], class: fn(u8) -> bool) -> &[u8] {
    let tail = text.iter().rev().take_while(|byte| class(**byte)).count();
    &text[..text.len() - tail]
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/')
}

fn is_wide(byte: u8) -> bool {
    is_plain(byte) || matches!(byte, b'-' | b'_' | b'=')
}

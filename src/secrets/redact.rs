//! Redaction of text and of bytes of any kind, UTF-16 with a byte-order mark included (what PowerShell and the
//! registry editor write).

use std::borrow::Cow;

use super::scan::{Hit, Scanner};
use super::{Finding, RedactionMode, Severity, marker};

impl Scanner {
    /// The text with every secret replaced by its marker, borrowed if nothing was replaced, and what was found. Text
    /// outside the findings' ranges is unchanged; redacting the result again changes nothing.
    pub fn redact_text<'t>(&self, text: &'t str) -> (Cow<'t, str>, Vec<Finding>) {
        let hits = self.hits(text.as_bytes());
        let findings = self.findings(text.as_bytes(), &hits, true, 1, 0);
        if findings.iter().all(|finding| !finding.replaced) {
            return (Cow::Borrowed(text), findings);
        }
        let mut redacted = String::with_capacity(text.len());
        let mut at = 0;
        for finding in findings.iter().filter(|finding| finding.replaced) {
            redacted.push_str(&text[at..finding.range.start]);
            redacted.push_str(&marker(&finding.kind));
            at = finding.range.end;
        }
        redacted.push_str(&text[at..]);
        (Cow::Owned(redacted), findings)
    }

    /// The same for the bytes of an attachment, which need not be text. In UTF-16 with a byte-order mark the markers
    /// are UTF-16 too.
    pub fn redact_bytes<'t>(&self, bytes: &'t [u8]) -> (Cow<'t, [u8]>, Vec<Finding>) {
        let wide = NarrowedUtf16::read(bytes, self.mode());
        let findings = wide.as_ref().map_or_else(
            || self.findings(bytes, &self.hits(bytes), true, 1, 0),
            |wide| wide.findings(self, true),
        );
        if findings.iter().all(|finding| !finding.replaced) {
            return (Cow::Borrowed(bytes), findings);
        }
        let mut redacted = Vec::with_capacity(bytes.len());
        let mut at = 0;
        for finding in findings.iter().filter(|finding| finding.replaced) {
            redacted.extend_from_slice(&bytes[at..finding.range.start]);
            let marker = marker(&finding.kind);
            match &wide {
                Some(wide) => wide.write(&marker, &mut redacted),
                None => redacted.extend_from_slice(marker.as_bytes()),
            }
            at = finding.range.end;
        }
        redacted.extend_from_slice(&bytes[at..]);
        (Cow::Owned(redacted), findings)
    }
}

impl Scanner {
    /// The findings in `text`, in order, without overlaps; changes nothing, so none is `replaced`. Empty if the mode
    /// is off. Text in UTF-16 with a byte-order mark is understood.
    pub fn scan(&self, text: &[u8]) -> Vec<Finding> {
        match NarrowedUtf16::read(text, self.mode()) {
            Some(wide) => wide.findings(self, false),
            None => self.findings(text, &self.hits(text), false, 1, 0),
        }
    }
}

/// A text in UTF-16, narrowed to one byte a unit: ASCII as it is, all else as a byte that no rule knows.
struct NarrowedUtf16 {
    narrow: Vec<u8>,
    little: bool,
}

impl NarrowedUtf16 {
    fn read(bytes: &[u8], mode: RedactionMode) -> Option<Self> {
        let little = match bytes {
            _ if mode == RedactionMode::Off => return None,
            [0xff, 0xfe, ..] => true,
            [0xfe, 0xff, ..] => false,
            _ => return None,
        };
        let narrow = bytes[2..].chunks_exact(2).map(|pair| {
            let unit = if little {
                u16::from_le_bytes([pair[0], pair[1]])
            } else {
                u16::from_be_bytes([pair[0], pair[1]])
            };
            u8::try_from(unit).ok().filter(u8::is_ascii).unwrap_or(0xff)
        });
        Some(Self {
            narrow: narrow.collect(),
            little,
        })
    }

    fn findings(&self, scanner: &Scanner, replaced: bool) -> Vec<Finding> {
        let hits: Vec<Hit> = scanner.hits(&self.narrow);
        scanner.findings(&self.narrow, &hits, replaced, 2, 2)
    }

    fn write(&self, text: &str, into: &mut Vec<u8>) {
        for unit in text.encode_utf16() {
            into.extend_from_slice(&if self.little {
                unit.to_le_bytes()
            } else {
                unit.to_be_bytes()
            });
        }
    }
}

/// Whether any of these was or would be replaced.
pub(super) fn any_secret(hits: &[Hit]) -> bool {
    hits.iter().any(|hit| hit.severity == Severity::Secret)
}

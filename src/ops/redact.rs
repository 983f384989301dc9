//! Secrets taken out of what is about to be stored: record, session members, attachments. Working tree content never
//! is.

use std::sync::Arc;

use serde_json::Value;

use super::{Error, Scene};
use crate::{
    secrets::{self, ChunkRedactor, Finding, OwnRule, PackedReport, RedactionMode, RedactionSettings, Scanner},
    store::config::Redact,
};

/// A secret that was found on the way in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactedSecret {
    /// The kind of secret, such as `github-token`.
    pub kind: String,
    /// Location: `record/decisions/0/text`, `files/env.txt:3`.
    pub place: String,
    /// Whether it was replaced by a marker; otherwise it was only noticed.
    pub replaced: bool,
}

/// Content that could not be searched for secrets, and stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsearchedContent {
    /// Location: `files/keys.zip`, `record/state/backup in base64`.
    pub place: String,
    /// Its form: `xz`, `an encrypted zip archive`.
    pub form: &'static str,
}

/// A rule given as `NAME=REGEX`; without a name it is called `own`.
pub(super) fn own_rule(text: &str) -> OwnRule {
    let (kind, pattern) = text.split_once('=').unwrap_or(("own", text));
    OwnRule {
        kind: kind.trim().to_owned(),
        pattern: pattern.to_owned(),
    }
}

/// The location of packed data: the forms that it is in, from the outermost, behind its place.
fn inner_place(place: &str, pointer: &str, forms: &[&str]) -> String {
    if forms.is_empty() {
        return format!("{place}{pointer}");
    }
    format!("{place}{pointer} in {}", forms.join(" in "))
}

/// Finds secrets as the settings say.
pub(super) struct Redactor {
    scanner: Arc<Scanner>,
    /// Secrets found so far.
    pub(super) found: Vec<RedactedSecret>,
    /// Content that may hold secrets that were not found.
    pub(super) unsearched: Vec<UnsearchedContent>,
}

impl Redactor {
    /// A redactor with the user's mode, allow-list and own rules.
    pub(super) fn new(scene: &Scene<'_>) -> Result<Self, Error> {
        let given = scene.settings;
        let settings = RedactionSettings {
            mode: match given.redact {
                Redact::On => RedactionMode::On,
                Redact::Warn => RedactionMode::Warn,
                Redact::Off => RedactionMode::Off,
            },
            allow: given.redact_allow.clone(),
            rules: given.redact_rule.iter().map(|rule| own_rule(rule)).collect(),
        };
        Ok(Self::with_scanner(Arc::new(Scanner::new(&settings)?)))
    }

    /// The same for content in which texts occur more than once: what was clean once is not scanned again.
    pub(super) fn with_memory(scene: &Scene<'_>) -> Result<Self, Error> {
        let plain = Self::new(scene)?;
        let scanner = Arc::into_inner(plain.scanner).expect("nobody else has it yet");
        Ok(Self::with_scanner(Arc::new(scanner.with_memory())))
    }

    /// Another redactor with the same scanner, for another thread or another part of the work. It has found nothing yet.
    pub(super) fn fork(&self) -> Self {
        Self::with_scanner(Arc::clone(&self.scanner))
    }

    /// A redactor for tests.
    #[cfg(test)]
    pub(super) fn of_scanner(scanner: Scanner) -> Self {
        Self::with_scanner(Arc::new(scanner))
    }

    fn with_scanner(scanner: Arc<Scanner>) -> Self {
        Self {
            scanner,
            found: Vec::new(),
            unsearched: Vec::new(),
        }
    }

    /// Takes over what a fork found.
    pub(super) fn join(&mut self, fork: Self) {
        self.found.extend(fork.found);
        for content in fork.unsearched {
            if !self.unsearched.contains(&content) {
                self.unsearched.push(content);
            }
        }
    }

    /// Takes secrets out of a JSON value, names included.
    pub(super) fn json(&mut self, value: &mut Value, place: &str) {
        for finding in self.scanner.redact_json(value) {
            self.found.push(RedactedSecret {
                kind: finding.kind.to_string(),
                place: format!("{place}{}", finding.pointer),
                replaced: finding.replaced,
            });
        }
        let found = self.scanner.redact_packed_json(value);
        self.packed(found, place);
    }

    /// Keeps what was found in packed data.
    fn packed(&mut self, report: PackedReport, place: &str) {
        for finding in report.findings {
            self.found.push(RedactedSecret {
                place: inner_place(place, &finding.pointer, &finding.forms),
                kind: finding.kind.to_string(),
                replaced: finding.replaced,
            });
        }
        for data in report.unsearched {
            let content = UnsearchedContent {
                place: inner_place(place, &data.pointer, &data.forms),
                form: data.form,
            };
            if !self.unsearched.contains(&content) {
                self.unsearched.push(content);
            }
        }
    }

    /// Takes secrets out of a text.
    pub(super) fn text(&mut self, text: &mut String, place: &str) {
        let (clean, findings) = self.scanner.redact_text(text);
        let clean = clean.into_owned();
        for finding in findings {
            self.found.push(RedactedSecret {
                kind: finding.kind.to_string(),
                place: format!("{place}:{}", finding.line),
                replaced: finding.replaced,
            });
        }
        let (unpacked, found) = self.scanner.redact_packed(clean.as_bytes());
        *text = unpacked.map_or(clean, |bytes| String::from_utf8_lossy(&bytes).into_owned());
        self.packed(found, place);
    }

    /// Takes out secrets that extend across the borders of texts that follow each other: the marker goes where one
    /// begins.
    pub(super) fn across(&mut self, texts: &mut [&mut String], place: &str) {
        if texts.len() < 2 {
            return;
        }
        let mut whole = String::new();
        let mut spans = Vec::new();
        for text in texts.iter() {
            let start = whole.len();
            whole.push_str(text);
            spans.push(start..whole.len());
        }
        let (_, findings) = self.scanner.redact_text(&whole);
        // From the last one on, so that what is before stays where it was found.
        for finding in findings.into_iter().rev() {
            let found = &finding.range;
            let part = |(n, span): (usize, &std::ops::Range<usize>)| {
                let (start, end) = (found.start.max(span.start), found.end.min(span.end));
                (start < end).then(|| (n, start - span.start..end - span.start))
            };
            let parts: Vec<_> = spans.iter().enumerate().filter_map(part).collect();
            // What is in one text alone was found in it before, or is no secret there.
            if parts.len() < 2 {
                continue;
            }
            self.found.push(RedactedSecret {
                kind: finding.kind.to_string(),
                place: place.to_owned(),
                replaced: finding.replaced,
            });
            let mut marker = secrets::marker(&finding.kind);
            for (n, cut) in parts.into_iter().filter(|_| finding.replaced) {
                texts[n].replace_range(cut, &std::mem::take(&mut marker));
            }
        }
    }

    /// For a text that comes in pieces.
    pub(super) fn stream(&self) -> ChunkRedactor<'_> {
        ChunkRedactor::new(&self.scanner)
    }

    /// Keeps what was found in such a text.
    pub(super) fn note(&mut self, findings: Vec<Finding>, place: &str) {
        for finding in findings {
            self.found.push(RedactedSecret {
                kind: finding.kind.to_string(),
                place: format!("{place}:{}", finding.line),
                replaced: finding.replaced,
            });
        }
    }

    /// The name of the calling agent without secrets.
    pub(super) fn agent(&mut self, scene: &Scene<'_>) -> Option<String> {
        let mut agent = scene.agent?.to_owned();
        self.text(&mut agent, "agent");
        Some(agent)
    }

    /// Takes secrets out of the bytes of a file.
    pub(super) fn bytes(&mut self, bytes: &[u8], place: &str) -> Vec<u8> {
        let (clean, findings) = self.scanner.redact_bytes(bytes);
        for finding in findings {
            self.found.push(RedactedSecret {
                kind: finding.kind.to_string(),
                place: format!("{place}:{}", finding.line),
                replaced: finding.replaced,
            });
        }
        let (unpacked, found) = self.scanner.redact_packed(&clean);
        let clean = unpacked.unwrap_or_else(|| clean.into_owned());
        self.packed(found, place);
        clean
    }
}

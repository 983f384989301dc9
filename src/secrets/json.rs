//! Redaction of a JSON value: every string and every member name, each string read together with its member name, so
//! that `{"aws_secret_access_key": "..."}` is understood though the value alone has no known form.
//!
//! Left alone: signatures, encrypted reasoning, images (`{"type": "base64", "media_type": ..., "data": ...}`), and
//! warnings about ids.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use memchr::memchr2;
use serde_json::{Map, Value};

use super::clean_texts::{MemoryAnswer, ScanContext};
use super::opaque::{is_opaque_name, is_run};
use super::scan::{Hit, Scanner};
use super::{RedactionMode, Severity, marker};

/// A secret in a JSON value: what and where, never the secret itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonFinding {
    /// Location of the string, as a JSON pointer (RFC 6901). Secrets in member names are replaced here in every mode.
    pub pointer: String,
    /// The secret is in the name of the member at `pointer`, not in its value.
    pub in_name: bool,
    /// Name of the kind, as in the marker.
    pub kind: Cow<'static, str>,
    /// How sure it is.
    pub severity: Severity,
    /// The bytes of the secret in the string as it was, without JSON's escapes.
    pub range: Range<usize>,
    /// A marker is in its place now.
    pub replaced: bool,
}

impl fmt::Display for JsonFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.in_name { " in the name of" } else { " at" };
        write!(f, "{}{place} '{}'", self.kind, self.pointer)
    }
}

/// The least part of an image or signature that is looked at: a token put where they belong is at its beginning.
const HEAD: usize = 4096;

/// No built-in format of letters, digits and `_-.` alone is shorter.
const SHORTEST: usize = 16;

/// Longer member names are data, not names that speak of a value.
const NAME: usize = 256;

impl Scanner {
    /// Replaces every secret in `value` and reports what was found, in document order. Numbers, order of members and
    /// everything outside the findings stay as they are. Two members whose names become the same marker are
    /// distinguished by a number.
    pub fn redact_json(&self, value: &mut Value) -> Vec<JsonFinding> {
        let mut walk = JsonWalk {
            scanner: self,
            pointer: String::new(),
            whole: String::new(),
            findings: Vec::new(),
        };
        if self.mode() != RedactionMode::Off {
            walk.value(value, None, false);
        }
        walk.findings
    }
}

struct JsonWalk<'s> {
    scanner: &'s Scanner,
    pointer: String,
    /// A string with its name, one after the other.
    whole: String,
    findings: Vec<JsonFinding>,
}

impl JsonWalk<'_> {
    /// `name` is the name that speaks of this value: that of its member, of the member whose array it is in, or of
    /// its pair.
    fn value(&mut self, value: &mut Value, name: Option<&str>, image: bool) {
        match value {
            Value::String(text) => {
                if let Some(redacted) = self.string(text, name, image) {
                    *text = redacted;
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    let len = self.descend(&index.to_string());
                    self.value(item, name, image);
                    self.pointer.truncate(len);
                }
            }
            Value::Object(members) => self.object(members),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn object(&mut self, members: &mut Map<String, Value>) {
        let image = is_image(members);
        let paired = pair_name(members);
        let mut renamed = Vec::new();
        for (name, value) in members.iter_mut() {
            let hits = self.name(name);
            let len = if hits.is_empty() {
                self.descend(name)
            } else {
                let shown = self.replace(name, &hits, 0);
                let len = self.descend(&shown);
                self.report(name, &hits, 0, true);
                renamed.push((name.clone(), shown));
                len
            };
            let speaks = match &paired {
                Some(paired) if name.eq_ignore_ascii_case("value") => paired,
                _ => name,
            };
            self.value(
                value,
                Some(speaks).filter(|name| name.len() <= NAME).map(String::as_str),
                image,
            );
            self.pointer.truncate(len);
        }
        if self.scanner.mode() == RedactionMode::On && !renamed.is_empty() {
            rename(members, renamed);
        }
    }

    /// The secrets in a member name. That it sounds like one does not make it one.
    fn name(&self, name: &str) -> Vec<Hit> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        if name.len() < SHORTEST && name.bytes().all(plain) && !self.scanner.has_own_rules() {
            return Vec::new();
        }
        let mut hits = self.scanner.hits(name.as_bytes());
        hits.retain(|hit| hit.severity == Severity::Secret);
        hits
    }

    /// The string with its secrets replaced, if there are any to replace.
    fn string(&mut self, text: &str, name: Option<&str>, image: bool) -> Option<String> {
        let context = if image {
            ScanContext::Image(name)
        } else {
            ScanContext::Member(name)
        };
        let clean = self.scanner.clean.as_ref();
        let looked_up = clean.and_then(|clean| clean.look_up(context, text));
        if looked_up == Some(MemoryAnswer::Clean) {
            return None;
        }
        let before = self.findings.len();
        let redacted = self.scanned(text, name, image);
        if let (Some(clean), Some(MemoryAnswer::New(key))) = (clean, looked_up)
            && redacted.is_none()
            && self.findings.len() == before
        {
            clean.add(key);
        }
        redacted
    }

    fn scanned(&mut self, text: &str, name: Option<&str>, image: bool) -> Option<String> {
        let opaque = (image || name.is_some_and(is_opaque_name)) && is_run(text.as_bytes());
        let head = if opaque { &text[..text.len().min(HEAD)] } else { text };
        let shift = name.map_or(0, |name| name.len() + 5);
        let mut hits = match name {
            // As it would be written in the file, but for the escapes.
            Some(name) => {
                self.whole.clear();
                for part in ["\"", name, "\": \"", head, "\""] {
                    self.whole.push_str(part);
                }
                self.scanner.hits_within(&self.whole, shift..shift + head.len())
            }
            None => self.scanner.hits(head.as_bytes()),
        };
        if opaque {
            hits.retain(|hit| hit.severity == Severity::Secret && hit.start == shift);
            if let [hit] = &mut *hits {
                // All of it is one run, so it belongs to the token that it begins with.
                hit.end = shift + text.len();
            }
        } else if name.is_some_and(is_id_name) {
            hits.retain(|hit| hit.severity == Severity::Secret);
        }
        self.report(text, &hits, shift, false);
        let replaced = self.scanner.mode() == RedactionMode::On && super::redact::any_secret(&hits);
        replaced.then(|| self.replace(text, &hits, shift))
    }

    fn replace(&self, text: &str, hits: &[Hit], shift: usize) -> String {
        let mut redacted = String::with_capacity(text.len());
        let mut at = 0;
        for hit in hits.iter().filter(|hit| hit.severity == Severity::Secret) {
            redacted.push_str(&text[at..hit.start - shift]);
            redacted.push_str(&marker(&self.scanner.kind(hit.name)));
            at = hit.end - shift;
        }
        redacted.push_str(&text[at..]);
        redacted
    }

    fn report(&mut self, text: &str, hits: &[Hit], shift: usize, in_name: bool) {
        debug_assert!(
            hits.iter().all(|hit| hit.end - shift <= text.len()),
            "a finding lies in its string"
        );
        self.findings.extend(hits.iter().map(|hit| JsonFinding {
            pointer: self.pointer.clone(),
            in_name,
            kind: self.scanner.kind(hit.name),
            severity: hit.severity,
            range: hit.start - shift..hit.end - shift,
            replaced: self.scanner.mode() == RedactionMode::On && hit.severity == Severity::Secret,
        }));
    }

    /// Adds a step to the pointer; returns the length to go back to.
    fn descend(&mut self, step: &str) -> usize {
        descend(&mut self.pointer, step)
    }
}

/// Adds a step to a JSON pointer; returns the length to go back to.
pub(super) fn descend(pointer: &mut String, step: &str) -> usize {
    let len = pointer.len();
    pointer.push('/');
    if memchr2(b'~', b'/', step.as_bytes()).is_none() {
        pointer.push_str(step);
        return len;
    }
    for part in step.split_inclusive(['~', '/']) {
        let (plain, escaped) = match part.as_bytes().last() {
            Some(b'~') => (&part[..part.len() - 1], "~0"),
            Some(b'/') => (&part[..part.len() - 1], "~1"),
            _ => (part, ""),
        };
        pointer.push_str(plain);
        pointer.push_str(escaped);
    }
    len
}

/// An image block: a media type or the word `base64` next to the data.
fn is_image(members: &Map<String, Value>) -> bool {
    let is = |name: &str, value: &str| members.get(name).and_then(Value::as_str) == Some(value);
    members.contains_key("data")
        && (["media_type", "mediaType", "mimeType", "mime_type"]
            .iter()
            .any(|name| members.contains_key(*name))
            || is("type", "base64")
            || is("type", "redacted_thinking"))
}

/// The name in `{"name": "AUTHORIZATION", "value": "..."}`, as HTTP archives, Kubernetes and Docker write headers
/// and variables.
fn pair_name(members: &Map<String, Value>) -> Option<String> {
    let value = members.keys().any(|name| name.eq_ignore_ascii_case("value"));
    let name = members.iter().find(|(name, _)| {
        ["name", "key", "header", "variable"]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
    });
    name.filter(|_| value)
        .and_then(|(_, name)| name.as_str())
        .map(str::to_owned)
}

/// A member that holds an id or a digest; those look random and are no secrets.
fn is_id_name(name: &str) -> bool {
    let ends_with = |end: &str| {
        let tail = name
            .len()
            .checked_sub(end.len())
            .and_then(|at| name.as_bytes().get(at..));
        tail.is_some_and(|tail| tail.eq_ignore_ascii_case(end.as_bytes()))
    };
    name.eq_ignore_ascii_case("id")
        || name.ends_with("Id")
        || [
            "_id",
            "-id",
            "uuid",
            "sha",
            "sha1",
            "sha256",
            "sha512",
            "oid",
            "commit",
            "tree",
            "digest",
            "hash",
            "checksum",
            "integrity",
            "etag",
            "cursor",
        ]
        .iter()
        .any(|end| ends_with(end))
}

/// Gives members new names, in place and order; a name that is taken gets a number.
fn rename(members: &mut Map<String, Value>, renamed: Vec<(String, String)>) {
    let mut renamed = renamed.into_iter().peekable();
    let old = std::mem::take(members);
    let taken: std::collections::HashSet<String> = old.keys().cloned().collect();
    for (name, value) in old {
        let new = match renamed.next_if(|(old, _)| *old == name) {
            Some((_, new)) => {
                let free = |name: &String| !members.contains_key(name) && !taken.contains(name);
                let mut numbered = (2_u32..).map(|n| format!("{new} ({n})"));
                if free(&new) {
                    new.clone()
                } else {
                    numbered.find(free).unwrap_or_default()
                }
            }
            None => name,
        };
        members.insert(new, value);
    }
}

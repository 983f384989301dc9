//! Secrets in packed data: base64, hexadecimal digits, escapes and JSON inside a text, gzip, zlib and zip archives, at
//! any nesting.
//!
//! Data that holds a secret is unpacked, cleaned and packed again in the same form; data that holds none keeps its
//! bytes. Only sure findings count here: in unpacked bytes every chance string looks random.

mod archives;
mod runs;

use std::{borrow::Cow, collections::BTreeSet, mem};

use memchr::memchr;
use serde_json::Value;

use super::{
    RedactionMode, Scanner, Severity,
    clean_texts::{MemoryAnswer, ScanContext},
    json::descend,
    marker,
};

/// The deepest nesting that is unpacked: far more than any writer makes, and a bound for an archive that holds itself.
const DEPTH: usize = 24;
/// The most bytes that are unpacked from one value, all levels together: 128 MiB.
const LIMIT: usize = 128 << 20;
/// The largest unpacked JSON that is parsed: 1 MiB. The rules for text find what larger ones hold.
const JSON: usize = 1 << 20;
/// No secret of a known form is shorter.
const SHORTEST: usize = 16;
/// The kind of what was not searched, since it is packed beyond the limits.
pub const BEYOND_LIMITS: &str = "packed-data";
/// The text that replaces data whose unpacked content is beyond the limits.
const UNSEARCHED: &str = "[REDACTED:packed-data-beyond-the-limits]";

/// A secret in packed data: its kind and place, never the secret itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackedFinding {
    /// Name of the kind, as in the marker.
    pub kind: Cow<'static, str>,
    /// A JSON pointer to the text that holds the data; empty for bytes.
    pub pointer: String,
    /// The forms from the outermost to the innermost: `base64`, `gzip`.
    pub forms: Vec<&'static str>,
    /// A marker is in its place now.
    pub replaced: bool,
}

/// Data that stays as it is because it cannot be searched: it is encrypted, damaged, or packed in a form that is not read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnsearchedData {
    /// A JSON pointer to the text that holds the data; empty for bytes.
    pub pointer: String,
    /// The forms that it is packed in and that were opened, from the outermost.
    pub forms: Vec<&'static str>,
    /// Its own form.
    pub form: &'static str,
}

/// Result of a search in packed data.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PackedReport {
    /// The secrets.
    pub findings: Vec<PackedFinding>,
    /// The data that may hold more of them.
    pub unsearched: Vec<UnsearchedData>,
}

impl Scanner {
    /// The bytes without the secrets in their packed parts; `None` when nothing changed.
    pub fn redact_packed(&self, bytes: &[u8]) -> (Option<Vec<u8>>, PackedReport) {
        if self.mode() == RedactionMode::Off {
            return (None, PackedReport::default());
        }
        let mut search = Search::new(self);
        let clean = search.bytes(bytes);
        (clean, search.report())
    }

    /// Takes the secrets out of the packed parts of every text in a JSON value.
    pub fn redact_packed_json(&self, value: &mut Value) -> PackedReport {
        if self.mode() == RedactionMode::Off {
            return PackedReport::default();
        }
        let mut search = Search::new(self);
        search.value(value);
        search.report()
    }
}

struct Search<'s> {
    scanner: &'s Scanner,
    /// The bytes that may still be unpacked.
    left: usize,
    forms: Vec<&'static str>,
    pointer: String,
    /// Whether lengths must stay: the data is addressed by offsets.
    fixed: bool,
    findings: Vec<PackedFinding>,
    /// A set, because a run of digits is decoded in more than one way.
    unsearched: BTreeSet<UnsearchedData>,
}

impl<'s> Search<'s> {
    fn new(scanner: &'s Scanner) -> Self {
        Self {
            scanner,
            left: LIMIT,
            forms: Vec::new(),
            pointer: String::new(),
            fixed: false,
            findings: Vec::new(),
            unsearched: BTreeSet::new(),
        }
    }

    fn report(self) -> PackedReport {
        PackedReport {
            findings: self.findings,
            unsearched: self.unsearched.into_iter().collect(),
        }
    }

    fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => {
                let memory = self
                    .scanner
                    .clean
                    .as_ref()
                    .filter(|_| self.forms.is_empty() && !self.fixed);
                let looked_up = memory.and_then(|memory| memory.look_up(ScanContext::Packed, text));
                if looked_up == Some(MemoryAnswer::Clean) {
                    return;
                }
                let before = (self.findings.len(), self.unsearched.len());
                if let Some(clean) = self.bytes(text.as_bytes()) {
                    *text = String::from_utf8_lossy(&clean).into_owned();
                } else if let (Some(memory), Some(MemoryAnswer::New(key))) = (memory, looked_up)
                    && before == (self.findings.len(), self.unsearched.len())
                {
                    memory.add(key);
                }
            }
            Value::Array(items) => {
                for (n, item) in items.iter_mut().enumerate() {
                    self.below(&n.to_string(), item);
                }
            }
            Value::Object(members) => {
                // A name may be packed data as well; it goes with what it holds, since a changed name is another member.
                let packed: Vec<String> = members
                    .keys()
                    .filter(|name| self.bytes(name.as_bytes()).is_some())
                    .cloned()
                    .collect();
                for (n, name) in packed.into_iter().enumerate() {
                    if let Some(value) = members.shift_remove(&name) {
                        members.insert(format!("{} {}", marker("packed-name"), n + 1), value);
                    }
                }
                for (name, value) in members.iter_mut() {
                    self.below(name, value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn below(&mut self, name: &str, value: &mut Value) {
        let length = self.pointer.len();
        descend(&mut self.pointer, name);
        self.value(value);
        self.pointer.truncate(length);
    }

    /// The bytes without secrets, `None` when they stay as they are. Plain secrets at the top were the caller's.
    fn bytes(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        if bytes.len() < SHORTEST {
            return None;
        }
        if let Some(form) = archives::form(bytes) {
            return self.archive(form, bytes);
        }
        if let Some(form) = archives::unread_form(bytes) {
            self.leave(form);
        }
        let fixed = self.fixed || archives::is_addressed(bytes);
        let outer = mem::replace(&mut self.fixed, fixed);
        let clean = self.text(bytes);
        self.fixed = outer;
        clean
    }

    fn text(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let plain = if self.fixed { None } else { unescaped(bytes) };
        let mut clean = Cow::Borrowed(plain.as_deref().unwrap_or(bytes));
        let mut changed = false;
        let mut take = |clean: &mut Cow<'_, [u8]>, new: Option<Vec<u8>>| {
            if let Some(new) = new {
                *clean = Cow::Owned(new);
                changed = true;
            }
        };
        let is_top = self.forms.is_empty();
        if !self.fixed {
            let new = self.json(&clean);
            take(&mut clean, new);
        }
        if !is_top || plain.is_some() || is_marked(&clean) {
            let new = self.plain(&clean);
            take(&mut clean, new);
        }
        let new = self.runs(&clean);
        take(&mut clean, new);
        changed.then(|| clean.into_owned())
    }

    /// JSON as a text, read with its names.
    fn json(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let trimmed = bytes.trim_ascii_start();
        // A string alone is a text that was escaped as a whole, perhaps more than once.
        if bytes.len() > JSON || !matches!(trimmed.first(), Some(b'{' | b'[' | b'"')) {
            return None;
        }
        let mut value: Value = serde_json::from_slice(bytes).ok()?;
        if self.forms.len() == DEPTH {
            return None;
        }
        let before = self.findings.len();
        let found = self.scanner.redact_json(&mut value);
        for finding in found.into_iter().filter(|finding| finding.severity == Severity::Secret) {
            self.note(finding.kind, finding.replaced, "JSON");
        }
        self.forms.push("JSON");
        self.value(&mut value);
        self.forms.pop();
        let changed = self.findings[before..].iter().any(|finding| finding.replaced);
        changed.then(|| serde_json::to_vec(&value).unwrap_or_default())
    }

    fn plain(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        // Two bytes that look like the mark of UTF-16 must not hide plain letters.
        let clean = self.letters(bytes);
        if clean.is_none() && is_marked(bytes) {
            let rest = self.letters(&bytes[2..])?;
            return Some([&bytes[..2], &rest].concat());
        }
        clean
    }

    fn letters(&mut self, bytes: &[u8]) -> Option<Vec<u8>> {
        let (clean, found) = self.scanner.redact_bytes(bytes);
        let sure: Vec<_> = found
            .into_iter()
            .filter(|finding| finding.severity == Severity::Secret)
            .collect();
        for finding in &sure {
            self.note(finding.kind.clone(), finding.replaced, "escapes");
        }
        if !sure.iter().any(|finding| finding.replaced) {
            return None;
        }
        if !self.fixed {
            return Some(clean.into_owned());
        }
        let mut out = bytes.to_vec();
        for finding in sure {
            let mark = marker(&finding.kind);
            let fill = mark.bytes().chain(std::iter::repeat(b'x'));
            for (place, byte) in out[finding.range].iter_mut().zip(fill) {
                *place = byte;
            }
        }
        Some(out)
    }

    /// Looks into data that was packed in a form. `None` when it stays as it is.
    fn inside(&mut self, form: &'static str, bytes: &[u8]) -> Option<Vec<u8>> {
        if self.forms.len() == DEPTH || bytes.len() > self.left {
            self.note(BEYOND_LIMITS.into(), self.scanner.mode() == RedactionMode::On, form);
            return (self.scanner.mode() == RedactionMode::On).then(|| UNSEARCHED.into());
        }
        self.left -= bytes.len();
        self.forms.push(form);
        let clean = self.bytes(bytes);
        self.forms.pop();
        clean
    }

    /// Keeps that data of this form was not searched.
    fn leave(&mut self, form: &'static str) {
        self.unsearched.insert(UnsearchedData {
            pointer: self.pointer.clone(),
            forms: self.forms.clone(),
            form,
        });
    }

    /// Keeps a finding; `form` is named where it is in none.
    fn note(&mut self, kind: Cow<'static, str>, replaced: bool, form: &'static str) {
        let forms = if self.forms.is_empty() {
            vec![form]
        } else {
            self.forms.clone()
        };
        self.findings.push(PackedFinding {
            kind,
            pointer: self.pointer.clone(),
            forms,
            replaced,
        });
    }
}

fn is_marked(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")
}

/// The bytes with letters, digits and signs that are written as escapes (`\u0041`, `\x41`, `\101`, `\/`) written plainly, at any
/// depth of escaping; `None` when there is none. Quotes and backslashes stay escaped, so that a parser reads the same.
fn unescaped(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out: Option<Vec<u8>> = None;
    let (mut at, mut kept) = (0, 0);
    while let Some(found) = memchr(b'\\', &bytes[at..]) {
        at += found;
        let start = at;
        while bytes.get(at) == Some(&b'\\') {
            at += 1;
        }
        let value = |digits: &[u8], radix: u32| {
            let digit = |sum: u32, digit: &u8| Some(sum * radix + char::from(*digit).to_digit(radix)?);
            u8::try_from(digits.iter().try_fold(0, digit)?).ok()
        };
        let escape = match &bytes[at..] {
            [b'u', b'0', b'0', digits @ ..] => digits.get(..2).map(|digits| (value(digits, 16), 5)),
            [b'x', digits @ ..] => digits.get(..2).map(|digits| (value(digits, 16), 3)),
            [b'/', ..] => Some((Some(b'/'), 1)),
            digits @ [b'0' | b'1', ..] => digits.get(..3).map(|digits| (value(digits, 8), 3)),
            _ => None,
        };
        let Some((Some(letter), length)) = escape else { continue };
        if !(0x20..0x7f).contains(&letter) || letter == b'"' || letter == b'\\' {
            continue;
        }
        let out = out.get_or_insert_default();
        out.extend_from_slice(&bytes[kept..start]);
        out.push(letter);
        at += length;
        kept = at;
    }
    if let Some(out) = &mut out {
        out.extend_from_slice(&bytes[kept..]);
    }
    out
}

//! Messages from a file: JSONL of `{role, content, timestamp}`, as programs write it and as crashes leave it.
//!
//! Readable lines are imported, and all others are reported: a torn last line, runs of NUL, lone surrogates, several
//! records on a line, records that are no messages. Importing a file again adds nothing new.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::{Error, Scene, SessionChat, append, receiving, redacted};
use crate::{
    model::{
        chat::{Message, Role, hex},
        json,
        name::ShortName,
        time::Timestamp,
    },
    ops::redact::{RedactedSecret, Redactor},
    store::chat::PendingMessage,
};

/// Result of an import of a chat.
#[derive(Debug)]
pub struct ChatImport {
    /// The session.
    pub session: ShortName,
    /// How many messages were added.
    pub added: u64,
    /// How many were there already.
    pub known: u64,
    /// Findings about the file.
    pub report: FileFindings,
    /// Secrets found.
    pub redactions: Vec<RedactedSecret>,
}

/// Findings about an imported file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileFindings {
    /// Lines that were read only after a repair, and which: line, counted from 1, and what it was.
    pub repaired: Vec<(usize, &'static str)>,
    /// Lines that could not be imported, with the reason.
    pub skipped: Vec<(usize, String)>,
}

/// Imports a file. One of which nothing can be taken is an error, and nothing is changed then.
pub fn import(scene: &Scene<'_>, bytes: &[u8]) -> Result<ChatImport, Error> {
    let (records, mut report) = records(bytes);
    let mut messages = Vec::new();
    for (line, value) in records {
        match message(value, scene.now) {
            Ok(message) => messages.push(message),
            Err(why) => report.skipped.push((line, why.to_owned())),
        }
    }
    if let (true, Some((line, why))) = (messages.is_empty(), report.skipped.iter().min()) {
        return Err(Error::NoMessages {
            line: *line,
            why: why.clone(),
            is_document: is_document(bytes),
        });
    }
    let chosen = receiving(scene)?;
    let mut known = HashSet::new();
    SessionChat::open(scene)?.each(0, |_, message| {
        known.insert(message.id);
        Ok(())
    })?;
    let mut redactor = Redactor::new(scene)?;
    let mut seen = HashMap::<String, u64>::new();
    let mut entries = Vec::new();
    let mut out = ChatImport {
        session: chosen.name.clone(),
        added: 0,
        known: 0,
        report: FileFindings::default(),
        redactions: Vec::new(),
    };
    for message in messages {
        let mut message = redacted(message, &mut redactor);
        if message.id.is_empty() {
            // The same words at the same time are distinguished by how often they were said, in every import alike.
            let digest = digest(&message);
            let nth = seen.entry(digest.clone()).or_default();
            message.id = format!("{digest}-{nth}");
            *nth += 1;
        }
        if known.insert(message.id.clone()) {
            if message.unknown.shift_remove(UNTIMED).is_some() {
                message.at = scene.now;
            }
            entries.push(PendingMessage::Message(message));
        } else {
            out.known += 1;
        }
    }
    // One write for many, but not one of the size of the file.
    for batch in entries.chunks(4096) {
        append(scene, &chosen.tip.document.session.id, batch)?;
    }
    out.added = entries.len() as u64;
    out.report = report;
    out.redactions = redactor.found;
    Ok(out)
}

/// Whether the whole is one JSON list or object, not one a line.
fn is_document(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    matches!(serde_json::from_slice(text), Ok(Value::Array(_) | Value::Object(_)))
}

/// Marks a message without a time until its id is made.
const UNTIMED: &str = "\0untimed";

fn digest(message: &Message) -> String {
    let mut hash = Sha256::new();
    hash.update(message.role.word());
    hash.update(message.content.to_string());
    if !message.unknown.contains_key(UNTIMED) {
        hash.update(message.at.to_string());
    }
    hex(&hash.finalize()[..10])
}

/// The JSON objects of a file with their lines, whatever else is in it.
pub fn records(bytes: &[u8]) -> (Vec<(usize, Value)>, FileFindings) {
    let mut out = Vec::new();
    let mut report = FileFindings::default();
    for (line, number) in bytes.split_inclusive(|byte| *byte == b'\n').zip(1..) {
        let whole = line.ends_with(b"\n");
        let mut text = line.trim_ascii();
        if number == 1 {
            text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        }
        let without = strip_nul(text);
        if without.len() != text.len() {
            report.repaired.push((number, "NUL bytes, left out"));
        }
        if without.is_empty() {
            continue;
        }
        let clean = String::from_utf8_lossy(&without);
        if matches!(clean, std::borrow::Cow::Owned(_)) {
            report.repaired.push((number, "bytes that are not UTF-8, replaced"));
        }
        line_records(&clean, number, whole, &mut out, &mut report);
    }
    (out, report)
}

/// The bytes without NULs: JSON has none, but a power cut leaves them.
fn strip_nul(bytes: &[u8]) -> Vec<u8> {
    bytes
        .iter()
        .copied()
        .filter(|byte| *byte != 0)
        .collect::<Vec<_>>()
        .trim_ascii()
        .to_vec()
}

fn line_records(text: &str, number: usize, whole: bool, out: &mut Vec<(usize, Value)>, report: &mut FileFindings) {
    let mut rest = text;
    let mut many = 0;
    while !rest.is_empty() {
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match stream.next() {
            None => return,
            Some(Ok(value)) => {
                let at = stream.byte_offset();
                if json::is_deeper(&value, json::DEPTH_LIMIT) {
                    let why = format!("it is nested deeper than {} levels", json::DEPTH_LIMIT);
                    report.skipped.push((number, why));
                } else {
                    out.push((number, value));
                }
                many += 1;
                if many == 2 {
                    report
                        .repaired
                        .push((number, "several records on one line, each taken"));
                }
                rest = rest[at..].trim_start_matches([' ', '\t', ',', '\r']);
            }
            Some(Err(error)) => {
                if let Some(fixed) = without_lone_surrogates(rest) {
                    report.repaired.push((number, "lone surrogates, replaced"));
                    return line_records(&fixed, number, whole, out, report);
                }
                let why = if error.is_eof() && !whole {
                    "the last line is cut off".to_owned()
                } else {
                    format!("not JSON: {error}")
                };
                report.skipped.push((number, why));
                return;
            }
        }
    }
}

/// The text with every `\uD800` to `\uDFFF` that has no partner as `\uFFFD`; `None` if there is none.
fn without_lone_surrogates(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let unit = |at: usize| -> Option<u32> {
        if bytes.get(at..at + 2)? != b"\\u" {
            return None;
        }
        u32::from_str_radix(text.get(at + 2..at + 6)?, 16).ok()
    };
    let mut out = String::new();
    let (mut at, mut copied, mut found) = (0, 0, false);
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match unit(at) {
            Some(0xD800..=0xDBFF) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => at += 12,
            Some(0xD800..=0xDFFF) => {
                out.push_str(&text[copied..at]);
                out.push_str("\\ufffd");
                at += 6;
                copied = at;
                found = true;
            }
            // Any other escape, a backslash included, has at least one more character.
            _ => at += 2,
        }
    }
    out.push_str(&text[copied.min(text.len())..]);
    found.then_some(out)
}

/// A message from a record: `{role, content, timestamp}`, or the same in `message` with the rest around it.
fn message(value: Value, now: Timestamp) -> Result<Message, &'static str> {
    let Value::Object(mut record) = value else {
        return Err("it is no object");
    };
    let mut inner = match record.get("message") {
        Some(Value::Object(_)) if !record.contains_key("content") => match record.shift_remove("message") {
            Some(Value::Object(inner)) => inner,
            _ => Map::new(),
        },
        _ => Map::new(),
    };
    let mut take = |names: &[&str]| {
        let mut found = None;
        for name in names {
            if found.is_none() {
                found = record.shift_remove(*name).or_else(|| inner.shift_remove(*name));
            }
        }
        found
    };
    let content = take(&["content"]).ok_or("it has no content")?;
    let word = take(&["role"]).or_else(|| take(&["type"]));
    let word = word
        .as_ref()
        .and_then(Value::as_str)
        .ok_or("it has no role")?
        .to_owned();
    let role = Role::parse(&word).ok_or("its role is none of user, assistant, system, tool")?;
    let given = take(&["timestamp", "at", "created_at", "time"]);
    let id = match take(&["id", "uuid"]) {
        Some(Value::String(id)) => id,
        Some(Value::Number(id)) => id.to_string(),
        _ => String::new(),
    };
    let agent = take(&["agent"]).and_then(|agent| agent.as_str().map(str::to_owned));
    let mut meta = match take(&["metadata"]).or_else(|| take(&["meta"])) {
        Some(Value::Object(meta)) => meta,
        Some(other) => Map::from_iter([("metadata".to_owned(), other)]),
        None => Map::new(),
    };
    for name in ["model", "usage"] {
        if let Some(value) = take(&[name]) {
            meta.insert(name.to_owned(), value);
        }
    }
    if role.word() != word {
        meta.insert("role".to_owned(), word.into());
    }
    let at = given.as_ref().and_then(time);
    let mut unknown: Map<String, Value> = record;
    if !inner.is_empty() {
        unknown.insert("message".to_owned(), Value::Object(inner));
    }
    if at.is_none() {
        unknown.insert(UNTIMED.to_owned(), Value::Null);
        if let Some(given) = given {
            meta.insert("timestamp".to_owned(), given);
        }
    }
    // Names of ours cannot be written twice.
    for name in ["id", "at", "role", "agent", "content", "meta"] {
        if let Some(value) = unknown.shift_remove(name) {
            meta.insert(name.to_owned(), value);
        }
    }
    Ok(Message {
        id,
        at: at.unwrap_or(now),
        role,
        agent,
        content,
        meta,
        unknown,
    })
}

/// A time in RFC 3339, or in seconds or milliseconds since 1970.
fn time(value: &Value) -> Option<Timestamp> {
    match value {
        Value::String(text) => Timestamp::parse(text).ok(),
        Value::Number(number) => {
            let digits = number.to_string();
            let whole: i64 = digits.split('.').next()?.parse().ok()?;
            // Seconds of the year 5138 are milliseconds of 1973: whatever is larger is milliseconds.
            let seconds = if whole > 100_000_000_000 { whole / 1000 } else { whole };
            (seconds >= 0).then(|| Timestamp::from_unix(seconds, 0))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn values(bytes: &[u8]) -> (Vec<Value>, FileFindings) {
        let (records, report) = records(bytes);
        (records.into_iter().map(|(_, value)| value).collect(), report)
    }

    #[test]
    fn what_crashes_leave_is_survived_and_told() {
        let mut file =
            b"{\"a\":1}\n\0\0\0\0{\"a\":2}\n{\"a\":3}{\"a\":4}\n{\"a\":\"\\ud800 x \\ud83d\\ude00\"}\n\n{bad}\n"
                .to_vec();
        file.extend(b"{\"a\":\"\xff\"}\n\0\0\0\n{\"a\":7");
        let (values, report) = values(&file);
        assert_eq!(
            values,
            [
                json!({"a":1}),
                json!({"a":2}),
                json!({"a":3}),
                json!({"a":4}),
                json!({"a":"\u{fffd} x \u{1f600}"}),
                json!({"a":"\u{fffd}"})
            ]
        );
        let lines: Vec<_> = report.repaired.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [2, 3, 4, 7, 8]);
        assert_eq!(report.skipped.len(), 2);
        assert_eq!(
            (report.skipped[1].0, report.skipped[1].1.as_str()),
            (9, "the last line is cut off")
        );
    }

    #[test]
    fn records_of_several_shapes_are_messages() {
        let now = Timestamp::from_unix(5, 0);
        let of = |value| message(value, now).map(|m| (m.role, m.at.unix(), m.id, m.content));
        assert_eq!(
            of(json!({"role":"user","content":"x","timestamp":"1970-01-01T00:00:09Z","id":"i"})),
            Ok((Role::User, 9, "i".into(), json!("x")))
        );
        assert_eq!(
            of(json!({"role":"human","content":"x","timestamp":1000})),
            Ok((Role::User, 1000, String::new(), json!("x")))
        );
        assert_eq!(
            of(json!({"type":"assistant","uuid":"u","timestamp":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":[],"model":"m"}})).map(|m| m.2),
            Ok("u".into())
        );
        for value in [
            json!(1),
            json!({"role":"user"}),
            json!({"content":"x"}),
            json!({"role":"nobody","content":""}),
        ] {
            assert!(of(value).is_err());
        }
        let kept = message(
            json!({"role":"developer","content":"x","extra":{"k":1.50},"meta":{"a":1}}),
            now,
        )
        .expect("a message");
        assert_eq!(
            (kept.unknown.get("extra"), kept.meta.get("role")),
            (Some(&json!({"k":1.50})), Some(&json!("developer")))
        );
    }

    proptest! {
        #[test]
        fn reading_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = records(&bytes);
        }

        #[test]
        fn what_looks_like_records_never_panics(text in "([{}\\[\\],:\"\\\\]|\\\\u[dD][89abcd][0-9a-f]{0,2}|role|content|user|\n|\0|é|1){0,60}") {
            for (_, value) in records(text.as_bytes()).0 {
                let _ = message(value, Timestamp::from_unix(0, 0));
            }
        }

        #[test]
        fn a_file_cut_anywhere_gives_the_records_before(cut in 0_usize..200) {
            let file: Vec<u8> = (0..10).flat_map(|n| format!("{{\"role\":\"user\",\"content\":\"{n}\"}}\n").into_bytes()).collect();
            let cut = cut.min(file.len());
            let whole = file[..cut].split(|byte| *byte == b'\n').count() - 1;
            let (found, report) = records(&file[..cut]);
            prop_assert!(found.len() == whole || found.len() == whole + 1 && file[cut] == b'\n');
            prop_assert!(report.skipped.len() <= 1);
        }
    }
}

//! JSONL of `{role, content, timestamp}`, as programs write it and as crashes leave it.

use std::collections::HashMap;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::{Adding, ChatImport, Error, OpenChat, Scene, SessionChat, is_document, redact};
use crate::{
    agents::lines,
    model::{
        chat::{Message, Role, hex},
        time::Timestamp,
    },
    ops::redact::Redactor,
    store::chat::{Fingerprint, PendingMessage},
};

/// Imports a file of which the agent is not known.
pub(super) fn import(scene: &Scene<'_>, bytes: &[u8]) -> Result<ChatImport, Error> {
    let (records, mut report) = lines::records(bytes);
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
    let redactor = Redactor::new(scene)?;
    let mut adding = Adding::to(OpenChat::new(scene)?, redactor);
    let mut seen = HashMap::<String, u64>::new();
    let mut disputed = Vec::new();
    for mut message in messages {
        redact(&mut message, &mut adding.redactor);
        if message.id.is_empty() {
            // The same words at the same time are distinguished by how often they were said, in every import alike.
            let digest = digest(&message);
            let nth = seen.entry(digest.clone()).or_default();
            message.id = format!("{digest}-{nth}");
            *nth += 1;
        }
        let untimed = message.unknown.shift_remove(UNTIMED).is_some();
        match adding.known.get(&message.id) {
            None => {
                if untimed {
                    message.at = scene.now;
                }
                let print = Fingerprint::of(&message);
                adding.add(message, print);
            }
            Some(before) if before.is_same(Fingerprint::of(&message)) => adding.again += 1,
            Some(_) => disputed.push(message),
        }
    }
    settle(scene, &mut adding, disputed)?;
    let mut out = adding.end(scene)?;
    out.report = report;
    Ok(out)
}

/// Messages whose id is known with other content: where it goes on, it is the later state of the same message; otherwise
/// it is another message that got the same number.
fn settle(scene: &Scene<'_>, adding: &mut Adding, disputed: Vec<Message>) -> Result<(), Error> {
    if disputed.is_empty() {
        return Ok(());
    }
    let mut before = HashMap::<String, Message>::new();
    let wanted: std::collections::HashSet<String> = disputed.iter().map(|message| message.id.clone()).collect();
    SessionChat::open(scene)?.each(0, |_, message| {
        if wanted.contains(&message.id) {
            before.insert(message.id.clone(), message);
        }
        Ok(())
    })?;
    for entry in &adding.entries {
        if let PendingMessage::Message(message) = entry
            && wanted.contains(&message.id)
        {
            before.insert(message.id.clone(), message.clone());
        }
    }
    for mut message in disputed {
        let old = before.get(&message.id);
        let goes_on = |longer: &Message, shorter: &Message| {
            longer.role == shorter.role && longer.text().starts_with(&shorter.text()) && !shorter.text().is_empty()
        };
        if let Some(old) = old
            && goes_on(&message, old)
        {
            let (old, new) = (Fingerprint::of(old), Fingerprint::of(&message));
            before.insert(message.id.clone(), message.clone());
            adding.later(message, old, new);
        } else if old.is_some_and(|old| goes_on(old, &message)) {
            // An earlier state of what is there.
            adding.again += 1;
        } else {
            // Not by its time: one that has none is given that of the import.
            message.id = format!("{}~{:08x}", message.id, Fingerprint::of(&message).content >> 32);
            if adding.known.get(&message.id).is_some() {
                adding.again += 1;
            } else {
                let print = Fingerprint::of(&message);
                adding.add(message, print);
            }
        }
    }
    Ok(())
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
        fn what_looks_like_records_never_panics(text in "([{}\\[\\],:\"\\\\]|\\\\u[dD][89abcd][0-9a-f]{0,2}|role|content|user|\n|\0|é|1){0,60}") {
            for (_, value) in lines::records(text.as_bytes()).0 {
                let _ = message(value, Timestamp::from_unix(0, 0));
            }
        }
    }
}

//! JSON and JSON lines: our own export, and chats of any tool that writes messages with a role and a content.
//!
//! Messages are found at the top level, under `messages` or `entries`, and inside `message` or `payload` of a line. A
//! file that holds more than messages is kept whole next to the checkpoint.

mod note;
mod own_export;
mod own_markdown;

use serde_json::{Map, Value};

use super::{
    Attachment, File, ForeignCheckpoint, ForeignSession, Format, ParseOutcome, Problem, Recognition, System,
    claude_mpm::has, fields::ObjectFields, notes::RecordNotes, time,
};
use crate::model::{json as strict, session::SessionStatus};

pub(super) const SYSTEM: System = System::of(&Json);

/// The name under which our own documents come in, where they are no JSON.
const OWN: &str = "git-checkpoint";

/// Our own exports, and chats of any tool.
struct Json;

impl Format for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["jsonl"]
    }

    fn recognize(&self, file: &File) -> Recognition {
        let is_chat =
            (file.is("jsonl") || file.is("json")) && has(&file.bytes, "\"role\"") && has(&file.bytes, "\"content\"");
        Recognition::Mark
            .when(is_export(&file.bytes) || is_own_text(file))
            .max(Recognition::Name.when(is_chat))
    }

    fn parse(&self, files: &[File]) -> ParseOutcome {
        parse(files)
    }
}

/// Whether a file is one of our own documents for people.
fn is_own_text(file: &File) -> bool {
    let start = file.text_start();
    note::is_one(&start, &file.bytes) || own_markdown::is_one(&start, &file.bytes)
}

/// Whether the first member of a tree is the schema of our own exports and documents.
fn is_export(bytes: &[u8]) -> bool {
    let start = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let inner = start.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    let value = inner
        .and_then(|inner| inner.strip_prefix(b"\"schema\""))
        .map(<[u8]>::trim_ascii_start);
    let value = value
        .and_then(|value| value.strip_prefix(b":"))
        .map(<[u8]>::trim_ascii_start);
    value.is_some_and(|value| value.starts_with(b"\"git-checkpoint"))
}

fn parse(files: &[File]) -> ParseOutcome {
    let mut out = ParseOutcome::default();
    for file in files {
        if note::is_one(&file.text_start(), &file.bytes) {
            out.sessions.push(note::parse(file));
            continue;
        }
        if own_markdown::is_one(&file.text_start(), &file.bytes) {
            out.sessions.push(own_markdown::parse(file));
            continue;
        }
        if file.is("jsonl") || file.is("ndjson") {
            lines(file, &mut out);
            continue;
        }
        match file.json() {
            Ok(value) if is_ours(&value) => own_export::ours(file, value, &mut out),
            Ok(value) => tree(file, value, &mut out),
            // Lines in a file that is called otherwise.
            Err(problem) if looks_like_lines(&file.bytes) => {
                lines(file, &mut out);
                let _ = problem;
            }
            Err(problem) => out.problems.push(problem),
        }
    }
    out
}

fn looks_like_lines(bytes: &[u8]) -> bool {
    let mut lines = bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty());
    let object =
        |line: Option<&[u8]>| line.is_some_and(|line| matches!(strict::parse_input(line), Ok(Value::Object(_))));
    object(lines.next()) && object(lines.next())
}

fn is_ours(value: &Value) -> bool {
    let schema = value.get("schema").and_then(Value::as_str).unwrap_or_default();
    schema.starts_with("git-checkpoint/") || schema.starts_with("git-checkpoint.export/")
}

fn tree(file: &File, value: Value, out: &mut ParseOutcome) {
    match value {
        Value::Array(items) => chat(file, items, ObjectFields::default(), out),
        Value::Object(map) => {
            let mut fields = ObjectFields::new(map);
            let key = ["messages", "entries", "conversation", "history"]
                .into_iter()
                .find(|key| fields.get(key).is_some_and(Value::is_array));
            match key {
                Some(key) => {
                    let items = fields.list(key).unwrap_or_default();
                    chat(file, items, fields, out);
                }
                None => out
                    .problems
                    .push(Problem::broken(&file.path, "it holds no list of messages")),
            }
        }
        _ => out
            .problems
            .push(Problem::broken(&file.path, "it is neither an object nor a list")),
    }
}

fn lines(file: &File, out: &mut ParseOutcome) {
    if let Some(problem) = file.crowded() {
        return out.problems.push(problem);
    }
    let mut items = Vec::new();
    for (line, n) in file.bytes.split(|byte| *byte == b'\n').zip(1_usize..) {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        if line.trim_ascii().is_empty() {
            continue;
        }
        match strict::parse_input(line) {
            Ok(value) => items.push(value),
            Err(error) => out
                .problems
                .push(Problem::broken(&format!("{}:{n}", file.path), error.to_string())),
        }
    }
    chat(file, items, ObjectFields::default(), out);
}

/// A session of one checkpoint with the messages among the items.
fn chat(file: &File, items: Vec<Value>, mut rest: ObjectFields, out: &mut ParseOutcome) {
    let id = rest
        .text("id")
        .or_else(|| rest.text("sessionId"))
        .or_else(|| rest.text("session_id"));
    let id = id.or_else(|| {
        // Codex writes it once, in the line about the session.
        let said = |item: &Value| match item.get("type").and_then(Value::as_str) {
            Some("session_meta") => item.get("payload")?.get("id").cloned(),
            _ => item.get("sessionId").or_else(|| item.get("session_id")).cloned(),
        };
        items.iter().find_map(|item| Some(said(item)?.as_str()?.to_owned()))
    });
    let has_file_name_id = id.is_none();
    let mut session = ForeignSession::new(SYSTEM, id.unwrap_or_else(|| file.stem().to_owned()), file);
    session.has_file_name_id = has_file_name_id;
    session.status(SessionStatus::Paused);
    session.member("title", rest.text("title").or_else(|| rest.text("name")));
    let mut point = ForeignCheckpoint::new(session.id.clone());
    let all = items.len();
    point.messages = items.into_iter().filter_map(message).collect();
    if point.messages.is_empty() {
        out.problems.push(Problem::broken(&file.path, "it holds no message"));
        return;
    }
    if point.messages.len() < all {
        let what = format!(
            "{} of {all} items are no messages; the file is kept next to the checkpoint",
            all - point.messages.len()
        );
        out.problems.push(Problem::note(&file.path, what));
        point.attachments.push(Attachment::of(file));
    }
    let times: Vec<_> = point
        .messages
        .iter()
        .filter_map(|message| time::of_value(message.get("timestamp")?))
        .collect();
    session.created_at = times.iter().min().copied();
    point.at = times.iter().max().copied();
    let first = point
        .messages
        .iter()
        .find(|message| message["role"] == "user")
        .and_then(|message| message["content"].as_str());
    let mut notes = RecordNotes::default();
    notes.set(
        "summary",
        first
            .map(|text| text.lines().next().unwrap_or_default().to_owned())
            .filter(|text| !text.is_empty()),
    );
    notes.extra(SYSTEM, rest.rest());
    point.record = notes.finish();
    session.checkpoints.push(point);
    out.sessions.push(session);
}

/// The message that an item is or holds.
fn message(item: Value) -> Option<Value> {
    let mut fields = ObjectFields::of(item)?;
    if fields.peek_text("role").is_some() && fields.has("content") {
        let timestamp = ["timestamp", "created_at", "createdAt", "time"]
            .iter()
            .find_map(|key| fields.get(key).cloned());
        return Some(Value::Object(made(fields, timestamp)));
    }
    let key = ["message", "payload"].into_iter().find(|key| {
        fields
            .get(key)
            .is_some_and(|inner| inner.get("role").is_some_and(Value::is_string))
    })?;
    let inner = fields.fields(key)?;
    if !inner.has("content") {
        return None;
    }
    let timestamp = fields.take("timestamp").or_else(|| inner.get("timestamp").cloned());
    let mut out = made(inner, timestamp);
    if !fields.is_empty() {
        keep(&mut out, "line", Value::Object(fields.rest()));
    }
    Some(Value::Object(out))
}

/// A message with its text as `content`; content in blocks is kept as it was in `metadata`.
fn made(mut fields: ObjectFields, timestamp: Option<Value>) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("role".into(), fields.take("role").unwrap_or_default());
    let content = fields.take("content").unwrap_or_default();
    let metadata = fields.take("metadata");
    let blocks = if let Value::String(_) = content {
        out.insert("content".into(), content);
        None
    } else {
        out.insert("content".into(), text_of(&content).into());
        Some(content)
    };
    if fields.get("timestamp") == timestamp.as_ref() {
        fields.take("timestamp");
    }
    if let Some(timestamp) = timestamp {
        out.insert("timestamp".into(), timestamp);
    }
    if let Some(id) = fields.take("id") {
        out.insert("id".into(), id);
    }
    match metadata {
        Some(Value::Object(metadata)) if !metadata.is_empty() => {
            out.insert("metadata".into(), Value::Object(metadata));
        }
        Some(Value::Object(_)) | None => {}
        Some(other) => keep(&mut out, "metadata", other),
    }
    if let Some(blocks) = blocks {
        keep(&mut out, "content", blocks);
    }
    for (key, value) in fields.rest() {
        keep(&mut out, &key, value);
    }
    out
}

/// Puts something that a message came with into its metadata; what has the name already keeps it.
fn keep(message: &mut Map<String, Value>, key: &str, value: Value) {
    let place = message.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(metadata) = place {
        let mut name = key.to_owned();
        while metadata.contains_key(&name) {
            name = format!("message_{name}");
        }
        metadata.insert(name, value);
    }
}

/// The texts of content in blocks.
fn text_of(content: &Value) -> String {
    let blocks = content.as_array().into_iter().flatten();
    let texts = blocks.filter_map(|block| block.as_str().or_else(|| block.get("text")?.as_str()));
    texts.collect::<Vec<_>>().join("\n")
}

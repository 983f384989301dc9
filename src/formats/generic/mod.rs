//! JSON and JSON lines: our own export, and chats of any tool that writes messages with a role and a content.
//!
//! Messages are found at the top level, under `messages` or `entries`, and inside `message` or `payload` of a line. A
//! file that holds more than messages is kept whole beside the checkpoint.

use serde_json::{Map, Value};

use super::{
    Attachment, Checkpoint, File, LogLine, Parsed, Problem, Session, System,
    claude_mpm::has,
    fields::Fields,
    notes::{Notes, put_extra},
    time,
};
use crate::model::{
    base64,
    document::Document,
    json as strict,
    session::Status,
    step::{self, Step},
};

pub(super) fn owns(file: &File) -> bool {
    let lines = file.is("jsonl");
    let tree = file.is("json");
    let ours = has(&file.bytes, "\"schema\"") && has(&file.bytes, "\"git-checkpoint");
    (tree && ours) || ((lines || tree) && has(&file.bytes, "\"role\"") && has(&file.bytes, "\"content\""))
}

pub(super) fn parse(files: &[File]) -> Parsed {
    let mut out = Parsed::default();
    for file in files {
        if file.is("jsonl") || file.is("ndjson") {
            lines(file, &mut out);
            continue;
        }
        match file.json() {
            Ok(value) if is_ours(&value) => ours(file, value, &mut out),
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

/// A document, or an export: `checkpoints` (or one `checkpoint`) with documents, `messages` with the chat.
fn ours(file: &File, value: Value, out: &mut Parsed) {
    let mut fields = Fields::of(value).unwrap_or_default();
    let mut documents = Vec::new();
    if fields.has("record") && fields.has("session") && fields.has("git") {
        documents.push(Value::Object(std::mem::take(&mut fields).rest()));
    }
    for key in ["checkpoints", "documents"] {
        documents.extend(fields.list(key).unwrap_or_default());
    }
    documents.extend(fields.take("checkpoint"));
    documents.extend(fields.take("document"));
    let mut messages = fields.list("messages").unwrap_or_default();
    if let Some(Value::Object(chat)) = fields.take("chat") {
        messages.extend(Fields::new(chat).list("messages").unwrap_or_default());
    }
    let mut session: Option<Session> = None;
    for (value, n) in documents.into_iter().zip(1..) {
        // An item of the list may wrap the document with its id.
        let value = match value {
            Value::Object(mut map) if map.get("document").is_some_and(Value::is_object) => {
                map.remove("document").unwrap_or_default()
            }
            other => other,
        };
        let document: Document = match serde_json::from_value(value) {
            Ok(document) => document,
            Err(error) => {
                out.problems.push(Problem::broken(
                    &format!("{}#{n}", file.path),
                    format!("it is no checkpoint: {error}"),
                ));
                continue;
            }
        };
        let known = session.get_or_insert_with(|| {
            let mut session = Session::new(System::Json, &document.session.id, file);
            document.session.name.as_str().clone_into(&mut session.name);
            session.created_at = Some(document.session.created_at);
            session
        });
        point(document, n, known);
    }
    match session {
        Some(mut session) => {
            if let Some(last) = session.checkpoints.last_mut() {
                last.messages = messages;
                steps(&mut fields, last);
                attachments(&mut fields, last);
                session.log = log(&mut fields);
                last.context = fields.text("context");
                last.agent = fields.text("agent");
                fields.take("attachments");
                // Lists of an export, and what is not in its form.
                for (key, value) in fields.rest().into_iter().filter(|(_, value)| !value.is_null()) {
                    put_extra(&mut last.record, System::Json, &key, value);
                }
            }
            out.sessions.push(session);
        }
        None => out
            .problems
            .push(Problem::broken(&file.path, "the export holds no checkpoint")),
    }
}

/// Steps that are some; what is none stays among the members.
fn steps(fields: &mut Fields, point: &mut Checkpoint) {
    let is_step = |value: &Value| serde_json::from_value::<Step>(value.clone()).is_ok_and(|step| step::is_id(&step.id));
    let (steps, others): (Vec<Value>, Vec<Value>) =
        fields.list("steps").unwrap_or_default().into_iter().partition(is_step);
    point.steps = steps;
    if !others.is_empty() {
        fields.put("steps", Value::Array(others));
    }
}

/// The session log; lines that say more than a line of it can stay among the members, too.
fn log(fields: &mut Fields) -> Vec<LogLine> {
    let lines = fields.list("log").unwrap_or_default();
    let mut out = Vec::new();
    let mut others = Vec::new();
    for line in lines {
        let text = |key: &str| line.get(key).and_then(Value::as_str).map(str::to_owned);
        let known = ["at", "level", "message", "agent"];
        let whole = line
            .as_object()
            .is_some_and(|line| line.keys().all(|key| known.contains(&key.as_str())));
        if let Some(message) = text("message") {
            out.push(LogLine {
                at: line.get("at").and_then(time::of_value),
                level: text("level").unwrap_or_else(|| "info".to_owned()),
                message,
                agent: text("agent"),
            });
            if whole {
                continue;
            }
        }
        others.push(line);
    }
    if !others.is_empty() {
        fields.put("log", Value::Array(others));
    }
    out
}

/// The files of an export, in the place of their names alone.
fn attachments(fields: &mut Fields, point: &mut Checkpoint) {
    let given = fields
        .get("attachments")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    for file in given {
        let text = |key: &str| file.get(key).and_then(Value::as_str);
        let bytes = match (text("text"), text("base64")) {
            (Some(text), _) => Some(text.as_bytes().to_vec()),
            (None, Some(digits)) => base64::decode(digits),
            (None, None) => None,
        };
        if let (Some(name), Some(bytes)) = (text("name"), bytes) {
            let name = name.to_owned();
            point.attachments.push(Attachment { name, bytes });
        } else {
            // Not to be read as one; kept as it is.
            put_extra(&mut point.record, System::Json, "unreadable_attachment", file);
        }
    }
}

fn point(document: Document, n: usize, session: &mut Session) {
    let mut members = serde_json::to_value(&document.session).unwrap_or_default();
    if let Value::Object(members) = &mut members {
        for own in ["id", "name", "created_at", "forked_from"] {
            members.shift_remove(own);
        }
        session.members.clone_from(members);
    }
    let mut point = Checkpoint::new(format!("{n}"));
    point.at = Some(document.created_at);
    point.name = document.name.clone().map(String::from);
    point.trigger.clone_from(&document.trigger);
    point.compaction.clone_from(&document.compaction);
    point.git.branch.clone_from(&document.git.branch);
    point.git.commit = document.git.head.as_ref().map(|head| head.as_str().to_owned());
    if let Value::Object(members) = members {
        point.members = members;
    }
    let mut record = serde_json::to_value(&document.record).unwrap_or_default();
    if let Value::Object(record) = &mut record {
        // The files come with other ids, or not at all; these say what was there.
        if let Some(attachments) = record.shift_remove("attachments") {
            put_extra(record, System::Json, "attachments", attachments);
        }
        // What it says of itself and of the repository of then: nothing of it holds here.
        let mut then = serde_json::to_value(&document).unwrap_or_default();
        if let Value::Object(then) = &mut then {
            for told in ["record", "created_at", "name", "trigger", "compaction"] {
                then.shift_remove(told);
            }
            let own = ["id", "name", "created_at", "forked_from"];
            if let Some(Value::Object(session)) = then.get_mut("session") {
                session.retain(|key, _| own.contains(&key.as_str()));
            }
        }
        put_extra(record, System::Json, "document", then);
        point.record = std::mem::take(record);
    }
    session.checkpoints.push(point);
}

fn tree(file: &File, value: Value, out: &mut Parsed) {
    match value {
        Value::Array(items) => chat(file, items, Fields::default(), out),
        Value::Object(map) => {
            let mut fields = Fields::new(map);
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

fn lines(file: &File, out: &mut Parsed) {
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
    chat(file, items, Fields::default(), out);
}

/// A session of one checkpoint with the messages among the items.
fn chat(file: &File, items: Vec<Value>, mut rest: Fields, out: &mut Parsed) {
    let id = rest
        .text("id")
        .or_else(|| rest.text("sessionId"))
        .or_else(|| rest.text("session_id"));
    let id = id.or_else(|| {
        // Codex says it once, in the line about the session.
        let said = |item: &Value| match item.get("type").and_then(Value::as_str) {
            Some("session_meta") => item.get("payload")?.get("id").cloned(),
            _ => item.get("sessionId").or_else(|| item.get("session_id")).cloned(),
        };
        items.iter().find_map(|item| Some(said(item)?.as_str()?.to_owned()))
    });
    let mut session = Session::new(System::Json, id.unwrap_or_else(|| file.stem().to_owned()), file);
    session.status(Status::Paused);
    session.member("title", rest.text("title").or_else(|| rest.text("name")));
    let mut point = Checkpoint::new(session.id.clone());
    let all = items.len();
    point.messages = items.into_iter().filter_map(message).collect();
    if point.messages.is_empty() {
        out.problems.push(Problem::broken(&file.path, "it holds no message"));
        return;
    }
    if point.messages.len() < all {
        let what = format!(
            "{} of {all} items are no messages; the file is kept beside the checkpoint",
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
    let mut notes = Notes::default();
    notes.set(
        "summary",
        first
            .map(|text| text.lines().next().unwrap_or_default().to_owned())
            .filter(|text| !text.is_empty()),
    );
    notes.extra(System::Json, rest.rest());
    point.record = notes.finish();
    session.checkpoints.push(point);
    out.sessions.push(session);
}

/// The message that an item is or holds.
fn message(item: Value) -> Option<Value> {
    let mut fields = Fields::of(item)?;
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
fn made(mut fields: Fields, timestamp: Option<Value>) -> Map<String, Value> {
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

//! dagent before version 3: `chat.json` of a manager, `nodes/<task>/session.json` of a task.

use serde_json::{Map, Value, json};

use super::super::{
    File, ForeignCheckpoint, ForeignSession, ParseOutcome, Problem,
    fields::ObjectFields,
    notes::{RecordNotes, session_status},
    time,
};
use super::SYSTEM;
use crate::model::session::SessionStatus;

pub(super) fn parse(file: &File, out: &mut ParseOutcome) {
    let Some(fields) = super::object(file, out) else { return };
    if fields.has("taskId") || file.name() == "session.json" {
        task(file, fields, out);
    } else if fields.has("entries") || fields.has("messages") {
        chat(file, fields, out);
    } else {
        out.problems.push(Problem::broken(
            &file.path,
            "it is neither a chat nor a session of a task",
        ));
    }
}

fn folder(file: &File) -> &str {
    file.folder().rsplit('/').next().unwrap_or_default()
}

fn chat(file: &File, mut fields: ObjectFields, out: &mut ParseOutcome) {
    let id = match folder(file) {
        "" => file.stem().to_owned(),
        folder => format!("{folder}-chat"),
    };
    let mut session = ForeignSession::new(SYSTEM, &id, file);
    session.status(SessionStatus::Active);
    let mut point = ForeignCheckpoint::new(id);
    let key = if fields.has("entries") { "entries" } else { "messages" };
    let (whole, others): (Vec<Value>, Vec<Value>) = fields
        .list(key)
        .unwrap_or_default()
        .into_iter()
        .partition(|message| message.get("role").is_some_and(Value::is_string) && message.get("content").is_some());
    if !others.is_empty() {
        out.problems
            .push(Problem::note(&file.path, super::incomplete(others.len(), "role")));
        fields.put(key, Value::Array(others));
    }
    let first = whole
        .iter()
        .find(|message| message["role"] == "user")
        .and_then(|message| message["content"].as_str());
    let mut notes = RecordNotes::default();
    notes.set("summary", first.map(str::to_owned));
    times(&whole, &mut session, &mut point);
    point.messages = whole;
    notes.extra(SYSTEM, fields.rest());
    point.record = notes.finish();
    session.checkpoints.push(point);
    out.sessions.push(session);
}

fn times(messages: &[Value], session: &mut ForeignSession, point: &mut ForeignCheckpoint) {
    let times: Vec<_> = messages
        .iter()
        .filter_map(|message| time::of_value(message.get("timestamp")?))
        .collect();
    session.created_at = session.created_at.or(times.iter().min().copied());
    point.at = point.at.or(times.iter().max().copied());
}

fn task(file: &File, mut fields: ObjectFields, out: &mut ParseOutcome) {
    let task = fields.text("taskId").unwrap_or_else(|| folder(file).to_owned());
    // Tasks are numbered anew in each feature: `<feature>/nodes/<task>/session.json`.
    let mut above = file.folder().rsplit('/').skip(1);
    let feature = (above.next() == Some("nodes")).then(|| above.next()).flatten();
    let id = feature.map_or_else(|| task.clone(), |feature| format!("{feature}-{task}"));
    let mut session = ForeignSession::new(SYSTEM, &id, file);
    session.member("feature_id", feature);
    session.member("task_id", Some(task.clone()));
    session.member("agent", fields.text("agentId"));
    let status = fields.peek_text("status").and_then(session_status);
    session.status(status.unwrap_or(SessionStatus::Active));
    if status.is_some() {
        fields.take("status");
    }
    session.created_at = fields.time("startedAt");
    let mut point = ForeignCheckpoint::new(id);
    point.at = fields.time("completedAt");
    let mut kept = Vec::new();
    let mut summary = None;
    for message in fields.list("messages").unwrap_or_default() {
        match exchanged(&message) {
            Some(made) => {
                let kind = message.get("type").and_then(Value::as_str);
                if matches!(kind, Some("completion" | "error")) || summary.is_none() {
                    summary = made["content"].as_str().map(str::to_owned);
                }
                point.messages.push(made);
            }
            None => kept.push(message),
        }
    }
    if !kept.is_empty() {
        out.problems
            .push(Problem::note(&file.path, super::incomplete(kept.len(), "direction")));
        fields.put("messages", Value::Array(kept));
    }
    let messages = std::mem::take(&mut point.messages);
    times(&messages, &mut session, &mut point);
    point.messages = messages;
    let mut notes = RecordNotes::default();
    notes.set("summary", summary);
    notes.extra(SYSTEM, fields.rest());
    point.record = notes.finish();
    session.checkpoints.push(point);
    out.sessions.push(session);
}

/// A message between a task and its harness as one of a chat: the texts of the task are the assistant's. Everything else
/// about it, tool input and results included, goes into its metadata.
fn exchanged(message: &Value) -> Option<Value> {
    let mut fields = ObjectFields::of(message.clone())?;
    let role = match fields.peek_text("direction")? {
        "task_to_harness" => "assistant",
        "harness_to_task" => "user",
        _ => return None,
    };
    let content = fields.take("content")?;
    let timestamp = fields.take("timestamp");
    let mut metadata = fields.fields("metadata").map(ObjectFields::rest).unwrap_or_default();
    for (key, value) in fields.rest() {
        let key = if metadata.contains_key(&key) {
            format!("message_{key}")
        } else {
            key
        };
        metadata.insert(key, value);
    }
    let mut out = Map::new();
    out.insert("role".into(), role.into());
    out.insert("content".into(), content);
    if let Some(timestamp) = timestamp {
        out.insert("timestamp".into(), timestamp);
    }
    out.insert("metadata".into(), json!(metadata));
    Some(Value::Object(out))
}

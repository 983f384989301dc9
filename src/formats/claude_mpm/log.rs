//! The log of a pause in progress: `ACTIVE-PAUSE.jsonl`, and `<id>-incremental.jsonl` once it is over.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::super::{
    File, ForeignCheckpoint, ForeignLogLine, ForeignSession, ParseOutcome, Problem,
    fields::ObjectFields,
    notes::{RecordNotes, add_extra},
};
use super::SYSTEM;
use crate::model::{json as strict, session::SessionStatus};

pub(super) fn parse(file: &File, out: &mut ParseOutcome) {
    if let Some(problem) = file.crowded() {
        return out.problems.push(problem);
    }
    let mut actions: Vec<(String, Value)> = Vec::new();
    let fallback = file.stem().trim_end_matches("-incremental").to_owned();
    for (line, n) in file.bytes.split(|byte| *byte == b'\n').zip(1_usize..) {
        if line.trim_ascii().is_empty() {
            continue;
        }
        match strict::parse_input(line) {
            Ok(value @ Value::Object(_)) => {
                let id = value.get("session_id").and_then(Value::as_str).unwrap_or(&fallback);
                actions.push((id.to_owned(), value));
            }
            Ok(_) => out
                .problems
                .push(Problem::broken(&format!("{}:{n}", file.path), "it is not an object")),
            Err(error) => out
                .problems
                .push(Problem::broken(&format!("{}:{n}", file.path), error.to_string())),
        }
    }
    let mut sessions: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (id, action) in actions {
        sessions.entry(id).or_default().push(action);
    }
    for (id, actions) in sessions {
        add(&id, actions, file, out);
    }
}

/// Adds the actions of one session, which may be here already by its own file.
fn add(id: &str, actions: Vec<Value>, file: &File, out: &mut ParseOutcome) {
    let lines: Vec<ForeignLogLine> = actions.iter().map(line).collect();
    let messages = actions.iter().filter_map(message);
    if let Some(session) = out.sessions.iter_mut().find(|session| session.id == id) {
        session.source(file);
        session.log.extend(lines);
        let checkpoint = &mut session.checkpoints[0];
        checkpoint.messages.extend(messages);
        add_extra(&mut checkpoint.record, SYSTEM, "actions", actions);
        return;
    }
    let over = lines.iter().any(|line| line.message.starts_with("pause_finalized"));
    let mut session = ForeignSession::new(SYSTEM, id, file);
    session.status(if over {
        SessionStatus::Paused
    } else {
        SessionStatus::Active
    });
    session.created_at = lines.iter().filter_map(|line| line.at).min();
    let mut checkpoint = ForeignCheckpoint::new(id);
    checkpoint.at = lines.iter().filter_map(|line| line.at).max();
    checkpoint.messages = messages.collect();
    let mut notes = RecordNotes::default();
    notes.set("summary", Some(format!("Pause in progress: {} actions", actions.len())));
    notes.extra(SYSTEM, Map::from_iter([("actions".to_owned(), Value::Array(actions))]));
    checkpoint.record = notes.finish();
    session.log = lines;
    session.checkpoints.push(checkpoint);
    out.sessions.push(session);
}

fn line(action: &Value) -> ForeignLogLine {
    let text = |key: &str| action.get(key).and_then(Value::as_str);
    let data = action.get("data");
    let of = |key: &str| data.and_then(|data| data.get(key)).and_then(Value::as_str);
    let kind = text("type").unwrap_or("action");
    let detail = ["summary", "message", "content", "tool_name", "tool", "reason"]
        .iter()
        .find_map(|key| of(key));
    ForeignLogLine {
        at: action.get("timestamp").and_then(super::super::time::of_value),
        level: "info".to_owned(),
        message: detail.map_or_else(|| kind.to_owned(), |detail| format!("{kind}: {detail}")),
        agent: of("agent").map(str::to_owned),
    }
}

/// The message that an action represents, if it is one.
fn message(action: &Value) -> Option<Value> {
    let role = match action.get("type")?.as_str()? {
        "user_message" => "user",
        "assistant_response" => "assistant",
        _ => return None,
    };
    let mut data = ObjectFields::of(action.get("data")?.clone())?;
    let content = ["content", "text", "message", "response", "summary"]
        .iter()
        .find_map(|key| data.text(key))?;
    let mut message = serde_json::json!({ "role": role, "content": content });
    if let Some(timestamp) = action.get("timestamp") {
        message["timestamp"] = timestamp.clone();
    }
    if !data.is_empty() {
        message["metadata"] = Value::Object(data.rest());
    }
    Some(message)
}

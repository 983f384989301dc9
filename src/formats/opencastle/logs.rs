//! The logs of JSON lines: delegations, sessions, reviews, panels, events.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::super::{
    File, ForeignCheckpoint, ForeignLogLine, ForeignSession, ParseOutcome, Problem,
    fields::ObjectFields,
    notes::{NoteItem, RecordNotes},
    time,
};
use super::SYSTEM;
use crate::model::{json as strict, session::SessionStatus};

/// All logs of one folder; the lines of one session id are one session.
pub(super) fn parse(files: &[&File], out: &mut ParseOutcome) {
    let mut sessions: BTreeMap<String, (ForeignSession, RecordNotes, Map<String, Value>)> = BTreeMap::new();
    for file in files {
        if let Some(problem) = file.crowded() {
            out.problems.push(problem);
            continue;
        }
        for (line, n) in file.bytes.split(|byte| *byte == b'\n').zip(1_usize..) {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let value = match strict::parse_input(line) {
                Ok(value @ Value::Object(_)) => value,
                Ok(_) => {
                    out.problems
                        .push(Problem::broken(&format!("{}:{n}", file.path), "it is not an object"));
                    continue;
                }
                Err(error) => {
                    out.problems
                        .push(Problem::broken(&format!("{}:{n}", file.path), error.to_string()));
                    continue;
                }
            };
            let id = value
                .get("session_id")
                .or_else(|| value.get("sessionId"))
                .and_then(Value::as_str);
            let id = id.unwrap_or("opencastle-logs").to_owned();
            let (session, notes, logs) = sessions.entry(id.clone()).or_insert_with(|| {
                (
                    ForeignSession::new(SYSTEM, &id, file),
                    RecordNotes::default(),
                    Map::new(),
                )
            });
            if !session.sources.contains(&file.path) {
                session.source(file);
            }
            session.log.push(log_line(&value, file.stem()));
            if file.stem().starts_with("delegation") {
                delegation(value, notes);
            } else {
                let all = logs.entry(file.stem()).or_insert_with(|| json!([]));
                if let Value::Array(all) = all {
                    all.push(value);
                }
            }
        }
    }
    for (id, (mut session, mut notes, logs)) in sessions {
        session.status(SessionStatus::Active);
        let mut point = ForeignCheckpoint::new("logs");
        point.at = session.log.iter().filter_map(|line| line.at).max();
        session.created_at = session.log.iter().filter_map(|line| line.at).min();
        notes.set("summary", Some(format!("Logs of {id}: {} entries", session.log.len())));
        if !logs.is_empty() {
            notes.extra(SYSTEM, Map::from_iter([("logs".to_owned(), Value::Object(logs))]));
        }
        point.record = notes.finish();
        session.checkpoints.push(point);
        out.sessions.push(session);
    }
}

fn log_line(value: &Value, kind: &str) -> ForeignLogLine {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let said = ["message", "task", "summary", "description", "event", "type", "outcome"]
        .iter()
        .find_map(|key| text(key));
    ForeignLogLine {
        at: value
            .get("timestamp")
            .or_else(|| value.get("ts"))
            .and_then(time::of_value),
        level: text("level").unwrap_or("info").to_owned(),
        message: said.map_or_else(|| kind.to_owned(), |said| format!("{kind}: {said}")),
        agent: text("agent").map(str::to_owned),
    }
}

fn delegation(value: Value, notes: &mut RecordNotes) {
    let Some(mut fields) = ObjectFields::of(value) else {
        return;
    };
    let agent = fields.text("agent").unwrap_or_else(|| "unknown".to_owned());
    let count = fields.get("tokens").and_then(Value::as_u64);
    if count.is_some() {
        fields.take("tokens");
    }
    let item = NoteItem::new(agent)
        .at(fields.time("timestamp"))
        .with(
            "issue",
            ["tracker_issue", "linear_issue", "issue"]
                .iter()
                .find_map(|key| fields.text(key)),
        )
        .with("model_tier", ["tier", "model"].iter().find_map(|key| fields.text(key)))
        .with("tokens", count)
        .with("status", ["outcome", "status"].iter().find_map(|key| fields.text(key)));
    notes.add("delegations", item.and(fields));
}

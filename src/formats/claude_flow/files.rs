//! claude-flow's session files: checkpoints and exports of the hive mind, and the sessions of version 3.

use serde_json::Value;

use super::SYSTEM;
use super::{
    super::{
        Attachment, File, ForeignCheckpoint, ForeignSession, ParseOutcome, Problem,
        fields::ObjectFields,
        notes::{NoteItem, RecordNotes, session_status},
        wrappers,
    },
    any, hive,
};
use crate::model::session::SessionStatus;

pub(super) fn looks_like_one(bytes: &[u8]) -> bool {
    any(
        bytes,
        &[
            "\"__session_meta__\"",
            "\"__checkpoint_meta__\"",
            "\"__serializer_meta__\"",
            "\"swarm_id\"",
        ],
    ) || (any(bytes, &["\"sessionId\""]) && any(bytes, &["\"savedAt\"", "\"checkpointName\""]))
        || (any(bytes, &["\"sharedMemory\""]) && any(bytes, &["\"topology\""]))
}

pub(super) fn parse(file: &File, out: &mut ParseOutcome) {
    let value = match file.json() {
        Ok(value) => wrappers::plain(value),
        Err(problem) => return out.problems.push(problem),
    };
    let Some(fields) = ObjectFields::of(value) else {
        return out.problems.push(Problem::broken(&file.path, "it is not an object"));
    };
    if matches!(fields.get("checkpoints"), Some(Value::Array(_))) || fields.has("swarm_id") {
        export(file, fields, out);
    } else if fields.has("savedAt") || fields.has("startedAt") {
        version_3(file, fields, out);
    } else if fields.has("sharedMemory") && fields.has("topology") {
        hive_state(file, fields, out);
    } else {
        single(file, fields, out);
    }
}

/// `<session>-export.json` and `<session>-archive.json`: the session's row with its checkpoints and logs.
fn export(file: &File, mut fields: ObjectFields, out: &mut ParseOutcome) {
    let mut row = fields.fields("session").unwrap_or_default();
    let rows = |fields: &mut ObjectFields, key: &str| -> Vec<ObjectFields> {
        let items = fields.list(key).unwrap_or_default();
        let (objects, others): (Vec<Value>, Vec<Value>) = items.into_iter().partition(Value::is_object);
        if !others.is_empty() {
            fields.put(key, Value::Array(others));
        }
        objects.into_iter().filter_map(ObjectFields::of).collect()
    };
    let checkpoints = rows(&mut fields, "checkpoints");
    let mut logs = rows(&mut fields, "logs");
    logs.extend(rows(&mut fields, "recentLogs"));
    let tables = ["tasks", "agents", "collective_memory", "consensus_decisions"];
    let others = tables
        .iter()
        .map(|name| ((*name).to_owned(), rows(&mut fields, name)))
        .filter(|(_, rows)| !rows.is_empty())
        .collect();
    let swarm = fields.fields("swarm");
    for (key, value) in fields.rest() {
        row.put(&key, value);
    }
    let id = row.text("id").or_else(|| row.text("sessionId"));
    let id = id.unwrap_or_else(|| parts(file.stem()).0.to_owned());
    let parts = hive::HiveTables {
        checkpoints,
        logs,
        swarm,
        others,
    };
    // The database has newer data about the same session.
    if let Some(known) = out.sessions.iter_mut().find(|session| session.id == id) {
        known.source(file);
        if let Some(last) = known.checkpoints.last_mut() {
            last.attachments.push(Attachment::of(file));
        }
        return;
    }
    out.sessions.push(hive::session(file, &id, row, parts));
}

/// `session-<ms>-<id>-<checkpoint>`: the session's id and the checkpoint.
fn parts(stem: &str) -> (&str, &str) {
    let end = stem.match_indices('-').nth(2).map_or(stem.len(), |(at, _)| at);
    let (id, rest) = stem.split_at(end);
    if id.starts_with("session-") {
        (id, rest.trim_start_matches('-'))
    } else {
        (stem, "")
    }
}

/// `<session>-<checkpoint>.json`: the data of one checkpoint.
fn single(file: &File, mut fields: ObjectFields, out: &mut ParseOutcome) {
    let (id, name) = parts(file.stem());
    let id = fields
        .text("sessionId")
        .or_else(|| fields.text("session_id"))
        .unwrap_or_else(|| id.to_owned());
    let name = fields
        .text("checkpointName")
        .or_else(|| fields.text("checkpoint_name"))
        .unwrap_or_else(|| name.to_owned());
    let at = fields.peek_time("timestamp").or_else(|| fields.peek_time("created_at"));
    let same = |point: &ForeignCheckpoint| point.id == name || point.name.as_deref() == Some(&name);
    if let Some(known) = out.sessions.iter_mut().find(|session| session.id == id) {
        known.source(file);
        if let Some(point) = known.checkpoints.iter_mut().find(|point| same(point)) {
            point.attachments.push(Attachment::of(file));
            return;
        }
    } else {
        let mut session = ForeignSession::new(SYSTEM, &id, file);
        session.status(SessionStatus::Active);
        session.member("task", fields.peek_text("objective").map(str::to_owned));
        session.created_at = at;
        out.sessions.push(session);
    }
    let Some(session) = out.sessions.iter_mut().find(|session| session.id == id) else {
        return;
    };
    let mut point = ForeignCheckpoint::new(if name.is_empty() { id } else { name.clone() });
    point.at = at;
    point.name = (!name.is_empty()).then_some(name);
    let mut notes = RecordNotes::default();
    notes.set("summary", point.name.clone());
    notes.set("state", Some(Value::Object(fields.rest())));
    point.record = notes.finish();
    let later = session
        .checkpoints
        .iter()
        .position(|other| other.id.ends_with("#session") || other.at > point.at);
    session
        .checkpoints
        .insert(later.unwrap_or(session.checkpoints.len()), point);
}

/// The tasks of version 3: a list, or a store with an object by id, which may be below `tasks` once more.
fn tasks(data: &mut ObjectFields, notes: &mut RecordNotes) {
    let names = ["description", "title", "name", "content", "subject"];
    let more = [
        ("status", "status"),
        ("dependencies", "depends_on"),
        ("assignedTo", "agent"),
    ];
    if let Some(list) = data.list("tasks") {
        notes.add_all("tasks", list, &names, &more);
        return;
    }
    let Some(mut store) = data.fields("tasks") else { return };
    if let Some(list) = store.list("tasks") {
        notes.add_all("tasks", list, &names, &more);
    } else {
        let nested = store.fields("tasks");
        let is_nested = nested.is_some();
        let by_id = nested.unwrap_or_else(|| std::mem::take(&mut store));
        let mut rest = ObjectFields::default();
        for (id, value) in by_id.rest() {
            let is_task = |map: &serde_json::Map<String, Value>| names.iter().any(|name| map.contains_key(*name));
            match value {
                Value::Object(mut map) if is_task(&map) => {
                    // Known by its key; the member that repeats it has no more.
                    for key in ["taskId", "id"] {
                        if map.get(key).and_then(Value::as_str) == Some(id.as_str()) {
                            map.shift_remove(key);
                        }
                    }
                    map.insert("id".to_owned(), id.into());
                    let created = map.shift_remove("createdAt");
                    if let Some(created) = created {
                        map.insert("created_at".to_owned(), created);
                    }
                    notes.add_all("tasks", vec![Value::Object(map)], &names, &more);
                }
                other => rest.put(&id, other),
            }
        }
        if is_nested {
            store.put_back("tasks", rest);
        } else {
            store = rest;
        }
    }
    data.put_back("tasks", store);
}

/// `.claude-flow/sessions/<id>.json` and `current.json`.
fn version_3(file: &File, mut fields: ObjectFields, out: &mut ParseOutcome) {
    let id = fields
        .text("sessionId")
        .or_else(|| fields.text("id"))
        .unwrap_or_else(|| file.stem().to_owned());
    let mut session = ForeignSession::new(SYSTEM, &id, file);
    session.created_at = fields.time("startedAt").or_else(|| fields.peek_time("savedAt"));
    let status = fields.peek_text("status").and_then(session_status);
    let ended = if fields.has("endedAt") {
        SessionStatus::Completed
    } else {
        SessionStatus::Active
    };
    session.status(status.unwrap_or(ended));
    session.member("title", fields.text("name"));
    let mut point = ForeignCheckpoint::new(id);
    point.at = ["savedAt", "endedAt", "restoredAt"]
        .iter()
        .find_map(|key| fields.peek_time(key))
        .or(session.created_at);
    let mut notes = RecordNotes::default();
    let title = session.members.get("title").and_then(Value::as_str).map(str::to_owned);
    notes.set("summary", fields.text("description").or(title));
    if let Some(mut data) = fields.fields("data") {
        tasks(&mut data, &mut notes);
        notes.set("state", (!data.is_empty()).then(|| Value::Object(data.rest())));
    }
    notes.extra(SYSTEM, fields.rest());
    point.record = notes.finish();
    session.checkpoints.push(point);
    out.sessions.push(session);
}

/// `.claude-flow/hive-mind/state.json`: the one hive of a project in version 3.
fn hive_state(file: &File, mut fields: ObjectFields, out: &mut ParseOutcome) {
    let id = "hive-mind";
    let mut session = ForeignSession::new(SYSTEM, id, file);
    session.status(SessionStatus::Active);
    session.created_at = fields.time("createdAt");
    let mut point = ForeignCheckpoint::new(id.to_owned());
    point.at = fields.time("updatedAt").or(session.created_at);
    let mut notes = RecordNotes::default();
    let memory = fields.fields("sharedMemory").unwrap_or_default();
    for (key, value) in memory.rest() {
        notes.add("memory_refs", NoteItem::new(key).with("value", Some(value)));
    }
    notes.set("state", (!fields.is_empty()).then(|| Value::Object(fields.rest())));
    point.record = notes.finish();
    session.checkpoints.push(point);
    out.sessions.push(session);
}

//! Our own documents and exports.

use serde_json::Value;

use super::super::{
    Attachment, File, ForeignCheckpoint, ForeignLogLine, ForeignSession, ParseOutcome, Problem, fields::ObjectFields,
    notes::put_extra, time,
};
use super::SYSTEM;
use crate::model::{
    binary_text,
    document::Document,
    step::{self, Step},
};

/// A document, or an export: `checkpoints` (or one `checkpoint`) with documents, `messages` with the chat.
pub(super) fn ours(file: &File, value: Value, out: &mut ParseOutcome) {
    let mut fields = ObjectFields::of(value).unwrap_or_default();
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
        messages.extend(ObjectFields::new(chat).list("messages").unwrap_or_default());
    }
    let mut session: Option<ForeignSession> = None;
    for (value, n) in documents.into_iter().zip(1..) {
        // An item of the list may wrap the document with its id.
        let value = match value {
            Value::Object(mut map) if map.get("document").is_some_and(Value::is_object) => {
                map.remove("document").unwrap_or_default()
            }
            other => other,
        };
        let document: Document = match crate::model::json::from_value(value) {
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
            let mut session = ForeignSession::new(SYSTEM, &document.session.id, file);
            document.session.name.as_str().clone_into(&mut session.name);
            session.created_at = Some(document.session.created_at);
            session
        });
        point(&document, n, known);
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
                    put_extra(&mut last.record, SYSTEM, &key, value);
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
fn steps(fields: &mut ObjectFields, point: &mut ForeignCheckpoint) {
    let is_step =
        |value: &Value| crate::model::json::from_value::<Step>(value.clone()).is_ok_and(|step| step::is_id(&step.id));
    let (steps, others): (Vec<Value>, Vec<Value>) =
        fields.list("steps").unwrap_or_default().into_iter().partition(is_step);
    point.steps = steps;
    if !others.is_empty() {
        fields.put("steps", Value::Array(others));
    }
}

/// The session log; lines that say more than a line of it can stay among the members, too.
fn log(fields: &mut ObjectFields) -> Vec<ForeignLogLine> {
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
            out.push(ForeignLogLine {
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
fn attachments(fields: &mut ObjectFields, point: &mut ForeignCheckpoint) {
    let given = fields
        .get("attachments")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    for file in given {
        let text = |key: &str| file.get(key).and_then(Value::as_str);
        let bytes = match (text("text"), text("base64")) {
            (Some(text), _) => Some(text.as_bytes().to_vec()),
            (None, Some(digits)) => binary_text::decode(digits),
            (None, None) => None,
        };
        if let (Some(name), Some(bytes)) = (text("name"), bytes) {
            let name = name.to_owned();
            point.attachments.push(Attachment { name, bytes });
        } else {
            // Not to be read as one; kept as it is.
            put_extra(&mut point.record, SYSTEM, "unreadable_attachment", file);
        }
    }
}

fn point(document: &Document, n: usize, session: &mut ForeignSession) {
    let mut members = serde_json::to_value(&document.session).unwrap_or_default();
    if let Value::Object(members) = &mut members {
        for own in ["id", "name", "created_at", "forked_from"] {
            members.shift_remove(own);
        }
        session.members.clone_from(members);
    }
    let mut point = ForeignCheckpoint::new(format!("{n}"));
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
            put_extra(record, SYSTEM, "attachments", attachments);
        }
        // What it says of itself and of the repository of then: nothing of it holds here.
        let mut then = serde_json::to_value(document).unwrap_or_default();
        if let Value::Object(then) = &mut then {
            for told in ["record", "created_at", "name", "trigger", "compaction"] {
                then.shift_remove(told);
            }
            let own = ["id", "name", "created_at", "forked_from"];
            if let Some(Value::Object(session)) = then.get_mut("session") {
                session.retain(|key, _| own.contains(&key.as_str()));
            }
        }
        put_extra(record, SYSTEM, "document", then);
        point.record = std::mem::take(record);
    }
    session.checkpoints.push(point);
}

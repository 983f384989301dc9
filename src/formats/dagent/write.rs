//! A checkpoint as the file set of dagent's version 3.0.

use serde_json::{Map, Value, json};

use super::super::export::{self, ExportFiles, ExportInput};
use super::SYSTEM;
use crate::model::{document::CheckpointKind, record::TaskStatus, session::SessionStatus};

/// Writes `session_<id>.json`, `chat_<id>.json` and `checkpoint_<id>.json`, and the context and the agent's description
/// where the checkpoint came with them.
pub(in super::super) fn write(out: &ExportInput<'_>) -> ExportFiles {
    let document = out.latest();
    let (record, session) = (&document.record, &document.session);
    let mut own = export::own(record, SYSTEM);
    let usable = |id: &String| !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let id = export::foreign_id(document, SYSTEM)
        .filter(usable)
        .unwrap_or_else(|| session.name.to_string());
    let mut head = export::object(own.remove("session"));
    let mut first = Map::new();
    first.insert("id".into(), id.clone().into());
    for (key, value) in [
        ("type", &session.kind),
        ("agentType", &session.agent),
        ("featureId", &session.feature_id),
        ("taskId", &session.task_id),
        ("taskState", &session.task_state),
    ] {
        if let Some(value) = value {
            first.insert(key.into(), value.clone().into());
        }
    }
    first.insert("createdAt".into(), session.created_at.to_string().into());
    first.insert("updatedAt".into(), document.created_at.to_string().into());
    let status = if session.status == SessionStatus::Active {
        "active"
    } else {
        "archived"
    };
    first.insert("status".into(), status.into());
    head.shift_remove("status");
    head.entry("files").or_insert_with(|| {
        json!({
            "chat": format!("chat_{id}.json"),
            "checkpoint": format!("checkpoint_{id}.json"),
        })
    });
    let tokens = document.tokens.as_ref().and_then(|tokens| tokens.get("count")).cloned();
    let stats = head.entry("stats").or_insert_with(|| json!({ "totalCompactions": 0 }));
    // What was counted when it was imported holds only until the session is continued.
    if let Value::Object(stats) = stats
        && document.kind != CheckpointKind::Import
    {
        stats.insert("totalMessages".into(), out.messages.len().into());
        stats.insert("totalTokens".into(), tokens.unwrap_or(json!(0)));
    }
    first.extend(head);
    let mut files = vec![(format!("session_{id}.json"), export::json(&Value::Object(first)))];
    files.push((
        format!("chat_{id}.json"),
        export::json(&chat(out, export::object(own.remove("chat")))),
    ));
    let memory = own.contains_key("memory");
    let kept = export::object(own.remove(if memory { "memory" } else { "checkpoint" }));
    let name = if memory { "memory" } else { "checkpoint" };
    files.push((format!("{name}_{id}.json"), export::json(&summary(out, kept))));
    for part in ["context", "agent-description"] {
        if let Some(value @ Value::Object(_)) = own.remove(part) {
            files.push((format!("{part}_{id}.json"), export::json(&value)));
        } else if let Some((key, text)) = match part {
            "context" => out.context.map(|text| ("projectMd", text)),
            _ => out.agent.map(|text| ("roleInstructions", text)),
        } {
            let mut tree = Map::new();
            if part == "agent-description" {
                tree.insert("agentType".into(), json!(session.agent));
                tree.insert("createdAt".into(), session.created_at.to_string().into());
            }
            tree.insert(key.into(), text.into());
            files.push((format!("{part}_{id}.json"), export::json(&Value::Object(tree))));
        }
    }
    ExportFiles(files)
}

fn chat(out: &ExportInput<'_>, rest: Map<String, Value>) -> Value {
    let mut tree = Map::new();
    tree.insert("messages".into(), out.messages.iter().map(message).collect());
    tree.insert("totalMessages".into(), out.messages.len().into());
    for (key, message) in [
        ("oldestMessageTimestamp", out.messages.first()),
        ("newestMessageTimestamp", out.messages.last()),
    ] {
        if let Some(at) = message.and_then(|message| message.get("timestamp").or_else(|| message.get("at"))) {
            tree.insert(key.into(), at.clone());
        }
    }
    // What could not be read as a message is among the kept members under the same name; those are not lost here.
    for (key, value) in rest {
        match (tree.get_mut(&key), value) {
            (Some(Value::Array(messages)), Value::Array(more)) => messages.extend(more),
            (Some(_), _) => {}
            (None, value) => {
                tree.insert(key, value);
            }
        }
    }
    Value::Object(tree)
}

/// A message; one in the stored form gets this system's names for its time and what is kept with it.
fn message(message: &Value) -> Value {
    let mut message = export::object(Some(message.clone()));
    for (from, to) in [("at", "timestamp"), ("meta", "metadata")] {
        if let Some(value) = message.shift_remove(from) {
            message.entry(to).or_insert(value);
        }
    }
    Value::Object(message)
}

fn summary(out: &ExportInput<'_>, mut rest: Map<String, Value>) -> Value {
    let document = out.latest();
    let record = &document.record;
    let tasks = |wanted: &[TaskStatus]| -> Vec<Value> {
        let own = record.tasks.iter().filter(|task| wanted.contains(&task.status));
        own.map(|task| task.title.clone().into()).collect()
    };
    let mut lists = export::object(rest.remove("summary"));
    let done: Vec<Value> = record
        .accomplishments
        .iter()
        .map(|note| note.text.clone().into())
        .collect();
    lists.insert("completed".into(), [done, tasks(&[TaskStatus::Done])].concat().into());
    lists.insert(
        "inProgress".into(),
        tasks(&[TaskStatus::InProgress, TaskStatus::Blocked]).into(),
    );
    let next: Vec<Value> = record.next_steps.iter().map(|note| note.text.clone().into()).collect();
    lists.insert("pending".into(), [tasks(&[TaskStatus::Todo]), next].concat().into());
    lists.insert(
        "blockers".into(),
        record
            .blockers
            .iter()
            .map(|blocker| Value::String(blocker.text.clone()))
            .collect(),
    );
    let decisions = record.decisions.iter().map(|decision| match &decision.reason {
        Some(reason) => json!({ "text": decision.text, "reason": reason }),
        None => Value::String(decision.text.clone()),
    });
    lists.insert("decisions".into(), decisions.collect());
    for key in ["critical", "important", "minor"] {
        let own: Vec<Value> = record
            .memory_refs
            .iter()
            .filter(|note| note.unknown.get("importance").and_then(Value::as_str) == Some(key))
            .map(|note| note.text.clone().into())
            .collect();
        if !own.is_empty() {
            lists.insert(key.into(), own.into());
        }
    }
    let mut tree = Map::new();
    tree.insert("version".into(), rest.remove("version").unwrap_or(json!(3)));
    tree.insert(
        "createdAt".into(),
        rest.remove("createdAt")
            .unwrap_or_else(|| document.session.created_at.to_string().into()),
    );
    tree.insert(
        "updatedAt".into(),
        rest.remove("updatedAt")
            .filter(|_| document.kind == CheckpointKind::Import)
            .unwrap_or_else(|| document.created_at.to_string().into()),
    );
    tree.insert("summary".into(), Value::Object(lists));
    tree.extend(rest);
    Value::Object(tree)
}

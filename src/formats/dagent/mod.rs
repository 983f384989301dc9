//! dagent: the set of five files of version 3 (`session_`, `chat_`, `checkpoint_` or `memory_`, `context_`,
//! `agent-description_`), and the older `chat.json` and `nodes/<task>/session.json`.
//!
//! The files of one id in one folder are one session with one checkpoint.

mod old_versions;
mod write;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    ExportExtent, ExportFiles, ExportInput, File, ForeignCheckpoint, ForeignSession, Format, FormatWriter,
    ParseOutcome, Problem, Recognition, System,
    claude_mpm::has,
    fields::ObjectFields,
    notes::{NoteItem, RecordNotes},
    time,
};
use crate::model::{
    chat::{ChatSummary, Compaction},
    session::SessionStatus,
    time::Timestamp,
};

const PARTS: [&str; 6] = [
    "session",
    "chat",
    "checkpoint",
    "memory",
    "context",
    "agent-description",
];

/// Whether two files of one folder are of the same session.
fn joins(one: &str, other: &str) -> bool {
    let id = |name| parted(name).map(|(_, id)| id);
    id(one).is_some() && id(one) == id(other)
}

/// The part and the id of `<part>_<id>.json`.
fn split(file: &File) -> Option<(&'static str, &str)> {
    parted(file.name())
}

fn parted(name: &str) -> Option<(&'static str, &str)> {
    let stem = name.strip_suffix(".json")?;
    PARTS.iter().find_map(|part| {
        let id = stem.strip_prefix(part)?.strip_prefix('_')?;
        (!id.is_empty()).then_some((*part, id))
    })
}

pub(super) const SYSTEM: System = System::of(&Dagent);

/// The sessions of dagent.
struct Dagent;

impl Format for Dagent {
    fn name(&self) -> &'static str {
        "dagent"
    }

    fn places(&self) -> &'static [&'static str] {
        &[".dagent", ".dagent-worktrees"]
    }

    fn homes(&self) -> &'static [&'static str] {
        &[".dagent"]
    }

    fn recognize(&self, file: &File) -> Recognition {
        let has = |word: &str| has(&file.bytes, word);
        let is_tree = file.bytes.trim_ascii_start().starts_with(b"{") && !file.is("jsonl");
        let is_task = has("\"taskId\"") && has("\"messages\"") && has("\"agentId\"");
        let is_old = has("\"task_to_harness\"") || has("\"harness_to_task\"");
        let is_chat = has("\"entries\"") && has("\"role\"") && has("\"content\"");
        let is_named = match file.name() {
            "chat.json" => has("\"entries\"") || has("\"messages\""),
            "session.json" => has("\"taskId\"") && has("\"messages\""),
            _ => split(file).is_some(),
        };
        Recognition::Content
            .when(is_tree && (is_task || is_old || is_chat))
            .max(Recognition::Name.when(is_named))
    }

    fn parse(&self, files: &[File]) -> ParseOutcome {
        parse(files)
    }

    fn writer(&self) -> Option<&dyn FormatWriter> {
        Some(&Dagent)
    }
}

impl FormatWriter for Dagent {
    fn about(&self) -> &'static str {
        "the files of a dagent session with its chat; needs -o DIR"
    }

    fn extent(&self) -> ExportExtent {
        ExportExtent::Directory
    }

    fn write(&self, out: &ExportInput<'_>) -> ExportFiles {
        write::write(out)
    }

    fn joins(&self, written: &ExportFiles, path: &str) -> bool {
        written.0.iter().any(|(own, _)| joins(own, path))
    }
}

fn parse(files: &[File]) -> ParseOutcome {
    let mut out = ParseOutcome::default();
    let mut sets: BTreeMap<(&str, &str), Vec<(&'static str, &File)>> = BTreeMap::new();
    for file in files {
        match split(file) {
            Some((part, id)) => sets.entry((file.folder(), id)).or_default().push((part, file)),
            None => old_versions::parse(file, &mut out),
        }
    }
    for ((_, id), parts) in sets {
        set(id, &parts, &mut out);
    }
    out
}

/// The object in a file; a problem when there is none.
fn object(file: &File, out: &mut ParseOutcome) -> Option<ObjectFields> {
    match file.json().map(ObjectFields::of) {
        Ok(Some(fields)) => Some(fields),
        Ok(None) => {
            out.problems.push(Problem::broken(&file.path, "it is not an object"));
            None
        }
        Err(problem) => {
            out.problems.push(problem);
            None
        }
    }
}

fn set(id: &str, parts: &[(&'static str, &File)], out: &mut ParseOutcome) {
    let mut session = ForeignSession::new(SYSTEM, id, parts[0].1);
    for (_, file) in &parts[1..] {
        session.source(file);
    }
    session.status(SessionStatus::Active);
    let mut point = ForeignCheckpoint::new(id);
    let (mut notes, mut extra) = (RecordNotes::default(), Map::new());
    let mut any = false;
    // The session comes first whatever the order of names: the others fill in what it leaves open.
    for wanted in PARTS {
        let Some((_, file)) = parts.iter().find(|(part, _)| *part == wanted) else {
            continue;
        };
        let Some(mut fields) = object(file, out) else { continue };
        any = true;
        match wanted {
            "session" => head(&mut fields, &mut session, &mut point),
            "chat" => messages(&mut fields, &mut point, file, out),
            "checkpoint" | "memory" => compaction(&mut fields, &mut point, &mut notes),
            "context" => context(&fields, &mut session, &mut point),
            _ => description(&fields, &mut session, &mut point),
        }
        if !fields.is_empty() {
            extra.insert(wanted.to_owned(), Value::Object(fields.rest()));
        }
    }
    if !any {
        return;
    }
    let words = ["title", "task", "feature", "feature_id"]
        .iter()
        .find_map(|key| session.members.get(*key)?.as_str().map(str::to_owned));
    if !notes.has("summary") {
        notes.set("summary", words);
    }
    notes.extra(SYSTEM, extra);
    point.record = notes.finish();
    session.checkpoints.push(point);
    out.sessions.push(session);
}

fn head(fields: &mut ObjectFields, session: &mut ForeignSession, point: &mut ForeignCheckpoint) {
    // Another one than the files are named by stays where it is.
    if fields.peek_text("id") == Some(&session.id) {
        fields.take("id");
    }
    for (from, to) in [
        ("type", "type"),
        ("agentType", "agent"),
        ("featureId", "feature_id"),
        ("taskId", "task_id"),
        ("taskState", "task_state"),
    ] {
        session.member(to, fields.text(from));
    }
    if fields.peek_text("status") == Some("archived") {
        // Put aside; whether it ended well is unknown, so the word itself stays in `extra`.
        session.status(SessionStatus::Paused);
    } else if fields.peek_text("status") == Some("active") {
        fields.take("status");
    }
    session.created_at = fields.time("createdAt");
    point.at = fields.time("updatedAt").or(session.created_at);
}

fn messages(fields: &mut ObjectFields, point: &mut ForeignCheckpoint, file: &File, out: &mut ParseOutcome) {
    let mut kept = Vec::new();
    for message in fields.list("messages").unwrap_or_default() {
        let whole = message.get("role").is_some_and(Value::is_string) && message.get("content").is_some();
        if whole {
            point.messages.push(message);
        } else {
            kept.push(message);
        }
    }
    if !kept.is_empty() {
        let what = incomplete(kept.len(), "role");
        out.problems.push(Problem::note(&file.path, what));
        fields.put("messages", Value::Array(kept));
    }
    // Derived from the messages, and wrong as soon as one is added.
    let count = point.messages.len() as u64;
    if fields.get("totalMessages").and_then(Value::as_u64) == Some(count) {
        fields.take("totalMessages");
    }
    let of = |message: Option<&Value>| message.and_then(|message| message.get("timestamp")).cloned();
    for (key, message) in [
        ("oldestMessageTimestamp", point.messages.first()),
        ("newestMessageTimestamp", point.messages.last()),
    ] {
        if fields.get(key) == of(message).as_ref() {
            fields.take(key);
        }
    }
}

fn incomplete(count: usize, part: &str) -> String {
    match count {
        1 => format!("1 message has no {part} or no content"),
        _ => format!("{count} messages have no {part} or no content"),
    }
}

/// The summary that a compaction left: lists of version 3.0, or memory by importance.
fn compaction(fields: &mut ObjectFields, point: &mut ForeignCheckpoint, notes: &mut RecordNotes) {
    point.compaction = told(fields, point.at).and_then(|told| serde_json::to_value(told).ok());
    if let Some(mut summary) = fields.fields("summary") {
        let names = ["text", "description", "title"];
        notes.add_all(
            "accomplishments",
            summary.list("completed").unwrap_or_default(),
            &names,
            &[],
        );
        for (key, status) in [("inProgress", "in_progress"), ("pending", "todo")] {
            for text in summary.texts(key).unwrap_or_default() {
                notes.add("tasks", NoteItem::new(text).with("status", Some(status)));
            }
        }
        notes.add_all("blockers", summary.list("blockers").unwrap_or_default(), &names, &[]);
        notes.add_all(
            "decisions",
            summary.list("decisions").unwrap_or_default(),
            &names,
            &[("reason", "reason")],
        );
        for key in ["critical", "important", "minor"] {
            for text in summary.texts(key).unwrap_or_default() {
                notes.add("memory_refs", NoteItem::new(text).with("importance", Some(key)));
            }
        }
        fields.put_back("summary", summary);
    } else if let Some(text) = fields.text("summary") {
        notes.set("summary", Some(text));
    }
    if point.at.is_none() {
        point.at = fields.peek_time("updatedAt");
    }
}

/// The compaction that left the summary. It represents no message of the chat: dagent removes those that it summarised.
fn told(fields: &ObjectFields, fallback: Option<Timestamp>) -> Option<Compaction> {
    let info = fields.get("compactionInfo").and_then(Value::as_object)?;
    let of = |key: &str| info.get(key).and_then(time::of_value);
    let at = of("compactedAt")
        .or_else(|| fields.peek_time("updatedAt"))
        .or(fallback)?;
    let given = fields.get("summary").cloned().unwrap_or_default();
    let texts = |key: &str| -> Vec<String> {
        let items = given.get(key).and_then(Value::as_array).into_iter().flatten();
        let words = |item: &Value| match item {
            Value::String(text) => text.clone(),
            other => ["text", "description", "title"]
                .iter()
                .find_map(|key| other.get(key)?.as_str().map(str::to_owned))
                .unwrap_or_else(|| other.to_string()),
        };
        items.map(words).collect()
    };
    let number = |value: Option<&Value>| value.and_then(Value::as_u64);
    let stats = fields.get("stats");
    let count = number(stats.and_then(|stats| stats.get("totalCompactions"))).unwrap_or(1);
    let summary = ChatSummary {
        completed: texts("completed"),
        in_progress: texts("inProgress"),
        pending: texts("pending"),
        blockers: texts("blockers"),
        decisions: texts("decisions"),
        ..ChatSummary::default()
    };
    // Memory by importance is no such summary; it is among the memory references.
    if summary.is_empty() {
        return None;
    }
    Some(Compaction {
        version: count,
        summary,
        messages: 0,
        oldest: of("oldestMessageTimestamp").unwrap_or(at),
        latest: of("newestMessageTimestamp").unwrap_or(at),
        at,
        tokens_before: number(stats.and_then(|stats| stats.get("totalTokens"))).unwrap_or_default(),
        tokens_after: 0,
        duration_ms: 0,
        count,
        by: SYSTEM.word().to_owned(),
        unknown: Map::new(),
    })
}

/// The context: for people as Markdown beside the checkpoint, exactly in `extra`.
fn context(fields: &ObjectFields, session: &mut ForeignSession, point: &mut ForeignCheckpoint) {
    session.member("feature", fields.peek_text("featureName").map(str::to_owned));
    session.member(
        "task",
        fields
            .peek_text("taskTitle")
            .or_else(|| fields.peek_text("featureGoal"))
            .map(str::to_owned),
    );
    let mut text = String::new();
    for (key, value) in fields.clone().rest() {
        let words = match value {
            Value::String(words) => words,
            other => serde_json::to_string_pretty(&other).unwrap_or_default(),
        };
        text.push_str(&format!("## {key}\n\n{}\n\n", words.trim_end()));
    }
    point.context = Some(text);
}

fn description(fields: &ObjectFields, session: &mut ForeignSession, point: &mut ForeignCheckpoint) {
    if !session.members.contains_key("agent") {
        session.member("agent", fields.peek_text("agentType").map(str::to_owned));
    }
    let parts = ["roleInstructions", "toolInstructions"]
        .iter()
        .filter_map(|key| fields.peek_text(key));
    point.agent = Some(parts.collect::<Vec<_>>().join("\n\n") + "\n");
}

//! ai-agents: session logs as JSON, checkpoints, hand-offs and the dashboard as Markdown.
//!
//! Each file is a session of its own, except a checkpoint that a session log names: that becomes one of its checkpoints.
//! Markdown is kept whole next to what was understood of it.

mod markdown;

use serde_json::Value;

use super::{
    File, ForeignCheckpoint, ForeignSession, Format, ParseOutcome, Problem, Recognition, System,
    claude_mpm::has,
    fields::ObjectFields,
    notes::{NoteItem, RecordNotes},
    time,
};
use crate::model::session::SessionStatus;

pub(super) const SYSTEM: System = System::of(&AiAgents);

/// The session logs, checkpoints and hand-offs of ai-agents.
struct AiAgents;

impl Format for AiAgents {
    fn name(&self) -> &'static str {
        "ai-agents"
    }

    fn places(&self) -> &'static [&'static str] {
        &[".agents"]
    }

    fn homes(&self) -> &'static [&'static str] {
        &[".agents"]
    }

    fn recognize(&self, file: &File) -> Recognition {
        recognize(file)
    }

    fn parse(&self, files: &[File]) -> ParseOutcome {
        parse(files)
    }
}

/// The directories of `.agents` that hold sessions; analyses, reviews, plans, schemas and templates lie in others.
const OWN: [&str; 3] = ["sessions", "handoffs", "checkpoints"];

fn recognize(file: &File) -> Recognition {
    let name = file.name();
    let directories: Vec<&str> = file.folder().split('/').collect();
    let is_template =
        directories.iter().any(|part| ["templates", "schemas"].contains(part)) || name.ends_with(".schema.json");
    let home = directories.iter().rposition(|part| *part == ".agents");
    let is_inside = home.is_none_or(|at| {
        let below = &directories[at + 1..];
        below.iter().any(|part| OWN.contains(part)) || (below.is_empty() && name == "HANDOFF.md")
    });
    if is_template || !is_inside {
        return Recognition::No;
    }
    let start = file.bytes.trim_ascii_start();
    if start.starts_with(b"{") {
        let is_log = has(&file.bytes, "\"session\"")
            && (has(&file.bytes, "\"protocolCompliance\"") || has(&file.bytes, "\"workLog\""));
        let is_schema = has(&file.bytes, "\"$schema\"") || has(&file.bytes, "\"properties\"");
        let is_named = file.is("json") && is_dated(name) && name.contains("-session-");
        return Recognition::Content
            .when(is_log && !is_schema)
            .max(Recognition::Name.when(is_named));
    }
    if file.is("json") {
        return Recognition::Name.when(is_dated(name) && name.contains("-session-"));
    }
    let is_named = file.is("md")
        && (name.starts_with("CHECKPOINT-")
            || name.ends_with("-handoff.md")
            || name == "HANDOFF.md"
            || (is_dated(name) && name.contains("-session")));
    let is_text = !["jsonl", "yaml", "yml"].iter().any(|end| file.is(end));
    Recognition::Content
        .when(is_text && markdown::is_titled(&file.text_start()))
        .max(Recognition::Name.when(is_named))
}

/// Whether a name begins with a date.
fn is_dated(name: &str) -> bool {
    name.get(..10).is_some_and(|date| time::parse(date).is_some())
}

fn parse(files: &[File]) -> ParseOutcome {
    let mut out = ParseOutcome::default();
    let mut named: Vec<(String, usize)> = Vec::new();
    let (logs, others): (Vec<&File>, Vec<&File>) = files.iter().partition(|file| file.is("json"));
    for file in logs {
        match file.json().map(ObjectFields::of) {
            Ok(Some(fields)) => {
                for checkpoint in fields
                    .get("checkpoints")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten()
                {
                    let path = checkpoint.get("path").and_then(Value::as_str).unwrap_or_default();
                    named.push((
                        path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned(),
                        out.sessions.len(),
                    ));
                }
                let session = log(file, fields);
                out.sessions.push(session);
            }
            Ok(None) => out.problems.push(Problem::broken(&file.path, "it is not an object")),
            Err(problem) => out.problems.push(problem),
        }
    }
    for file in others {
        let Some(session) = markdown::parse(file, &mut out.problems) else {
            continue;
        };
        match named.iter().find(|(name, _)| name == file.name()) {
            Some((_, at)) => {
                let known = &mut out.sessions[*at];
                known.source(file);
                for mut point in session.checkpoints {
                    file.stem().clone_into(&mut point.id);
                    let before = known.checkpoints.len() - 1;
                    known.checkpoints.insert(before, point);
                }
            }
            None => out.sessions.push(session),
        }
    }
    // Of two states with the same time the later one is last: an archived file is the older one, and Markdown was
    // converted to JSON.
    out.sessions.sort_by_key(|session| {
        let is_archived = session
            .sources
            .iter()
            .any(|path| path.split('/').any(|part| part == "archive"));
        let is_json = session
            .sources
            .iter()
            .any(|path| path.rsplit_once('.').is_some_and(|(_, end)| end == "json"));
        (!is_archived, is_json)
    });
    for session in &mut out.sessions {
        let last = session.checkpoints.pop();
        session.checkpoints.sort_by_key(|point| point.at);
        // The log is the text at the end. Its date is that of the day's beginning; its checkpoints know better.
        let latest = session.checkpoints.last().and_then(|point| point.at);
        session.checkpoints.extend(last.map(|last| ForeignCheckpoint {
            at: last.at.max(latest),
            ..last
        }));
    }
    out
}

/// A session log.
fn log(file: &File, mut fields: ObjectFields) -> ForeignSession {
    let mut session = ForeignSession::new(SYSTEM, file.stem(), file);
    session.has_file_name_id = true;
    let mut point = ForeignCheckpoint::new(file.stem());
    let mut notes = RecordNotes::default();
    if let Some(mut head) = fields.fields("session") {
        session.member("task", head.peek_text("objective").map(str::to_owned));
        notes.set("summary", head.text("objective"));
        session.created_at = head.time("date");
        point.git.branch = head.peek_text("branch").map(str::to_owned);
        point.git.commit = head.peek_text("startingCommit").map(str::to_owned);
        fields.put_back("session", head);
    }
    if let Some(end) = fields.peek_text("endingCommit") {
        point.git.commit = Some(end.to_owned());
    }
    // A log is written once: without an ending commit no agent works on it, and it can be resumed.
    session.status(if fields.peek_text("endingCommit").is_some() {
        SessionStatus::Completed
    } else {
        SessionStatus::Paused
    });
    point.at = session.created_at;
    let steps = ["action", "task", "step", "description", "title", "entry", "summary"];
    let work = fields.list("workLog").unwrap_or_default().into_iter().map(acted);
    notes.add_all("accomplishments", work.collect(), &steps, &[]);
    if let Some(mut work) = fields.fields("work") {
        let tasks = work.list("tasks").unwrap_or_default();
        notes.add_all(
            "tasks",
            tasks,
            &["task", "description", "title", "name"],
            &[("status", "status"), ("files", "files")],
        );
        fields.put_back("work", work);
    }
    notes.add_all(
        "next_steps",
        fields.list("nextSteps").unwrap_or_default(),
        &["action", "step", "task", "description", "title", "entry", "summary"],
        &[],
    );
    if let Some(mut protocol) = fields.fields("protocolCompliance") {
        for part in ["sessionStart", "sessionEnd"] {
            let Some(checks) = protocol.fields(part) else { continue };
            for (name, value) in checks.rest() {
                check(name, value, part, &mut notes);
            }
        }
        fields.put_back("protocolCompliance", protocol);
    }
    notes.extra(SYSTEM, fields.rest());
    point.record = notes.finish();
    session.checkpoints.push(point);
    session
}

/// An entry of the work log; one with a list of actions and no other text is reported by them.
fn acted(entry: Value) -> Value {
    let Value::Object(mut map) = entry else { return entry };
    let texts = map
        .get("actions")
        .and_then(super::fields::texts)
        .filter(|texts| !texts.is_empty());
    let has_text = ["action", "task", "step", "description", "title", "entry", "summary"]
        .iter()
        .any(|key| map.get(*key).is_some_and(Value::is_string));
    if let (Some(texts), false) = (texts, has_text) {
        map.shift_remove("actions");
        map.insert("action".to_owned(), texts.join("\n").into());
    }
    Value::Object(map)
}

/// A line of the protocol: a check with its level and evidence.
fn check(name: String, value: Value, part: &str, notes: &mut RecordNotes) {
    let Value::Object(map) = value else {
        notes.add(
            "checks",
            NoteItem::new(name)
                .with("status", Some(value.to_string()))
                .with("part", Some(part)),
        );
        return;
    };
    let mut fields = ObjectFields::new(map);
    let mut complete = None;
    for key in ["Complete", "complete"] {
        if let Some(Value::Bool(done)) = fields.get(key) {
            complete = Some(*done);
            fields.take(key);
        }
    }
    let status = match complete {
        Some(true) => "pass",
        Some(false) => "fail",
        None => "unknown",
    };
    let evidence = fields.text("Evidence").or_else(|| fields.text("evidence"));
    let item = NoteItem::new(name)
        .with("status", Some(status))
        .with("part", Some(part));
    // The name replaces the text; the evidence is the text of a check.
    notes.add_check(item, evidence, fields);
}

//! The tree of a pause session, as its JSON and YAML hold it, in the forms of all versions; and resume logs.

use serde_json::{Map, Value};

use super::super::{
    File, ForeignCheckpoint, ForeignRepoState, ForeignSession, Problem,
    fields::ObjectFields,
    notes::{NoteItem, RecordNotes},
};
use super::SYSTEM;
use crate::model::session::SessionStatus;

/// Reads a pause session; `None` with a problem when it is none.
pub(super) fn parse(value: Value, file: &File, problems: &mut Vec<Problem>) -> Option<ForeignSession> {
    let Some(mut fields) = ObjectFields::of(value) else {
        problems.push(Problem::broken(&file.path, "it is not an object"));
        return None;
    };
    let known = [
        "session_id",
        "paused_at",
        "conversation",
        "git_context",
        "mission_summary",
    ];
    if !known.iter().any(|key| fields.has(key)) {
        problems.push(Problem::broken(
            &file.path,
            "it is no pause session: it has no 'session_id' and no 'conversation'",
        ));
        return None;
    }
    let id = fields.text("session_id").unwrap_or_else(|| file.stem().to_owned());
    if id != file.stem() && super::is_session(file.name()) {
        let what = format!("it calls itself '{}'", id.escape_debug());
        problems.push(Problem::note(&file.path, what));
    }
    let mut session = ForeignSession::new(SYSTEM, &id, file);
    session.status(SessionStatus::Paused);
    let mut checkpoint = ForeignCheckpoint::new(id);
    checkpoint.at = fields.time("paused_at").or_else(|| fields.time("created_at"));
    let mut notes = RecordNotes::default();
    conversation(&mut fields, &mut session, &mut notes);
    if fields.has("mission_summary") {
        resume_log(&mut fields, &mut notes);
    }
    // Of a resume log; our export adds it to a pause.
    let decisions = fields.list("decisions_made").unwrap_or_default();
    let more = [("rationale", "reason"), ("reason", "reason")];
    notes.add_all("decisions", decisions, &["decision", "text"], &more);
    if let Some(Value::Object(context)) = fields.get("git_context") {
        let ours = fields
            .peek_text("version")
            .is_some_and(|version| version.starts_with("git-checkpoint "));
        checkpoint.git = claimed(&mut ObjectFields::new(context.clone()), ours, file, problems);
    }
    for (key, done) in [("active", false), ("completed", true)] {
        let Some(mut todos) = fields.fields("todos") else { break };
        for item in todos.list(key).unwrap_or_default() {
            todo(item, done, &mut notes);
        }
        fields.put_back("todos", todos);
    }
    if let Some(mut list) = fields.fields("task_list") {
        for (key, status) in [("pending_tasks", "todo"), ("in_progress_tasks", "in_progress")] {
            for item in list.list(key).unwrap_or_default() {
                task(item, status, &mut notes);
            }
        }
        fields.put_back("task_list", list);
    }
    if let Some(mut instructions) = fields.fields("resume_instructions") {
        notes.add_all(
            "resume_instructions",
            instructions.list("quick_start").unwrap_or_default(),
            &["text"],
            &[],
        );
        for path in instructions.texts("files_to_review").unwrap_or_default() {
            notes.add("open_files", NoteItem::new(path));
        }
        fields.put_back("resume_instructions", instructions);
    }
    for reminder in fields.list("important_reminders").unwrap_or_default() {
        super::reminder(reminder, &mut notes);
    }
    let questions = fields.list("open_questions").unwrap_or_default();
    notes.add_all("questions", questions, &["question", "text"], &[("answer", "answer")]);
    super::rest(&mut notes, fields);
    checkpoint.record = notes.finish();
    session.created_at = checkpoint.at;
    session.checkpoints.push(checkpoint);
    Some(session)
}

fn conversation(fields: &mut ObjectFields, session: &mut ForeignSession, notes: &mut RecordNotes) {
    let Some(mut conversation) = fields.fields("conversation") else {
        return;
    };
    notes.set("summary", conversation.text("summary"));
    session.member("task", conversation.text("primary_task"));
    let names = [
        "task",
        "text",
        "description",
        "step",
        "title",
        "item",
        "action",
        "summary",
    ];
    for list in ["accomplishments", "next_steps"] {
        notes.add_all(list, conversation.list(list).unwrap_or_default(), &names, &[]);
    }
    fields.put_back("conversation", conversation);
}

/// Conversion of the other member names of a resume log.
fn resume_log(fields: &mut ObjectFields, notes: &mut RecordNotes) {
    notes.set("summary", fields.text("mission_summary"));
    for (from, list) in [("accomplishments", "accomplishments"), ("next_steps", "next_steps")] {
        match fields.get(from) {
            Some(Value::Array(_)) => {
                notes.add_all(
                    list,
                    fields.list(from).unwrap_or_default(),
                    &["task", "text", "description"],
                    &[],
                );
            }
            _ => {
                if let Some(text) = fields.text(from) {
                    notes.add(list, NoteItem::new(text));
                }
            }
        }
    }
}

fn todo(item: Value, done: bool, notes: &mut RecordNotes) {
    match item {
        Value::Object(map) => {
            let mut fields = ObjectFields::new(map);
            let text = ["content", "text", "title"].iter().find_map(|key| fields.text(key));
            match text {
                Some(text) => {
                    // Words that repeat the name of the list.
                    let is_usual = |word: &str| word == super::todo_status(done);
                    if fields.peek_text("status").is_some_and(is_usual) {
                        fields.take("status");
                    }
                    let item = NoteItem::new(text)
                        .with_id(fields.text("id"))
                        .with("done", done.then_some(true));
                    notes.add("todos", item.and(fields));
                }
                None => notes.add(
                    "todos",
                    NoteItem::new(Value::Object(fields.rest()).to_string()).with("done", done.then_some(true)),
                ),
            }
        }
        Value::String(text) => notes.add("todos", NoteItem::new(text).with("done", done.then_some(true))),
        other => notes.add(
            "todos",
            NoteItem::new(other.to_string()).with("done", done.then_some(true)),
        ),
    }
}

fn task(item: Value, status: &str, notes: &mut RecordNotes) {
    let Value::Object(map) = item else {
        notes.add_all("tasks", vec![item], &[], &[]);
        return;
    };
    let mut fields = ObjectFields::new(map);
    let title = fields.text("title").or_else(|| fields.text("subject"));
    let Some(title) = title.or_else(|| fields.text("description")) else {
        notes.add_all("tasks", vec![Value::Object(fields.rest())], &[], &[]);
        return;
    };
    let item = NoteItem::new(title)
        .with_id(fields.text("id"))
        .at(fields.time("created_at"))
        .with("status", Some(status))
        .with("notes", fields.text("description"));
    notes.add("tasks", item.and(fields));
}

/// State of the repository as claimed by the file, in the real form and in that of its manual. With `ours`, a file that
/// we wrote, paths are complete.
pub(super) fn claimed(
    context: &mut ObjectFields,
    ours: bool,
    file: &File,
    problems: &mut Vec<Problem>,
) -> ForeignRepoState {
    let mut out = ForeignRepoState {
        branch: context.text("branch"),
        commit: context.text("commit"),
        clean: context.get("is_clean").and_then(Value::as_bool),
        ..ForeignRepoState::default()
    };
    if let Some(Value::Object(latest)) = context.list("recent_commits").unwrap_or_default().into_iter().next() {
        let mut latest = ObjectFields::new(latest);
        out.commit = out.commit.or_else(|| latest.text("sha"));
    }
    let number = |map: &Map<String, Value>, key: &str| map.get(key).and_then(Value::as_u64);
    if let Some(Value::Object(counts)) = context.get("ahead_behind") {
        (out.ahead, out.behind) = (number(counts, "ahead"), number(counts, "behind"));
    }
    let Some(mut status) = context.fields("status") else {
        return out;
    };
    out.clean = out.clean.or_else(|| status.get("clean").and_then(Value::as_bool));
    let mut paths = |names: [&str; 2]| names.iter().find_map(|name| status.texts(name)).unwrap_or_default();
    out.staged = paths(["staged", "staged_files"]);
    let real = paths(["modified_files", ""]);
    out.modified = paths(["modified", ""]);
    out.untracked = paths(["untracked_files", "untracked"]);
    if ours {
        out.modified = real;
    } else if let Some(first) = real.first() {
        // Its writer strips the output of git before it cuts the two columns off: an unstaged first path loses its
        // first character. Whether this one did cannot be determined, so the path is not repeated as a fact.
        let what = format!(
            "the first modified path, '{}', may lack its first character",
            first.escape_debug()
        );
        problems.push(Problem::note(&file.path, what));
        out.modified.extend(real.into_iter().skip(1));
    }
    out
}

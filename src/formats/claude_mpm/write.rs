//! A checkpoint as a pause session of claude-mpm: the JSON that its own reader takes, in the form of version 6.

use serde_json::{Map, Value, json};

use super::super::export::{self, ExportFiles, ExportInput};
use super::SYSTEM;
use crate::model::{
    document::CheckpointKind,
    record::{Note, Record, TaskStatus, UnknownMembers},
};

/// Writes the latest checkpoint as `session-YYYYMMDD-HHMMSS.json`. Fields that came from claude-mpm go back to their
/// places.
pub(in super::super) fn write(out: &ExportInput<'_>) -> ExportFiles {
    let document = out.latest();
    let record = &document.record;
    let mut root = export::own(record, SYSTEM);
    let name = export::foreign_id(document, SYSTEM)
        .filter(|id| super::is_session(id) && id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)))
        .unwrap_or_else(|| {
            format!(
                "session-{}",
                document.created_at.to_chrono().naive_utc().format("%Y%m%d-%H%M%S")
            )
        });
    let mut tree = Map::new();
    tree.insert("session_id".into(), name.clone().into());
    tree.insert("paused_at".into(), document.created_at.to_string().into());
    tree.insert(
        "duration_hours".into(),
        root.remove("duration_hours").unwrap_or(json!(0)),
    );
    let context_usage = root.remove("context_usage");
    tree.insert(
        "context_usage".into(),
        context_usage.unwrap_or_else(|| json!({"tokens_used": 0, "tokens_total": 200_000, "percentage": 0})),
    );
    tree.insert("conversation".into(), conversation(out, &mut root));
    // An import records where the source was; the session was continued somewhere else.
    let then = root
        .remove("git_context")
        .filter(|_| document.kind == CheckpointKind::Import);
    let is_ours = then.is_none();
    tree.insert("git_context".into(), then.unwrap_or_else(|| git(out)));
    let worktree = json!({ "working_directory": "." });
    tree.insert(
        "active_context".into(),
        root.remove("active_context").unwrap_or(worktree),
    );
    root.remove("important_reminders");
    let reminders = record.resume_instructions.iter().filter(|note| is_reminder(note));
    tree.insert(
        "important_reminders".into(),
        reminders.map(|note| Value::String(note.text.clone())).collect(),
    );
    tree.insert("resume_instructions".into(), instructions(record, &mut root));
    let questions = record.questions.iter().map(|question| match &question.answer {
        Some(answer) => json!({ "question": question.text, "answer": answer }),
        None => Value::String(question.text.clone()),
    });
    tree.insert("open_questions".into(), questions.collect());
    tree.insert(
        "performance_metrics".into(),
        root.remove("performance_metrics").unwrap_or_else(|| json!({})),
    );
    let todos = |done: bool| -> Value {
        let own = record.todos.iter().filter(|todo| todo.done == done);
        own.map(|todo| todo_object(&todo.text, done, &todo.unknown)).collect()
    };
    let mut list = export::object(root.remove("todos"));
    list.insert("active".into(), todos(false));
    list.insert("completed".into(), todos(true));
    tree.insert("todos".into(), Value::Object(list));
    tree.insert("task_list".into(), tasks(record, &mut root));
    let decisions = record.decisions.iter().map(|decision| match &decision.reason {
        Some(reason) => json!({ "decision": decision.text, "rationale": reason }),
        None => Value::String(decision.text.clone()),
    });
    // A member of its resume logs; the reader of pauses passes it over.
    if !record.decisions.is_empty() {
        tree.insert("decisions_made".into(), decisions.collect());
    }
    let version = root
        .remove("version")
        .filter(|_| !is_ours)
        .unwrap_or_else(|| json!(format!("{} {}", document.tool.name, document.tool.version)));
    tree.insert("version".into(), version);
    tree.insert("build".into(), root.remove("build").unwrap_or(json!("current")));
    // Its reader takes only sessions of the directory it runs in, which is wherever this file goes.
    root.remove("project_path");
    tree.insert("project_path".into(), ".".into());
    tree.extend(root);
    ExportFiles::one(format!("{name}.json"), export::json(&Value::Object(tree)))
}

/// A todo as its readers take it apart: version 4.11 asks each for members.
fn todo_object(text: &str, done: bool, unknown: &UnknownMembers) -> Value {
    let mut todo = json!({ "content": text, "status": super::todo_status(done) });
    for (key, value) in unknown {
        let name = key.strip_prefix("foreign_").unwrap_or(key);
        // A word that came with it is while it fits the list.
        if name != "status" || !done {
            todo[name] = value.clone();
        }
    }
    todo
}

/// A step: a text, or the object it came as.
fn next_step(note: &Note) -> Value {
    let own = note.unknown.iter();
    let own: Map<String, Value> = own
        .map(|(key, value)| (key.strip_prefix("foreign_").unwrap_or(key).to_owned(), value.clone()))
        .filter(|(key, _)| key != "details")
        .collect();
    if own.is_empty() {
        return Value::String(note.text.clone());
    }
    let mut step = Map::from_iter([("task".to_owned(), Value::String(note.text.clone()))]);
    step.extend(own);
    Value::Object(step)
}

fn is_reminder(note: &Note) -> bool {
    note.unknown.get("kind").and_then(Value::as_str) == Some(super::REMINDER)
}

fn texts(notes: &[Note]) -> Value {
    notes.iter().map(|note| Value::String(note.text.clone())).collect()
}

fn conversation(out: &ExportInput<'_>, root: &mut Map<String, Value>) -> Value {
    let document = out.latest();
    let record = &document.record;
    let mut tree = export::object(root.remove("conversation"));
    if let Some(task) = &document.session.task {
        tree.insert("primary_task".into(), task.clone().into());
    }
    if let Some(phase) = &record.phase {
        let title = phase.title.as_deref().unwrap_or_default();
        let words = format!("Phase {} of {}: {title}", phase.n, phase.of);
        tree.entry("current_phase").or_insert_with(|| words.into());
    }
    tree.insert("summary".into(), record.summary.clone().unwrap_or_default().into());
    tree.insert("accomplishments".into(), texts(&record.accomplishments));
    tree.insert("next_steps".into(), record.next_steps.iter().map(next_step).collect());
    Value::Object(tree)
}

/// The repository in the form its reader looks at; it counts commits since `paused_at` itself.
fn git(out: &ExportInput<'_>) -> Value {
    let facts = &out.latest().git;
    let paths = |bounded: &crate::model::facts::BoundedList<crate::model::path::RepoPath>| -> Vec<Value> {
        bounded.first.iter().map(|path| path.quoted().into()).collect()
    };
    let mut modified = paths(&facts.staged);
    modified.extend(
        paths(&facts.modified)
            .into_iter()
            .filter(|path| !facts.staged.first.iter().any(|s| s.quoted() == *path)),
    );
    // Who made the commit, and when, is in no checkpoint: what is not known is left out.
    let commits: Vec<Value> = facts
        .head
        .iter()
        .map(|head| {
            json!({
                "sha": head.as_str(),
                "message": facts.head_subject.clone().unwrap_or_default(),
            })
        })
        .collect();
    json!({
        "is_git_repo": true,
        "branch": facts.branch,
        "recent_commits": commits,
        "status": { "clean": facts.is_clean, "modified_files": modified, "untracked_files": paths(&facts.untracked) },
    })
}

fn instructions(record: &Record, root: &mut Map<String, Value>) -> Value {
    let mut tree = export::object(root.remove("resume_instructions"));
    let own = record.resume_instructions.iter().filter(|note| !is_reminder(note));
    tree.insert(
        "quick_start".into(),
        own.map(|note| Value::String(note.text.clone())).collect(),
    );
    let files = record.open_files.iter().map(|file| Value::String(file.path.clone()));
    tree.insert("files_to_review".into(), files.collect());
    tree.entry("validation_commands")
        .or_insert_with(|| json!({ "check_git": "git status && git log -1 --stat" }));
    Value::Object(tree)
}

fn tasks(record: &Record, root: &mut Map<String, Value>) -> Value {
    let mut tree = export::object(root.remove("task_list"));
    let of = |wanted: &[TaskStatus]| -> Value {
        let own = record.tasks.iter().filter(|task| wanted.contains(&task.status));
        own.map(|task| {
            json!({
                "id": task.id,
                "title": task.title,
                "description": task.notes.clone().unwrap_or_default(),
                "created_at": task.at.to_string(),
            })
        })
        .collect()
    };
    tree.insert("pending_tasks".into(), of(&[TaskStatus::Todo, TaskStatus::Blocked]));
    tree.insert("in_progress_tasks".into(), of(&[TaskStatus::InProgress]));
    let done = record
        .tasks
        .iter()
        .filter(|task| task.status == TaskStatus::Done)
        .count();
    let known = tree.get("completed_count").and_then(Value::as_u64).unwrap_or(0);
    tree.insert("completed_count".into(), json!(known.max(done as u64)));
    Value::Object(tree)
}

//! A checkpoint as `SESSION-CHECKPOINT.md`, in the sections and columns of the template.

use std::fmt::Write as _;

use serde_json::Value;

use super::{
    super::{
        System,
        outgoing::{self, Outgoing, Written},
    },
    sections::usual,
};
use crate::model::record::{Record, Task, TaskStatus};

/// Writes the newest checkpoint. A column beyond the template's appears only when a task needs it.
pub(in super::super) fn write(out: &Outgoing<'_>) -> Written {
    let document = out.newest();
    let (record, session) = (&document.record, &document.session);
    let mut own = outgoing::own(record, System::Opencastle);
    let mut text = String::from("# Session Checkpoint\n\n");
    let mut head = |key: &str, value: &str| line(&mut text, &format!("**{key}:** {}", one_line(value)));
    head("Last Updated", &document.created_at.to_string());
    head("Feature", session.feature.as_deref().unwrap_or(session.name.as_str()));
    if let Some(branch) = &document.git.branch {
        head("Branch", branch);
    }
    if !session.issues.is_empty() {
        head("Tracker Issues", &session.issues.join(", "));
    }
    head("Status", session.status.word());
    let mut kept = Vec::new();
    if let Some(Value::Array(sections)) = own.remove("sections") {
        kept = sections;
    }
    let current = own.remove("current_phase");
    for (key, value) in &own {
        if let Value::String(value) = value {
            head(key, value);
        }
    }
    phase(record, current.as_ref().and_then(Value::as_str), &mut text);
    tasks(record, &mut text);
    approvals(record, &mut text);
    lists(record, &mut text);
    delegations(record, &mut text);
    if !record.partitions.is_empty() {
        text.push_str("\n## File Partitions\n\n```\n");
        for (agent, paths) in &record.partitions {
            let paths: Vec<&str> = paths
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            line(&mut text, &format!("{}: {}", one_line(agent), paths.join(", ")));
        }
        text.push_str("```\n");
    }
    section(
        &mut text,
        "Resume Instructions",
        record
            .resume_instructions
            .iter()
            .map(|note| (note.text.as_str(), Vec::new())),
        true,
    );
    for section in kept {
        let of = |key: &str| section.get(key).and_then(Value::as_str).unwrap_or_default();
        let level = section.get("level").and_then(Value::as_u64).unwrap_or(2).clamp(2, 6);
        let level = usize::try_from(level).unwrap_or(2);
        line(
            &mut text,
            &format!("\n{} {}\n\n{}", "#".repeat(level), one_line(of("title")), of("text")),
        );
    }
    Written::one("SESSION-CHECKPOINT.md".to_owned(), text.into_bytes())
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A cell: bars are escaped, line ends become breaks.
fn cell(text: &str) -> String {
    text.trim()
        .replace("\r\n", "\n")
        .replace('|', "\\|")
        .replace('\n', "<br>")
}

fn phase(record: &Record, more: Option<&str>, text: &mut String) {
    if record.phase.is_none() && more.is_none() && record.summary.is_none() {
        return;
    }
    if let Some(phase) = &record.phase {
        text.push_str("\n## Current Phase\n\n");
        let title = phase
            .title
            .as_deref()
            .map(|title| format!(" \u{2014} {}", title.trim().replace('\n', " ")));
        line(
            text,
            &format!("Phase {} of {}{}", phase.n, phase.of, title.unwrap_or_default()),
        );
        if let Some(more) = more {
            line(text, &format!("\n{more}"));
        }
    } else if let Some(more) = more {
        line(text, &format!("\n## Current Phase\n\n{more}"));
    }
    if let Some(summary) = &record.summary {
        line(text, &format!("\n## Summary\n\n{summary}"));
    }
}

fn table(text: &mut String, title: &str, head: &[&str], rows: &[Vec<String>]) {
    let _ = write!(
        text,
        "\n## {title}\n\n| {} |\n|{}\n",
        head.join(" | "),
        "---|".repeat(head.len())
    );
    for row in rows {
        line(text, &format!("| {} |", row.join(" | ")));
    }
}

fn tasks(record: &Record, text: &mut String) {
    type Column = (&'static str, fn(&Task) -> String);
    // Its title, what belongs there, the template's columns after the first three, and those it lacks.
    type Part = (&'static str, &'static [TaskStatus], [Column; 2], [Column; 2]);
    const FILES: Column = ("Files", |task| task.files.join(", "));
    const NOTES: Column = ("Notes", |task| task.notes.clone().unwrap_or_default());
    const DEPENDENCIES: Column = ("Dependencies", |task| task.depends_on.join(", "));
    const STATUS: Column = ("Status", |task| {
        match task.unknown.get("status_text").and_then(Value::as_str) {
            Some(text) => text.to_owned(),
            None => usual(word(task.status)).to_owned(),
        }
    });
    let parts: [Part; 3] = [
        (
            "Completed Work",
            &[TaskStatus::Done],
            [STATUS, FILES],
            [DEPENDENCIES, NOTES],
        ),
        (
            "In Progress",
            &[TaskStatus::InProgress, TaskStatus::Blocked],
            [STATUS, NOTES],
            [FILES, DEPENDENCIES],
        ),
        (
            "Remaining Work",
            &[TaskStatus::Todo, TaskStatus::Dropped],
            [DEPENDENCIES, FILES],
            [STATUS, NOTES],
        ),
    ];
    for (title, statuses, usual_columns, others) in parts {
        let own: Vec<&Task> = record
            .tasks
            .iter()
            .filter(|task| statuses.contains(&task.status))
            .collect();
        if own.is_empty() {
            continue;
        }
        let mut columns: Vec<Column> = vec![
            ("Task", |task| task.title.clone()),
            ("Tracker", |task| task.issue.clone().unwrap_or_default()),
            ("Agent", |task| task.agent.clone().unwrap_or_default()),
        ];
        columns.extend(usual_columns);
        for column in others {
            let needed = match column.0 {
                "Status" => own.iter().any(|task| task.status == TaskStatus::Dropped),
                _ => own.iter().any(|task| !column.1(task).is_empty()),
            };
            if needed {
                columns.push(column);
            }
        }
        let head: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let rows: Vec<Vec<String>> = own
            .iter()
            .map(|task| columns.iter().map(|(_, of)| cell(&of(task))).collect())
            .collect();
        table(text, title, &head, &rows);
    }
}

fn word(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Todo => "todo",
        TaskStatus::InProgress => "in_progress",
        TaskStatus::Done => "done",
        TaskStatus::Blocked => "blocked",
        TaskStatus::Dropped => "dropped",
    }
}

fn approvals(record: &Record, text: &mut String) {
    let open: Vec<Vec<String>> = record
        .approvals
        .iter()
        .filter(|approval| approval.answer.is_none())
        .map(|approval| {
            let of = |text: &Option<String>| cell(text.as_deref().unwrap_or_default());
            let at = approval.asked_at.map(|at| at.to_string()).unwrap_or_default();
            vec![
                of(&approval.provider),
                of(&approval.channel),
                of(&approval.thread),
                cell(&approval.question),
                at,
            ]
        })
        .collect();
    if !open.is_empty() {
        table(
            text,
            "Pending Approvals",
            &["Provider", "Channel", "Thread ID", "Question", "Posted At"],
            &open,
        );
    }
}

/// A section with a list; each item may have lines below it.
fn section<'a>(text: &mut String, title: &str, items: impl Iterator<Item = (&'a str, Vec<String>)>, numbered: bool) {
    for ((item, below), n) in items.zip(1..) {
        if n == 1 {
            let _ = write!(text, "\n## {title}\n\n");
        }
        let mark = if numbered { format!("{n}.") } else { "-".to_owned() };
        line(text, &format!("{mark} {}", item.trim().replace('\n', "\n  ")));
        for more in below {
            line(text, &format!("  - {}", one_line(&more)));
        }
    }
}

fn lists(record: &Record, text: &mut String) {
    let named = |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("{name}: {value}"));
    section(
        text,
        "Key Decisions Made",
        record.decisions.iter().map(|decision| {
            (
                decision.text.as_str(),
                named("Reason", &decision.reason).into_iter().collect(),
            )
        }),
        false,
    );
    section(
        text,
        "Blockers & Issues",
        record.blockers.iter().map(|blocker| {
            (
                blocker.text.as_str(),
                [named("Needs", &blocker.needs), named("Ref", &blocker.reference)]
                    .into_iter()
                    .flatten()
                    .collect(),
            )
        }),
        false,
    );
    section(
        text,
        "Open Questions",
        record.questions.iter().map(|question| {
            (
                question.text.as_str(),
                named("Answer", &question.answer).into_iter().collect(),
            )
        }),
        false,
    );
    section(
        text,
        "Accomplishments",
        record
            .accomplishments
            .iter()
            .map(|note| (note.text.as_str(), Vec::new())),
        false,
    );
    section(
        text,
        "Next Steps",
        record.next_steps.iter().map(|note| (note.text.as_str(), Vec::new())),
        true,
    );
    let todos: Vec<(String, Vec<String>)> = record
        .todos
        .iter()
        .map(|todo| {
            (
                format!("[{}] {}", if todo.done { "x" } else { " " }, todo.text),
                Vec::new(),
            )
        })
        .collect();
    section(
        text,
        "Todos",
        todos.iter().map(|(text, _)| (text.as_str(), Vec::new())),
        false,
    );
}

fn delegations(record: &Record, text: &mut String) {
    if record.delegations.is_empty() {
        return;
    }
    let rows: Vec<Vec<String>> = record
        .delegations
        .iter()
        .zip(1..)
        .map(|(delegation, n)| {
            let of = |text: &Option<String>| cell(text.as_deref().unwrap_or_default());
            let sign = if delegation.estimated { "~" } else { "" };
            vec![
                format!("{n}"),
                cell(&delegation.agent),
                of(&delegation.issue),
                of(&delegation.model_tier),
                delegation
                    .tokens
                    .map(|tokens| format!("{sign}{tokens}"))
                    .unwrap_or_default(),
                delegation
                    .duration
                    .map(|seconds| format!("{seconds} s"))
                    .unwrap_or_default(),
                of(&delegation.status),
            ]
        })
        .collect();
    table(
        text,
        "Delegation Cost Log",
        &[
            "#",
            "Agent",
            "Tracker",
            "Model Tier",
            "Est. Tokens",
            "Duration",
            "Status",
        ],
        &rows,
    );
}

//! The tables of `SESSION-CHECKPOINT.md`. A column beyond the template's appears only when an item needs it.

use std::fmt::Write as _;

use serde_json::Value;

use super::{
    super::tables::{duration_text, is_break, usual},
    line,
};
use crate::model::record::{Record, Task, TaskStatus, UnknownMembers};

/// A cell: bars are escaped, line ends become breaks, and a break that is the text's own becomes an entity.
fn cell(text: &str) -> String {
    shielded(text.trim())
        .replace("<br>", "&lt;br>")
        .replace("<br/>", "&lt;br/>")
        .replace("\r\n", "\n")
        .replace('\r', "\n")
        .replace('|', "\\|")
        .replace('\n', "<br>")
}

/// The text with one more `amp;` where it has what a break of its own is written as.
fn shielded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (part, n) in text.split('&').zip(0..) {
        if n > 0 {
            out.push_str(if is_break(part) { "&amp;" } else { "&" });
        }
        out.push_str(part);
    }
    out
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

/// The tasks with the titles of those they depend on, as far as a title can be in a cell of several.
fn named(record: &Record) -> Vec<Task> {
    let mut out = record.tasks.clone();
    for task in &mut out {
        for needed in &mut task.depends_on {
            let other = record.tasks.iter().find(|other| other.id == *needed);
            let title = other.map(|other| other.title.as_str()).filter(|title| {
                let same = record.tasks.iter().filter(|task| task.title == *title).count();
                same == 1 && title.trim() == *title && !title.contains([',', '`', '\n', '\r']) && !title.is_empty()
            });
            if let Some(title) = title {
                title.clone_into(needed);
            }
        }
    }
    out
}

pub(super) fn tasks(record: &Record, text: &mut String) {
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
    let tasks = named(record);
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
        let own: Vec<&Task> = tasks.iter().filter(|task| statuses.contains(&task.status)).collect();
        if own.is_empty() {
            continue;
        }
        let mut columns: Vec<Column> = vec![
            ("Task", |task| task.title.clone()),
            ("Tracker", |task| task.issue.clone().unwrap_or_default()),
            ("Agent", |task| task.agent.clone().unwrap_or_default()),
        ];
        columns.extend(usual_columns);
        let more = further(own.iter().map(|task| &task.unknown), &["status_text"]);
        for column in others {
            let needed = match column.0 {
                // Without it a column `result` would be read as the status.
                "Status" => {
                    let says =
                        |task: &&Task| task.status == TaskStatus::Dropped || task.unknown.contains_key("status_text");
                    own.iter().any(says) || more.contains(&"result")
                }
                _ => own.iter().any(|task| !column.1(task).is_empty()),
            };
            if needed {
                columns.push(column);
            }
        }
        let head: Vec<&str> = columns
            .iter()
            .map(|(name, _)| *name)
            .chain(more.iter().copied())
            .collect();
        let rows: Vec<Vec<String>> = own
            .iter()
            .map(|task| {
                let cells = columns.iter().map(|(_, of)| cell(&of(task)));
                cells.chain(more.iter().map(|key| member(&task.unknown, key))).collect()
            })
            .collect();
        table(text, title, &head, &rows);
    }
}

/// The members that some of the items have next to the usual ones, as columns: those that are texts.
fn further<'a>(items: impl Iterator<Item = &'a UnknownMembers>, but: &[&str]) -> Vec<&'a str> {
    let mut out = Vec::new();
    for (key, value) in items.flatten() {
        let plain = !key.contains(['|', '\n', '\r']) && key.trim() == key && key.to_lowercase() == *key;
        if value.is_string() && plain && !but.contains(&key.as_str()) && !out.contains(&key.as_str()) {
            out.push(key.as_str());
        }
    }
    out
}

fn member(unknown: &UnknownMembers, key: &str) -> String {
    cell(unknown.get(key).and_then(Value::as_str).unwrap_or_default())
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

pub(super) fn approvals(record: &Record, text: &mut String) {
    let open: Vec<_> = record
        .approvals
        .iter()
        .filter(|approval| approval.answer.is_none())
        .collect();
    if open.is_empty() {
        return;
    }
    let more = further(open.iter().map(|approval| &approval.unknown), &["posted_at"]);
    let row = |approval: &&crate::model::record::Approval| {
        let of = |text: &Option<String>| cell(text.as_deref().unwrap_or_default());
        let at = approval.asked_at.map(|at| at.to_string());
        let mut cells = vec![
            of(&approval.provider),
            of(&approval.channel),
            of(&approval.thread),
            cell(&approval.question),
            at.unwrap_or_else(|| member(&approval.unknown, "posted_at")),
        ];
        cells.extend(more.iter().map(|key| member(&approval.unknown, key)));
        cells
    };
    let rows: Vec<Vec<String>> = open.iter().map(row).collect();
    let head = ["Provider", "Channel", "Thread ID", "Question", "Posted At"];
    table(text, "Pending Approvals", &[head.as_slice(), &more].concat(), &rows);
}

pub(super) fn delegations(record: &Record, text: &mut String) {
    if record.delegations.is_empty() {
        return;
    }
    let all = record.delegations.iter().map(|delegation| &delegation.unknown);
    let more = further(all, &["tokens_text", "duration_text"]);
    let row = |(delegation, n): (&crate::model::record::Delegation, usize)| {
        let of = |text: &Option<String>| cell(text.as_deref().unwrap_or_default());
        let sign = if delegation.estimated { "~" } else { "" };
        let tokens = delegation.tokens.map(|tokens| format!("{sign}{tokens}"));
        let duration = delegation.duration.map(duration_text);
        let mut cells = vec![
            format!("{n}"),
            cell(&delegation.agent),
            of(&delegation.issue),
            of(&delegation.model_tier),
            tokens.unwrap_or_else(|| member(&delegation.unknown, "tokens_text")),
            duration.unwrap_or_else(|| member(&delegation.unknown, "duration_text")),
            of(&delegation.status),
        ];
        cells.extend(more.iter().map(|key| member(&delegation.unknown, key)));
        cells
    };
    let rows: Vec<Vec<String>> = record.delegations.iter().zip(1..).map(row).collect();
    let head = [
        "#",
        "Agent",
        "Tracker",
        "Model Tier",
        "Est. Tokens",
        "Duration",
        "Status",
    ];
    table(text, "Delegation Cost Log", &[head.as_slice(), &more].concat(), &rows);
}

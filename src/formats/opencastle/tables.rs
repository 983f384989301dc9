//! The tables of the template: tasks, approvals, delegations.

use serde_json::Value;

use super::{
    super::{
        fields::ObjectFields,
        markdown::{self as md, MarkdownSection, MarkdownTable},
        notes::{NoteItem, RecordNotes, task_status},
        time,
    },
    sections::is_placeholder,
};

/// A row by the names of its columns.
struct LogRowFields {
    cells: Vec<(String, String)>,
    /// The row as a line, for one that has no place.
    line: String,
}

impl LogRowFields {
    fn of(table: &MarkdownTable, row: &[String]) -> Self {
        let head = table.head.iter().map(|name| name.to_lowercase());
        let mut cells: Vec<(String, String)> = head.zip(row.iter().map(|cell| unbroken(cell))).collect();
        for (cell, n) in row.iter().zip(1..).skip(table.head.len()) {
            cells.push((format!("column {n}"), cell.clone()));
        }
        let line = row.iter().map(|cell| cell.replace('|', "\\|")).collect::<Vec<_>>();
        Self {
            cells,
            line: format!("| {} |", line.join(" | ")),
        }
    }

    /// Takes the cell of the first column with one of these names; `None` when it is empty.
    fn take(&mut self, names: &[&str]) -> Option<String> {
        let at = self.cells.iter().position(|(name, _)| names.contains(&name.as_str()))?;
        let (_, cell) = self.cells.remove(at);
        (!cell.is_empty() && !is_placeholder(&cell)).then_some(cell)
    }

    /// Columns that were not taken. A column may occur twice.
    fn rest(self) -> ObjectFields {
        let mut out = ObjectFields::default();
        for (name, cell) in self.cells.into_iter().filter(|(_, cell)| !cell.is_empty()) {
            let twice = out.has(&name);
            out.put(&if twice { format!("{name} (again)") } else { name }, cell.into());
        }
        out
    }

    /// A row without its main cell: nothing if it says nothing else, its line otherwise.
    fn left(self) -> Option<String> {
        let says = |cell: &str| !cell.is_empty() && !is_placeholder(cell);
        let line = self.line;
        self.cells.iter().any(|(_, cell)| says(cell)).then_some(line)
    }
}

/// The rows of a table that have no place, under its head.
fn remaining(table: &MarkdownTable, rows: Vec<String>) -> Vec<String> {
    let top = if rows.is_empty() {
        Vec::new()
    } else {
        table.top.to_vec()
    };
    [top, rows].concat()
}

/// A cell with its breaks as line ends; one that is written as an entity is the cell's own text.
fn unbroken(cell: &str) -> String {
    let text = cell.replace("<br>", "\n").replace("<br/>", "\n");
    let mut out = String::with_capacity(text.len());
    for (part, n) in text.split('&').zip(0..) {
        match part.strip_prefix("amp;") {
            _ if n == 0 => out.push_str(part),
            _ if !is_break(part) => {
                out.push('&');
                out.push_str(part);
            }
            Some(rest) => {
                out.push('&');
                out.push_str(rest);
            }
            None => {
                out.push('<');
                out.push_str(part.strip_prefix("lt;").unwrap_or(part));
            }
        }
    }
    out
}

/// Whether what follows a `&` is a break as an entity, however often the sign itself was written as one.
pub(super) fn is_break(text: &str) -> bool {
    text.trim_start_matches("amp;").starts_with("lt;br")
}

pub(super) fn parts(text: Option<String>) -> Option<Vec<Value>> {
    let text = text?;
    let parts = text
        .split(',')
        .map(|part| md::unticked(part.trim()))
        .filter(|part| !part.is_empty());
    Some(parts.map(Value::from).collect())
}

pub(super) fn tasks(section: &MarkdownSection, status: &str, notes: &mut RecordNotes) -> Vec<String> {
    let (tables, other) = md::tables(&section.lines);
    let mut left = Vec::new();
    for table in &tables {
        let mut rows = Vec::new();
        for row in &table.rows {
            let mut row = LogRowFields::of(table, row);
            let Some(title) = row.take(&["task", "description", "title"]) else {
                rows.extend(row.left());
                continue;
            };
            let word = row.take(&["status", "result"]);
            // The section shows where a task is, unless its own word is that of a blocked one.
            let own = word.as_deref().map_or(status, |word| match task_status(word) {
                found @ ("blocked" | "dropped") => found,
                _ => status,
            });
            let item = NoteItem::new(title)
                .with("status", Some(own))
                .with("issue", row.take(&["tracker", "linear", "issue"]))
                .with("agent", row.take(&["agent"]))
                .with("files", parts(row.take(&["files"])))
                .with("depends_on", parts(row.take(&["dependencies", "depends on"])))
                .with("notes", row.take(&["notes"]))
                .with("status_text", word.filter(|word| usual(own) != word));
            notes.add("tasks", item.and(row.rest()));
        }
        left.extend(remaining(table, rows));
    }
    let (items, other) = md::bullets(&other);
    for item in items.iter().filter(|item| !is_placeholder(&item.text)) {
        let own = if item.checked == Some(true) { "done" } else { status };
        let below = (!item.below.is_empty()).then(|| item.below.join("\n"));
        notes.add(
            "tasks",
            NoteItem::new(item.text.clone())
                .with("status", Some(own))
                .with("notes", below),
        );
    }
    left.extend(other);
    left
}

/// The word that the writer puts into the column.
pub(super) fn usual(status: &str) -> &'static str {
    match status {
        "done" => "Done",
        "in_progress" => "In progress",
        "blocked" => "Blocked",
        "dropped" => "Dropped",
        _ => "Todo",
    }
}

pub(super) fn approvals(section: &MarkdownSection, notes: &mut RecordNotes) -> Vec<String> {
    let (tables, mut left) = md::tables(&section.lines);
    for table in &tables {
        let mut rows = Vec::new();
        for row in &table.rows {
            let mut row = LogRowFields::of(table, row);
            let Some(question) = row.take(&["question"]) else {
                rows.extend(row.left());
                continue;
            };
            let posted = row.take(&["posted at", "posted"]);
            let at = posted.as_deref().and_then(time::parse);
            let item = NoteItem::new(question)
                .with("provider", row.take(&["provider"]))
                .with("channel", row.take(&["channel"]))
                .with("thread", row.take(&["thread id", "thread"]))
                .with("asked_at", at.map(|at| at.to_string()))
                .with("posted_at", posted.filter(|_| at.is_none()));
            notes.add("approvals", item.and(row.rest()));
        }
        left.extend(remaining(table, rows));
    }
    left
}

pub(super) fn delegations(section: &MarkdownSection, notes: &mut RecordNotes, rest: &mut ObjectFields) -> Vec<String> {
    let (tables, other) = md::tables(&section.lines);
    let mut left = Vec::new();
    for table in &tables {
        let mut rows = Vec::new();
        for cells in &table.rows {
            let mut cells = cells.clone();
            let duration = table.head.iter().position(|name| name.to_lowercase() == "duration");
            // Rows with one cell too few are common, the template's own sample among them: the duration is missing.
            if let Some(at) = duration
                && cells.len() + 1 == table.head.len()
                && cells.get(at).is_some_and(|cell| seconds(cell).is_none())
            {
                cells.insert(at, String::new());
            }
            let mut row = LogRowFields::of(table, &cells);
            // The number of a row repeats its place.
            row.take(&["#"]);
            let Some(agent) = row.take(&["agent"]) else {
                rows.extend(row.left());
                continue;
            };
            let tokens = row.take(&["est. tokens", "tokens"]);
            let count = tokens.as_deref().and_then(number);
            let took = row.take(&["duration"]);
            let secs = took.as_deref().and_then(seconds);
            let item = NoteItem::new(agent)
                .with("issue", row.take(&["tracker", "linear", "issue"]))
                .with("model_tier", row.take(&["model tier", "model"]))
                .with("tokens", count)
                .with(
                    "estimated",
                    count
                        .filter(|_| tokens.as_deref().is_some_and(|text| text.starts_with('~')))
                        .map(|_| true),
                )
                .with("duration", secs)
                .with("status", row.take(&["status"]))
                .with("tokens_text", tokens.filter(|_| count.is_none()))
                .with("duration_text", took.filter(|_| secs.is_none()));
            notes.add("delegations", item.and(row.rest()));
        }
        left.extend(remaining(table, rows));
    }
    for line in other {
        match md::pair(&line) {
            Some((key, value)) if !rest.has(key) => rest.put(key, value.into()),
            _ => left.push(line),
        }
    }
    left
}

/// `~20K`, `1.5M`, `20,000`: a number of tokens.
fn number(text: &str) -> Option<u64> {
    let text = text.trim().trim_start_matches('~').replace(',', "");
    let (digits, factor) = match text.to_lowercase().strip_suffix(['k', 'm']) {
        Some(digits) => (
            digits.to_owned(),
            if text.to_lowercase().ends_with('k') {
                1000
            } else {
                1_000_000
            },
        ),
        None => (text, 1),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((&digits, ""));
    let whole: u64 = whole.parse().ok()?;
    let mut out = whole.checked_mul(factor)?;
    let mut unit = factor;
    for digit in part.chars() {
        unit /= 10;
        out = out.checked_add(u64::from(digit.to_digit(10)?).checked_mul(unit)?)?;
    }
    Some(out)
}

/// Replaces the titles of tasks that others depend on by their ids.
pub(super) fn name_dependencies(record: &mut serde_json::Map<String, Value>) {
    let Some(Value::Array(tasks)) = record.get_mut("tasks") else {
        return;
    };
    let text = |task: &Value, key: &str| task.get(key).and_then(Value::as_str).map(str::to_owned);
    let mut ids = std::collections::BTreeMap::new();
    for task in tasks.iter() {
        if let (Some(title), Some(id)) = (text(task, "title"), text(task, "id")) {
            let known = ids.insert(title.clone(), Some(id));
            if known.is_some() {
                // Two tasks of one title: neither is meant for sure.
                ids.insert(title, None);
            }
        }
    }
    for task in tasks {
        for needed in task
            .get_mut("depends_on")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            let id = needed.as_str().and_then(|title| ids.get(title)?.clone());
            if let Some(id) = id {
                *needed = id.into();
            }
        }
    }
}

/// A duration as the template writes it.
pub(super) fn duration_text(seconds: u64) -> String {
    match seconds {
        0 => "0 s".to_owned(),
        _ if seconds.is_multiple_of(3600) => format!("{} h", seconds / 3600),
        _ if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        _ => format!("{seconds} s"),
    }
}

/// `8 min`, `90 s`, `1 h`: a duration in seconds.
pub(super) fn seconds(text: &str) -> Option<u64> {
    let text = text.trim().trim_start_matches('~').to_lowercase();
    // `1h 12 min` is the sum of its parts.
    let second = text
        .char_indices()
        .skip_while(|(_, c)| c.is_ascii_digit())
        .find(|(_, c)| c.is_ascii_digit());
    if let Some((at, _)) = second {
        return seconds(&text[..at])?.checked_add(seconds(&text[at..])?);
    }
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    let factor = match text[digits.len()..].trim() {
        "s" | "sec" | "secs" | "seconds" => 1,
        "m" | "min" | "mins" | "minutes" => 60,
        "h" | "hr" | "hours" | "hour" => 3600,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

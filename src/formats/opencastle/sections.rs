//! The sections of the template: tables of tasks, approvals and delegations, lists, partitions.

use serde_json::{Map, Value, json};

use super::super::{
    fields::Fields,
    markdown::{self as md, Section, Table},
    notes::{Item, Notes, task_status},
    time,
};

/// A section as it stands.
pub(super) fn verbatim(section: &Section) -> Value {
    json!({ "level": section.level, "title": section.title, "text": section.text() })
}

/// Takes a section into the record; `false` when something of it has no place there.
pub(super) fn take(section: &Section, notes: &mut Notes, rest: &mut Fields) -> bool {
    let key = section.key();
    if section.is_empty() {
        return true;
    }
    match key.as_str() {
        "current phase" => phase(section, notes, rest),
        "completed work" | "completed" => tasks(section, "done", notes),
        "in progress" => tasks(section, "in_progress", notes),
        "remaining work" | "remaining" => tasks(section, "todo", notes),
        "pending approvals" => approvals(section, notes),
        "delegation cost log" => delegations(section, notes, rest),
        "file partitions" => partitions(section, notes),
        "summary" => {
            notes.set("summary", Some(section.text()));
            true
        }
        "accomplishments" => list(section, |_| "accomplishments", notes),
        "next steps" => list(section, |_| "next_steps", notes),
        "open questions" => list(section, |_| "questions", notes),
        "todos" => list(section, |_| "todos", notes),
        "decisions & blockers" => list(section, either, notes),
        _ if key.starts_with("key decisions") || key == "decisions" => list(section, |_| "decisions", notes),
        _ if key.starts_with("blockers") => list(section, |_| "blockers", notes),
        _ if key.starts_with("resume instructions") || key.starts_with("resumption instructions") => {
            list(section, |_| "resume_instructions", notes)
        }
        _ => false,
    }
}

/// Where a line of the section for both belongs.
fn either(text: &str) -> &'static str {
    let lower = text.trim_start_matches(['*', '_']).to_lowercase();
    let blocks = ["blocker", "blocked", "issue", "waiting", "dlq"]
        .iter()
        .any(|word| lower.starts_with(word));
    if blocks { "blockers" } else { "decisions" }
}

fn is_placeholder(text: &str) -> bool {
    matches!(
        text.trim().to_lowercase().as_str(),
        "none" | "(none)" | "n/a" | "-" | "\u{2014}" | "none." | "_none_"
    )
}

/// Whether the lines say nothing.
fn nothing(lines: &[String]) -> bool {
    lines
        .iter()
        .all(|line| line.trim().is_empty() || line.trim() == "---" || is_placeholder(line))
}

fn phase(section: &Section, notes: &mut Notes, rest: &mut Fields) -> bool {
    let text = section.text();
    let line = text.lines().next().unwrap_or_default();
    let mut words = line.trim_matches('*').splitn(5, ' ');
    let mut next = || words.next().unwrap_or_default();
    let (first, n, of, all, title) = (next(), next(), next(), next(), next());
    let (n, all) = (n.parse::<u32>(), all.trim_end_matches([':', ',']).parse::<u32>());
    if let ("Phase", Ok(n), "of", Ok(all)) = (first, n, of, all) {
        let title = title.trim_start_matches(['\u{2014}', '\u{2013}', '-', ':', ' ']).trim();
        let mut phase = json!({ "n": n, "of": all });
        if !title.is_empty() {
            phase["title"] = title.into();
        }
        notes.set("phase", Some(phase));
        let more = text[line.len()..].trim();
        if !more.is_empty() {
            rest.put("current_phase", more.into());
        }
    } else {
        rest.put("current_phase", text.clone().into());
        notes.set("summary", Some(line.to_owned()));
    }
    true
}

/// A row by the names of its columns.
struct Row(Vec<(String, String)>);

impl Row {
    fn of(table: &Table, row: &[String]) -> Self {
        let head = table.head.iter().map(|name| name.to_lowercase());
        let mut cells: Vec<(String, String)> = head.zip(row.iter().map(|cell| unbroken(cell))).collect();
        for (cell, n) in row.iter().zip(1..).skip(table.head.len()) {
            cells.push((format!("column {n}"), cell.clone()));
        }
        Self(cells)
    }

    /// Takes the cell of the first column with one of these names; `None` when it is empty.
    fn take(&mut self, names: &[&str]) -> Option<String> {
        let at = self.0.iter().position(|(name, _)| names.contains(&name.as_str()))?;
        let (_, cell) = self.0.remove(at);
        (!cell.is_empty() && !is_placeholder(&cell)).then_some(cell)
    }

    /// What nobody took.
    fn rest(self) -> Fields {
        let rest = self.0.into_iter().filter(|(_, cell)| !cell.is_empty());
        Fields::new(rest.map(|(name, cell)| (name, Value::String(cell))).collect())
    }
}

fn unbroken(cell: &str) -> String {
    cell.replace("<br>", "\n").replace("<br/>", "\n")
}

fn parts(text: Option<String>) -> Option<Vec<Value>> {
    let text = text?;
    let parts = text
        .split(',')
        .map(|part| part.trim().trim_matches('`'))
        .filter(|part| !part.is_empty());
    Some(parts.map(Value::from).collect())
}

fn tasks(section: &Section, status: &str, notes: &mut Notes) -> bool {
    let (tables, other) = md::tables(&section.lines);
    let mut whole = true;
    for table in &tables {
        for row in &table.rows {
            let mut row = Row::of(table, row);
            let Some(title) = row.take(&["task", "description", "title"]) else {
                whole &= row.rest().is_empty();
                continue;
            };
            let word = row.take(&["status", "result"]);
            // The section tells where a task stands, unless its own word says that it stands still.
            let own = word.as_deref().map_or(status, |word| match task_status(word) {
                found @ ("blocked" | "dropped") => found,
                _ => status,
            });
            let item = Item::new(title)
                .with("status", Some(own))
                .with("issue", row.take(&["tracker", "linear", "issue"]))
                .with("agent", row.take(&["agent"]))
                .with("files", parts(row.take(&["files"])))
                .with("depends_on", parts(row.take(&["dependencies", "depends on"])))
                .with("notes", row.take(&["notes"]))
                .with("status_text", word.filter(|word| usual(own) != word));
            notes.add("tasks", item.and(row.rest()));
        }
    }
    let (items, other) = md::bullets(&other);
    for item in items.iter().filter(|item| !is_placeholder(&item.text)) {
        let own = if item.checked == Some(true) { "done" } else { status };
        let below = (!item.below.is_empty()).then(|| item.below.join("\n"));
        notes.add(
            "tasks",
            Item::new(item.text.clone())
                .with("status", Some(own))
                .with("notes", below),
        );
    }
    whole && nothing(&other)
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

fn approvals(section: &Section, notes: &mut Notes) -> bool {
    let (tables, _) = md::tables(&section.lines);
    for table in &tables {
        for row in &table.rows {
            let mut row = Row::of(table, row);
            let Some(question) = row.take(&["question"]) else {
                continue;
            };
            let posted = row.take(&["posted at", "posted"]);
            let at = posted.as_deref().and_then(time::parse);
            let item = Item::new(question)
                .with("provider", row.take(&["provider"]))
                .with("channel", row.take(&["channel"]))
                .with("thread", row.take(&["thread id", "thread"]))
                .with("asked_at", at.map(|at| at.to_string()))
                .with("posted_at", posted.filter(|_| at.is_none()));
            notes.add("approvals", item.and(row.rest()));
        }
    }
    // The words around the table are the template's own.
    !tables.is_empty()
}

fn delegations(section: &Section, notes: &mut Notes, rest: &mut Fields) -> bool {
    let (tables, other) = md::tables(&section.lines);
    for table in &tables {
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
            let mut row = Row::of(table, &cells);
            let Some(agent) = row.take(&["agent"]) else { continue };
            row.take(&["#"]);
            let tokens = row.take(&["est. tokens", "tokens"]);
            let count = tokens.as_deref().and_then(number);
            let took = row.take(&["duration"]);
            let secs = took.as_deref().and_then(seconds);
            let item = Item::new(agent)
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
    }
    let mut left = Vec::new();
    for line in other {
        match md::pair(&line) {
            Some((key, value)) => rest.put(key, value.into()),
            None => left.push(line),
        }
    }
    // The sentence before the table is the template's own.
    !tables.is_empty() && left.iter().filter(|line| !line.trim().is_empty()).count() <= 1
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

/// `8 min`, `90 s`, `1 h`: a duration in seconds.
fn seconds(text: &str) -> Option<u64> {
    let text = text.trim().trim_start_matches('~').to_lowercase();
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    let factor = match text[digits.len()..].trim() {
        "s" | "sec" | "secs" | "seconds" => 1,
        "m" | "min" | "mins" | "minutes" => 60,
        "h" | "hr" | "hours" | "hour" => 3600,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

fn partitions(section: &Section, notes: &mut Notes) -> bool {
    let mut found = Map::new();
    let mut whole = true;
    for line in &section.lines {
        let line = line.trim();
        if line.is_empty() || line.starts_with("```") {
            continue;
        }
        let line = line.strip_prefix("- ").unwrap_or(line);
        match line.split_once(':') {
            Some((agent, paths)) if !agent.is_empty() && !found.contains_key(agent.trim()) => {
                let paths = parts(Some(paths.to_owned())).unwrap_or_default();
                found.insert(agent.trim().trim_matches('*').to_owned(), Value::Array(paths));
            }
            _ => whole = false,
        }
    }
    if !found.is_empty() {
        notes.set("partitions", Some(Value::Object(found)));
    }
    whole
}

/// The items of a list; a line `Reason: ...` below an item is its reason, `Needs: ...` what a blocker needs.
fn list(section: &Section, place: impl Fn(&str) -> &'static str, notes: &mut Notes) -> bool {
    let (items, other) = md::bullets(&section.lines);
    for item in items.iter().filter(|item| !is_placeholder(&item.text)) {
        let name = place(&item.text);
        let mut made = Item::new(item.text.clone());
        let mut below = Vec::new();
        for line in &item.below {
            let text = line.trim().trim_start_matches("- ");
            let pair = text.split_once(": ");
            match (name, pair) {
                ("decisions", Some(("Reason", value))) => made = made.with("reason", Some(value)),
                ("blockers", Some(("Needs", value))) => made = made.with("needs", Some(value)),
                ("blockers", Some(("Ref", value))) => made = made.with("ref", Some(value)),
                ("questions", Some(("Answer", value))) => made = made.with("answer", Some(value)),
                _ => below.push(line.clone()),
            }
        }
        if name == "todos" {
            made = made.with("done", item.checked.filter(|done| *done));
        }
        made = made.with("details", (!below.is_empty()).then(|| below.join("\n")));
        notes.add(name, made);
    }
    nothing(&other)
}

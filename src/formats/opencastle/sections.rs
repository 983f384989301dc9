//! The sections of the template: tables of tasks, approvals and delegations, lists, partitions.

use serde_json::{Map, Value, json};

use super::super::{
    fields::Fields,
    markdown::{self as md, Section, Table},
    notes::{Item, Notes, task_status},
    time,
};

/// A section with these of its lines.
pub(super) fn verbatim(section: &Section, lines: Vec<String>) -> Value {
    let section = Section {
        lines,
        ..section.clone()
    };
    json!({ "level": section.level, "title": section.title, "text": section.text() })
}

/// Takes a section into the record, and gives the lines of it that have no place there; `None` for a section that is
/// none of the template's.
pub(super) fn take(section: &Section, notes: &mut Notes, rest: &mut Fields) -> Option<Vec<String>> {
    let key = section.key();
    let left = match key.as_str() {
        "current phase" => phase(section, notes, rest),
        "completed work" | "completed" => tasks(section, "done", notes),
        "in progress" => tasks(section, "in_progress", notes),
        "remaining work" | "remaining" => tasks(section, "todo", notes),
        "pending approvals" => approvals(section, notes),
        "delegation cost log" => delegations(section, notes, rest),
        "file partitions" => partitions(section, notes),
        "summary" => {
            let text = Some(md::unescaped(&section.text())).filter(|text| !text.trim().is_empty());
            notes.set("summary", text);
            Vec::new()
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
        _ => return None,
    };
    Some(if nothing(&left) { Vec::new() } else { left })
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

/// How the sentences begin that the template itself puts around its tables and lists.
const OWN_WORDS: [&str; 5] = [
    "Approval requests",
    "The `on-session-start` hook",
    "If the user answered",
    "the row from this table",
    "Track each delegation",
];

/// Whether the lines say nothing, or only what the template says itself.
fn nothing(lines: &[String]) -> bool {
    lines.iter().all(|line| {
        let line = line.trim();
        let own =
            OWN_WORDS.iter().any(|words| line.starts_with(words)) || line.starts_with("Step-by-step instructions");
        line.is_empty() || line == "---" || own || is_placeholder(line)
    })
}

fn phase(section: &Section, notes: &mut Notes, rest: &mut Fields) -> Vec<String> {
    let text = section.text();
    if text.trim().is_empty() {
        return Vec::new();
    }
    let line = text.lines().next().unwrap_or_default();
    let bold = line.strip_prefix("**").and_then(|line| line.strip_suffix("**"));
    let mut words = bold.unwrap_or(line).splitn(5, ' ');
    let mut next = || words.next().unwrap_or_default();
    let (first, n, of, all, title) = (next(), next(), next(), next(), next());
    let (n, all) = (n.parse::<u32>(), all.trim_end_matches([':', ',']).parse::<u32>());
    if let ("Phase", Ok(n), "of", Ok(all)) = (first, n, of, all) {
        let title = title.trim();
        let title = title
            .strip_prefix(['\u{2014}', '\u{2013}', '-', ':'])
            .unwrap_or(title)
            .trim();
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
        if !notes.has("summary") {
            notes.set("summary", Some(line.to_owned()));
        }
    }
    Vec::new()
}

/// A row by the names of its columns.
struct Row {
    cells: Vec<(String, String)>,
    /// The row as a line, for one that has no place.
    line: String,
}

impl Row {
    fn of(table: &Table, row: &[String]) -> Self {
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

    /// What nobody took. A column may stand twice.
    fn rest(self) -> Fields {
        let mut out = Fields::default();
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
fn remaining(table: &Table, rows: Vec<String>) -> Vec<String> {
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

fn parts(text: Option<String>) -> Option<Vec<Value>> {
    let text = text?;
    let parts = text
        .split(',')
        .map(|part| md::unticked(part.trim()))
        .filter(|part| !part.is_empty());
    Some(parts.map(Value::from).collect())
}

fn tasks(section: &Section, status: &str, notes: &mut Notes) -> Vec<String> {
    let (tables, other) = md::tables(&section.lines);
    let mut left = Vec::new();
    for table in &tables {
        let mut rows = Vec::new();
        for row in &table.rows {
            let mut row = Row::of(table, row);
            let Some(title) = row.take(&["task", "description", "title"]) else {
                rows.extend(row.left());
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
        left.extend(remaining(table, rows));
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

fn approvals(section: &Section, notes: &mut Notes) -> Vec<String> {
    let (tables, mut left) = md::tables(&section.lines);
    for table in &tables {
        let mut rows = Vec::new();
        for row in &table.rows {
            let mut row = Row::of(table, row);
            let Some(question) = row.take(&["question"]) else {
                rows.extend(row.left());
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
        left.extend(remaining(table, rows));
    }
    left
}

fn delegations(section: &Section, notes: &mut Notes, rest: &mut Fields) -> Vec<String> {
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
            let mut row = Row::of(table, &cells);
            // The number of a row says nothing that its place does not.
            row.take(&["#"]);
            let Some(agent) = row.take(&["agent"]) else {
                rows.extend(row.left());
                continue;
            };
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

fn partitions(section: &Section, notes: &mut Notes) -> Vec<String> {
    let mut found = Map::new();
    let mut left = Vec::new();
    for whole in &section.lines {
        let line = whole.trim();
        if line.is_empty() || line.starts_with("```") {
            continue;
        }
        let line = line.strip_prefix("- ").unwrap_or(line);
        match line.split_once(':') {
            Some((agent, paths)) if !agent.is_empty() && !found.contains_key(agent.trim().trim_matches('*')) => {
                let paths = parts(Some(paths.to_owned())).unwrap_or_default();
                found.insert(agent.trim().trim_matches('*').to_owned(), Value::Array(paths));
            }
            _ if is_placeholder(line) => {}
            _ => left.push(whole.clone()),
        }
    }
    if !found.is_empty() {
        notes.set("partitions", Some(Value::Object(found)));
    }
    left
}

/// What a line below an item may say of it: its list, the word before the colon, the member.
pub(super) const BELOW: [(&str, &str, &str); 4] = [
    ("decisions", "Reason", "reason"),
    ("blockers", "Needs", "needs"),
    ("blockers", "Ref", "ref"),
    ("questions", "Answer", "answer"),
];

/// The items of a list; a line `Reason: ...` below an item is its reason, `Needs: ...` what a blocker needs.
fn list(section: &Section, place: impl Fn(&str) -> &'static str, notes: &mut Notes) -> Vec<String> {
    let (items, other) = md::bullets(&section.lines);
    for item in items.iter().filter(|item| !is_placeholder(&item.text)) {
        let name = place(&item.text);
        let mut made = Item::new(md::unescaped(&item.text));
        let (mut said, mut below): (Vec<(&str, String)>, Vec<String>) = (Vec::new(), Vec::new());
        for line in &item.below {
            let more = line.strip_prefix("  ").filter(|_| below.is_empty());
            if let (Some(more), Some((_, text))) = (more, said.last_mut()) {
                // The text of a member goes on, as far in as it began.
                text.push('\n');
                text.push_str(more.trim_end());
                continue;
            }
            let pair = line.strip_prefix("- ").and_then(|line| line.split_once(": "));
            let found = pair.and_then(|(word, value)| {
                let (.., member) = BELOW.iter().find(|(list, known, _)| *list == name && *known == word)?;
                (below.is_empty() && said.iter().all(|(one, _)| one != member)).then_some((*member, value))
            });
            match found {
                Some((member, value)) => said.push((member, value.trim().to_owned())),
                None => below.push(line.clone()),
            }
        }
        for (member, text) in said {
            made = made.with(member, Some(md::unescaped(&text)));
        }
        if name == "todos" {
            made = made.with("done", item.checked.filter(|done| *done));
        } else {
            made = made.with("checked", item.checked);
        }
        made = made.with("details", (!below.is_empty()).then(|| below.join("\n")));
        notes.add(name, made);
    }
    other
}

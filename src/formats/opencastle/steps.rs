//! Fork points and the step log: their sections, read and written.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{
    super::{
        markdown::{self as md, Bullet, MarkdownSection},
        notes::{NoteItem, RecordNotes},
    },
    tables::{duration_text, parts, seconds},
};
use crate::model::{
    id::Digest,
    record::Record,
    step::{Step, StepStatus},
};

/// Whether a section is a fork point, whose options are the sections below it.
pub(super) fn is_fork_point(section: &MarkdownSection) -> bool {
    let key = section.key();
    key == "fork point"
        || key.starts_with("fork point:")
        || key.starts_with("fork point -")
        || key.starts_with("fork point \u{2014}")
}

/// Whether a section is the step log.
pub(super) fn is_log(section: &MarkdownSection) -> bool {
    matches!(section.key().as_str(), "step output log" | "step log")
}

/// The rest of a heading after `Fork Point`, `Option` or `Step`, without the sign between.
fn after<'t>(title: &'t str, word: &str) -> Option<&'t str> {
    let start = title.get(..word.len())?;
    let rest = title.get(word.len()..)?;
    let is_word = start.eq_ignore_ascii_case(word) && !rest.starts_with(char::is_alphanumeric);
    is_word.then(|| rest.trim_start_matches([':', '-', '\u{2013}', '\u{2014}', ' ']).trim())
}

/// `A: Server`: the key and the words.
fn keyed(text: &str) -> (&str, &str) {
    for sign in [": ", " \u{2014} ", " \u{2013} ", " - "] {
        if let Some((key, words)) = text.split_once(sign) {
            return (key.trim(), words.trim());
        }
    }
    (text.trim().trim_end_matches(':'), "")
}

/// The member of a line: `**Key:** value`, or `Key: value` for a key of few words.
fn member(text: &str) -> Option<(String, String)> {
    let (key, value) = md::pair(text).or_else(|| md::plain_pair(text))?;
    Some((key.to_lowercase(), value.to_owned()))
}

/// The text of an item: its value, else the lines below it.
fn said(value: &str, item: &Bullet) -> Vec<String> {
    if !value.is_empty() {
        let mut whole = value.to_owned();
        for line in &item.below {
            whole.push('\n');
            whole.push_str(line);
        }
        return vec![md::unescaped(&whole)];
    }
    let below = item.below.iter();
    below
        .map(|line| md::unescaped(line.trim().trim_start_matches("- ").trim()))
        .filter(|line| !line.is_empty())
        .collect()
}

/// Takes a fork point with the sections below it; gives the lines that have no place, by section.
pub(super) fn fork_point(
    section: &MarkdownSection,
    below: &[MarkdownSection],
    notes: &mut RecordNotes,
) -> Vec<Vec<String>> {
    let mut left = Vec::new();
    let mut options: Vec<Value> = Vec::new();
    let mut point = Map::new();
    let title = after(&section.title, "Fork Point").filter(|title| !title.is_empty());
    for one in std::iter::once(section).chain(below) {
        let mut own_left = Vec::new();
        let (items, other) = md::bullets(&one.lines);
        let heading = after(&one.title, "Option").filter(|_| one.level > section.level);
        if let Some(heading) = heading {
            let (key, words) = keyed(heading);
            let mut option = json!({ "key": key, "title": md::unescaped(words) });
            for item in items {
                let Some((word, value)) = member(&item.text) else {
                    add(&mut option, "pros", Vec::new());
                    details(&mut option, &item);
                    continue;
                };
                match word.as_str() {
                    "pros" | "pro" | "for" => add(&mut option, "pros", said(&value, &item)),
                    "cons" | "con" | "against" => add(&mut option, "cons", said(&value, &item)),
                    "files" | "file" => add(&mut option, "files", files(&value, &item)),
                    _ => {
                        option[word] = said(&value, &item).join("\n").into();
                    }
                }
            }
            options.push(option);
        } else {
            own_left.extend(items.iter().flat_map(|item| {
                let text = item.text.lines().enumerate();
                let own = text.map(|(n, line)| {
                    if n == 0 {
                        format!("- {line}")
                    } else {
                        format!("  {line}")
                    }
                });
                own.chain(item.below.iter().map(|line| format!("  {line}")))
                    .collect::<Vec<_>>()
            }));
        }
        for line in other {
            match md::pair(&line) {
                Some((key, value)) if key.to_lowercase().starts_with("decision needed") => {
                    point.insert("decider".to_owned(), md::unescaped(value).into());
                }
                Some((key, value)) if key.eq_ignore_ascii_case("decision") || key.eq_ignore_ascii_case("chosen") => {
                    let chosen = after(value, "Option").unwrap_or(value);
                    point.insert("chosen".to_owned(), keyed(chosen).0.into());
                }
                Some((key, value)) if key.eq_ignore_ascii_case("reason") => {
                    point.insert("reason".to_owned(), md::unescaped(value).into());
                }
                _ if line.trim().is_empty() || line.trim() == "---" => {}
                _ => own_left.push(line),
            }
        }
        left.push(own_left);
    }
    let mut item = NoteItem::new(md::unescaped(title.unwrap_or("Fork point")));
    for (key, value) in point {
        item = item.with(&key, Some(value));
    }
    notes.add("fork_points", item.with("options", Some(options)));
    left
}

fn add(option: &mut Value, key: &str, texts: Vec<String>) {
    if texts.is_empty() {
        return;
    }
    if option.get(key).is_none() {
        option[key] = json!([]);
    }
    if let Some(Value::Array(list)) = option.get_mut(key) {
        list.extend(texts.into_iter().map(Value::from));
    }
}

fn details(option: &mut Value, item: &Bullet) {
    add(option, "details", vec![item.text.clone()]);
    add(option, "details", item.below.clone());
}

fn files(value: &str, item: &Bullet) -> Vec<String> {
    if value.is_empty() {
        let below = said(value, item).into_iter();
        return below.map(|path| md::unticked(&path).to_owned()).collect();
    }
    let paths = parts(Some(value.to_owned())).unwrap_or_default();
    paths
        .iter()
        .filter_map(|path| path.as_str().map(str::to_owned))
        .collect()
}

/// Takes a step of the log; `None` for a section that is none. The lines that have no place are the second value.
pub(super) fn step(section: &MarkdownSection) -> Option<(Value, Vec<String>)> {
    let heading = after(&section.title, "Step")?;
    let (number, title) = keyed(heading);
    let (n, title) = match number.parse::<u32>() {
        Ok(n) => (n, title),
        Err(_) => (0, heading),
    };
    let id = Digest::of(format!("step\n{n}\n{title}").as_bytes()).hex()[..8].to_owned();
    let mut step = json!({ "id": id, "n": n, "title": md::unescaped(title) });
    let (items, mut left) = md::bullets(&section.lines);
    left.retain(|line| !line.trim().is_empty() && line.trim() != "---");
    for item in &items {
        let Some((word, value)) = member(&item.text) else {
            left.push(format!("- {}", item.text));
            left.extend(item.below.iter().map(|line| format!("  {line}")));
            continue;
        };
        let text = said(&value, item).join("\n");
        match word.as_str() {
            "agent" => step["agent"] = text.into(),
            "issue" | "tracker" | "linear" => step["issue"] = text.into(),
            "status" => status(&text, &mut step),
            "duration" | "took" => match seconds(&text) {
                Some(seconds) => step["duration_ms"] = (seconds * 1000).into(),
                None => step["duration_text"] = text.into(),
            },
            "outputs" | "output" | "files" | "files changed" | "changes" | "created" | "modified" => {
                for line in outputs(&word, &value, item) {
                    push(&mut step, "outputs", line);
                }
            }
            "verification" | "checks" => checks(&value, item, &mut step),
            "cached context" | "context" => step["context"] = text.into(),
            "error" | "failure" => step["error"] = text.into(),
            "objective" => step["objective"] = text.into(),
            "prompt" => step["prompt"] = text.into(),
            "corrections" | "correction" => step["corrections"] = said(&value, item).into(),
            "invalidated" => step["invalidated"] = text.into(),
            // Members that a step has, but not as words.
            "id" | "n" | "at" | "by" | "title" | "attempt" | "uses" | "command" | "before" | "after" | "earlier"
            | "exit_status" | "more_outputs" | "started_at" | "ended_at" | "duration_ms" => {
                step[format!("foreign_{word}")] = text.into();
            }
            _ => step[word] = text.into(),
        }
    }
    Some((step, left))
}

fn push(step: &mut Value, key: &str, value: Value) {
    if step.get(key).is_none() {
        step[key] = json!([]);
    }
    if let Some(Value::Array(list)) = step.get_mut(key) {
        list.push(value);
    }
}

/// `Failed (attempt 2)`.
fn status(text: &str, step: &mut Value) {
    let lower = text.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let known = if has(&["fail", "error", "\u{274c}"]) {
        Some("failed")
    } else if has(&["invalid"]) {
        Some("invalid")
    } else if has(&["done", "complet", "pass", "success", "\u{2705}"]) && !has(&["incomplete", "not "]) {
        Some("done")
    } else if has(&["running", "progress", "pending", "started"]) {
        Some("running")
    } else {
        None
    };
    let attempt = lower
        .split_once("attempt ")
        .or_else(|| lower.split_once("try "))
        .and_then(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok());
    if let Some(attempt) = attempt {
        step["attempt"] = attempt.into();
    }
    if let Some(known) = known {
        step["status"] = known.into();
    }
    if text != status_text(known, attempt.unwrap_or(1)) {
        step["status_text"] = text.into();
    }
}

/// The words of the writer for a status.
fn status_text(status: Option<&str>, attempt: u32) -> String {
    let word = match status {
        Some("done") => "Completed",
        Some("failed") => "Failed",
        Some("invalid") => "Invalid",
        Some("running") => "In progress",
        _ => return String::new(),
    };
    if attempt > 1 || status == Some("failed") {
        return format!("{word} (attempt {attempt})");
    }
    word.to_owned()
}

/// The files that a step wrote: `` `a/b.rs` (created): words``, `Created: a, b`, or words alone.
fn outputs(word: &str, value: &str, item: &Bullet) -> Vec<Value> {
    let lines: Vec<String> = if value.is_empty() {
        item.below
            .iter()
            .map(|line| line.trim().trim_start_matches("- ").to_owned())
            .collect()
    } else {
        let ticked = value.contains('`') || word == "created" || word == "modified";
        let mut lines = if ticked {
            value.split(", ").map(str::to_owned).collect()
        } else {
            vec![value.to_owned()]
        };
        lines.extend(
            item.below
                .iter()
                .map(|line| line.trim().trim_start_matches("- ").to_owned()),
        );
        lines
    };
    let all = lines.iter().filter(|line| !line.is_empty());
    all.map(|line| {
        let usual = if word == "created" { "created" } else { "modified" };
        let (change, line) = match line.split_once(": ") {
            Some((head, rest)) if head.eq_ignore_ascii_case("created") => ("created", rest),
            Some((head, rest)) if head.eq_ignore_ascii_case("modified") => ("modified", rest),
            _ => (usual, line.as_str()),
        };
        let (path, rest) = match line.strip_prefix('`').and_then(|line| line.split_once('`')) {
            Some((path, rest)) => (path, rest.trim()),
            None => match line.split_once(" (") {
                Some((path, _)) if !path.contains(' ') => (path, line[path.len()..].trim()),
                _ if !line.contains(' ') => (line, ""),
                _ => ("", line),
            },
        };
        let (change, rest) = match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            Some((word @ ("created" | "modified" | "deleted"), rest)) => (word, rest.trim()),
            _ => (change, rest),
        };
        let text = rest.trim_start_matches([':', '-', '\u{2013}', '\u{2014}']).trim();
        let mut output = json!({ "path": path, "change": change });
        if !text.is_empty() {
            output["text"] = md::unescaped(text).into();
        }
        output
    })
    .collect()
}

/// `lint=pass, tests=pass`, `Lint: PASS | Build: PASS`, or a line for each.
fn checks(value: &str, item: &Bullet, step: &mut Value) {
    let mut found = Map::new();
    let lines = std::iter::once(value).chain(item.below.iter().map(String::as_str));
    for part in lines.flat_map(|line| line.split(['|', ',', ';'])) {
        let part = part.trim().trim_start_matches("- ").trim();
        if part.is_empty() {
            continue;
        }
        let (name, result) = part
            .split_once('=')
            .or_else(|| part.split_once(": "))
            .unwrap_or_else(|| {
                // `lint \u{2705}`
                part.rsplit_once(' ').unwrap_or((part, ""))
            });
        let name = name.trim().trim_matches('*').to_lowercase();
        let result = match result.trim() {
            "\u{2705}" => "pass",
            "\u{274c}" => "fail",
            other => other,
        };
        found.insert(name, result.into());
    }
    step["verification"] = Value::Object(found);
}

/// The fork points, as the template has them.
pub(super) fn write_fork_points(record: &Record, text: &mut String) {
    for point in &record.fork_points {
        let _ = write!(text, "\n## Fork Point: {}\n", super::write::one_line(&point.title));
        for option in &point.options {
            let _ = write!(
                text,
                "\n### Option {}: {}\n\n",
                option.key,
                super::write::one_line(&option.title)
            );
            for (name, list) in [("Pros", &option.pros), ("Cons", &option.cons)] {
                match list.as_slice() {
                    [] => {}
                    [one] if !one.contains('\n') && !one.trim().is_empty() => {
                        let _ = writeln!(text, "- {name}: {}", md::escaped(one));
                    }
                    all => {
                        let _ = writeln!(text, "- {name}:");
                        for one in all {
                            let _ = writeln!(text, "  - {}", md::escaped(&super::write::one_line(one)));
                        }
                    }
                }
            }
            if !option.files.is_empty() {
                let _ = writeln!(text, "- Files: {}", option.files.join(", "));
            }
        }
        let mut line = |key: &str, value: Option<&String>| {
            if let Some(value) = value {
                let _ = write!(text, "\n**{key}:** {}\n", md::escaped(&super::write::one_line(value)));
            }
        };
        line("Decision needed from", point.decider.as_ref());
        line("Decision", point.chosen.as_ref());
        line("Reason", point.reason.as_ref());
    }
}

/// The step log, as the template has it.
pub(super) fn write_log(steps: &[Step], text: &mut String) {
    if steps.is_empty() {
        return;
    }
    text.push_str("\n## Step Output Log\n");
    for step in steps {
        let _ = write!(
            text,
            "\n### Step {}: {}\n\n",
            step.n,
            super::write::one_line(&step.title)
        );
        let mut head = |key: &str, value: Option<&str>| {
            if let Some(value) = value.filter(|value| !value.trim().is_empty()) {
                let value = md::escaped(value.trim()).replace('\n', "\n  ");
                let _ = writeln!(text, "- **{key}:** {value}");
            }
        };
        head("Agent", step.agent.as_deref());
        head("Issue", step.issue.as_deref());
        let word = match step.status {
            StepStatus::Running => "running",
            StepStatus::Done => "done",
            StepStatus::Failed => "failed",
            StepStatus::Invalid => "invalid",
        };
        let own = step.unknown.get("status_text").and_then(Value::as_str);
        let usual = status_text(Some(word), step.attempt);
        head("Status", Some(own.unwrap_or(&usual)));
        let took = step
            .duration_ms
            .filter(|ms| ms % 1000 == 0)
            .map(|ms| duration_text(ms / 1000));
        let words = step.unknown.get("duration_text").and_then(Value::as_str);
        head("Duration", took.as_deref().or(words));
        head("Objective", step.objective.as_deref());
        head("Invalidated", step.invalidated.as_deref());
        if !step.outputs.is_empty() {
            text.push_str("- **Outputs:**\n");
            for output in &step.outputs {
                let words = output.text.as_deref().map(super::write::one_line).unwrap_or_default();
                let words = if words.is_empty() {
                    words
                } else {
                    format!(": {}", md::escaped(&words))
                };
                let _ = writeln!(text, "  - `{}` ({}){words}", output.path, output.change);
            }
        }
        if !step.verification.is_empty() {
            let each = step.verification.iter().map(|(name, result)| match result {
                Value::String(result) => format!("{name}={result}"),
                other => format!("{name}={other}"),
            });
            let _ = writeln!(text, "- **Verification:** {}", each.collect::<Vec<_>>().join(", "));
        }
        let mut head = |key: &str, value: Option<&str>| {
            if let Some(value) = value.filter(|value| !value.trim().is_empty()) {
                let value = md::escaped(value.trim()).replace('\n', "\n  ");
                let _ = writeln!(text, "- **{key}:** {value}");
            }
        };
        head("Prompt", step.prompt.as_deref());
        head("Cached Context", step.context.as_deref());
        head("Error", step.error.as_deref());
    }
}

//! A checkpoint as `SESSION-CHECKPOINT.md`, in the sections and columns of the template.

mod tables;

use std::fmt::Write as _;

use serde_json::Value;

use super::SYSTEM;
use super::{
    super::{
        export::{self, ExportFiles, ExportInput},
        markdown as md,
        notes::session_status,
    },
    sections::BELOW,
};
use crate::model::record::{Record, UnknownMembers};

/// Writes the latest checkpoint. A column beyond the template's appears only when a task needs it.
pub(in super::super) fn write(out: &ExportInput<'_>) -> ExportFiles {
    let document = out.latest();
    let (record, session) = (&document.record, &document.session);
    let mut own = export::own(record, SYSTEM);
    let kept = match own.remove("sections") {
        Some(Value::Array(sections)) => sections.iter().map(UnplacedSection::of).collect(),
        _ => Vec::new(),
    };
    let title = session.title.as_deref().map(one_line).filter(|title| !title.is_empty());
    let title = title.map_or_else(|| TITLE.to_owned(), |title| format!("{TITLE} \u{2014} {title}"));
    let mut text = String::new();
    for section in kept.iter().filter(|section| section.level == 0) {
        line(&mut text, &format!("{}\n", section.text));
    }
    line(&mut text, &format!("# {title}\n"));
    let mut head = |key: &str, value: &str| line(&mut text, &format!("**{}:** {}", one_line(key), one_line(value)));
    head("Last Updated", &document.created_at.to_string());
    head("Feature", session.feature.as_deref().unwrap_or(session.name.as_str()));
    if let Some(task) = &session.task {
        head("Goal", task);
    }
    if let Some(branch) = &document.git.branch {
        head("Branch", branch);
    }
    if !session.issues.is_empty() {
        head("Tracker Issues", &session.issues.join(", "));
    }
    head("Status", session.status.word());
    let current = own.remove("current_phase");
    for (key, value) in &own {
        let Value::String(value) = value else { continue };
        // A status that was understood is the session's own by now.
        if key.to_lowercase() != "status" || session_status(value).is_none() {
            head(key, value);
        }
    }
    let is_head = |section: &&UnplacedSection| section.level == 1 && section.title == title;
    for section in kept.iter().filter(is_head) {
        line(&mut text, &format!("\n{}", section.text));
    }
    phase(record, current.as_ref().and_then(Value::as_str), &mut text);
    tables::tasks(record, &mut text);
    tables::approvals(record, &mut text);
    lists(record, &mut text);
    super::steps::write_fork_points(record, &mut text);
    super::steps::write_log(out.steps, &mut text);
    tables::delegations(record, &mut text);
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
    let notes = record.resume_instructions.iter();
    section(
        &mut text,
        "Resume Instructions",
        notes.map(|note| Point::of(&note.text, &note.unknown)),
        true,
    );
    for section in kept.iter().filter(|section| section.level > 0 && !is_head(section)) {
        line(
            &mut text,
            &format!(
                "\n{} {}\n\n{}",
                "#".repeat(section.level),
                one_line(&section.title),
                section.text
            ),
        );
    }
    ExportFiles::one("SESSION-CHECKPOINT.md".to_owned(), text.into_bytes())
}

/// The heading of the template.
const TITLE: &str = "Session Checkpoint";

/// A section that came in without a place of its own.
struct UnplacedSection {
    level: usize,
    title: String,
    text: String,
}

impl UnplacedSection {
    fn of(section: &Value) -> Self {
        let of = |key: &str| section.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let level = section.get("level").and_then(Value::as_u64).unwrap_or(2);
        let mut text = of("text");
        // What follows would be code.
        if let Some(mark) = md::unclosed(&text) {
            line(&mut text, &format!("\n{mark}"));
        }
        Self {
            level: usize::try_from(level.min(6)).unwrap_or(2),
            title: of("title"),
            text,
        }
    }
}

fn line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// A text where the form has one line: line ends become blanks.
pub(super) fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text
        .split(['\n', '\r'])
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    lines.join(" ")
}

fn phase(record: &Record, more: Option<&str>, text: &mut String) {
    if let Some(phase) = &record.phase {
        text.push_str("\n## Current Phase\n\n");
        let title = phase.title.as_deref().map(one_line).filter(|title| !title.is_empty());
        let title = title.map(|title| format!(" \u{2014} {title}")).unwrap_or_default();
        line(text, &format!("Phase {} of {}{title}", phase.n, phase.of));
        if let Some(more) = more {
            line(text, &format!("\n{more}"));
        }
    } else if let Some(more) = more {
        line(text, &format!("\n## Current Phase\n\n{more}"));
    }
    let summary = record.summary.as_deref().map(md::escaped_block);
    if let Some(summary) = summary.filter(|summary| !summary.is_empty()) {
        line(text, &format!("\n## Summary\n\n{summary}"));
    }
}

/// An item of a list, with what is said of it below.
struct Point<'a> {
    text: &'a str,
    done: Option<bool>,
    said: Vec<(&'static str, &'a str)>,
    details: Option<&'a str>,
}

impl<'a> Point<'a> {
    fn of(text: &'a str, unknown: &'a UnknownMembers) -> Self {
        Self {
            text,
            done: unknown.get("checked").and_then(Value::as_bool),
            said: Vec::new(),
            details: unknown.get("details").and_then(Value::as_str),
        }
    }

    fn with(mut self, member: &str, text: Option<&'a str>) -> Self {
        let known = BELOW.iter().find(|(.., known)| *known == member);
        if let (Some((_, word, _)), Some(text)) = (known, text) {
            self.said.push((word, text));
        }
        self
    }
}

/// A section with a list.
fn section<'a>(text: &mut String, title: &str, items: impl Iterator<Item = Point<'a>>, numbered: bool) {
    for (item, n) in items.zip(1..) {
        if n == 1 {
            let _ = write!(text, "\n## {title}\n\n");
        }
        // More than four digits are no number of a list to its reader.
        let mark = if numbered {
            format!("{}. ", n.min(9999))
        } else {
            "- ".to_owned()
        };
        let inset = " ".repeat(mark.len());
        let tick = match item.done {
            Some(true) => "[x] ",
            Some(false) => "[ ] ",
            None => "",
        };
        line(
            text,
            &format!(
                "{mark}{tick}{}",
                md::escaped(item.text).replace('\n', &format!("\n{inset}"))
            ),
        );
        for (word, said) in item.said {
            let said = md::escaped(said).replace('\n', &format!("\n{inset}  "));
            line(text, &format!("{inset}- {word}: {said}"));
        }
        for more in item.details.into_iter().flat_map(str::lines) {
            line(text, &format!("{inset}{more}"));
        }
    }
}

fn lists(record: &Record, text: &mut String) {
    let items = record.decisions.iter();
    let items = items.map(|item| Point::of(&item.text, &item.unknown).with("reason", item.reason.as_deref()));
    section(text, "Key Decisions Made", items, false);
    let items = record.blockers.iter();
    let items = items.map(|item| {
        let point = Point::of(&item.text, &item.unknown);
        point
            .with("needs", item.needs.as_deref())
            .with("ref", item.reference.as_deref())
    });
    section(text, "Blockers & Issues", items, false);
    let items = record.questions.iter();
    let items = items.map(|item| Point::of(&item.text, &item.unknown).with("answer", item.answer.as_deref()));
    section(text, "Open Questions", items, false);
    let items = record.accomplishments.iter();
    section(
        text,
        "Accomplishments",
        items.map(|note| Point::of(&note.text, &note.unknown)),
        false,
    );
    let items = record.next_steps.iter();
    section(
        text,
        "Next Steps",
        items.map(|note| Point::of(&note.text, &note.unknown)),
        true,
    );
    let items = record.todos.iter().map(|todo| Point {
        done: Some(todo.done),
        ..Point::of(&todo.text, &todo.unknown)
    });
    section(text, "Todos", items, false);
}

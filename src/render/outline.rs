//! An outline as text, as Markdown and as the rows of a prompt.

use super::{
    markdown,
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::outline::{Entry, Outline, Rank, Section};

/// How many entries of a section are shown unless all are asked for.
pub const SHOWN: usize = 5;

/// The sections for people: a heading with the count, then the entries.
pub fn text(outline: &Outline, columns: usize, all: bool) -> Text {
    let mut text = Text::new();
    for section in &outline.sections {
        text.append(one(section, columns, all));
    }
    text
}

fn one(section: &Section, columns: usize, all: bool) -> Text {
    let mut text = Text::new();
    text.push(TextLine::new());
    let mut heading = TextLine::new().with(Slot::Heading, &section.title);
    let single = section.rank == Rank::Standing && section.entries.len() == 1 && section.member != "session";
    let entries = &section.entries;
    if single && let Some(lines) = entries.first().map(Entry::lines) {
        heading.push(Slot::Plain, format!("  {}", lines[0]));
        text.push(heading);
        for line in &lines[1..] {
            text.append(Text::wrapped(line, 2 + indent(line), columns));
        }
        return text;
    }
    heading.push(Slot::Plain, format!(" ({})", section.total));
    text.push(heading);
    // The facts of a session are few, and of a kind of their own each.
    let most = if all || section.member == "session" {
        usize::MAX
    } else {
        SHOWN
    };
    let shown = entries.len().min(most);
    for (entry, number) in entries[..shown].iter().zip(1..) {
        let slot = slot(section, entry);
        for (line, at) in entry.lines().iter().zip(0..) {
            let (line, left) = match (at, section.numbered) {
                (0, true) => (format!("{number} {line}"), 2),
                (0, false) => (line.clone(), 2),
                _ => (line.clone(), 4 + indent(line)),
            };
            for line in Text::wrapped(&line, left, columns).lines() {
                text.push(TextLine::new().with(slot, line.to_string()));
            }
        }
    }
    if let Some(more) = more(section, shown) {
        text.push(TextLine::new().with(Slot::Dim, format!("  ... {more}")));
    }
    text
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn slot(section: &Section, entry: &Entry) -> Slot {
    match (section.member.as_str(), entry.state.as_str()) {
        ("blockers", _) | (_, "blocked" | "warn") | ("approvals", "open") => Slot::Caution,
        ("error", _) | (_, "failed" | "fail" | "reject" | "error" | "invalid") => Slot::Bad,
        (_, "done" | "dropped") => Slot::Dim,
        _ => Slot::Plain,
    }
}

/// How many entries are not among the first ones, and the command that shows them.
fn more(section: &Section, shown: usize) -> Option<String> {
    let more = section.total.saturating_sub(shown as u64);
    (more > 0).then(|| format!("{more} more: {}", section.command))
}

/// Omitted content, in one sentence; empty when nothing is left out.
pub fn left_out(outline: &Outline) -> String {
    let words: Vec<String> = outline
        .left_out
        .iter()
        .map(|left| format!("{}: {}", left.words, left.command))
        .collect();
    if words.is_empty() {
        return String::new();
    }
    format!("Not shown: {}", words.join("; "))
}

/// The sections as headings of this level and lists, with at most so many rows each.
pub fn markdown(outline: &Outline, level: usize, rows: usize) -> String {
    let mut out = String::new();
    for section in &outline.sections {
        let marks = "#".repeat(level);
        out.push_str(&format!(
            "\n{marks} {}\n\n{}",
            markdown::line(&section.title),
            list(section, rows)
        ));
    }
    out
}

/// The list of a section.
pub fn list(section: &Section, rows: usize) -> String {
    let mut out = String::new();
    let shown = section.entries.len().min(rows);
    for (entry, number) in section.entries[..shown].iter().zip(1..) {
        let mark = if section.numbered {
            format!("{number}.")
        } else {
            "-".to_owned()
        };
        let indent = " ".repeat(mark.len() + 1);
        let lines: Vec<String> = entry.lines().iter().map(|line| markdown::line(line.trim())).collect();
        out.push_str(&format!("{mark} {}\n", lines.join(&format!("  \n{indent}"))));
    }
    if let Some(more) = more(section, shown) {
        out.push_str(&format!(
            "\n{} more: `{}`\n",
            more.split(' ').next().unwrap_or_default(),
            section.command
        ));
    }
    out
}

/// The sections of some ranks as headings and rows, for a text with a budget; a row may have several lines.
pub fn rows(outline: &Outline, wanted: impl Fn(Rank) -> bool) -> Vec<(String, Vec<String>)> {
    let sections = outline.sections.iter().filter(|section| wanted(section.rank));
    let rows = sections.map(|section| {
        let mut rows: Vec<String> = section.entries.iter().map(|entry| entry.lines().join("\n")).collect();
        rows.extend(more(section, section.entries.len()).map(|more| format!("... {more}")));
        (section.title.clone(), rows)
    });
    rows.collect()
}

#[cfg(test)]
pub(crate) mod tests;

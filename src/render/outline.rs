//! An outline as text, as Markdown and as the rows of a prompt.

use super::{
    count::shown_rows,
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
        heading.push(Slot::Heading, ":");
        heading.push(Slot::Plain, format!(" {}", lines[0]));
        text.push(heading);
        for line in &lines[1..] {
            text.append(Text::wrapped(line, 2 + indent(line), columns));
        }
        return text;
    }
    // The facts of a session are few, and of a kind of their own each.
    let is_session = section.member == "session";
    // Its title has the number that means something, that of the messages.
    if !is_session && section.member != "compaction" {
        heading.push(Slot::Plain, format!(" ({})", section.total));
    }
    text.push(heading);
    let most = if all || is_session { usize::MAX } else { SHOWN };
    let shown = if section.total == entries.len() as u64 {
        shown_rows(entries.len(), most)
    } else {
        entries.len().min(most)
    };
    let more = more(section, shown).map(|more| TextLine::new().with(Slot::Dim, format!("  ... {more}")));
    if section.latest_last {
        text.lines_of(more.clone());
    }
    for (entry, number) in first(section, shown).iter().zip(1..) {
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
    if !section.latest_last {
        text.lines_of(more);
    }
    text
}

/// So many of the entries, the most important ones.
fn first(section: &Section, shown: usize) -> &[Entry] {
    let entries = &section.entries;
    if section.latest_last {
        &entries[entries.len() - shown..]
    } else {
        &entries[..shown]
    }
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

/// How many entries are not among those shown, and the command that shows them.
fn more(section: &Section, shown: usize) -> Option<String> {
    hidden(section, shown).map(|more| format!("{more}: {}", section.command))
}

/// The same without the command.
fn hidden(section: &Section, shown: usize) -> Option<String> {
    let hidden = section.total.saturating_sub(shown as u64);
    let word = if section.latest_last { "earlier" } else { "more" };
    (hidden > 0).then(|| format!("{hidden} {word}"))
}

/// Omitted content with the commands that show it, one each; what one command shows is named together.
fn omissions(outline: &Outline) -> Vec<(String, &str)> {
    let mut out: Vec<(String, &str)> = Vec::new();
    for left in &outline.left_out {
        match out.iter_mut().find(|(_, command)| *command == left.command) {
            Some((words, _)) => words.push_str(&format!("; {}", left.words)),
            None => out.push((left.words.clone(), &left.command)),
        }
    }
    out
}

/// Omitted content, a sentence for each command that shows it.
pub fn left_out(outline: &Outline) -> Vec<String> {
    let sentence = |(words, command): (String, &str)| format!("Not shown: {words}: {command}");
    omissions(outline).into_iter().map(sentence).collect()
}

/// The same as lines that are dimmed, none of which is broken inside the command.
pub fn left_out_text(outline: &Outline, columns: usize) -> Text {
    let lines = left_out(outline);
    let lines = lines
        .iter()
        .flat_map(|line| Text::wrapped(line, 0, columns).lines().to_vec());
    lines
        .map(|line| TextLine::new().with(Slot::Dim, line.to_string()))
        .collect()
}

/// The same as one line of Markdown.
pub fn left_out_markdown(outline: &Outline) -> String {
    let omissions = omissions(outline).into_iter();
    let words: Vec<String> = omissions
        .map(|(words, command)| format!("{} (`{command}`)", markdown::line(&words)))
        .collect();
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
    let more = hidden(section, shown).map(|more| format!("{more}: `{}`\n", section.command));
    if let Some(more) = more.as_ref().filter(|_| section.latest_last) {
        out.push_str(&format!("{more}\n"));
    }
    for (entry, number) in first(section, shown).iter().zip(1..) {
        let mark = if section.numbered {
            format!("{number}.")
        } else {
            "-".to_owned()
        };
        let indent = " ".repeat(mark.len() + 1);
        let lines: Vec<String> = entry.lines().iter().map(|line| markdown::line(line.trim())).collect();
        out.push_str(&format!("{mark} {}\n", lines.join(&format!("  \n{indent}"))));
    }
    if let Some(more) = more.filter(|_| !section.latest_last) {
        out.push_str(&format!("\n{more}"));
    }
    out
}

/// A section as a heading and rows, for a text with a budget; a row may have several lines.
#[derive(Clone, Debug, Default)]
pub struct SectionRows {
    /// The heading.
    pub title: String,
    /// The rows.
    pub rows: Vec<String>,
    /// Whether the last rows are the most important ones.
    pub latest_last: bool,
}

/// The sections of some ranks.
pub fn rows(outline: &Outline, wanted: impl Fn(Rank) -> bool) -> Vec<SectionRows> {
    let sections = outline.sections.iter().filter(|section| wanted(section.rank));
    let rows = sections.map(|section| {
        let mut rows: Vec<String> = section.entries.iter().map(|entry| entry.lines().join("\n")).collect();
        if let Some(more) = more(section, section.entries.len()) {
            let at = if section.latest_last { 0 } else { rows.len() };
            rows.insert(at, format!("... {more}"));
        }
        SectionRows {
            title: section.title.clone(),
            rows,
            latest_last: section.latest_last,
        }
    });
    rows.collect()
}

#[cfg(test)]
pub(crate) mod tests;

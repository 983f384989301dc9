//! The change report for people: a line for each part that has something to say, its verdict at the right, the
//! strongest evidence below. As text for a terminal and as Markdown.
//!
//! Parts that are as they were and say nothing new are left out, so that a short report is a good one.

mod files;
mod history;
mod rows;

use super::{
    escape,
    slot::Slot,
    text::{self, Text, TextLine},
};
use crate::model::report::{ChangeReport, ReportPart, ReportVerdict};
use rows::ReportRow;

/// Where the evidence begins.
const EVIDENCE: usize = 13;
/// Where a detail begins.
const DETAIL: usize = 15;
/// Room for the longest verdict and what sets it apart.
const VERDICT: usize = 10;
/// The report gets no wider on a wider terminal: the eye has to find the verdict of a line.
const WIDEST: usize = 100;
/// Below this, verdicts are on lines of their own.
const NARROW: usize = 60;

/// The report on a checkpoint that commands know as `selector`, in lines of `columns` at most.
pub fn text(report: &ChangeReport, selector: &str, columns: usize) -> Text {
    let columns = columns.clamp(30, WIDEST);
    let narrow = columns < NARROW;
    let edge = if narrow { columns } else { columns - VERDICT };
    let mut text = Text::new();
    let mut head = TextLine::new().with(Slot::Heading, "Since then");
    if !narrow {
        head.pad_to(edge + 1);
        head.push(Slot::Heading, "verdict");
    }
    text.push(head);
    for row in rows::rows(report, selector) {
        push(&mut text, &row, columns, edge, narrow);
    }
    if let Some(words) = attention(report) {
        text.push(TextLine::new().with(Slot::Caution, format!("  {words}")).cut(columns));
    }
    text
}

/// The parts to look at first.
fn attention(report: &ChangeReport) -> Option<String> {
    let parts: Vec<&str> = report.attention().into_iter().map(ReportPart::word).collect();
    (!parts.is_empty()).then(|| format!("Check first: {}", parts.join(", ")))
}

fn push(text: &mut Text, row: &ReportRow, columns: usize, edge: usize, narrow: bool) {
    let mut lines = wrapped(&row.pieces, edge.saturating_sub(EVIDENCE));
    let verdict = (slot(row.verdict), row.verdict.word());
    if narrow {
        lines.push(TextLine::new().with(verdict.0, verdict.1));
    }
    for (at, evidence) in lines.iter().enumerate() {
        let mut line = TextLine::plain("  ");
        if at == 0 {
            line.push(Slot::Heading, row.label);
        }
        line.pad_to(EVIDENCE);
        line.append(evidence);
        if at == 0 && !narrow {
            line.pad_to(edge + 1);
            line.push(verdict.0, verdict.1);
        }
        text.push(line);
    }
    for detail in &row.details {
        let mut line = TextLine::new();
        line.pad_to(DETAIL);
        line.append(detail);
        text.push(line.cut(columns));
    }
    // A command is never broken or cut.
    for (words, command) in &row.omitted {
        let at = |shown: String| TextLine::plain(" ".repeat(DETAIL)).with(Slot::Dim, shown);
        let line = at(format!("... {words}: {command}"));
        if line.width() <= columns {
            text.push(line);
        } else {
            text.push(at(format!("... {words}:")).cut(columns));
            text.push(TextLine::plain("  ").with(Slot::Dim, command));
        }
    }
}

/// Phrases set apart by commas, broken between them; one that is too long by itself is broken at spaces.
fn wrapped(pieces: &[TextLine], room: usize) -> Vec<TextLine> {
    let mut lines = Vec::new();
    let mut line = TextLine::new();
    for (at, piece) in pieces.iter().enumerate() {
        let comma = if at + 1 < pieces.len() { "," } else { "" };
        let piece = piece.clone().with(Slot::Plain, comma);
        if piece.width() > room {
            if !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            // What has no space is cut.
            let mut folded: Vec<_> = piece.folded(room).iter().map(|line| line.cut(room)).collect();
            line = folded.pop().unwrap_or_default();
            lines.append(&mut folded);
            continue;
        }
        if !line.is_empty() && line.width() + 1 + piece.width() > room {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(Slot::Plain, " ");
        }
        line.append(&piece);
    }
    lines.push(line);
    lines
}

fn slot(verdict: ReportVerdict) -> Slot {
    match verdict {
        ReportVerdict::Same | ReportVerdict::Kept => Slot::Good,
        ReportVerdict::Differs => Slot::Plain,
        ReportVerdict::Moved => Slot::Changed,
        ReportVerdict::Check | ReportVerdict::Unknown => Slot::Caution,
        ReportVerdict::Missing | ReportVerdict::Conflict => Slot::Bad,
    }
}

/// The report as a Markdown table, with the details as a list below it.
pub fn markdown(report: &ChangeReport, selector: &str) -> String {
    let mut out = String::from("| Since then | | Verdict |\n|---|---|---|\n");
    let mut details = String::new();
    for row in rows::rows(report, selector) {
        let pieces: Vec<_> = row.pieces.iter().map(|piece| plain(&piece.to_string())).collect();
        out.push_str(&format!(
            "| {} | {} | {} |\n",
            row.label,
            pieces.join(", "),
            row.verdict.word()
        ));
        if row.details.is_empty() && row.omitted.is_empty() {
            continue;
        }
        details.push_str(&format!("\n**{}**\n\n", row.label));
        for detail in &row.details {
            details.push_str(&format!("- {}\n", plain(detail.to_string().trim())));
        }
        for (words, command) in &row.omitted {
            details.push_str(&format!("- {words}: `{command}`\n"));
        }
    }
    if let Some(words) = attention(report) {
        details.push_str(&format!("\n{words}.\n"));
    }
    out + &details
}

/// Text that Markdown takes for nothing but text.
fn plain(text: &str) -> String {
    let text = escape::line(text);
    let mut out = String::with_capacity(text.len());
    let mut space = false;
    for c in text.chars() {
        if c == ' ' && space {
            continue;
        }
        space = c == ' ';
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '&' | '!'
        ) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// The path cut in front, where paths are least specific, to so many columns.
fn tail(path: &str, columns: usize) -> String {
    if text::width(path) <= columns {
        return path.to_owned();
    }
    let mut start = 0;
    for (at, _) in path.char_indices() {
        start = at;
        if text::width(&path[at..]) + 2 <= columns {
            break;
        }
    }
    format!("..{}", &path[start..])
}

#[cfg(test)]
mod tests;

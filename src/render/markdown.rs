//! Text of a repository inside Markdown: shown as it is, never taken for markup.

use super::escape;
use crate::model::record::{Record, TaskStatus};

/// One line of running text.
pub fn line(text: &str) -> String {
    let text = escape::line(text);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if "\\`*_{}[]<>#|!~".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Several lines, kept as lines.
pub fn block(text: &str) -> String {
    text.lines().map(line).collect::<Vec<_>>().join("  \n")
}

/// A block of code: a fence longer than any run of the same character in the text.
pub fn code(text: &str) -> String {
    let text = escape::block(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{fence}text\n{text}{end}{fence}\n")
}

/// A record as headings and lists.
pub fn record(record: &Record) -> String {
    let mut out = String::new();
    let mut section = |title: &str, rows: Vec<String>| {
        if !rows.is_empty() {
            out.push_str(&format!("\n## {title}\n\n"));
            for row in rows {
                out.push_str(&format!("{row}\n"));
            }
        }
    };
    let plain = |text: &str| format!("- {}", line(text));
    section("Done", record.accomplishments.iter().map(|n| plain(&n.text)).collect());
    let numbered = record
        .next_steps
        .iter()
        .zip(1..)
        .map(|(n, i)| format!("{i}. {}", line(&n.text)));
    section("Next", numbered.collect());
    let task = |t: &crate::model::record::Task| {
        let mark = if t.status == TaskStatus::Done { 'x' } else { ' ' };
        format!("- [{mark}] {}", line(&t.title))
    };
    section("Tasks", record.tasks.iter().map(task).collect());
    let todo = |t: &crate::model::record::Todo| format!("- [{}] {}", if t.done { 'x' } else { ' ' }, line(&t.text));
    section("To do", record.todos.iter().map(todo).collect());
    let decision = |d: &crate::model::record::Decision| match &d.reason {
        Some(reason) => format!("- {} (because {})", line(&d.text), line(reason)),
        None => plain(&d.text),
    };
    section("Decisions", record.decisions.iter().map(decision).collect());
    section("Blockers", record.blockers.iter().map(|b| plain(&b.text)).collect());
    section("Questions", record.questions.iter().map(|q| plain(&q.text)).collect());
    section(
        "On resuming",
        record.resume_instructions.iter().map(|n| plain(&n.text)).collect(),
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_text_stays_text() {
        assert_eq!(
            line("# <b>*x*</b> [l](u)\u{1b}"),
            "\\# \\<b\\>\\*x\\*\\</b\\> \\[l\\](u)\\\\x1b"
        );
    }
}

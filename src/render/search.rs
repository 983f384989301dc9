//! `search`: lines that match, under the checkpoint that has them.

use schemars::JsonSchema;
use serde::Serialize;

use super::{age::DateStyle, slot::Slot, text::TextLine};
use crate::model::{id::Oid, time::Timestamp};

/// Text found in sessions.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.search/1")]
#[schemars(extend("x-lines" = "matches"))]
pub struct SearchView {
    /// Sessions latest first, in each the checkpoints latest first.
    pub matches: Vec<SearchRow>,
    /// Sessions that were searched.
    pub sessions: u64,
    /// Checkpoints that were searched.
    pub checkpoints: u64,
    /// Distinct objects that were searched.
    pub objects: u64,
    /// Whether the search ended before the end, because `--max-count` was reached.
    pub stopped: bool,
    /// Objects that a partial clone has not fetched.
    pub missing: u64,
    /// Encrypted objects that none of the keys opens.
    pub locked: u64,
}

/// A line, path or binary file that matches. An object is searched once, for the latest checkpoint that has it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SearchRow {
    /// The directory of the repository, with `--all-repos`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// The session; one that was fetched as `<remote>/<session>`.
    pub session: String,
    /// `local`, `fetched`, `trash` or `autosave`.
    pub origin: &'static str,
    /// The latest checkpoint that has the object.
    pub id: Oid,
    /// When it was saved.
    pub at: Timestamp,
    /// Cause of the checkpoint.
    pub kind: Option<&'static str>,
    /// Who saved it.
    pub author: String,
    /// The agent.
    pub agent: Option<String>,
    /// The first line of its message.
    pub subject: String,
    /// `record`, `chat`, `steps`, `log` or `files`.
    pub part: &'static str,
    /// The object.
    pub object: Oid,
    /// Its name in the checkpoint's tree, such as `chat/000000.jsonl`; of a file its path, C-quoted where it must be.
    pub name: String,
    /// The number of the line in the object, from 1; null where the path or a binary file matches.
    pub line: Option<u64>,
    /// The line of the text with the match, or a part of it around the first match; else the path. In JSON documents, such
    /// as chats, escapes are resolved.
    pub text: String,
    /// Where the matches are in `text`.
    pub marks: Vec<MatchMark>,
    /// Whether it is a binary file whose content matches.
    pub binary: bool,
    /// Whether `text` is only a part of the line.
    pub cut: bool,
    /// The name of the member that has the text, in a record or step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// Whether only the form of a document matches: the name of a member, an id and the like. Listed with `--all`.
    pub structural: bool,
    /// Whether a later checkpoint of the session has the same line.
    pub repeated: bool,
    /// The message that the line is, in a chat.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageRef>,
}

/// The place of a match, in bytes of UTF-8.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct MatchMark {
    /// Its first byte.
    pub start: usize,
    /// The first byte behind it.
    pub end: usize,
}

/// A message of a chat.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MessageRef {
    /// Its id.
    pub id: Option<String>,
    /// When it was written.
    pub at: Option<Timestamp>,
    /// `user`, `assistant`, `system` or `tool`.
    pub role: Option<String>,
    /// The agent.
    pub agent: Option<String>,
}

/// Lines of the output, with a heading where another checkpoint begins.
#[derive(Debug, Default)]
pub struct SearchPrinter {
    last: Option<(Option<String>, String, Oid)>,
}

impl SearchPrinter {
    /// The lines for a match.
    pub fn lines(&mut self, row: &SearchRow, dates: &DateStyle, now: Timestamp) -> Vec<TextLine> {
        let mut out = Vec::new();
        let key = (row.repository.clone(), row.session.clone(), row.id.clone());
        if self.last.as_ref() != Some(&key) {
            if self.last.is_some() {
                out.push(TextLine::new());
            }
            out.push(heading(row, dates, now));
            self.last = Some(key);
        }
        out.push(content(row));
        out
    }
}

fn heading(row: &SearchRow, dates: &DateStyle, now: Timestamp) -> TextLine {
    let mut line = TextLine::new();
    if let Some(repository) = &row.repository {
        line.push(Slot::Path, repository);
        line.push(Slot::Plain, "  ");
    }
    line.push(Slot::Session, &row.session);
    if matches!(row.origin, "trash" | "autosave") {
        line.push(Slot::Caution, format!(" ({})", row.origin));
    }
    line.push(Slot::Plain, "  ");
    line.push(Slot::Id, row.id.short());
    line.push(Slot::Plain, "  ");
    line.push(Slot::Date, dates.show(row.at, now));
    line.push(Slot::Plain, "  ");
    line.push(Slot::Person, row.agent.as_ref().unwrap_or(&row.author));
    line.push(Slot::Plain, format!("  {}", row.subject));
    line
}

fn content(row: &SearchRow) -> TextLine {
    let mut line = TextLine::plain("  ");
    let name = match row.part {
        "record" if row.name == "checkpoint.json" => "record",
        "chat" => "chat",
        _ => &row.name,
    };
    let marks: Vec<(usize, usize)> = row.marks.iter().map(|mark| (mark.start, mark.end)).collect();
    let Some(number) = row.line else {
        if row.binary {
            line.push(Slot::Plain, "binary file ");
            line.push(Slot::Path, name);
            line.push(Slot::Plain, " matches");
        } else {
            marked(&mut line, &row.text, &marks, Slot::Path);
        }
        return line;
    };
    line.push(Slot::Path, name);
    line.push(Slot::Dim, format!(":{number}: "));
    if let Some(message) = &row.message {
        let who = message.role.as_deref().or(message.agent.as_deref());
        line.push(Slot::Person, who.unwrap_or_default());
        line.push(Slot::Plain, ": ");
    }
    if let Some(member) = &row.member {
        line.push(Slot::Dim, format!("{member}: "));
    }
    if row.structural {
        let (text, marks) = readable(&row.text, &marks);
        marked(&mut line, &text, &marks, Slot::Plain);
    } else {
        marked(&mut line, &row.text, &marks, Slot::Plain);
    }
    line
}

fn marked(line: &mut TextLine, text: &str, marks: &[(usize, usize)], slot: Slot) {
    let mut at = 0;
    for (start, end) in marks {
        line.push(slot, text.get(at..*start).unwrap_or_default());
        line.push(Slot::Match, text.get(*start..*end).unwrap_or_default());
        at = *end;
    }
    line.push(slot, text.get(at..).unwrap_or_default());
}

/// A line of JSON as people read it: without indent and final comma, with quotes and line ends resolved; and where the
/// marks are then.
fn readable(text: &str, marks: &[(usize, usize)]) -> (String, Vec<(usize, usize)>) {
    let end = text.trim_end_matches(',').len();
    let start = text.len() - text.trim_start().len();
    let mut out = String::new();
    // For each byte of the text the position of what is shown of it.
    let mut places = vec![0; text.len() + 1];
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        places[at..at + letter.len_utf8()].fill(out.len());
        if at < start || at >= end {
            continue;
        }
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        match letters.peek().copied() {
            Some((next, escaped @ ('"' | '\\' | 'n' | 't' | 'r' | '/'))) => {
                letters.next();
                places[next] = out.len();
                out.push(match escaped {
                    'n' | 't' | 'r' => ' ',
                    other => other,
                });
            }
            _ => out.push(letter),
        }
    }
    places[text.len()] = out.len();
    let place = |at: usize| places.get(at).copied().unwrap_or(out.len());
    let marks = marks
        .iter()
        .map(|(start, end)| (place(*start), place(*end)))
        .filter(|(start, end)| start < end && out.is_char_boundary(*start) && out.is_char_boundary(*end))
        .collect();
    (out, marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_json_read_as_text_and_keep_their_marks() {
        let text = r#"    "text": "say \"hi\" now\nand go","#;
        let at = text.find("hi").expect("it is there");
        let (shown, marks) = readable(text, &[(at, at + 2), (text.len() - 1, text.len())]);
        assert_eq!(shown, r#""text": "say "hi" now and go""#);
        assert_eq!(marks.len(), 1, "the comma is not shown");
        assert_eq!(&shown[marks[0].0..marks[0].1], "hi");
        assert_eq!(readable("", &[]), (String::new(), Vec::new()));
        assert_eq!(readable("ü\\", &[(0, 2)]), ("ü\\".to_owned(), vec![(0, 2)]));
    }
}

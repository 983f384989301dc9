//! The lines of a text that match, cut to what is worth showing.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use regex::bytes::Regex;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Pattern;
use crate::{
    model::time::Timestamp,
    store::scan::{BlobRole, NamedBlob},
};

/// Bytes of a line that are kept.
const KEPT: usize = 400;

/// Bytes before the first match that are kept of a longer line.
const BEFORE: usize = 80;

/// Matches of a line that are marked.
const MARKED: usize = 50;

/// A line with a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineMatch {
    /// The number of the stored line, from 1.
    pub line: u64,
    /// The line of the text, or a part of it around the first match.
    pub text: String,
    /// Where in the text the matches are, in bytes.
    pub marks: Vec<(usize, usize)>,
    /// Whether the text is only a part of the line.
    pub is_cut: bool,
    /// A fingerprint of the whole stored line.
    pub fingerprint: u64,
    /// The name of the member that has the text, in a document with a member a line.
    pub member: Option<String>,
    /// Whether no text matches, only the form of the document: the name of a member, an id and the like. The text is the
    /// stored line then.
    pub is_structure: bool,
    /// The message that the line is, in a chat.
    pub message: Option<MessageHead>,
}

/// The beginning of a message of a chat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct MessageHead {
    /// Its id.
    #[serde(default)]
    pub id: Option<String>,
    /// When it was written.
    #[serde(default)]
    pub at: Option<Timestamp>,
    /// Who wrote it: `user`, `assistant`, `system` or `tool`.
    #[serde(default)]
    pub role: Option<String>,
    /// The agent.
    #[serde(default)]
    pub agent: Option<String>,
}

/// The form of the lines of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineForm {
    /// Each line is text.
    Text,
    /// Each line is a part of a JSON document, with at most one member.
    Member,
    /// Each line is a JSON document: a message, or an entry of the log.
    Document,
}

/// A search for the lines of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineSearch<'p> {
    pattern: &'p Pattern,
    form: LineForm,
    /// Whether the documents are messages.
    is_chat: bool,
}

impl<'p> LineSearch<'p> {
    pub(super) fn new(pattern: &'p Pattern, blob: &NamedBlob) -> Self {
        let form = match blob.role {
            BlobRole::File => LineForm::Text,
            BlobRole::Record | BlobRole::Step if blob.name.ends_with(b".md") => LineForm::Text,
            BlobRole::Record | BlobRole::Step => LineForm::Member,
            BlobRole::Chat | BlobRole::Log => LineForm::Document,
        };
        Self {
            pattern,
            form,
            is_chat: blob.role == BlobRole::Chat,
        }
    }

    /// Whether a line may match.
    pub(super) fn may_match(&self, data: &[u8]) -> bool {
        self.matcher().is_match(data)
    }

    fn matcher(&self) -> &'p Regex {
        self.pattern.matcher(self.form != LineForm::Text)
    }

    /// Calls a function with every line that matches, until it wants no more. `first` is the number of the first line.
    pub(super) fn each_match(&self, data: &[u8], first: u64, mut each: impl FnMut(LineMatch) -> bool) -> bool {
        let (mut at, mut counted, mut line) = (0, 0, first);
        while at < data.len() {
            let Some(found) = self.matcher().find_at(data, at) else {
                return true;
            };
            // An empty match behind the last line end is on no line.
            if found.start() == data.len() && data.ends_with(b"\n") {
                return true;
            }
            let start = data[..found.start()]
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1);
            let end = data[found.start()..]
                .iter()
                .position(|byte| *byte == b'\n')
                .map_or(data.len(), |length| found.start() + length);
            line += newlines(&data[counted..start]);
            counted = start;
            if let Some(found) = self.line(&data[start..end], line)
                && !each(found)
            {
                return false;
            }
            at = end + 1;
        }
        true
    }

    /// The match in a line; `None` where only its escaped form seems to have one.
    fn line(&self, line: &[u8], number: u64) -> Option<LineMatch> {
        let matcher = self.pattern.matcher(false);
        let shown = |text: &[u8]| line_match(matcher, text, line, number);
        let own = match self.form {
            LineForm::Text => return Some(shown(line)),
            LineForm::Member => member(line).and_then(|(name, text)| {
                if is_reference(name.as_deref(), &text) || is_fact(name.as_deref(), line) {
                    return None;
                }
                let text = text.lines().find(|text| matcher.is_match(text.as_bytes()))?;
                Some(LineMatch {
                    member: name,
                    ..shown(text.as_bytes())
                })
            }),
            LineForm::Document => serde_json::from_slice(line).ok().and_then(|document: Value| {
                let text = text_in(&document, matcher)?;
                Some(LineMatch {
                    message: self.is_chat.then(|| serde_json::from_slice(line).ok()).flatten(),
                    ..shown(text.as_bytes())
                })
            }),
        };
        own.or_else(|| {
            matcher.is_match(line).then(|| LineMatch {
                is_structure: true,
                ..shown(line)
            })
        })
    }
}

/// Members of messages and entries whose values are no text of theirs.
const ATTRIBUTES: [&str; 9] = ["id", "at", "role", "type", "kind", "level", "agent", "by", "turn"];

/// Members of records and steps whose values name something: a checkpoint, a tree, an item.
const REFERENCES: [&str; 8] = [
    "digest",
    "head",
    "id",
    "index",
    "previous",
    "restored_from",
    "snapshot",
    "tree",
];

/// Members with facts that the program notes, wherever they are.
const FACTS: [&str; 6] = ["at", "created_at", "is_clean", "schema", "stash_count", "umask"];

/// The same at the top of a document only: deeper down people use these names too.
const FACTS_AT_TOP: [&str; 2] = ["kind", "trigger"];

/// Whether a member of a record is a fact that the program noted, and no text.
fn is_fact(name: Option<&str>, line: &[u8]) -> bool {
    let name = name.unwrap_or_default();
    let is_at_top = line.starts_with(b"  ") && !line.starts_with(b"   ");
    FACTS.contains(&name) || is_at_top && FACTS_AT_TOP.contains(&name)
}

/// Whether a value of a record is an id, a digest or the directory of a working tree, and no text.
fn is_reference(name: Option<&str>, value: &str) -> bool {
    let name = name.unwrap_or_default();
    let hex = value.strip_prefix("sha256:").unwrap_or(value);
    let is_digest = hex.len() >= 40 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_directory = name == "path" && std::path::Path::new(value).is_absolute();
    is_digest || is_directory || REFERENCES.contains(&name) || name.ends_with("_id")
}

/// The first line of a text in a document that matches.
fn text_in<'d>(document: &'d Value, matcher: &Regex) -> Option<&'d str> {
    match document {
        Value::String(text) => text.lines().find(|line| matcher.is_match(line.as_bytes())),
        Value::Array(items) => items.iter().find_map(|item| text_in(item, matcher)),
        Value::Object(members) => members
            .iter()
            .filter(|(name, _)| !ATTRIBUTES.contains(&name.as_str()) && !name.ends_with("_id"))
            .find_map(|(_, value)| text_in(value, matcher)),
        _ => None,
    }
}

/// The text in a line of a document that is written with a member or item a line, and the member's name.
fn member(line: &[u8]) -> Option<(Option<String>, String)> {
    let line = std::str::from_utf8(line).ok()?.trim();
    let line = line.strip_suffix(',').unwrap_or(line);
    if let Ok(Value::String(text)) = serde_json::from_str(line) {
        return Some((None, text));
    }
    let members: Map<String, Value> = serde_json::from_str(&format!("{{{line}}}")).ok()?;
    match members.into_iter().next()? {
        (name, Value::String(text)) => Some((Some(name), text)),
        (name, value @ (Value::Number(_) | Value::Bool(_))) => Some((Some(name), value.to_string())),
        _ => None,
    }
}

/// How many line ends there are.
pub(super) fn newlines(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte == b'\n')).sum()
}

/// The match in a text of a stored line.
fn line_match(matcher: &Regex, line: &[u8], stored: &[u8], number: u64) -> LineMatch {
    let mut hasher = DefaultHasher::new();
    stored.hash(&mut hasher);
    let first = matcher.find(line).map_or(0, |found| found.start());
    let (from, to) = if line.len() <= KEPT {
        (0, line.len())
    } else {
        let from = first.saturating_sub(BEFORE);
        (from, (from + KEPT).min(line.len()))
    };
    let (from, to) = (boundary(line, from), boundary(line, to));
    let mut text = String::new();
    let mut marks = Vec::new();
    let mut at = from;
    let matches = matcher.find_iter(line).filter(|found| found.end() > from);
    for found in matches.take(MARKED).take_while(|found| found.start() < to) {
        let (start, end) = (found.start().max(at), found.end().min(to));
        if start >= end {
            continue;
        }
        text.push_str(&String::from_utf8_lossy(&line[at..start]));
        let begin = text.len();
        text.push_str(&String::from_utf8_lossy(&line[start..end]));
        marks.push((begin, text.len()));
        at = end;
    }
    text.push_str(&String::from_utf8_lossy(&line[at..to]));
    LineMatch {
        line: number,
        text,
        marks,
        is_cut: (from, to) != (0, line.len()),
        fingerprint: hasher.finish(),
        member: None,
        is_structure: false,
        message: None,
    }
}

/// The place itself, or a little before it where it is within a letter.
fn boundary(line: &[u8], at: usize) -> usize {
    (at.saturating_sub(3)..=at)
        .rev()
        .find(|at| line.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80))
        .unwrap_or(at)
}

/// Lines of a stream that are searched as they come.
pub(super) struct LineStream<'p> {
    search: LineSearch<'p>,
    line: u64,
    rest: Vec<u8>,
    /// Whether a line was so long that it was searched in pieces.
    pub(super) has_split_line: bool,
}

impl<'p> LineStream<'p> {
    /// The longest line that is searched whole.
    const LINE: usize = 8 << 20;

    pub(super) fn new(search: LineSearch<'p>) -> Self {
        Self {
            search,
            line: 1,
            rest: Vec::new(),
            has_split_line: false,
        }
    }

    /// Takes the next piece; the last one is empty. Gives whether more is wanted.
    pub(super) fn push(&mut self, piece: &[u8], mut each: impl FnMut(LineMatch) -> bool) -> bool {
        self.rest.extend_from_slice(piece);
        let end = match self.rest.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => at + 1,
            None if piece.is_empty() => self.rest.len(),
            None if self.rest.len() > Self::LINE => {
                self.has_split_line = true;
                self.rest.len()
            }
            None => return true,
        };
        let is_wanted = self.search.each_match(&self.rest[..end], self.line, &mut each);
        self.line += newlines(&self.rest[..end]);
        self.rest.drain(..end);
        is_wanted
    }
}

#[cfg(test)]
mod tests {
    use super::{super::PatternSyntax, *};

    fn pattern(text: &str) -> Pattern {
        Pattern::new(text, PatternSyntax::Extended, false).expect("a pattern")
    }

    fn found(text: &str, form: LineForm, data: &[u8]) -> Vec<LineMatch> {
        let pattern = pattern(text);
        let search = LineSearch {
            pattern: &pattern,
            form,
            is_chat: false,
        };
        let mut out = Vec::new();
        search.each_match(data, 1, |found| {
            out.push(found);
            true
        });
        // The same in pieces of every size that cuts lines anywhere.
        for size in [1, 3, 7] {
            let mut stream = LineStream::new(search);
            let mut pieces = Vec::new();
            for piece in data.chunks(size).chain([&b""[..]]) {
                stream.push(piece, |found| {
                    pieces.push(found);
                    true
                });
            }
            assert_eq!(pieces, out, "in pieces of {size}");
        }
        out
    }

    fn all(pattern: &str, data: &[u8]) -> Vec<LineMatch> {
        found(pattern, LineForm::Text, data)
    }

    #[test]
    fn messages_match_by_the_lines_of_their_text() {
        let data = br#"{"id":"m1","role":"user","content":"first line\nsecond \"zebra\"\n\tthird role\n"}
{"id":"m2","role":"tool","content":[{"type":"text","text":"C:\\new\\dir"},{"input":{"path":"src/a.rs"}}]}
"#;
        let texts = |pattern: &str| -> Vec<(u64, String, bool)> {
            let found = found(pattern, LineForm::Document, data);
            let row = |found: LineMatch| (found.line, found.text, found.is_structure);
            found.into_iter().map(row).collect()
        };
        let of = |line: u64, text: &str| vec![(line, text.to_owned(), false)];
        for (pattern, line, text) in [
            ("^first", 1, "first line"),
            ("^second", 1, "second \"zebra\""),
            ("line$", 1, "first line"),
            ("zebra\"$", 1, "second \"zebra\""),
            ("\\<second", 1, "second \"zebra\""),
            ("\\bthird", 1, "\tthird role"),
            ("[[:blank:]]third", 1, "\tthird role"),
            (".third", 1, "\tthird role"),
            ("role$", 1, "\tthird role"),
            ("C:\\\\new", 2, "C:\\new\\dir"),
            ("^src/a.rs$", 2, "src/a.rs"),
        ] {
            assert_eq!(texts(pattern), of(line, text), "{pattern}");
        }
        // Of the second message no text has it.
        let role: Vec<_> = texts("role").into_iter().map(|(line, _, form)| (line, form)).collect();
        assert_eq!(role, [(1, false), (2, true)]);
        for nothing in ["^line", "^ew", "line.second", "zebra$", "^zebra"] {
            assert_eq!(texts(nothing), [], "{nothing}");
        }
    }

    #[test]
    fn records_match_by_the_values_of_their_members() {
        let data = b"{\n  \"summary\": \"say \\\"hi\\\"\\nand go\",\n  \"notes\": [\n    \"port summary\"\n  ],\n  \"n\": 12\n}\n";
        let rows = |pattern: &str| -> Vec<(u64, Option<String>, String, bool)> {
            let found = found(pattern, LineForm::Member, data);
            let row = |found: LineMatch| (found.line, found.member, found.text, found.is_structure);
            found.into_iter().map(row).collect()
        };
        let summary = || Some("summary".to_owned());
        assert_eq!(rows("^say \"hi\"$"), [(2, summary(), "say \"hi\"".to_owned(), false)]);
        assert_eq!(rows("^and"), [(2, summary(), "and go".to_owned(), false)]);
        assert_eq!(rows("^port"), [(4, None, "port summary".to_owned(), false)]);
        assert_eq!(rows("12"), [(6, Some("n".to_owned()), "12".to_owned(), false)]);
        let ids = b"{\n  \"id\": \"k3ab\",\n  \"previous\": \"sha256:ab12\",\n  \"path\": \"/home/ab12\",\n  \"text\": \"ab12\"\n}\n";
        let named: Vec<_> = found("ab12", LineForm::Member, ids)
            .into_iter()
            .map(|row| (row.line, row.is_structure))
            .collect();
        assert_eq!(named, [(3, true), (4, true), (5, false)]);
        let noted =
            b"{\n  \"kind\": \"save\",\n  \"created_at\": \"save\",\n  \"extra\": {\n    \"kind\": \"save\"\n  }\n}\n";
        let noted: Vec<_> = found("save", LineForm::Member, noted)
            .into_iter()
            .map(|row| (row.line, row.is_structure))
            .collect();
        assert_eq!(noted, [(2, true), (3, true), (5, false)]);
        let both: Vec<_> = rows("summary").into_iter().map(|row| (row.0, row.3)).collect();
        assert_eq!(both, [(2, true), (4, false)]);
        assert!(rows("notes")[0].3);
    }

    #[test]
    fn each_line_counts_once_with_all_its_matches() {
        let found = all("o", b"one\ntwo too\nthree\n\nfour");
        let lines: Vec<_> = found.iter().map(|found| (found.line, found.text.as_str())).collect();
        assert_eq!(lines, [(1, "one"), (2, "two too"), (5, "four")]);
        assert_eq!(found[1].marks, [(2, 3), (5, 6), (6, 7)]);
        assert!(all("x", b"").is_empty());
    }

    #[test]
    fn empty_lines_and_ends_match_as_in_git() {
        let lines = |pattern, data: &[u8]| all(pattern, data).iter().map(|found| found.line).collect::<Vec<_>>();
        assert_eq!(lines("^$", b"a\n\nb\n"), [2]);
        assert_eq!(lines("b$", b"ab\nb c\nb"), [1, 3]);
        assert_eq!(lines("", b"a\nb\n"), [1, 2]);
    }

    #[test]
    fn long_lines_are_cut_around_the_first_match_and_never_within_a_letter() {
        let line = format!("{}needle{}", "ü".repeat(500), "é".repeat(500));
        let found = &all("needle", line.as_bytes())[0];
        assert!(found.is_cut && found.text.len() <= KEPT + 3, "{}", found.text.len());
        let (start, end) = found.marks[0];
        assert_eq!(&found.text[start..end], "needle");
        assert!(!found.text.contains('\u{fffd}'), "{}", found.text);
    }
}

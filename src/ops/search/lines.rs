//! The lines of a text that match, cut to what is worth showing.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use regex::bytes::Regex;
use serde::Deserialize;

use crate::model::time::Timestamp;

/// Bytes of a line that are kept.
const KEPT: usize = 400;

/// Bytes before the first match that are kept of a longer line.
const BEFORE: usize = 80;

/// Matches of a line that are marked.
const MARKED: usize = 50;

/// A line with a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineMatch {
    /// The number of the line, from 1.
    pub line: u64,
    /// The line, or a part of it around the first match.
    pub text: String,
    /// Where in the text the matches are, in bytes.
    pub marks: Vec<(usize, usize)>,
    /// Whether the text is only a part of the line.
    pub is_cut: bool,
    /// A fingerprint of the whole line.
    pub fingerprint: u64,
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

/// Calls a function with every line that matches, until it wants no more. `first` is the number of the first line.
pub(super) fn each_match(
    matcher: &Regex,
    data: &[u8],
    first: u64,
    is_chat: bool,
    mut each: impl FnMut(LineMatch) -> bool,
) -> bool {
    let (mut at, mut counted, mut line) = (0, 0, first);
    while at < data.len() {
        let Some(found) = matcher.find_at(data, at) else {
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
        if !each(line_match(matcher, &data[start..end], line, is_chat)) {
            return false;
        }
        at = end + 1;
    }
    true
}

/// How many line ends there are.
pub(super) fn newlines(bytes: &[u8]) -> u64 {
    bytes.iter().map(|byte| u64::from(*byte == b'\n')).sum()
}

fn line_match(matcher: &Regex, line: &[u8], number: u64, is_chat: bool) -> LineMatch {
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
    let head = || serde_json::from_slice(line).ok();
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
        message: is_chat.then(head).flatten(),
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
    matcher: &'p Regex,
    is_chat: bool,
    line: u64,
    rest: Vec<u8>,
    /// Whether a line was so long that it was searched in pieces.
    pub(super) has_split_line: bool,
}

impl<'p> LineStream<'p> {
    /// The longest line that is searched whole.
    const LINE: usize = 8 << 20;

    pub(super) fn new(matcher: &'p Regex, is_chat: bool) -> Self {
        Self {
            matcher,
            is_chat,
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
        let is_wanted = each_match(self.matcher, &self.rest[..end], self.line, self.is_chat, &mut each);
        self.line += newlines(&self.rest[..end]);
        self.rest.drain(..end);
        is_wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pattern: &str, data: &[u8]) -> Vec<LineMatch> {
        let matcher = regex::bytes::RegexBuilder::new(pattern)
            .multi_line(true)
            .build()
            .expect("a pattern");
        let mut out = Vec::new();
        each_match(&matcher, data, 1, false, |found| {
            out.push(found);
            true
        });
        // The same in pieces of every size that cuts lines anywhere.
        for size in [1, 3, 7] {
            let mut stream = LineStream::new(&matcher, false);
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

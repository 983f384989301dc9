//! A text of any length kept as its head and its tail, and how much was left out between them.
//!
//! What a command prints is looked at where it began and where it ended; a log of gigabytes must not make a checkpoint
//! large. Cuts are made between lines where a line ends nearby, and never inside a character.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most bytes kept of the beginning.
pub const HEAD: usize = 16 << 10;
/// The most bytes kept of the end: errors are there.
pub const TAIL: usize = 48 << 10;
/// How far from the limit the end of a line may be for the cut to be made there.
const NEAR: usize = 1 << 10;

/// The kept part of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Excerpt {
    /// The whole text, or its beginning.
    #[serde(default)]
    pub head: String,
    /// Its end, when something was left out before it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tail: String,
    /// How many bytes were left out between the two.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form serde asks for")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Excerpt {
    /// Excerpt of a text: its beginning and end.
    pub fn of(text: &str) -> Self {
        let mut cutter = Cutter::default();
        cutter.push(text.as_bytes());
        cutter.finish()
    }

    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.head.is_empty() && self.tail.is_empty() && self.omitted == 0
    }

    /// The text with a line in brackets in place of what was left out.
    pub fn text(&self) -> String {
        if self.omitted == 0 {
            return format!("{}{}", self.head, self.tail);
        }
        let gap = if self.head.is_empty() || self.head.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        format!(
            "{}{gap}[... {} bytes left out ...]\n{}",
            self.head, self.omitted, self.tail
        )
    }

    /// The last lines, at most so many.
    pub fn last_lines(&self, lines: usize) -> Vec<&str> {
        let text = if self.tail.is_empty() { &self.head } else { &self.tail };
        let mut last: Vec<&str> = text.lines().rev().take(lines).collect();
        last.reverse();
        last
    }
}

/// Takes a text in pieces and keeps what an excerpt needs: memory stays below 128 KiB.
#[derive(Debug, Default)]
pub struct Cutter {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Cutter {
    /// Takes the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        self.total += piece.len() as u64;
        let room = HEAD.saturating_sub(self.head.len()).min(piece.len());
        let (first, rest) = piece.split_at(room);
        self.head.extend_from_slice(first);
        // Of a piece longer than the tail only its end can stay.
        self.tail.extend(&rest[rest.len().saturating_sub(TAIL)..]);
        let over = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..over);
    }

    /// The excerpt of everything that was pushed. Bytes that are not UTF-8 become U+FFFD.
    pub fn finish(self) -> Excerpt {
        let mut head = self.head;
        let mut tail: Vec<u8> = self.tail.into();
        if (head.len() + tail.len()) as u64 == self.total {
            head.append(&mut tail);
            return Excerpt {
                head: String::from_utf8_lossy(&head).into_owned(),
                ..Excerpt::default()
            };
        }
        head.truncate(end_of_head(&head));
        tail.drain(..start_of_tail(&tail));
        Excerpt {
            omitted: self.total - (head.len() + tail.len()) as u64,
            head: String::from_utf8_lossy(&head).into_owned(),
            tail: String::from_utf8_lossy(&tail).into_owned(),
        }
    }
}

fn end_of_head(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(NEAR);
    match bytes[from..].iter().rposition(|b| *b == b'\n') {
        Some(at) => from + at + 1,
        None => boundary_before(bytes),
    }
}

fn start_of_tail(bytes: &[u8]) -> usize {
    match bytes.iter().take(NEAR).position(|b| *b == b'\n') {
        Some(at) => at + 1,
        None => bytes.iter().take(4).take_while(|b| **b & 0xc0 == 0x80).count(),
    }
}

/// Where the last character that is whole ends.
fn boundary_before(bytes: &[u8]) -> usize {
    let Some(lead) = bytes.iter().rposition(|b| *b & 0xc0 != 0x80) else {
        return bytes.len();
    };
    if std::str::from_utf8(&bytes[lead..]).is_ok_and(|text| !text.is_empty()) {
        bytes.len()
    } else {
        lead
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_texts_stay_whole() {
        for text in ["", "a", "a\nb\n", "\u{fc}\u{1f600}"] {
            let excerpt = Excerpt::of(text);
            assert_eq!((excerpt.text().as_str(), excerpt.omitted), (text, 0));
        }
        let edge = "x".repeat(HEAD + TAIL);
        assert_eq!(Excerpt::of(&edge).text(), edge);
    }

    #[test]
    fn long_texts_keep_both_ends_in_whole_lines() {
        let text = (0..20_000).fold(String::new(), |text, n| text + &format!("line {n}\n"));
        let excerpt = Excerpt::of(&text);
        assert!(excerpt.head.starts_with("line 0\n") && excerpt.head.ends_with('\n'));
        assert!(excerpt.tail.starts_with("line ") && excerpt.tail.ends_with("line 19999\n"));
        assert_eq!(
            excerpt.head.len() + excerpt.tail.len() + usize::try_from(excerpt.omitted).expect("fits"),
            text.len()
        );
        assert!(excerpt.text().contains("bytes left out"));
        assert_eq!(excerpt.last_lines(2), ["line 19998", "line 19999"]);
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(text in "[a-z\u{fc}\u{1f600}\n]{0,300}", repeat in 1usize..300, cut in 1usize..9000) {
            let text = text.repeat(repeat);
            let mut cutter = Cutter::default();
            for piece in text.as_bytes().chunks(cut) {
                cutter.push(piece);
            }
            let excerpt = cutter.finish();
            prop_assert_eq!(&excerpt, &Excerpt::of(&text));
            prop_assert!(text.starts_with(&excerpt.head) && text.ends_with(&excerpt.tail));
            prop_assert!(excerpt.head.len() <= HEAD + TAIL && excerpt.tail.len() <= TAIL);
        }
    }
}

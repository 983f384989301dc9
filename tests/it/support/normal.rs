//! Makes output comparable from run to run: ids, times and directories become words with numbers. The same id gets the
//! same word wherever it is, also when one is an abbreviation of the other, so that a snapshot still shows who is who.

use std::path::Path;

use regex::{Captures, Regex};

/// Replaces `folders` by their words, then times, digests, object ids, session ids and random endings of names.
pub fn normal(text: &str, directories: &[(&Path, &str)]) -> String {
    let mut text = text.to_owned();
    for (directory, word) in directories {
        text = text.replace(directory.to_str().unwrap(), word);
        if let Ok(real) = directory.canonicalize() {
            text = text.replace(real.to_str().unwrap(), word);
        }
    }
    let pattern = |p: &str| Regex::new(p).unwrap();
    for time in [
        r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| ?[+-]\d\d:?\d\d)?",
        r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun),? [A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d \d{4}( [+-]\d{4})?",
        r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{1,2} [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d( [+-]\d{4})?",
        r"\b1[678]\d{8}( [+-]\d{4})?\b",
    ] {
        text = pattern(time).replace_all(&text, "<time>").into_owned();
    }
    let mut sessions = Words::new("session-id");
    text = pattern(r"\b[a-z2-7]{26}\b")
        .replace_all(&text, |c: &Captures<'_>| {
            if c[0].contains(|d: char| d.is_ascii_digit()) {
                sessions.word(&c[0])
            } else {
                c[0].to_owned()
            }
        })
        .into_owned();
    let mut endings = Words::new("random");
    text = pattern(r"-([a-z2-7]{8})\b")
        .replace_all(&text, |c: &Captures<'_>| {
            if c[1].contains(|d: char| d.is_ascii_digit()) {
                format!("-{}", endings.word(&c[1]))
            } else {
                c[0].to_owned()
            }
        })
        .into_owned();
    let mut ids = Words::new("id");
    // Seven digits and more: shorter ones are words and numbers too often. Digits alone may be a count, unless they
    // abbreviate an id that was met.
    pattern(r"\b[0-9a-f]{7,64}\b")
        .replace_all(&text, |c: &Captures<'_>| {
            let has = |f: fn(&char) -> bool| c[0].chars().any(|d| f(&d));
            if c[0].len() >= 40 || ids.knows(&c[0]) || (has(char::is_ascii_digit) && has(char::is_ascii_lowercase)) {
                ids.word(&c[0])
            } else {
                c[0].to_owned()
            }
        })
        .into_owned()
}

/// Words for ids in the order in which they are met.
struct Words {
    kind: &'static str,
    seen: Vec<String>,
}

impl Words {
    fn new(kind: &'static str) -> Self {
        Self { kind, seen: Vec::new() }
    }

    fn knows(&self, id: &str) -> bool {
        self.seen.iter().any(|s| s.starts_with(id))
    }

    fn word(&mut self, id: &str) -> String {
        let place = self
            .seen
            .iter()
            .position(|s| s.starts_with(id) || id.starts_with(s.as_str()));
        let place = place.unwrap_or_else(|| {
            self.seen.push(id.to_owned());
            self.seen.len() - 1
        });
        if id.len() > self.seen[place].len() {
            id.clone_into(&mut self.seen[place]);
        }
        format!("<{}-{}>", self.kind, place + 1)
    }
}

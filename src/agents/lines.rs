//! JSON lines as agents write them and as crashes leave them: each record with its line.
//!
//! What can be read is taken, and everything else is said with its line: a torn last line, runs of NUL, lone
//! surrogates, several records on a line, a record split over two lines, lines too long to hold.

use serde_json::Value;

use crate::model::json;

/// The longest line that is parsed: 64 MiB. The record of a longer one is skipped, so that memory stays bounded.
pub const LINE_LIMIT: usize = 64 << 20;

/// Findings about a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Lines that were read only after a repair, and which: line, counted from 1, and what it was.
    pub repaired: Vec<(usize, &'static str)>,
    /// Lines that could not be read, with the reason.
    pub skipped: Vec<(usize, String)>,
}

/// A line that is no JSON by itself, and may be the first part of a record with a raw line break in it.
#[derive(Clone, Debug)]
struct Half {
    line: usize,
    text: String,
    /// Its bytes in the file.
    bytes: u64,
    why: String,
}

/// Splits bytes that come in pieces into records.
#[derive(Debug, Default)]
pub struct Splitter {
    /// Lines that ended so far.
    lines: usize,
    /// Bytes that were handed in.
    bytes: u64,
    /// The beginning of the line that has not ended yet.
    open: Vec<u8>,
    /// The bytes of an open line that is too long to hold.
    skipping: u64,
    half: Option<Half>,
    /// Findings.
    pub report: Report,
}

impl Splitter {
    /// A splitter that goes on behind so many lines.
    pub fn after(lines: usize) -> Self {
        Self {
            lines,
            ..Self::default()
        }
    }

    /// Takes the next bytes; calls `each` with the line and the value of every record.
    pub fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(usize, Value)) {
        self.bytes += bytes.len() as u64;
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let ends = piece.ends_with(b"\n");
            if self.skipping > 0 {
                self.skipping += piece.len() as u64;
            } else if self.open.len() + piece.len() > LINE_LIMIT {
                self.skipping = (self.open.len() + piece.len()) as u64;
                self.open = Vec::new();
            } else if ends && self.open.is_empty() {
                self.line(piece, each);
                continue;
            } else {
                self.open.extend_from_slice(piece);
            }
            if !ends {
                continue;
            }
            if self.skipping > 0 {
                self.lines += 1;
                let why = format!("it is longer than {} MiB", LINE_LIMIT >> 20);
                self.report.skipped.push((self.lines, why));
                self.skipping = 0;
            } else {
                let line = std::mem::take(&mut self.open);
                self.line(&line, each);
            }
        }
    }

    /// Takes a whole line that was parsed ahead: `value` is the one record that it consists of, or `None` where it has to be
    /// looked at more closely. Nothing may be open.
    pub fn feed_line(&mut self, line: &[u8], value: Option<Value>, each: &mut dyn FnMut(usize, Value)) {
        match value {
            Some(value) if self.half.is_none() && self.is_settled() => {
                self.bytes += line.len() as u64;
                self.lines += 1;
                each(self.lines, value);
            }
            _ => self.feed(line, each),
        }
    }

    /// Whether the bytes so far end with a whole line.
    pub fn is_settled(&self) -> bool {
        self.open.is_empty() && self.skipping == 0
    }

    /// Takes a last line that has no end but is a record, and gives the number of bytes up to which all was taken. What
    /// is behind them, a torn last line, waits for the rest of it.
    pub fn end(&mut self, each: &mut dyn FnMut(usize, Value)) -> u64 {
        let open = std::mem::take(&mut self.open);
        let half = self.half.as_ref().map_or(0, |half| half.bytes);
        let waits = self.skipping + open.len() as u64 + half;
        if open.is_empty() || self.skipping > 0 {
            return self.bytes - waits;
        }
        let mut trial = Self::after(self.lines);
        trial.half.clone_from(&self.half);
        let mut found = Vec::new();
        trial.line(&open, &mut |line, value| found.push((line, value)));
        // The line itself must be all records; what broke off before it is settled by it.
        let broken = trial.report.skipped.iter().any(|(line, _)| *line > self.lines);
        if found.is_empty() || broken || trial.half.is_some() {
            return self.bytes - waits;
        }
        self.half = None;
        self.report.repaired.append(&mut trial.report.repaired);
        self.report.skipped.append(&mut trial.report.skipped);
        for (line, value) in found {
            each(line, value);
        }
        self.bytes
    }

    /// Lines that ended so far.
    pub fn lines(&self) -> usize {
        self.lines
    }

    fn line(&mut self, line: &[u8], each: &mut dyn FnMut(usize, Value)) {
        self.lines += 1;
        let number = self.lines;
        let mut text = line.trim_ascii();
        if number == 1 {
            text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        }
        let without = strip_nul(text);
        if without.len() != text.len() {
            self.report.repaired.push((number, "NUL bytes, left out"));
        }
        if without.is_empty() {
            return;
        }
        let clean = String::from_utf8_lossy(&without);
        if matches!(clean, std::borrow::Cow::Owned(_)) {
            self.report
                .repaired
                .push((number, "bytes that are not UTF-8, replaced"));
        }
        if let Some(half) = self.half.take() {
            let joined = format!("{}\\n{clean}", half.text);
            if let Ok(value @ Value::Object(_)) = serde_json::from_str::<Value>(&joined)
                && !json::is_deeper(&value, json::DEPTH_LIMIT)
            {
                let what = "a record with a line break in it, joined";
                self.report.repaired.push((half.line, what));
                each(half.line, value);
                return;
            }
            self.report.skipped.push((half.line, half.why));
        }
        let mut records = Vec::new();
        if let Err(why) = line_records(&clean, number, &mut records, &mut self.report) {
            if records.is_empty() && clean.starts_with('{') {
                self.half = Some(Half {
                    line: number,
                    text: clean.into_owned(),
                    bytes: line.len() as u64,
                    why,
                });
            } else {
                self.report.skipped.push((number, why));
            }
        }
        for value in records {
            each(number, value);
        }
    }
}

/// The record that a line consists of; `None` for any other line, also for one that can be repaired.
pub fn record(line: &[u8]) -> Option<Value> {
    let value: Value = serde_json::from_slice(line).ok()?;
    (value.is_object() && !json::is_deeper(&value, json::DEPTH_LIMIT)).then_some(value)
}

/// The JSON objects of a file with their lines, whatever else is in it. A torn last line is skipped.
pub fn records(bytes: &[u8]) -> (Vec<(usize, Value)>, Report) {
    let mut out = Vec::new();
    let mut splitter = Splitter::default();
    let mut each = |line, value| out.push((line, value));
    splitter.feed(bytes, &mut each);
    let taken = splitter.end(&mut each);
    let mut report = splitter.report;
    if let Some(half) = splitter.half {
        report.skipped.push((half.line, half.why));
    } else if taken < bytes.len() as u64 {
        report
            .skipped
            .push((splitter.lines + 1, "the last line is incomplete".to_owned()));
    }
    (out, report)
}

/// The first JSON objects of a file, at most so many. What is behind them is not parsed.
pub fn first_records(bytes: &[u8], limit: usize) -> Vec<Value> {
    let mut found = Vec::new();
    let mut splitter = Splitter::default();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        splitter.feed(line, &mut |_, value| found.push(value));
        if found.len() >= limit {
            found.truncate(limit);
            return found;
        }
    }
    splitter.end(&mut |_, value| found.push(value));
    found.truncate(limit);
    found
}

/// The bytes without NULs: JSON has none, but a power cut leaves them.
fn strip_nul(bytes: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    if !bytes.contains(&0) {
        return bytes.into();
    }
    let kept: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
    kept.trim_ascii().to_vec().into()
}

fn line_records(text: &str, number: usize, out: &mut Vec<Value>, report: &mut Report) -> Result<(), String> {
    let mut rest = text;
    while !rest.is_empty() {
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match stream.next() {
            None => break,
            Some(Ok(value)) => {
                let at = stream.byte_offset();
                if json::is_deeper(&value, json::DEPTH_LIMIT) {
                    let why = format!("it is nested deeper than {} levels", json::DEPTH_LIMIT);
                    report.skipped.push((number, why));
                } else {
                    out.push(value);
                    if out.len() == 2 {
                        let what = "several records on one line, each taken";
                        report.repaired.push((number, what));
                    }
                }
                rest = rest[at..].trim_start_matches([' ', '\t', ',', '\r']);
            }
            Some(Err(error)) => {
                if let Some(fixed) = without_lone_surrogates(rest) {
                    report.repaired.push((number, "lone surrogates, replaced"));
                    return line_records(&fixed, number, out, report);
                }
                // A record that broke off, and the next one on the same line.
                if let Some(at) = next_record(rest) {
                    report.skipped.push((number, format!("not JSON: {error}")));
                    rest = &rest[at..];
                    continue;
                }
                return Err(format!("not JSON: {error}"));
            }
        }
    }
    Ok(())
}

/// Where a whole record begins behind one that broke off: the first `{"` from which on the text is JSON to its end.
fn next_record(text: &str) -> Option<usize> {
    const TRIES: usize = 64;
    text.match_indices("{\"")
        .map(|(at, _)| at)
        .filter(|at| *at > 0)
        // Only outside of a nested object could a record begin, and those are few; the latest beginnings come first.
        .filter(|at| !matches!(text.as_bytes()[at - 1], b':' | b'[' | b','))
        .take(TRIES)
        .find(|at| {
            let rest = &text[*at..];
            let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            matches!(stream.next(), Some(Ok(Value::Object(_)))) && rest[stream.byte_offset()..].trim().is_empty()
        })
}

/// The text with every `\uD800` to `\uDFFF` that has no partner as `\uFFFD`; `None` if there is none.
fn without_lone_surrogates(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let unit = |at: usize| -> Option<u32> {
        if bytes.get(at..at + 2)? != b"\\u" {
            return None;
        }
        u32::from_str_radix(text.get(at + 2..at + 6)?, 16).ok()
    };
    let mut out = String::new();
    let (mut at, mut copied, mut found) = (0, 0, false);
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match unit(at) {
            Some(0xD800..=0xDBFF) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => at += 12,
            Some(0xD800..=0xDFFF) => {
                out.push_str(&text[copied..at]);
                out.push_str("\\ufffd");
                at += 6;
                copied = at;
                found = true;
            }
            // Any other escape, a backslash included, has at least one more character.
            _ => at += 2,
        }
    }
    out.push_str(&text[copied.min(text.len())..]);
    found.then_some(out)
}

/// The one document that a file consists of, repaired where that is possible; `None` where it is not whole.
pub(super) fn document(bytes: &[u8]) -> (Option<Value>, Report) {
    let mut report = Report::default();
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let without = strip_nul(bytes);
    let text = String::from_utf8_lossy(&without);
    let parsed = serde_json::from_str(&text).or_else(|error| match without_lone_surrogates(&text) {
        Some(fixed) => {
            report.repaired.push((1, "lone surrogates, replaced"));
            serde_json::from_str(&fixed)
        }
        None => Err(error),
    });
    match parsed {
        Ok(value) if json::is_deeper(&value, json::DEPTH_LIMIT) => {
            let why = format!("it is nested deeper than {} levels", json::DEPTH_LIMIT);
            report.skipped.push((1, why));
            (None, report)
        }
        Ok(value) => (Some(value), report),
        Err(error) => {
            report.skipped.push((error.line().max(1), format!("not JSON: {error}")));
            (None, report)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn values(bytes: &[u8]) -> (Vec<Value>, Report) {
        let (records, report) = records(bytes);
        (records.into_iter().map(|(_, value)| value).collect(), report)
    }

    #[test]
    fn what_crashes_leave_is_survived_and_told() {
        let mut file =
            b"{\"a\":1}\n\0\0\0\0{\"a\":2}\n{\"a\":3}{\"a\":4}\n{\"a\":\"\\ud800 x \\ud83d\\ude00\"}\n\n{bad}\n"
                .to_vec();
        file.extend(b"{\"a\":\"\xff\"}\n\0\0\0\n{\"a\":7");
        let (values, report) = values(&file);
        assert_eq!(
            values,
            [
                json!({"a":1}),
                json!({"a":2}),
                json!({"a":3}),
                json!({"a":4}),
                json!({"a":"\u{fffd} x \u{1f600}"}),
                json!({"a":"\u{fffd}"})
            ]
        );
        let lines: Vec<_> = report.repaired.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [2, 3, 4, 7, 8]);
        assert_eq!(report.skipped.len(), 2);
        assert_eq!(
            (report.skipped[1].0, report.skipped[1].1.as_str()),
            (9, "the last line is incomplete")
        );
    }

    #[test]
    fn a_record_with_a_line_break_in_it_is_joined_and_one_that_broke_off_is_not() {
        let (found, report) = values(b"{\"a\":\"x\ny\"}\n{\"a\":2}\n{\"a\":\"torn\n{\"a\":3}\n{\"b\":\"st{\"a\":4}\n");
        assert_eq!(
            found,
            [json!({"a":"x\ny"}), json!({"a":2}), json!({"a":3}), json!({"a":4})]
        );
        assert_eq!(report.repaired.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1]);
        assert_eq!(report.skipped.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [4, 6]);
    }

    proptest! {
        #[test]
        fn reading_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = records(&bytes);
        }

        #[test]
        fn a_file_cut_anywhere_gives_the_records_before(cut in 0_usize..200) {
            let file: Vec<u8> = (0..10).flat_map(|n| format!("{{\"role\":\"user\",\"content\":\"{n}\"}}\n").into_bytes()).collect();
            let cut = cut.min(file.len());
            let whole = file[..cut].split(|byte| *byte == b'\n').count() - 1;
            let (found, report) = records(&file[..cut]);
            prop_assert!(found.len() == whole || found.len() == whole + 1 && file[cut] == b'\n');
            prop_assert!(report.skipped.len() <= 1);
        }

        #[test]
        fn pieces_give_what_the_whole_gives(text in "([{}\\[\\],:\"\\\\]|\\\\u[dD][89abcd][0-9a-f]{0,2}|\\{\"a\":\"x\"\\}|\n|\0|é|1){0,60}", cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..4)) {
            let bytes = text.as_bytes();
            let (whole, _) = values(bytes);
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.push(bytes.len());
            cuts.sort_unstable();
            let mut splitter = Splitter::default();
            let (mut found, mut from) = (Vec::new(), 0);
            for cut in cuts {
                splitter.feed(&bytes[from..cut], &mut |_, value| found.push(value));
                from = cut;
            }
            splitter.end(&mut |_, value| found.push(value));
            prop_assert_eq!(found, whole);
        }

        #[test]
        fn lines_that_were_parsed_ahead_give_what_the_whole_gives(text in "([{}\\[\\],:\"\\\\]|\\\\u[dD][89abcd][0-9a-f]{0,2}|\\{\"a\":\"x\"\\}|\n|\r|\0|é|1){0,60}") {
            let bytes = text.as_bytes();
            let (whole, whole_report) = records(bytes);
            let mut splitter = Splitter::default();
            let mut found = Vec::new();
            let mut each = |line, value| found.push((line, value));
            for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                if line.ends_with(b"\n") {
                    splitter.feed_line(line, record(line), &mut each);
                } else {
                    splitter.feed(line, &mut each);
                }
            }
            splitter.end(&mut each);
            prop_assert_eq!(&found, &whole);
            prop_assert_eq!(splitter.report.repaired, whole_report.repaired);
            for limit in [0, 1, 3, 100] {
                let first: Vec<Value> = found.iter().take(limit).map(|(_, value)| value.clone()).collect();
                prop_assert_eq!(first_records(bytes, limit), first);
            }
        }
    }
}

//! Lines of a session file, parsed once and freed of their secrets on all processors, ahead of the reader and the copy, which
//! take them in their order.

use memchr::memchr;
use serde_json::Value;

use crate::{
    agents::{Reader, lines},
    model::splice,
    ops::redact::Redactor,
    os::parallel_stream,
};

/// The bytes that are prepared at a time: their values are in memory together.
const BATCH: usize = 4 << 20;
/// The lines that a thread takes at a time.
const RUN: usize = 16;

/// A line of a session file without its secrets.
#[derive(Debug)]
pub(super) struct CleanLine {
    /// Its text where it is another one; `None` where it is as it was.
    pub(super) text: Option<String>,
    /// How many secrets were replaced.
    pub(super) redactions: u64,
}

/// A line that was prepared.
struct PreparedLine {
    /// The record that it consists of, as the agent wrote it.
    record: Option<Value>,
    /// The line for the copy, where one is made.
    clean: Option<CleanLine>,
}

impl CleanLine {
    /// Replaces the secrets of a line, or of a whole document.
    pub(super) fn of(bytes: &[u8], redactor: &mut Redactor) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let mut value = serde_json::from_str(&text).ok();
        Self::of_value(text.as_bytes(), &mut value, redactor)
    }

    /// The same for one that was parsed. `value` is the same afterwards.
    fn of_value(bytes: &[u8], value: &mut Option<Value>, redactor: &mut Redactor) -> Self {
        let before = redactor.found.len();
        let text = match value {
            // Of a member that occurs twice the value has the last one only.
            Some(found) if splice::has_all_strings(bytes, found) => {
                redactor.json(found, "transcript");
                if redactor.found.len() == before {
                    None
                } else {
                    let after = value.take();
                    *value = serde_json::from_slice(bytes).ok();
                    replaced(bytes, value.as_ref(), after.as_ref())
                }
            }
            // A torn or damaged line, or text.
            _ => {
                let lossy = String::from_utf8_lossy(bytes);
                let mut text = lossy.clone().into_owned();
                redactor.text(&mut text, "transcript");
                (text != lossy).then_some(text)
            }
        };
        let found = &redactor.found[before..];
        Self {
            text,
            redactions: found.iter().filter(|found| found.replaced).count() as u64,
        }
    }
}

/// The line with the strings that the value has now; `None` where they are the same.
fn replaced(bytes: &[u8], before: Option<&Value>, after: Option<&Value>) -> Option<String> {
    let (before, after) = (before?, after?);
    if before == after {
        return None;
    }
    let text = String::from_utf8_lossy(bytes);
    let spliced = splice::splice(&text, before, after);
    Some(spliced.unwrap_or_else(|| after.to_string() + if text.ends_with('\n') { "\n" } else { "" }))
}

/// The lines that a reader may give back after it took them; see [`lines::Splitter`].
const GIVEN_BACK: usize = 2;

/// A function that takes each line.
type EachLine<'a> = dyn FnMut(&[u8], Option<CleanLine>, bool) + 'a;

/// Feeds whole lines, and perhaps one without its end, to a reader; calls `each` with every line, the line without its
/// secrets where a redactor is given and that was done ahead, and whether so many lines follow that the reader does not give
/// it back.
pub(super) fn feed(bytes: &[u8], reader: &mut Reader, redactor: Option<&Redactor>, each: &mut EachLine<'_>) {
    let mut rest = bytes;
    if !reader.is_settled() {
        let end = line_end(rest);
        reader.feed(&rest[..end]);
        each(&rest[..end], None, false);
        rest = &rest[end..];
    }
    while !rest.is_empty() {
        let (batch, behind) = rest.split_at(batch_end(rest));
        rest = behind;
        let lines = lines_of(batch);
        let begin = || redactor.map(Redactor::fork);
        let prepare = |fork: &mut Option<Redactor>, run: &[&[u8]]| -> Vec<PreparedLine> {
            run.iter().map(|line| prepared(line, fork.as_mut())).collect()
        };
        // Lines of the batch with their ends that were not taken yet.
        let mut whole = lines.len() - usize::from(!batch.ends_with(b"\n"));
        let taken = parallel_stream(&lines, RUN, begin, prepare, |run, made| {
            for (line, prepared) in run.iter().zip(made) {
                if line.ends_with(b"\n") {
                    whole -= 1;
                    reader.feed_line(line, prepared.record);
                } else {
                    reader.feed(line);
                }
                each(line, prepared.clean, whole >= GIVEN_BACK);
            }
            Ok::<(), std::convert::Infallible>(())
        });
        let Ok(()) = taken;
    }
}

fn lines_of(bytes: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (line, behind) = rest.split_at(line_end(rest));
        lines.push(line);
        rest = behind;
    }
    lines
}

fn prepared(line: &[u8], redactor: Option<&mut Redactor>) -> PreparedLine {
    if line.len() > lines::LINE_LIMIT || !line.ends_with(b"\n") {
        return PreparedLine {
            record: None,
            clean: None,
        };
    }
    let mut record = lines::record(line);
    let clean = redactor.map(|redactor| {
        // Other lines are parsed as the copy understands them.
        if record.is_none() {
            return CleanLine::of(line, redactor);
        }
        CleanLine::of_value(line, &mut record, redactor)
    });
    PreparedLine { record, clean }
}

/// The end of the first lines that fill a batch.
fn batch_end(bytes: &[u8]) -> usize {
    if bytes.len() <= BATCH {
        return bytes.len();
    }
    BATCH + line_end(&bytes[BATCH..])
}

/// The end of the first line.
fn line_end(bytes: &[u8]) -> usize {
    memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1)
}

#[cfg(test)]
mod tests {
    use crate::secrets::{RedactionSettings, Scanner};

    use super::*;

    const KEY: &str = concat!("AKIA", "Z7Q4XN2MB5", "KTRW3D");

    fn clean(line: &str) -> (String, u64) {
        let scanner = Scanner::new(&RedactionSettings::default()).expect("the default");
        let clean = CleanLine::of(line.as_bytes(), &mut Redactor::of_scanner(scanner));
        (clean.text.unwrap_or_else(|| line.to_owned()), clean.redactions)
    }

    #[test]
    fn only_the_string_with_a_secret_changes() {
        let line = format!("{{ \"n\":1.50, \"a\" : \"x {KEY} y\", \"b\":\"\\u00e9\" }}\n");
        let expected = line.replace(KEY, "[REDACTED:aws-access-key-id]");
        assert_eq!(clean(&line), (expected, 1));
        assert_eq!(clean("{\"a\": 1}\n"), ("{\"a\": 1}\n".to_owned(), 0));
    }

    #[test]
    fn a_secret_in_a_member_that_occurs_twice_is_found() {
        for line in [
            format!("{{\"a\":\"{KEY}\",\"a\":\"x\"}}\n"),
            format!("{{\"a\":{{\"b\":[\"{KEY}\"]}},\"a\":{{}},\"c\":1}}\n"),
            format!("{{\"x\":{{\"{KEY}\":1,\"{KEY}\":2}}}}\n"),
        ] {
            let (text, redactions) = clean(&line);
            assert!(!text.contains(KEY) && redactions > 0, "{text}");
        }
    }
}

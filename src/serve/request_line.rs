//! Requests as lines of JSON, with limits on what a line may take before it is parsed; the ids of a line that is too large
//! are found while its bytes pass by, so that it is answered.

use std::io::{self, BufRead, Read as _};

use serde_json::Value;

use super::id_scanner::IdScanner;

/// The most values of a line: each takes up to 200 bytes of memory, however short it is written.
const VALUES: usize = 20_000;

/// A line that is not empty.
#[derive(Debug, PartialEq)]
pub(super) enum RequestLine {
    /// One to be parsed.
    Whole(Vec<u8>),
    /// Too large to be parsed.
    TooLarge {
        /// The message about it.
        message: String,
        /// The ids of its requests.
        ids: Vec<Value>,
    },
}

/// Reads the lines of a stream.
pub(super) struct RequestReader<I> {
    input: I,
    /// The most bytes of a line.
    longest: u64,
    /// Whether a line may have a list of requests.
    takes_lists: bool,
    /// The number of the last line, from 1.
    pub(super) number: u64,
}

impl<I: BufRead> RequestReader<I> {
    pub(super) fn new(input: I, longest: u64, takes_lists: bool) -> Self {
        Self {
            input,
            longest,
            takes_lists,
            number: 0,
        }
    }

    /// The next line that is not empty; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<RequestLine>> {
        let mut line = Vec::new();
        loop {
            line.clear();
            if self.input.by_ref().take(self.longest).read_until(b'\n', &mut line)? == 0 {
                return Ok(None);
            }
            self.number += 1;
            let is_whole = line.ends_with(b"\n") || (line.len() as u64) < self.longest;
            if is_whole && line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let most = match is_whole {
                true if values(&line) <= VALUES => return Ok(Some(RequestLine::Whole(line))),
                true => format!("{VALUES} values"),
                false => format!("{} bytes", self.longest),
            };
            let mut scanner = IdScanner::new(self.takes_lists);
            scanner.feed(&std::mem::take(&mut line));
            if !is_whole {
                read_on(&mut self.input, |bytes| scanner.feed(bytes))?;
            }
            return Ok(Some(RequestLine::TooLarge {
                message: format!("a line has at most {most}"),
                ids: scanner.finish(),
            }));
        }
    }
}

/// An upper bound for the number of values in a JSON text, counted without parsing it.
fn values(line: &[u8]) -> usize {
    let (mut count, mut in_string, mut escaped) = (1, false, false);
    for byte in line {
        match (in_string, *byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (_, b'"') => in_string = !in_string,
            (false, b',' | b'[' | b'{') => count += 1,
            _ => {}
        }
    }
    count
}

/// Reads the rest of a line, whatever its length, in pieces.
fn read_on(input: &mut impl BufRead, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    loop {
        let buffer = match input.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let consumed = end.map_or(buffer.len(), |at| at + 1);
        each(&buffer[..consumed]);
        input.consume(consumed);
        if end.is_some() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_never_underestimated() {
        for (text, count) in [
            ("1", 1),
            ("[1,2,3]", 4),
            (r#"{"a":"x,[{","b":[]}"#, 4),
            (r#"["\",",1]"#, 3),
            ("[[[[", 5),
            ("", 1),
        ] {
            assert_eq!(values(text.as_bytes()), count, "{text}");
        }
    }

    #[test]
    fn lines_that_are_too_large_are_skipped_and_the_next_is_read() {
        let long = "y".repeat(100);
        let many = vec!["1"; VALUES].join(",");
        let text = format!(
            "{long}\n\n  \n{{}}\n{{\"params\":\"{long}\",\"id\":7}}\n[{{\"id\":8}},{{\"p\":\"{long}\",\"id\":9}}]\nlast"
        );
        let mut reader = RequestReader::new(text.as_bytes(), 100, true);
        let mut lines = Vec::new();
        while let Some(line) = reader.next().expect("memory") {
            lines.push((reader.number, line));
        }
        let too_large = |ids: Value| RequestLine::TooLarge {
            message: "a line has at most 100 bytes".to_owned(),
            ids: ids.as_array().cloned().unwrap_or_default(),
        };
        let whole = |text: &str| RequestLine::Whole(text.as_bytes().to_vec());
        assert_eq!(
            lines,
            [
                (1, too_large(json!([]))),
                (4, whole("{}\n")),
                (5, too_large(json!([7]))),
                (6, too_large(json!([8, 9]))),
                (7, whole("last")),
            ]
        );
        let text = format!("{{\"id\":[1],\"params\":[{many}]}}");
        let mut reader = RequestReader::new(text.as_bytes(), 1 << 20, false);
        let Some(RequestLine::TooLarge { message, ids }) = reader.next().expect("memory") else {
            panic!("it has too many values")
        };
        assert_eq!(
            (message.as_str(), ids),
            ("a line has at most 20000 values", vec![json!([1])])
        );
    }
}

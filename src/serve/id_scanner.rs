//! The id of a request that is too large or too deep to be parsed: found while its bytes pass by, in memory of bounded
//! size.
//!
//! A strict reader of JSON that keeps nothing but the members `id` of the requests. Of JSON that is broken it gives no id,
//! as the protocol wants it.

use serde_json::Value;

/// The most levels: more than the parser takes, so that a request which is too deep for it is answered.
const DEEPEST: usize = 64 << 10;
/// The most bytes of a name that may be `id`, written with escapes.
const LONGEST_NAME: usize = 2 * "\\u0069".len() + 2;
/// The most bytes of an id.
const LONGEST_ID: usize = 64 << 10;
/// The most requests of a list that are answered one by one.
const MOST_IDS: usize = 1000;

/// Finds the ids of the requests in a JSON text that comes in pieces.
pub(super) struct IdScanner {
    state: ScanState,
    /// Open objects (`true`) and lists.
    open: Vec<bool>,
    /// Whether the requests may be in a list.
    takes_lists: bool,
    /// The bytes of a name that may be `id`.
    name: Option<Vec<u8>>,
    /// Whether the last name was `id`, in a request.
    is_id: bool,
    /// The bytes of an id, while it is read.
    value: Option<Vec<u8>>,
    /// The id of the request that is read; the last of several counts, as in the parser.
    found: Option<Value>,
    ids: Vec<Value>,
}

#[derive(Clone, Copy)]
enum ScanState {
    /// Before a value.
    Value,
    /// Behind `[`.
    FirstItem,
    /// Behind `{`.
    FirstName,
    /// Before a name.
    Name,
    /// Behind a name.
    Colon,
    /// Behind a value, in a list or an object.
    After,
    /// In a string, which is a name or not.
    Text(bool),
    /// Behind a backslash in a string.
    Escape(bool),
    /// In `\u`: so many digits are missing.
    Digits(bool, u8),
    Number(NumberPart),
    /// In `true`, `false` or `null`: the rest of it.
    Word(&'static [u8]),
    /// Behind the whole value.
    End,
    Broken,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum NumberPart {
    Minus,
    Zero,
    Whole,
    Point,
    Fraction,
    Exponent,
    Sign,
    Power,
}

impl NumberPart {
    /// Whether the number may end here.
    fn is_complete(self) -> bool {
        matches!(self, Self::Zero | Self::Whole | Self::Fraction | Self::Power)
    }

    fn next(self, byte: u8) -> Option<Self> {
        Some(match (self, byte) {
            (Self::Minus, b'0') => Self::Zero,
            (Self::Minus, b'1'..=b'9') | (Self::Whole, b'0'..=b'9') => Self::Whole,
            (Self::Zero | Self::Whole, b'.') => Self::Point,
            (Self::Point | Self::Fraction, b'0'..=b'9') => Self::Fraction,
            (Self::Zero | Self::Whole | Self::Fraction, b'e' | b'E') => Self::Exponent,
            (Self::Exponent, b'+' | b'-') => Self::Sign,
            (Self::Exponent | Self::Sign | Self::Power, b'0'..=b'9') => Self::Power,
            _ => return None,
        })
    }
}

impl IdScanner {
    /// One that has read nothing. With `takes_lists` a list of requests gives the id of each.
    pub(super) fn new(takes_lists: bool) -> Self {
        Self {
            state: ScanState::Value,
            open: Vec::new(),
            takes_lists,
            name: None,
            is_id: false,
            value: None,
            found: None,
            ids: Vec::new(),
        }
    }

    /// Reads the next piece.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((byte, more)) = rest.split_first() {
            rest = more;
            match self.state {
                ScanState::Broken => return,
                // Nearly all of what is too long is in strings.
                ScanState::Text(false) if self.value.is_none() && is_plain(*byte) => {
                    let end = more.iter().position(|byte| !is_plain(*byte)).unwrap_or(more.len());
                    rest = &more[end..];
                    continue;
                }
                ScanState::Number(part) if part.is_complete() && part.next(*byte).is_none() => self.end_value(),
                _ => {}
            }
            self.keep(*byte);
            self.state = self.step(*byte);
        }
    }

    /// The ids of the requests; none where the JSON was broken or not complete.
    pub(super) fn finish(self) -> Vec<Value> {
        match self.state {
            ScanState::End => self.ids,
            _ => Vec::new(),
        }
    }

    /// Whether the innermost open object is a request.
    fn is_in_request(&self) -> bool {
        matches!(self.open.as_slice(), [true]) || self.takes_lists && matches!(self.open.as_slice(), [false, true])
    }

    /// Keeps a byte of a name or an id.
    fn keep(&mut self, byte: u8) {
        if let (ScanState::Text(true) | ScanState::Escape(true) | ScanState::Digits(true, _), Some(name)) =
            (self.state, &mut self.name)
        {
            name.push(byte);
            if name.len() > LONGEST_NAME {
                self.name = None;
            }
        }
        if let Some(value) = &mut self.value
            && value.len() <= LONGEST_ID
        {
            value.push(byte);
        }
    }

    fn step(&mut self, byte: u8) -> ScanState {
        let is_space = matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        match self.state {
            ScanState::Value
            | ScanState::FirstItem
            | ScanState::FirstName
            | ScanState::Name
            | ScanState::Colon
            | ScanState::After
            | ScanState::End
                if is_space =>
            {
                self.state
            }
            ScanState::FirstItem if byte == b']' => self.close(false),
            ScanState::FirstName if byte == b'}' => self.close(true),
            ScanState::FirstName | ScanState::Name if byte == b'"' => {
                self.name = self.is_in_request().then(|| vec![byte]);
                ScanState::Text(true)
            }
            ScanState::Value | ScanState::FirstItem => self.begin(byte),
            ScanState::Colon if byte == b':' => {
                // An id may contain objects; all of it is kept.
                if self.is_in_request() {
                    self.value = self.is_id.then(Vec::new);
                }
                ScanState::Value
            }
            ScanState::After => match (byte, self.open.last()) {
                (b',', Some(true)) => ScanState::Name,
                (b',', Some(false)) => ScanState::Value,
                (b'}', Some(true)) => self.close(true),
                (b']', Some(false)) => self.close(false),
                _ => ScanState::Broken,
            },
            ScanState::Text(is_name) => match byte {
                b'"' if is_name => {
                    let name = self.name.take().and_then(|name| serde_json::from_slice(&name).ok());
                    self.is_id = name.is_some_and(|name: String| name == "id");
                    ScanState::Colon
                }
                b'"' => self.ended(),
                b'\\' => ScanState::Escape(is_name),
                0..=0x1f => ScanState::Broken,
                _ => self.state,
            },
            ScanState::Escape(is_name) => match byte {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => ScanState::Text(is_name),
                b'u' => ScanState::Digits(is_name, 4),
                _ => ScanState::Broken,
            },
            ScanState::Digits(is_name, missing) if byte.is_ascii_hexdigit() => match missing {
                1 => ScanState::Text(is_name),
                _ => ScanState::Digits(is_name, missing - 1),
            },
            ScanState::Number(part) => part.next(byte).map_or(ScanState::Broken, ScanState::Number),
            ScanState::Word([next, rest @ ..]) if *next == byte => match rest {
                [] => self.ended(),
                _ => ScanState::Word(rest),
            },
            _ => ScanState::Broken,
        }
    }

    /// The beginning of a value.
    fn begin(&mut self, byte: u8) -> ScanState {
        match byte {
            b'{' | b'[' if self.open.len() == DEEPEST => ScanState::Broken,
            b'{' => {
                self.open.push(true);
                ScanState::FirstName
            }
            b'[' => {
                self.open.push(false);
                ScanState::FirstItem
            }
            b'"' => ScanState::Text(false),
            b'-' => ScanState::Number(NumberPart::Minus),
            b'0' => ScanState::Number(NumberPart::Zero),
            b'1'..=b'9' => ScanState::Number(NumberPart::Whole),
            b't' => ScanState::Word(b"rue"),
            b'f' => ScanState::Word(b"alse"),
            b'n' => ScanState::Word(b"ull"),
            _ => ScanState::Broken,
        }
    }

    /// The end of an object or a list.
    fn close(&mut self, is_object: bool) -> ScanState {
        if is_object
            && self.is_in_request()
            && let Some(id) = self.found.take()
            && self.ids.len() < MOST_IDS
        {
            self.ids.push(id);
        }
        self.open.pop();
        self.ended()
    }

    fn ended(&mut self) -> ScanState {
        self.end_value();
        self.state
    }

    /// The end of a value, whose last byte was kept.
    fn end_value(&mut self) {
        if self.is_in_request()
            && let Some(value) = self.value.take()
        {
            self.found = serde_json::from_slice(&value).ok();
        }
        self.state = if self.open.is_empty() {
            ScanState::End
        } else {
            ScanState::After
        };
    }
}

/// Whether a byte of a string is nothing but itself.
fn is_plain(byte: u8) -> bool {
    byte > 0x1f && byte != b'"' && byte != b'\\'
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn ids_of(text: &[u8], takes_lists: bool) -> Vec<Value> {
        let mut scanner = IdScanner::new(takes_lists);
        scanner.feed(text);
        scanner.finish()
    }

    #[test]
    fn ids_are_those_of_the_parser() {
        let long = "y".repeat(100_000);
        for (text, ids) in [
            (r#"{"id": 7}"#.to_owned(), json!([7])),
            (
                r#"{"params": {"id": 1, "more": [{"id": 2}]}, "id": "x"}"#.to_owned(),
                json!(["x"]),
            ),
            (r#" {"a":[],"\u0069d" : -15 ,"b":{}} "#.to_owned(), json!([-15])),
            (r#"{"id":1,"id":"last"}"#.to_owned(), json!(["last"])),
            (r#"{"id":{"a":[1,"]"]},"x":null}"#.to_owned(), json!([{"a": [1, "]"]}])),
            (format!(r#"{{"method":"{long}\"","id":3,"p":"{long}"}}"#), json!([3])),
            (
                format!(r#"{{"{long}":1,"id":[true,false,null]}}"#),
                json!([[true, false, null]]),
            ),
            (r#"{"x":"id","y":{"id":4}}"#.to_owned(), json!([])),
            (r#"[{"id":1},{"method":"m"},{"id":"b"}]"#.to_owned(), json!([1, "b"])),
            ("[[{\"id\":1}]]".to_owned(), json!([])),
            (
                format!(r#"{{"a":{}1{},"id":5}}"#, "[".repeat(10_000), "]".repeat(10_000)),
                json!([5]),
            ),
        ] {
            let found = ids_of(text.as_bytes(), true);
            assert_eq!(json!(found), ids, "{}", &text[..text.len().min(80)]);
            // It does not matter where the pieces end.
            let mut scanner = IdScanner::new(true);
            text.as_bytes().chunks(7).for_each(|piece| scanner.feed(piece));
            assert_eq!(scanner.finish(), found);
        }
        assert!(ids_of(br#"[{"id":1}]"#, false).is_empty());
    }

    #[test]
    fn broken_texts_have_no_id() {
        let deep = format!("{{\"id\":1,\"a\":{}1{}}}", "[".repeat(DEEPEST), "]".repeat(DEEPEST));
        for text in [
            r#"{"id":1"#,
            r#"{"id":1}}"#,
            r#"{"id":1,}"#,
            r#"{"id":1 "a":2}"#,
            r#"{"id":01}"#,
            r#"{"id":1,"a":tru}"#,
            r#"{"id":1,"a":"\x"}"#,
            "{\"id\":1,\"a\":\"\n\"}",
            r#"{"id":1]"#,
            r#"{"id":1,"a":1.}"#,
            &deep,
            "",
        ] {
            assert!(
                ids_of(text.as_bytes(), true).is_empty(),
                "{}",
                &text[..text.len().min(80)]
            );
        }
    }

    #[test]
    fn ids_without_an_end_take_no_memory() {
        let mut scanner = IdScanner::new(true);
        scanner.feed(br#"{"id":""#);
        for _ in 0..1000 {
            scanner.feed(&[b'x'; 1024]);
            assert!(
                scanner
                    .value
                    .as_ref()
                    .is_some_and(|value| value.len() <= LONGEST_ID + 1)
            );
        }
        scanner.feed(b"\"}");
        assert!(scanner.finish().is_empty());
    }

    proptest! {
        #[test]
        fn what_the_parser_refuses_has_no_id(text in r#"\{"id":1,("a":[\[\]{}0-9eE.,:"\\tu+ -]{0,12})?\}"#) {
            let parsed: Result<Value, _> = serde_json::from_str(&text);
            let found = ids_of(text.as_bytes(), true);
            match parsed {
                Ok(value) => prop_assert_eq!(found, vec![value["id"].clone()]),
                // A surrogate by itself is for the parser to refuse.
                Err(_) => prop_assert!(found.is_empty() || text.contains("\\u")),
            }
        }
    }
}

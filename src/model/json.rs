//! JSON read strictly and written in one form.
//!
//! Reading refuses what would make a stored value ambiguous or the reader unsafe: duplicate keys (serde_json keeps the
//! last one silently), more nesting than 128 levels, more bytes than the caller allows. Writing gives the stored form:
//! two spaces of indent, LF, a final LF, and only `"`, `\` and control characters escaped, so that equal values are
//! equal bytes. Numbers keep the digits they were read with.

mod value;

use std::fmt;

use serde::{
    Serialize,
    de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};

pub use value::from_value;

/// Why a text was not taken as JSON.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// More bytes than allowed.
    #[error("the JSON has {len} bytes, more than the {limit} allowed")]
    TooLarge {
        /// Bytes given.
        len: usize,
        /// Bytes allowed.
        limit: usize,
    },
    /// More levels than a stored document may add its own to.
    #[error("the JSON is nested deeper than {DEPTH_LIMIT} levels")]
    TooDeep,
    /// Not JSON, too deep, or an object with a key twice.
    #[error("not valid JSON: {0}")]
    Invalid(String),
}

/// The reader's words for people: no signs of its language, and no jargon.
pub(crate) fn words(error: &serde_json::Error) -> String {
    let text = error.to_string().replace('`', "'");
    let text = text
        .replace("EOF while parsing", "it ends within")
        .replace("expected ident", "expected 'true', 'false' or 'null'");
    match text.rfind(" at line ") {
        Some(at) => format!("{}{}", plain_words(&text[..at], true), &text[at..]),
        None => plain_words(&text, false),
    }
}

/// The expected and the given value, in the terms of JSON. In a text, a number may also be written wrongly.
fn plain_words(text: &str, is_text: bool) -> String {
    if let Some((given, wanted)) = text
        .strip_prefix("unknown variant ")
        .and_then(|rest| rest.split_once(", expected "))
    {
        return format!("it must be {}, not {given}", wanted.replace('\'', ""));
    }
    if let Some(name) = text.strip_prefix("missing field ") {
        return format!("{name} is missing");
    }
    if text == "invalid number" && !is_text {
        return "it must be a whole number, and not a negative or too large one".to_owned();
    }
    let parts = ["invalid type: ", "invalid value: "]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix)?.rsplit_once(", expected "));
    match parts {
        Some((given, wanted)) => format!("it must be {}, not {}", expected(wanted), found(given)),
        None => text.to_owned(),
    }
}

fn expected(wanted: &str) -> &str {
    match wanted {
        "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        "a sequence" => "a list",
        "a map" => "an object",
        "a string" | "a borrowed string" | "string or map" => "a text",
        "a boolean" => "true or false",
        "unit" => "null",
        other if other.starts_with("struct ") => "an object",
        other if other.starts_with("enum ") => "a text",
        other => other,
    }
}

fn found(given: &str) -> String {
    let bare = |text: &str| text.trim_matches('\'').to_owned();
    match given {
        "map" => "an object".to_owned(),
        "sequence" => "a list".to_owned(),
        "number" => "a number".to_owned(),
        "null" | "unit value" => "null".to_owned(),
        _ => {
            if let Some(text) = given.strip_prefix("string ") {
                return format!("the text {text}");
            }
            ["integer ", "floating point ", "boolean ", "number "]
                .iter()
                .find_map(|kind| given.strip_prefix(kind))
                .map_or_else(
                    || given.to_owned(),
                    |value| {
                        let value = value.strip_suffix(" as u128").unwrap_or(value);
                        bare(value.strip_suffix(" as i128").unwrap_or(value))
                    },
                )
        }
    }
}

/// The most bytes of JSON taken from outside (`--record`, `--state`): 16 MiB, far above any record seen.
pub const INPUT_LIMIT: usize = 16 << 20;

/// The most levels of JSON taken from outside. A document puts a few levels around them, and reading refuses more than
/// 128 (serde_json's bound), so what is taken can always be read again.
pub const DEPTH_LIMIT: usize = 64;

/// Reads JSON from outside: as [`parse`], and nested no deeper than [`DEPTH_LIMIT`].
pub fn parse_input(bytes: &[u8]) -> Result<Value, Error> {
    let value = parse(bytes, INPUT_LIMIT)?;
    if is_deeper(&value, DEPTH_LIMIT) {
        Err(Error::TooDeep)
    } else {
        Ok(value)
    }
}

/// Whether a value has more than so many levels.
pub(crate) fn is_deeper(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(|item| is_deeper(item, levels - 1)),
        Value::Object(map) => levels == 0 || map.values().any(|item| is_deeper(item, levels - 1)),
        _ => false,
    }
}

/// The key behind which serde_json hands numbers to visitors when their digits are kept. As a key in real input it
/// could not be distinguished from a number, so it is refused.
const NUMBER_TOKEN: &str = "$serde_json::private::Number";

/// Reads one JSON value of at most `limit` bytes with nothing but white space around it.
pub fn parse(bytes: &[u8], limit: usize) -> Result<Value, Error> {
    if bytes.len() > limit {
        return Err(Error::TooLarge {
            len: bytes.len(),
            limit,
        });
    }
    // The token may also be spelled with escapes, so any key that could decode to it is looked at by the visitor; this
    // is the quick way out for the plain spelling.
    if bytes.windows(NUMBER_TOKEN.len()).any(|w| w == NUMBER_TOKEN.as_bytes()) {
        return Err(Error::Invalid(format!("the key '{NUMBER_TOKEN}' is reserved")));
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = StrictValue
        .deserialize(&mut reader)
        .map_err(|e| Error::Invalid(words(&e)))?;
    reader.end().map_err(|e| Error::Invalid(words(&e)))?;
    Ok(value)
}

/// The stored form of a value.
pub fn to_bytes<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    let mut out = serde_json::to_vec_pretty(value).expect("plain values with string keys always serialise");
    out.push(b'\n');
    out
}

/// One line of the stored form for line-based files, with its LF.
pub fn to_line<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    push_line(&mut out, value);
    out
}

/// Adds such a line to others.
pub fn push_line<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(&mut *out, value).expect("plain values with string keys always serialise");
    out.push(b'\n');
}

/// Applies a JSON merge patch (RFC 7396): objects merge key by key, `null` removes, anything else replaces.
pub fn merge_patch(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(map) = target else { return };
    for (key, value) in patch {
        if value.is_null() {
            map.shift_remove(&key);
        } else {
            merge_patch(map.entry(key).or_insert(Value::Null), value);
        }
    }
}

/// Builds a [`Value`] and refuses duplicate keys on the way.
#[derive(Clone, Copy)]
struct StrictValue;

impl<'de> DeserializeSeed<'de> for StrictValue {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for StrictValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("a number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            if key == NUMBER_TOKEN {
                let digits = access.next_value::<String>()?;
                return digits
                    .parse()
                    .map(Value::Number)
                    .map_err(|_| de::Error::custom("a malformed number"));
            }
            if map.contains_key(&key) {
                return Err(de::Error::custom(format_args!(
                    "duplicate key '{}'",
                    key.escape_debug()
                )));
            }
            let value = access.next_value_seed(self)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn text(value: &Value) -> String {
        String::from_utf8(to_bytes(value)).expect("JSON is UTF-8")
    }

    #[test]
    fn the_stored_form_is_fixed() {
        let value = parse(
            "{\"b\":[1,2.50],\"a\":{},\"c\":\"\\u00e9\\u2028\\\"\\n\\u0001/\"}".as_bytes(),
            100,
        );
        let expected =
            "{\n  \"b\": [\n    1,\n    2.50\n  ],\n  \"a\": {},\n  \"c\": \"\u{e9}\u{2028}\\\"\\n\\u0001/\"\n}\n";
        assert_eq!(text(&value.expect("valid")), expected);
    }

    #[test]
    fn numbers_keep_their_digits() {
        for digits in ["123456789012345678901234567890", "0.10", "-0", "1.0e+400"] {
            let value = parse(digits.as_bytes(), 100).expect("a number");
            assert_eq!(text(&value).trim(), digits);
        }
    }

    #[test]
    fn bad_input_is_refused_with_its_reason() {
        let deep = "[".repeat(10_000);
        let cases = [
            (r#"{"a":1,"a":2}"#, "duplicate key"),
            (r#"{"x":{"a":1,"b":2,"a":3}}"#, "duplicate key"),
            (deep.as_str(), "recursion limit"),
            ("{", "it ends within an object"),
            ("1 2", "trailing"),
            (r#""\ud83c""#, "not valid"),
            ("NaN", "expected"),
            (r#"{"$serde_json::private::Number":"1"}"#, "reserved"),
        ];
        for (input, reason) in cases {
            let error = parse(input.as_bytes(), 100_000).expect_err(input).to_string();
            assert!(error.contains(reason), "{input:.40}: {error}");
        }
        assert!(matches!(
            parse(b"[1,2,3]", 3),
            Err(Error::TooLarge { len: 7, limit: 3 })
        ));
        assert!(parse(b"\xff\xfe", 10).is_err());
    }

    #[test]
    fn input_leaves_room_for_the_document_around_it() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(parse_input(nested(DEPTH_LIMIT).as_bytes()).is_ok());
        assert!(matches!(
            parse_input(nested(DEPTH_LIMIT + 1).as_bytes()),
            Err(Error::TooDeep)
        ));
        assert!(parse(nested(127).as_bytes(), 1000).is_ok());
    }

    #[test]
    fn merge_patch_follows_the_examples_of_rfc_7396() {
        let cases = [
            (json!({"a":"b"}), json!({"a":"c"}), json!({"a":"c"})),
            (json!({"a":"b"}), json!({"b":"c"}), json!({"a":"b","b":"c"})),
            (json!({"a":"b"}), json!({"a":null}), json!({})),
            (json!({"a":["b"]}), json!({"a":"c"}), json!({"a":"c"})),
            (json!({"a":"c"}), json!({"a":["b"]}), json!({"a":["b"]})),
            (
                json!({"a":{"b":"c"}}),
                json!({"a":{"b":"d","c":null}}),
                json!({"a":{"b":"d"}}),
            ),
            (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
            (json!({"a":"foo"}), json!("bar"), json!("bar")),
            (json!({"e":null}), json!({"a":1}), json!({"e":null,"a":1})),
            (json!([1, 2]), json!({"a":"b","c":null}), json!({"a":"b"})),
            (json!({}), json!({"a":{"bb":{"ccc":null}}}), json!({"a":{"bb":{}}})),
        ];
        for (mut target, patch, expected) in cases {
            merge_patch(&mut target, patch);
            assert_eq!(target, expected);
        }
    }

    proptest! {
        #[test]
        fn parsing_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes, 1000);
        }

        #[test]
        fn the_stored_form_reads_back(text in ".*", n in any::<i64>(), keys in proptest::collection::hash_set("[a-z]{1,4}", 0..5)) {
            let value = json!({"t": text, "n": n, "k": keys.into_iter().collect::<Vec<_>>()});
            let bytes = to_bytes(&value);
            let back = parse(&bytes, 10_000).expect("own output");
            prop_assert_eq!(to_bytes(&back), bytes);
        }
    }
}

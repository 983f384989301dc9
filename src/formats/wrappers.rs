//! The typed wrappers in claude-flow's JSON (dates, maps, undefined), and its encoded values.

use serde_json::{Map, Value};

use super::unpack;
use crate::model::json;

/// How often a value that holds an encoded value is opened.
const DEPTH: usize = 8;

/// The value with its wrappers resolved: a date becomes its text, a map an object where its keys are texts or numbers,
/// undefined null. Other wrappers stay as they are.
pub(super) fn plain(value: Value) -> Value {
    opened(value, DEPTH)
}

fn opened(value: Value, depth: usize) -> Value {
    let plain = |value| opened(value, depth);
    match value {
        Value::String(text) => encoded(text, depth),
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(map) => match map.get("__type__").and_then(Value::as_str) {
            Some("__Date__" | "Date") if map.len() == 2 && map.contains_key("value") => {
                map.get("value").cloned().unwrap_or(Value::Null)
            }
            Some("__undefined__" | "undefined") if map.len() == 1 => Value::Null,
            Some("__Map__" | "Map") if map.len() == 2 => entries(&map, depth).unwrap_or_else(|| inner(map, depth)),
            _ => inner(map, depth),
        },
        other => other,
    }
}

/// A text as it is, or the value that it encodes. Values above 1,024 characters are encoded by their writer.
fn encoded(text: String, depth: usize) -> Value {
    let bytes = if depth == 0 { None } else { unpack::decoded(&text) };
    let Some(content) = bytes.and_then(|bytes| String::from_utf8(bytes).ok()) else {
        return Value::String(text);
    };
    match json::parse_input(content.as_bytes()) {
        Ok(value) => opened(value, depth - 1),
        Err(_) => Value::String(content),
    }
}

fn inner(map: Map<String, Value>, depth: usize) -> Value {
    Value::Object(
        map.into_iter()
            .map(|(key, value)| (key, opened(value, depth)))
            .collect(),
    )
}

fn entries(map: &Map<String, Value>, depth: usize) -> Option<Value> {
    let entries = map.get("entries").or_else(|| map.get("value"))?.as_array()?;
    let mut out = Map::new();
    for entry in entries {
        let [key, value] = entry.as_array()?.as_slice() else {
            return None;
        };
        let key = match key {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => return None,
        };
        if out.insert(key, opened(value.clone(), depth)).is_some() {
            return None;
        }
    }
    Some(Value::Object(out))
}

/// The JSON in a text, encoded or not; the text itself where it is none.
pub(super) fn inside(text: &str) -> Value {
    if unpack::decoded(text).is_some() {
        return plain(Value::String(text.to_owned()));
    }
    let text_like = text.trim_start().starts_with(['{', '[', '"']);
    match json::parse_input(text.as_bytes()) {
        Ok(value) if text_like => plain(value),
        _ => Value::String(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn wrappers_are_resolved() {
        let value = json!({
            "d": {"__type__": "__Date__", "value": "2026-01-01T00:00:00.000Z"},
            "m": {"__type__": "__Map__", "entries": [["a", 1], [2, {"__type__": "__undefined__"}]]},
            "twice": {"__type__": "__Map__", "entries": [["a", 1], ["a", 2]]},
            "other": {"__type__": "__Set__", "values": [1]},
            "more": {"__type__": "__Date__", "value": "2026-01-01", "zone": "north"},
        });
        let expected = json!({
            "d": "2026-01-01T00:00:00.000Z",
            "m": {"a": 1, "2": null},
            "twice": {"__type__": "__Map__", "entries": [["a", 1], ["a", 2]]},
            "other": {"__type__": "__Set__", "values": [1]},
            "more": {"__type__": "__Date__", "value": "2026-01-01", "zone": "north"},
        });
        assert_eq!(plain(value), expected);
        assert_eq!(inside("{\"a\":1}"), json!({"a": 1}));
        // `{"a":[1]}`, and the same inside of an encoded object.
        assert_eq!(inside("__compressed__eyJhIjpbMV19"), json!({"a": [1]}));
        assert_eq!(
            inside("__compressed__eyJiIjoiX19jb21wcmVzc2VkX19leUpoSWpwYk1WMTkifQ=="),
            json!({"b": {"a": [1]}})
        );
        assert_eq!(inside("__compressed__plain words"), json!("__compressed__plain words"));
        assert_eq!((inside("12"), inside("{broken")), (json!("12"), json!("{broken")));
    }
}

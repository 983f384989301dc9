//! The typed wrappers in claude-flow's JSON: dates, maps, undefined.

use serde_json::{Map, Value};

use crate::model::json;

/// The value with its wrappers resolved: a date becomes its text, a map an object where its keys are texts or numbers,
/// undefined null. Other wrappers stay as they are.
pub(super) fn plain(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(map) => match map.get("__type__").and_then(Value::as_str) {
            Some("__Date__" | "Date") if map.len() == 2 && map.contains_key("value") => {
                map.get("value").cloned().unwrap_or(Value::Null)
            }
            Some("__undefined__" | "undefined") if map.len() == 1 => Value::Null,
            Some("__Map__" | "Map") if map.len() == 2 => entries(&map).unwrap_or_else(|| inner(map)),
            _ => inner(map),
        },
        other => other,
    }
}

fn inner(map: Map<String, Value>) -> Value {
    Value::Object(map.into_iter().map(|(key, value)| (key, plain(value))).collect())
}

fn entries(map: &Map<String, Value>) -> Option<Value> {
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
        if out.insert(key, plain(value.clone())).is_some() {
            return None;
        }
    }
    Some(Value::Object(out))
}

/// JSON that is in a text; the text itself where it is none.
pub(super) fn inside(text: &str) -> Value {
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
        assert_eq!((inside("12"), inside("{broken")), (json!("12"), json!("{broken")));
    }
}

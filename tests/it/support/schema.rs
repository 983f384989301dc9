//! Holds a value against a JSON schema: the keywords that the published schemas use, and no others.
//!
//! Stricter than the standard in one point: a member that a schema with `properties` does not name is a fault, unless it
//! says `additionalProperties`. So nothing is printed that is not published. A keyword that is not known here is a fault
//! of the schema, since it would not be checked.

use regex::Regex;
use serde_json::Value;

/// The faults of `value`, each with where it is; none when it is as the schema says.
pub fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut out = Vec::new();
    check(schema, schema, value, "", &mut out);
    out
}

fn check(root: &Value, schema: &Value, value: &Value, place: &str, out: &mut Vec<String>) {
    let mut fault = |what: String| out.push(format!("{place}: {what}"));
    let Some(keywords) = schema.as_object() else {
        if schema != &Value::Bool(true) {
            fault(format!("no schema: {schema}"));
        }
        return;
    };
    for (keyword, wanted) in keywords {
        match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "format" | "x-lines" => {}
            "type" => {
                let types = wanted.as_array().cloned().unwrap_or_else(|| vec![wanted.clone()]);
                if !types.iter().any(|name| is(name.as_str().unwrap(), value)) {
                    fault(format!("{value} is not {wanted}"));
                }
            }
            "const" if wanted != value => fault(format!("{value} is not {wanted}")),
            "enum" if !wanted.as_array().unwrap().contains(value) => fault(format!("{value} is none of {wanted}")),
            "pattern" => {
                let pattern = Regex::new(wanted.as_str().unwrap()).unwrap();
                if value.as_str().is_some_and(|text| !pattern.is_match(text)) {
                    fault(format!("{value} does not match {wanted}"));
                }
            }
            "minimum" if value.as_f64() < wanted.as_f64() && value.is_number() => fault(format!("{value} < {wanted}")),
            "maximum" if value.as_f64() > wanted.as_f64() => fault(format!("{value} > {wanted}")),
            "const" | "enum" | "minimum" | "maximum" => {}
            "required" => {
                for name in wanted.as_array().unwrap() {
                    let name = name.as_str().unwrap();
                    if value.is_object() && value.get(name).is_none() {
                        fault(format!("lacks '{name}'"));
                    }
                }
            }
            "additionalProperties" | "properties" | "items" | "prefixItems" | "anyOf" | "$ref" => {}
            other => fault(format!("the schema uses '{other}', which is not checked")),
        }
    }
    if let Some(target) = schema["$ref"].as_str() {
        let name = target.strip_prefix("#/$defs/").unwrap();
        check(root, &root["$defs"][name], value, place, out);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let tried: Vec<_> = choices.iter().map(|choice| of(root, choice, value, place)).collect();
        if tried.iter().all(|faults| !faults.is_empty()) {
            out.extend(tried.into_iter().min_by_key(Vec::len).unwrap());
        }
    }
    if let Some(items) = value.as_array() {
        let first = schema["prefixItems"].as_array().cloned().unwrap_or_default();
        for (n, item) in items.iter().enumerate() {
            let wanted = first.get(n).unwrap_or(&schema["items"]);
            if !wanted.is_null() {
                check(root, wanted, item, &format!("{place}[{n}]"), out);
            }
        }
    }
    if let Some(members) = value.as_object() {
        for (name, member) in members {
            let place = format!("{place}.{name}");
            match (&schema["properties"][name], &schema["additionalProperties"]) {
                (Value::Null, Value::Null) if schema["properties"].is_object() => {
                    out.push(format!("{place}: not in the schema, {member}"));
                }
                (Value::Null, Value::Null) => {}
                (Value::Null, wanted) | (wanted, _) => check(root, wanted, member, &place, out),
            }
        }
    }
}

fn of(root: &Value, schema: &Value, value: &Value, place: &str) -> Vec<String> {
    let mut out = Vec::new();
    check(root, schema, value, place, &mut out);
    out
}

fn is(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("no type: {other}"),
    }
}

#[test]
fn faults_are_found() {
    let schema = serde_json::json!({
        "$defs": { "id": { "type": "string", "pattern": "^[0-9]+$" } },
        "type": "object",
        "properties": {
            "id": { "$ref": "#/$defs/id" },
            "n": { "type": "integer", "minimum": 0, "maximum": 9 },
            "word": { "enum": ["a", null] },
            "list": { "type": "array", "items": { "anyOf": [{ "$ref": "#/$defs/id" }, { "type": "null" }] } },
            "open": { "type": "object", "properties": {}, "additionalProperties": true },
            "map": { "type": "object", "additionalProperties": { "type": "integer" } }
        },
        "required": ["id"]
    });
    let count = |text: &str| faults(&schema, &serde_json::from_str(text).unwrap()).len();
    assert_eq!(
        count(r#"{"id":"1","n":3,"word":null,"list":["2",null],"open":{"x":1},"map":{"a":1}}"#),
        0
    );
    for bad in [
        r"[]",
        r"{}",
        r#"{"id":"x"}"#,
        r#"{"id":1}"#,
        r#"{"id":"1","n":-1}"#,
        r#"{"id":"1","n":10}"#,
        r#"{"id":"1","n":1.5}"#,
        r#"{"id":"1","word":"b"}"#,
        r#"{"id":"1","list":["x"]}"#,
        r#"{"id":"1","map":{"a":"b"}}"#,
        r#"{"id":"1","other":1}"#,
    ] {
        assert_eq!(count(bad), 1, "{bad}");
    }
    assert_eq!(faults(&serde_json::json!({ "oneOf": [] }), &Value::Null).len(), 1);
}

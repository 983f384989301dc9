//! YAML as other tools write it, read into JSON values with bounds: no anchor bomb, no deep nesting, no key twice.
//!
//! Built on the events of saphyr-parser, because its node type expands aliases before anybody can count. Scalars are
//! read by the core schema (null, booleans, numbers, else text); times stay text.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, StrInput};
use serde_json::{Map, Number, Value};

use crate::model::json::DEPTH_LIMIT;

/// The most bytes of YAML: 4 MiB. Real ones have a few KiB.
const SIZE_LIMIT: usize = 4 << 20;
/// The most values, those behind aliases counted each time: 200,000 keep a bomb below 100 MiB.
const NODES_LIMIT: usize = 200_000;

/// Reads one document; the error is a text in lower case.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    if text.len() > SIZE_LIMIT {
        return Err(format!(
            "the YAML has {} bytes, more than the {SIZE_LIMIT} allowed",
            text.len()
        ));
    }
    let mut reader = YamlReader {
        parser: Parser::new_from_str(text),
        anchors: BTreeMap::new(),
        nodes: 0,
    };
    let mut found = None;
    loop {
        match reader.next()? {
            Event::StreamEnd => return found.ok_or_else(|| "the YAML is empty".to_owned()),
            Event::DocumentStart(_) if found.is_some() => return Err("the YAML holds several documents".to_owned()),
            Event::Nothing | Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd => {}
            event => found = Some(reader.value(event, 0)?),
        }
    }
}

struct YamlReader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    /// Values of anchors, with the number of values inside.
    anchors: BTreeMap<usize, (Value, usize)>,
    nodes: usize,
}

impl<'a> YamlReader<'a> {
    fn next(&mut self) -> Result<Event<'a>, String> {
        match self.parser.next_event() {
            Some(Ok((event, _))) => Ok(event),
            Some(Err(error)) => Err(format!("not valid YAML: {error}")),
            None => Ok(Event::StreamEnd),
        }
    }

    fn count(&mut self, nodes: usize) -> Result<(), String> {
        self.nodes += nodes;
        if self.nodes > NODES_LIMIT {
            return Err(format!("the YAML has more than {NODES_LIMIT} values"));
        }
        Ok(())
    }

    fn value(&mut self, event: Event<'a>, depth: usize) -> Result<Value, String> {
        if depth > DEPTH_LIMIT {
            return Err(format!("the YAML is nested deeper than {DEPTH_LIMIT} levels"));
        }
        let before = self.nodes;
        // A long text behind many aliases is a bomb as well: its length counts.
        self.count(
            1 + if let Event::Scalar(text, ..) = &event {
                text.len() / 64
            } else {
                0
            },
        )?;
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = tag.is_some_and(|tag| tag.suffix == "str") || style != ScalarStyle::Plain;
                (
                    if is_text {
                        text.into_owned().into()
                    } else {
                        scalar(&text)
                    },
                    anchor,
                )
            }
            Event::Alias(anchor) => {
                let known = self.anchors.get(&anchor).cloned();
                let (value, size) = known.ok_or("an alias in the YAML has no anchor before it")?;
                if depth + levels(&value) > DEPTH_LIMIT {
                    return Err(format!("the YAML is nested deeper than {DEPTH_LIMIT} levels"));
                }
                self.count(size)?;
                (value, 0)
            }
            Event::SequenceStart(anchor, _) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        Event::SequenceEnd => break,
                        event => items.push(self.value(event, depth + 1)?),
                    }
                }
                (Value::Array(items), anchor)
            }
            Event::MappingStart(anchor, _) => (self.mapping(depth)?, anchor),
            _ => return Err("the YAML ends too early".to_owned()),
        };
        if anchor != 0 {
            // Kept copies count as well: each anchor around another would hold it once more.
            let size = self.nodes - before;
            self.count(size)?;
            self.anchors.insert(anchor, (value.clone(), size));
        }
        Ok(value)
    }

    fn mapping(&mut self, depth: usize) -> Result<Value, String> {
        let mut map = Map::new();
        loop {
            let event = match self.next()? {
                Event::MappingEnd => return Ok(Value::Object(map)),
                event => event,
            };
            let key = match self.value(event, depth + 1)? {
                Value::String(text) => text,
                Value::Array(_) | Value::Object(_) => return Err("a key in the YAML is not a text".to_owned()),
                other => other.to_string(),
            };
            let event = self.next()?;
            let value = self.value(event, depth + 1)?;
            if map.contains_key(&key) {
                return Err(format!("duplicate key '{}' in the YAML", key.escape_debug()));
            }
            map.insert(key, value);
        }
    }
}

fn levels(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(levels).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(levels).max().unwrap_or(0),
        _ => 0,
    }
}

/// A plain scalar by the core schema.
fn scalar(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let starts = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    // Python writes `12e4567`, the beginning of a commit id, without quotes: to it a number with an exponent has a point.
    let exponent = text.contains(['e', 'E']) && !text.contains('.');
    let number = if starts && !exponent && text.len() <= 400 {
        text.parse::<Number>().ok()
    } else {
        None
    };
    number.map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_core_schema_is_followed() {
        let value = parse(
            "a: 1\nb: [x, '2', true, ~, 1.50, 2026-01-01 10:00:00, 12e4567]\nc: &x\n  d: |\n    t\n    u\ne: *x\n3: !!str 4\n",
        );
        let expected = json!({
            "a": 1, "b": ["x", "2", true, null, serde_json::from_str::<Value>("1.50").expect("a number"), "2026-01-01 10:00:00", "12e4567"],
            "c": {"d": "t\nu\n"}, "e": {"d": "t\nu\n"}, "3": "4",
        });
        assert_eq!(value, Ok(expected));
    }

    #[test]
    fn bombs_and_damage_are_refused() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..20 {
            bomb.push_str(&format!(
                "a{n}: &a{n} [{}]\n",
                vec![format!("*a{}", n - 1); 9].join(", ")
            ));
        }
        let cases = [
            (bomb.as_str(), "more than 200000 values"),
            (&"[".repeat(100_000), "valid YAML"),
            (&"[".repeat(100), "nested deeper"),
            (&"- ".repeat(100), "nested deeper"),
            ("a: 1\na: 2", "duplicate key"),
            ("a: *b", "valid YAML"),
            ("? [1]\n: 2", "not a text"),
            ("a: 1\n---\nb: 2", "several documents"),
            ("", "empty"),
            ("a: 'x", "valid YAML"),
        ];
        for (text, reason) in cases {
            let error = parse(text).expect_err(reason);
            assert!(error.contains(reason), "{text:.30}: {error}");
        }
        assert!(parse(&"a".repeat(SIZE_LIMIT + 1)).is_err());
    }
}

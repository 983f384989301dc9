//! Replacing strings in the text of a JSON value, every other byte of which stays as it is.

use std::ops::Range;

use memchr::memchr2;
use serde_json::Value;

/// The text of `before` with the strings and names that `after` has in their places. `None` where the text is not that
/// of `before`, as with a member that it has twice.
pub fn splice(text: &str, before: &Value, after: &Value) -> Option<String> {
    let spans = strings(text);
    let (mut old, mut new) = (Vec::new(), Vec::new());
    flatten(before, &mut old);
    flatten(after, &mut new);
    if spans.len() != old.len() || old.len() != new.len() {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for ((span, old), new) in spans.into_iter().zip(old).zip(new).filter(|((_, old), new)| old != new) {
        let is_same = serde_json::from_str::<String>(text.get(span.clone())?).is_ok_and(|found| found == old);
        if !is_same {
            return None;
        }
        out.push_str(&text[at..span.start]);
        out.push_str(&Value::from(new).to_string());
        at = span.end;
    }
    out.push_str(&text[at..]);
    Some(out)
}

/// Whether a value has every string and name of its text. It has not where a member occurs twice, of which it has the last.
pub fn has_all_strings(text: &[u8], value: &Value) -> bool {
    fn count(value: &Value) -> usize {
        match value {
            Value::String(_) => 1,
            Value::Array(items) => items.iter().map(count).sum(),
            Value::Object(members) => members.values().map(|value| 1 + count(value)).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }
    let (mut at, mut quotes) = (0, 0);
    while let Some(found) = memchr2(b'"', b'\\', &text[at..]) {
        at += found;
        // An escape is in a string, and is no end of one.
        if text[at] == b'"' {
            quotes += 1;
            at += 1;
        } else {
            at = (at + 2).min(text.len());
        }
    }
    quotes == 2 * count(value)
}

/// Where the strings of a JSON text are, with their quotes.
fn strings(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut spans = Vec::new();
    let mut at = 0;
    while let Some(found) = bytes[at..].iter().position(|byte| *byte == b'"') {
        let start = at + found;
        let mut end = start + 1;
        while let Some(byte) = bytes.get(end) {
            match byte {
                b'\\' => end += 2,
                b'"' => break,
                _ => end += 1,
            }
        }
        at = (end + 1).min(bytes.len());
        spans.push(start..at);
    }
    spans
}

/// All strings and names of a value, in the order of its text.
fn flatten<'v>(value: &'v Value, out: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => out.push(text),
        Value::Array(items) => items.iter().for_each(|item| flatten(item, out)),
        Value::Object(members) => {
            for (name, value) in members {
                out.push(name);
                flatten(value, out);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn all_but_the_changed_string_stays() {
        let text = r#" {"a" : "x\u0020\"y" ,"n":1.50e3,	"b":["s\/t", {"k":"x \"y"}]} "#;
        let before: Value = serde_json::from_str(text).expect("JSON");
        let mut after = before.clone();
        after["b"][1]["k"] = json!("a\nb");
        let spliced = splice(text, &before, &after).expect("the same text");
        assert_eq!(spliced, text.replace(r#"{"k":"x \"y"}"#, r#"{"k":"a\nb"}"#));
        assert_eq!(splice(text, &before, &before).as_deref(), Some(text));
        assert_eq!(
            splice(r#"{"a":"x","a":"y"}"#, &json!({"a":"y"}), &json!({"a":"z"})),
            None
        );
        assert_eq!(splice(r#"["x"]"#, &json!(["y"]), &json!(["z"])), None);
    }

    proptest! {
        #[test]
        fn what_comes_out_is_the_new_value(texts in prop::collection::vec("[a-z\"\\\\\n\u{2028}é/]{0,6}", 1..6), at in 0..6_usize) {
            let before = json!({ "l": texts, "m": { "k": texts[0], "t": [texts[0], 1, null] } });
            let mut after = before.clone();
            let at = at % texts.len();
            after["l"][at] = json!("[gone]");
            for text in [before.to_string(), serde_json::to_string_pretty(&before).expect("JSON")] {
                let out = splice(&text, &before, &after).expect("the same text");
                prop_assert_eq!(serde_json::from_str::<Value>(&out).expect("JSON"), after.clone());
            }
        }
    }
}

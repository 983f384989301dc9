//! One thing of a section: its text, where it is, and everything else that is known of it.

use serde_json::{Map, Value};

/// One thing of a section.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// Text.
    pub text: String,
    /// Where it is in one word; empty where it is nowhere.
    pub state: String,
    /// Whether something is still to be done about it.
    pub open: bool,
    /// Everything else.
    pub details: Vec<Detail>,
    /// Parts, such as the options of a fork point.
    pub parts: Vec<Entry>,
}

/// A member of a thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    /// The stored name.
    pub member: String,
    /// The word before the value; empty for none.
    pub label: String,
    /// The value.
    pub value: String,
}

/// A detail that is longer gets a line of its own.
const SHORT: usize = 60;

impl Entry {
    /// With a text alone.
    pub fn new(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            open: true,
            ..Self::default()
        }
    }

    /// A label and its value.
    pub fn pair(label: &str, value: &str) -> Self {
        Self::new(&format!("{label}: {value}"))
    }

    /// The lines it is written on: its text with what is short, then what is long, then its parts, indented.
    pub fn lines(&self) -> Vec<String> {
        let is_short = |detail: &&Detail| !detail.value.contains('\n') && detail.value.chars().count() <= SHORT;
        let state = self.state.replace('_', " ");
        let mut words: Vec<String> = Some(state).into_iter().filter(|word| !word.is_empty()).collect();
        words.extend(self.details.iter().filter(is_short).map(Detail::words));
        let mut text: Vec<String> = self.text.lines().map(str::to_owned).collect();
        if text.is_empty() {
            text.push(String::new());
        }
        if !words.is_empty() {
            let first = &mut text[0];
            if !first.is_empty() {
                first.push(' ');
            }
            first.push_str(&format!("({})", words.join("; ")));
        }
        let long = self.details.iter().filter(|detail| !is_short(detail));
        for detail in long {
            let mut lines = detail.value.lines();
            let label = if detail.label.is_empty() {
                detail.member.as_str()
            } else {
                detail.label.as_str()
            };
            text.push(format!("{label}: {}", lines.next().unwrap_or_default()));
            text.extend(lines.map(|line| format!("  {line}")));
        }
        for part in &self.parts {
            text.extend(part.lines().iter().map(|line| format!("  {line}")));
        }
        text
    }
}

impl Detail {
    /// A member with its label.
    pub fn new(member: &str, label: &str, value: &str) -> Self {
        Self {
            member: member.to_owned(),
            label: label.to_owned(),
            value: value.to_owned(),
        }
    }

    fn words(&self) -> String {
        match (self.label.as_str(), self.value.as_str()) {
            ("", value) => value.to_owned(),
            (label, "") => label.to_owned(),
            (label, value) => format!("{label} {value}"),
        }
    }
}

/// A stored value as text: words of a list one after the other, members of an object with their names, and what is in
/// them in parentheses.
pub(super) fn value_text(value: &Value) -> String {
    let is_nested = |value: &Value| match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let between = if items.iter().any(is_nested) { "; " } else { ", " };
            items.iter().map(value_text).collect::<Vec<_>>().join(between)
        }
        Value::Object(members) => {
            let is_empty = |value: &Value| match value {
                Value::Null => true,
                Value::String(text) => text.is_empty(),
                Value::Array(items) => items.is_empty(),
                Value::Object(members) => members.is_empty(),
                _ => false,
            };
            let members = members.iter().filter(|(_, value)| !is_empty(value));
            let words = members.map(|(name, value)| {
                let name = name.replace('_', " ");
                match value {
                    value if is_nested(value) => format!("{name} ({})", value_text(value)),
                    value => format!("{name} {}", value_text(value)),
                }
            });
            words.collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// The details of an object, but for some members.
pub(super) fn details(object: &Map<String, Value>, but: &[&str], titles: &dyn Fn(&str) -> String) -> Vec<Detail> {
    let members = object.iter().filter(|(name, _)| !but.contains(&name.as_str()));
    members
        .filter_map(|(name, value)| detail(name, value, object, titles))
        .collect()
}

fn detail(name: &str, value: &Value, of: &Map<String, Value>, titles: &dyn Fn(&str) -> String) -> Option<Detail> {
    let text = value_text(value);
    let (label, text) = match (name, value) {
        (_, Value::Null | Value::Bool(false)) => return None,
        // Said with the tokens.
        ("estimated", _) if of.contains_key("tokens") => return None,
        (_, Value::Array(items)) if items.is_empty() => return None,
        (_, Value::Bool(true)) => (name.replace('_', " "), String::new()),
        ("reason", _) => ("because".to_owned(), text),
        ("ref", _) => ("see".to_owned(), text),
        ("model_tier", _) => ("model".to_owned(), text),
        ("answered_by", _) => ("by".to_owned(), text),
        ("asked_at", _) => ("asked".to_owned(), text),
        ("pros", _) => ("for".to_owned(), text),
        ("cons", _) => ("against".to_owned(), text),
        ("text", _) => (String::new(), text),
        ("decider", _) => ("decided by".to_owned(), text),
        ("progress", _) => (String::new(), format!("{text}%")),
        ("tokens", _) => {
            let about = if of.get("estimated") == Some(&Value::Bool(true)) {
                "about "
            } else {
                ""
            };
            (String::new(), format!("{about}{text} tokens"))
        }
        ("duration", Value::Number(_)) => ("took".to_owned(), value.as_u64().map_or(text, seconds)),
        ("size", _) => (String::new(), format!("{text} bytes")),
        ("depends_on", Value::Array(ids)) => {
            let titles = ids.iter().filter_map(Value::as_str).map(titles);
            ("after".to_owned(), titles.collect::<Vec<_>>().join(", "))
        }
        _ => (name.replace('_', " "), text),
    };
    Some(Detail {
        member: name.to_owned(),
        label,
        value: text,
    })
}

/// Seconds in the two largest units.
fn seconds(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {}s", seconds / 60, seconds % 60),
        _ => format!("{}h {}m", seconds / 3600, seconds % 3600 / 60),
    }
}

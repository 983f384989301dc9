//! The text of a container in a settings file: where a child goes in and out without a trace.

use std::ops::Range;

use jsonc_parser::{ast, common::Ranged as _};
use serde_json::Value;

/// An object or array of the file: its place, and those of its children.
pub(super) struct Container {
    pub(super) range: Range<usize>,
    pub(super) children: Vec<Range<usize>>,
}

impl Container {
    pub(super) fn object(object: &ast::Object<'_>) -> Self {
        Self {
            range: object.start()..object.end(),
            children: object
                .properties
                .iter()
                .map(|child| child.start()..child.end())
                .collect(),
        }
    }

    pub(super) fn array(array: &ast::Array<'_>) -> Self {
        Self {
            range: array.start()..array.end(),
            children: array.elements.iter().map(|child| child.start()..child.end()).collect(),
        }
    }
}

/// The text with a value added last to a container whose children are at `depth`.
pub(super) fn inserted(
    text: &str,
    style: &Style,
    container: &Container,
    depth: usize,
    name: Option<&str>,
    value: &Value,
) -> String {
    let name = name.map(|name| format!("{}: ", Value::from(name))).unwrap_or_default();
    let Some(last) = container.children.last() else {
        let start = container.range.start + 1;
        return splice(text, start..start, &format!("{name}{}", style.pretty(value, depth)));
    };
    if !starts_line(text, last.start) {
        let added = format!(", {name}{}", compact(value));
        return splice(text, last.end..last.end, &added);
    }
    let depth = style.depth_at(text, last.start);
    let indent = line_indent(text, last.start);
    // A comment behind the last child stays behind it.
    let end = last.end + comment_on_line(&text[last.end..container.range.end - 1]);
    let added = format!("{}{indent}{name}{}", style.eol, style.pretty(value, depth));
    format!("{},{}{added}{}", &text[..last.end], &text[last.end..end], &text[end..])
}

/// The text without one child of a container, and without its comma.
pub(super) fn without_child(text: &str, container: &Container, at: usize) -> String {
    let child = &container.children[at];
    match (at.checked_sub(1), container.children.get(at + 1)) {
        // The only child, of a container that was empty: what follows it was there before.
        (None, None) => splice(text, child.clone(), ""),
        // The first one of several: up to the next.
        (None, Some(next)) => splice(text, child.start..next.start, ""),
        (Some(before), next) => {
            let before = &container.children[before];
            let between = &text[before.end..child.start];
            let comma = comma_in(between);
            // White space before the child goes, comments stay.
            let from = before.end + comments_end(between, comma);
            let comma = before.end + comma;
            if next.is_some() {
                // The comma behind the child separates its neighbors now.
                let behind = child.end + comma_in(&text[child.end..container.range.end]) + 1;
                return format!("{}{}{}", &text[..=comma], &text[comma + 1..from], &text[behind..]);
            }
            format!("{}{}{}", &text[..comma], &text[comma + 1..from], &text[child.end..])
        }
    }
}

/// The place of the comma in the text between two children, which holds white space and comments besides.
fn comma_in(between: &str) -> usize {
    let mut at = 0;
    while at < between.len() && !between[at..].starts_with(',') {
        at += step(&between[at..]).0;
    }
    at
}

/// The end of the last comment behind the comma between two children, or the comma's own end. The line end of a line
/// comment is not part of it.
fn comments_end(between: &str, comma: usize) -> usize {
    let (mut at, mut end) = (comma + 1, comma + 1);
    while at < between.len() {
        let (length, is_comment) = step(&between[at..]);
        at += length;
        if is_comment {
            end = at;
        }
    }
    end
}

/// The length of the comment or character at the start of the text, and whether it is a comment.
fn step(text: &str) -> (usize, bool) {
    if text.starts_with("//") {
        (text.find(['\n', '\r']).unwrap_or(text.len()), true)
    } else if text.starts_with("/*") {
        (text.find("*/").map_or(text.len(), |end| end + 2), true)
    } else {
        (text.chars().next().map_or(1, char::len_utf8), false)
    }
}

/// The length of white space and comments up to the last comment that ends on the same line; 0 without one.
fn comment_on_line(rest: &str) -> usize {
    let (mut at, mut end) = (0, 0);
    while at < rest.len() && !rest[at..].starts_with(['\n', '\r']) {
        let (length, is_comment) = step(&rest[at..]);
        if !is_comment && !rest[at..].starts_with([' ', '\t']) {
            break;
        }
        at += length;
        if is_comment {
            end = at;
        }
    }
    end
}

/// How a file lays its members out.
pub(super) struct Style {
    /// One level of indentation.
    pub(super) unit: String,
    pub(super) eol: &'static str,
    /// Whether all of it is on one line.
    pub(super) inline: bool,
}

impl Style {
    pub(super) fn of(text: &str, root: &ast::Object<'_>) -> Self {
        let first = root.properties.first().map(ast::ObjectProp::start);
        let unit = first
            .filter(|start| starts_line(text, *start))
            .map(|start| line_indent(text, start))
            .filter(|indent| !indent.is_empty())
            .unwrap_or("  ");
        Self {
            unit: unit.to_owned(),
            eol: if text.contains("\r\n") { "\r\n" } else { "\n" },
            inline: first.is_some() && !text.trim().contains('\n'),
        }
    }

    /// The level of indentation of the line on which a child begins.
    pub(super) fn depth_at(&self, text: &str, start: usize) -> usize {
        line_indent(text, start).len() / self.unit.len().max(1)
    }

    /// The value over several lines, the first of which continues a line at `depth`.
    pub(super) fn pretty(&self, value: &Value, depth: usize) -> String {
        if self.inline {
            return compact(value);
        }
        let mut out = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(self.unit.as_bytes());
        let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
        serde::Serialize::serialize(value, &mut serializer).expect("a JSON value is serialized to memory");
        let text = String::from_utf8(out).expect("JSON is UTF-8");
        text.replace('\n', &format!("{}{}", self.eol, self.unit.repeat(depth)))
    }
}

/// The value on one line, with a space inside of each bracket, which marks what an edit created.
fn compact(value: &Value) -> String {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, value)| format!("{}: {}", Value::from(name.as_str()), compact(value)))
                .collect();
            format!("{{ {} }}", members.join(", "))
        }
        Value::Array(elements) if !elements.is_empty() => {
            let elements: Vec<String> = elements.iter().map(compact).collect();
            format!("[ {} ]", elements.join(", "))
        }
        value => value.to_string(),
    }
}

fn starts_line(text: &str, at: usize) -> bool {
    let before = text[..at].trim_end_matches([' ', '\t']);
    before.is_empty() || before.ends_with('\n')
}

/// The white space at the beginning of the line that holds `at`.
fn line_indent(text: &str, at: usize) -> &str {
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[line..]
        .find(|c| c != ' ' && c != '\t')
        .map_or(text.len(), |end| line + end);
    &text[line..end]
}

/// The text with a part replaced.
pub(super) fn splice(text: &str, range: Range<usize>, with: &str) -> String {
    format!("{}{with}{}", &text[..range.start], &text[range.end..])
}

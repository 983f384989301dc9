//! The command that adds a removed item again: changes of the record are on no undo list.

use serde_json::Value;

use crate::{
    model::{item::ItemKind, step::quoted},
    render::escape,
};

/// A command line that adds an item to a record that has lost it; `session` is the option that names the session.
pub(super) fn command(kind: &ItemKind, item: &Value, session: &str) -> String {
    let line = |verb: &str| format!("git checkpoint {} {verb}{session}", kind.command);
    let verb = match kind.list {
        "agent_history" => "note",
        "approvals" => "ask",
        "checks" => return check(item, session),
        _ => "add",
    };
    let text = kind.text_of(item);
    // Tasks are found by their ids from other tasks.
    if kind.list != "tasks" && has_only_text(kind, item) && !text.chars().any(escape::is_hidden) {
        let dashes = if text.starts_with('-') { " --" } else { "" };
        return format!("{}{dashes} {}", line(verb), quoted(text));
    }
    format!(
        "printf %s {} | {} --json-input -",
        quoted(&visible(&item.to_string())),
        line(verb)
    )
}

/// A check is set as a whole; it has no other form.
fn check(item: &Value, session: &str) -> String {
    let word = |member: &str| item[member].as_str().unwrap_or_default();
    let text = match word("text") {
        "" => String::new(),
        text => format!(" --text {}", quoted(text)),
    };
    let words = [word("name"), word("status")];
    let dashes = if words.iter().any(|word| word.starts_with('-')) {
        " --"
    } else {
        ""
    };
    let [name, status] = words.map(quoted);
    format!("git checkpoint check{session}{text}{dashes} {name} {status}")
}

/// Whether an item says nothing but its text, besides who added it and when.
fn has_only_text(kind: &ItemKind, item: &Value) -> bool {
    let mut members = item.as_object().into_iter().flatten();
    members.all(|(member, value)| value.is_null() || [kind.text, "id", "at", "by"].contains(&member.as_str()))
}

/// JSON in which nothing is hidden from a reader of the command line: characters that are not shown are escaped.
fn visible(json: &str) -> String {
    let mut units = [0; 2];
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if escape::is_hidden(c) {
            out.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

//! The members of the record: their headings, their place in the order of reading, and the commands that show them all.

use serde_json::{Map, Value};

use super::{Entry, Rank, Section, cut, entry};
use crate::model::item;
use Order::{Latest, Numbered, OpenFirst};
use Rank::{Decided, Next, Open, Rest, Standing};

/// The order of the entries of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As it is stored: an order to follow, with numbers.
    Numbered,
    /// Open ones first, in the order in which they are stored, then the others, latest first.
    OpenFirst,
    /// Latest first.
    Latest,
}

/// A member of the record.
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// Its stored name.
    pub name: &'static str,
    /// Its heading.
    pub title: &'static str,
    /// Where it is read.
    pub rank: Rank,
    /// The order of its entries, where it is a list.
    pub order: Order,
    /// The member that is the text of an item, where it is a list.
    text: Option<&'static str>,
}

const fn value(name: &'static str, title: &'static str, rank: Rank) -> Member {
    Member {
        name,
        title,
        rank,
        order: Numbered,
        text: None,
    }
}

const fn list(name: &'static str, title: &'static str, rank: Rank, order: Order, text: &'static str) -> Member {
    Member {
        name,
        title,
        rank,
        order,
        text: Some(text),
    }
}

/// The members of the record in the order of reading; what a record has next to them is read last, under its own name.
pub const MEMBERS: &[Member] = &[
    value("phase", "Phase", Standing),
    value("step", "Step", Standing),
    value("iteration", "Iteration", Standing),
    value("error", "Error", Standing),
    list("next_steps", "Next", Next, Numbered, "text"),
    list("resume_instructions", "On resuming", Next, Numbered, "text"),
    list("conflicts", "Conflicts of a merge", Open, OpenFirst, "member"),
    list("blockers", "Blockers", Open, OpenFirst, "text"),
    list("tasks", "Tasks", Open, OpenFirst, "title"),
    list("todos", "To do", Open, OpenFirst, "text"),
    list("questions", "Questions", Open, OpenFirst, "text"),
    list("approvals", "Approvals", Open, OpenFirst, "question"),
    list("fork_points", "Fork points", Open, OpenFirst, "title"),
    list("decisions", "Decisions", Decided, Latest, "text"),
    list("accomplishments", "Done, latest first", Rest, Latest, "text"),
    list("checks", "Checks", Rest, Latest, "name"),
    list("delegations", "Delegations", Rest, Latest, "agent"),
    value("partitions", "Paths of agents", Rest),
    list("agent_history", "Agent notes", Rest, Latest, "text"),
    list("memory_refs", "Memory", Rest, Numbered, "text"),
    list("open_files", "Open files", Rest, Numbered, "path"),
    list("attachments", "Attachments", Rest, Numbered, "name"),
    value("state", "State", Rest),
    value("extra", "From other systems", Rest),
];

/// The place of a member in the order of reading.
pub(super) fn place(name: &str) -> usize {
    MEMBERS
        .iter()
        .position(|member| member.name == name)
        .unwrap_or(MEMBERS.len())
}

/// The section of a member of the record; `None` for what is no section: the summary, which precedes all, and how it
/// came about.
pub(super) fn section(name: &str, stored: &Value, record: &Map<String, Value>, selector: &str) -> Option<Section> {
    if matches!(name, "summary" | "auto_summary") {
        return None;
    }
    let unknown = Member {
        title: "",
        ..value("", "", Rest)
    };
    let member = MEMBERS.iter().find(|member| member.name == name).unwrap_or(&unknown);
    let entries = match (stored, member.text) {
        (Value::Array(items), Some(text)) => items_of(name, items, text, member.order, record),
        _ => values(name, stored, selector),
    };
    let title = if member.title.is_empty() {
        name.replace('_', " ")
    } else {
        member.title.to_owned()
    };
    Some(Section {
        member: name.to_owned(),
        title,
        rank: member.rank,
        numbered: member.order == Numbered && name == "next_steps",
        latest_last: false,
        total: entries.len() as u64,
        entries,
        command: format!("git checkpoint show {selector} --all"),
    })
}

fn items_of(name: &str, items: &[Value], text: &str, order: Order, record: &Map<String, Value>) -> Vec<Entry> {
    let titles = |id: &str| {
        let tasks = record.get("tasks").and_then(Value::as_array);
        let task = tasks.into_iter().flatten().find(|task| item::id_of(task) == id);
        task.and_then(|task| task["title"].as_str()).unwrap_or(id).to_owned()
    };
    let mut entries: Vec<Entry> = items.iter().map(|item| of_item(name, item, text, &titles)).collect();
    match order {
        Numbered => {}
        Latest => entries.reverse(),
        OpenFirst => {
            let (mut open, mut closed): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| entry.open);
            // What is in work or stuck comes before what was not begun.
            open.sort_by_key(|entry| !matches!(entry.state.as_str(), "in_progress" | "blocked"));
            closed.reverse();
            open.append(&mut closed);
            entries = open;
        }
    }
    entries
}

fn of_item(name: &str, item: &Value, text: &str, titles: &dyn Fn(&str) -> String) -> Entry {
    let Some(members) = item.as_object() else {
        return Entry::new(&entry::value_text(item));
    };
    let kind = item::KINDS.iter().find(|kind| kind.list == name);
    let mut shown = vec!["id", "at", "by", text, "options"];
    let state = kind.map_or("", |kind| kind.standing(item)).to_owned();
    // The word for where it is says what these members say, unless they say more.
    match name {
        "tasks" | "checks" | "delegations" => shown.push("status"),
        "todos" => shown.push("done"),
        "approvals" if matches!(state.as_str(), "approve" | "reject") => shown.push("answer"),
        "attachments" => shown.push("n"),
        _ => {}
    }
    let mut out = Entry {
        text: members.get(text).map(entry::value_text).unwrap_or_default(),
        open: kind.is_none_or(|kind| kind.is_open(item)),
        state,
        details: entry::details(members, &shown, titles),
        parts: Vec::new(),
    };
    if name == "open_files" {
        place_in_file(&mut out);
    }
    let options = members.get("options").and_then(Value::as_array).into_iter().flatten();
    for option in options {
        let Some(members) = option.as_object() else { continue };
        let text = |name: &str| members.get(name).map(entry::value_text).unwrap_or_default();
        out.parts.push(Entry {
            details: entry::details(members, &["key", "title"], titles),
            ..Entry::pair(&text("key"), &text("title"))
        });
    }
    out
}

/// `path:line:column`, as editors and compilers write it.
fn place_in_file(entry: &mut Entry) {
    for member in ["line", "column"] {
        let Some(at) = entry.details.iter().position(|detail| detail.member == member) else {
            return;
        };
        let detail = entry.details.remove(at);
        entry.text.push(':');
        entry.text.push_str(&detail.value);
    }
}

/// A member that is no list of items: one entry, or one for each of its members.
fn values(name: &str, stored: &Value, selector: &str) -> Vec<Entry> {
    let command = format!("show {selector} --json");
    match (name, stored) {
        ("phase" | "step", Value::Object(members)) => {
            let text = |name: &str| members.get(name).map(entry::value_text).unwrap_or_default();
            let title = text("title");
            let mut out = Entry::new(format!("{} of {} {title}", text("n"), text("of")).trim_end());
            out.details = entry::details(members, &["n", "of", "title"], &str::to_owned);
            vec![out]
        }
        ("error", Value::Object(members)) => {
            let mut out = Entry::new(&members.get("message").map(entry::value_text).unwrap_or_default());
            out.details = entry::details(members, &["message"], &str::to_owned);
            vec![out]
        }
        (_, Value::Null) => Vec::new(),
        (_, Value::Object(members)) => {
            let pair = |(name, value): (&String, &Value)| Entry::pair(name, &cut(&entry::value_text(value), &command));
            members.iter().map(pair).collect()
        }
        (_, Value::Array(items)) => items.iter().map(|item| Entry::new(&entry::value_text(item))).collect(),
        (_, value) => vec![Entry::new(&cut(&entry::value_text(value), &command))],
    }
}

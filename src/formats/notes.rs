//! A record that is being put together from foreign fields, in the stored form.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{System, fields::ObjectFields};
use crate::model::{id::Digest, patch, session::SessionStatus, time::Timestamp};

/// A record in the making.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordNotes {
    record: Map<String, Value>,
    ids: BTreeSet<(String, String)>,
    /// Number of occurrences of a text in a list so far: with thousands of the same one nothing is tried twice.
    times: BTreeMap<(String, String), u64>,
}

/// One item of a list of the record.
#[derive(Clone, Debug)]
pub(super) struct NoteItem(Map<String, Value>);

impl NoteItem {
    /// An item with a text, in the field that is the text of its list.
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(Map::from_iter([("text".to_owned(), Value::String(text.into()))]))
    }

    /// The same with a member, unless there is none.
    pub(super) fn with(mut self, key: &str, value: Option<impl Into<Value>>) -> Self {
        if let Some(value) = value {
            self.0.insert(key.to_owned(), value.into());
        }
        self
    }

    /// The same with the id it has elsewhere.
    pub(super) fn with_id(self, id: Option<String>) -> Self {
        self.with("id", id)
    }

    /// The same with a time.
    pub(super) fn at(self, at: Option<Timestamp>) -> Self {
        self.with("at", at.map(|at| at.to_string()))
    }

    /// The same with further members, which must not replace those it has: such a one gets the prefix `foreign_`.
    pub(super) fn and(mut self, rest: ObjectFields) -> Self {
        for (key, value) in rest.rest() {
            if KNOWN.contains(&key.as_str()) || self.0.contains_key(&key) {
                self.0.insert(format!("foreign_{key}"), value);
            } else {
                self.0.insert(key, value);
            }
        }
        self
    }
}

/// Members of items that have a type: a foreign member of the same name must not be read as one of them.
const KNOWN: [&str; 40] = [
    "id",
    "at",
    "by",
    "text",
    "title",
    "status",
    "agent",
    "issue",
    "files",
    "depends_on",
    "notes",
    "progress",
    "done",
    "reason",
    "needs",
    "ref",
    "answer",
    "provider",
    "channel",
    "thread",
    "question",
    "asked_at",
    "answered_by",
    "options",
    "decider",
    "chosen",
    "model_tier",
    "tokens",
    "estimated",
    "duration",
    "panel",
    "path",
    "line",
    "column",
    "name",
    "key",
    "pros",
    "cons",
    "n",
    "of",
];

impl RecordNotes {
    /// Sets a member of the record, unless there is nothing to set.
    pub(super) fn set(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.record.insert(key.to_owned(), value.into());
        }
    }

    /// Adds an item to a list.
    pub(super) fn add(&mut self, list: &str, item: NoteItem) {
        let field = patch::LISTS
            .iter()
            .find(|(name, _)| *name == list)
            .map_or("text", |(_, field)| field);
        let mut given = item.0;
        // `agent_history` and `delegations` have the text next to the agent.
        let text = given.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut map = Map::new();
        let foreign = given.shift_remove("id").and_then(|id| id.as_str().map(str::to_owned));
        let id = self.id(list, &text, foreign.as_deref());
        if let Some(foreign) = foreign.filter(|foreign| *foreign != id) {
            given.insert("foreign_id".to_owned(), foreign.into());
        }
        map.insert("id".to_owned(), id.into());
        for key in ["at", "by"] {
            if let Some(value) = given.shift_remove(key) {
                map.insert(key.to_owned(), value);
            }
        }
        if field != "text"
            && let Some(text) = given.shift_remove("text")
        {
            map.insert(field.to_owned(), text);
        }
        map.extend(given);
        let items = self.record.entry(list).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(items) = items {
            items.push(Value::Object(map));
        }
    }

    /// Adds a check: its name, the evidence as its text, and all other data about it.
    pub(super) fn add_check(&mut self, item: NoteItem, evidence: Option<String>, rest: ObjectFields) {
        let at = self.record.get("checks").and_then(Value::as_array).map_or(0, Vec::len);
        self.add("checks", item.and(rest));
        if let (Some(evidence), Some(check)) = (
            evidence,
            self.record.get_mut("checks").and_then(|list| list.get_mut(at)),
        ) {
            check["text"] = evidence.into();
        }
    }

    /// An id that is unique in its list: the foreign one where it can be typed, else one that follows from the text, so
    /// that the same item has the same id in every checkpoint it is in.
    fn id(&mut self, list: &str, text: &str, foreign: Option<&str>) -> String {
        let typeable = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if let Some(id) = foreign.filter(|id| !id.is_empty() && id.len() <= 64 && id.chars().all(typeable))
            && self.ids.insert((list.to_owned(), id.to_owned()))
        {
            return id.to_owned();
        }
        let times = self.times.entry((list.to_owned(), text.to_owned())).or_default();
        for n in *times.. {
            let digest = Digest::of(format!("{list}\n{n}\n{text}").as_bytes());
            let id = digest.hex()[..8].to_owned();
            if self.ids.insert((list.to_owned(), id.clone())) {
                *times = n + 1;
                return id;
            }
        }
        unreachable!("one of 2^64 digests is free")
    }

    /// Adds the items of a foreign list: texts, or objects whose text is under one of `names`; `more` maps further
    /// members. What is neither is kept as its JSON text.
    pub(super) fn add_all(&mut self, list: &str, items: Vec<Value>, names: &[&str], more: &[(&str, &str)]) {
        for item in items {
            match item {
                Value::String(text) => self.add(list, NoteItem::new(text)),
                Value::Object(map) => {
                    let mut fields = ObjectFields::new(map);
                    let Some(text) = names.iter().find_map(|name| fields.text(name)) else {
                        let text = Value::Object(fields.rest()).to_string();
                        self.add(list, NoteItem::new(text));
                        continue;
                    };
                    let mut made = NoteItem::new(text).with_id(fields.text("id"));
                    for key in ["created_at", "timestamp", "at"] {
                        if !made.0.contains_key("at") {
                            made = made.at(fields.time(key));
                        }
                    }
                    for (from, to) in more {
                        made = match *to {
                            "status" => {
                                let word = fields.peek_text(from).map(str::to_owned);
                                let status = word.as_deref().map(task_status);
                                if word.as_deref() == status {
                                    fields.take(from);
                                }
                                made.with("status", status)
                            }
                            "files" | "depends_on" => {
                                made.with(to, fields.texts(from).filter(|texts| !texts.is_empty()))
                            }
                            _ => made.with(to, fields.text(from)),
                        };
                    }
                    self.add(list, made.and(fields));
                }
                other => self.add(list, NoteItem::new(other.to_string())),
            }
        }
    }

    /// Puts what has no other place under the system's name into `extra`.
    pub(super) fn extra(&mut self, system: System, rest: Map<String, Value>) {
        if rest.is_empty() {
            return;
        }
        let extra = self.record.entry("extra").or_insert_with(|| json!({}));
        if let Value::Object(extra) = extra {
            let own = extra.entry(system.word()).or_insert_with(|| json!({}));
            if let Value::Object(own) = own {
                own.extend(rest);
            }
        }
    }

    /// A text inside a member.
    pub(super) fn text_at(&self, key: &str, inner: &str) -> Option<String> {
        Some(self.record.get(key)?.get(inner)?.as_str()?.to_owned())
    }

    /// Whether a list or member is there.
    pub(super) fn has(&self, key: &str) -> bool {
        self.record.contains_key(key)
    }

    /// The record.
    pub(super) fn finish(self) -> Map<String, Value> {
        self.record
    }
}

/// Puts a value under the system's name into the `extra` of a record that may have come from anywhere: what is in the
/// way there and is no object is kept under the name `value`.
pub(super) fn put_extra(record: &mut Map<String, Value>, system: System, key: &str, value: Value) {
    let extra = object_at(record, "extra");
    object_at(extra, system.word()).insert(key.to_owned(), value);
}

/// Adds values to a list under the system's name in `extra`; what is in the way and is no list becomes its first.
pub(super) fn add_extra(record: &mut Map<String, Value>, system: System, key: &str, values: Vec<Value>) {
    let own = object_at(object_at(record, "extra"), system.word());
    let place = own.entry(key).or_insert_with(|| Value::Array(Vec::new()));
    if !place.is_array() {
        *place = Value::Array(vec![place.take()]);
    }
    if let Value::Array(list) = place {
        list.extend(values);
    }
}

fn object_at<'a>(map: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let place = map.entry(key).or_insert_with(|| json!({}));
    if !place.is_object() {
        *place = json!({ "value": place.take() });
    }
    place.as_object_mut().expect("it was made one a line above")
}

/// State of a task, from the words that tools use, with or without a sign before them.
pub(super) fn task_status(word: &str) -> &'static str {
    let word = word.to_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| word.contains(part));
    if has(&["block", "fail", "\u{274c}", "stuck", "error"]) {
        "blocked"
    } else if has(&["drop", "cancel", "skip", "wont", "won't", "abandon"]) {
        "dropped"
    } else if has(&[
        "progress",
        "active",
        "running",
        "started",
        "flight",
        "doing",
        "wip",
        "review",
        "\u{1f504}",
    ]) {
        "in_progress"
    } else if has(&[
        "done", "complet", "finish", "pass", "merged", "closed", "success", "\u{2705}", "\u{2714}",
    ]) && !has(&["incomplete", "not "])
    {
        "done"
    } else {
        "todo"
    }
}

/// State of a session, from the words that tools use.
pub(super) fn session_status(word: &str) -> Option<SessionStatus> {
    match word.trim().to_lowercase().as_str() {
        "active" | "running" | "in_progress" | "in-progress" | "in progress" | "open" => Some(SessionStatus::Active),
        "paused" | "stopped" | "interrupted" | "suspended" | "archived" => Some(SessionStatus::Paused),
        "completed" | "complete" | "done" | "finished" | "ended" | "closed" => Some(SessionStatus::Completed),
        "failed" | "error" | "aborted" | "crashed" => Some(SessionStatus::Failed),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_has_the_same_id_and_twice_two() {
        let mut one = RecordNotes::default();
        one.add("todos", NoteItem::new("a"));
        one.add("todos", NoteItem::new("a"));
        let mut other = RecordNotes::default();
        other.add("todos", NoteItem::new("a"));
        let (one, other) = (one.finish(), other.finish());
        assert_eq!(one["todos"][0]["id"], other["todos"][0]["id"]);
        assert_ne!(one["todos"][0]["id"], one["todos"][1]["id"]);
    }

    #[test]
    fn foreign_ids_are_kept_and_members_never_collide() {
        let mut notes = RecordNotes::default();
        let item = |id: &str| json!({"id": id, "title": "t", "status": "Done!", "line": "x", "prio": 1});
        notes.add_all(
            "tasks",
            vec![item("T-1"), item("T-1"), item("a b"), json!(5)],
            &["title"],
            &[("status", "status")],
        );
        let record = notes.finish();
        let tasks = record["tasks"].as_array().expect("a list");
        assert_eq!(tasks[0]["id"], "T-1");
        assert_eq!(tasks[1]["foreign_id"], "T-1");
        assert_eq!(tasks[2]["foreign_id"], "a b");
        assert_eq!(
            (&tasks[0]["status"], &tasks[0]["foreign_status"]),
            (&json!("done"), &json!("Done!"))
        );
        assert_eq!((&tasks[0]["foreign_line"], &tasks[0]["prio"]), (&json!("x"), &json!(1)));
        assert_eq!(tasks[3]["title"], "5");
    }

    #[test]
    fn words_of_other_tools_are_understood() {
        for (word, expected) in [
            ("\u{2705} Done", "done"),
            ("\u{1f504} In Progress", "in_progress"),
            ("pending", "todo"),
            ("\u{274c} Failed", "blocked"),
            ("incomplete", "todo"),
            ("not done", "todo"),
            ("cancelled", "dropped"),
        ] {
            assert_eq!(task_status(word), expected, "{word}");
        }
        assert_eq!(session_status("Stopped"), Some(SessionStatus::Paused));
        assert_eq!(session_status("dancing"), None);
    }
}

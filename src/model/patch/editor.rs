//! A record while many patches change it.
//!
//! A draft may hold ten thousand operations on a record of as many items: each is found by its id at once, and the
//! record is checked once, at the end.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{
    super::{json, record::Record},
    Error, FILLED, LISTS, MUST, fill, from_value,
};

/// Rule for changes of an item that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingItemRule {
    /// It is an item, and fails if it is not a whole one.
    IsAdded,
    /// A whole item is added; a part of one is passed over, for another writer removed what it would have changed.
    IsPassedOver,
}

/// A record while it is changed by any number of patches: each costs as much as it has, however much the record holds.
pub struct RecordEditor {
    map: Map<String, Value>,
    /// For lists that were looked into, where each item is.
    places: HashMap<String, HashMap<String, usize>>,
    /// When and by whom the next patches were made: what a new item with an id of its own may leave out.
    stamp: Option<(String, String)>,
}

impl RecordEditor {
    /// Begins with a record.
    pub fn new(record: &Record) -> Self {
        let Ok(Value::Object(map)) = serde_json::to_value(record) else {
            unreachable!("a record is plain data");
        };
        Self {
            map,
            places: HashMap::new(),
            stamp: None,
        }
    }

    /// Sets when and by whom the next patches were made.
    pub fn stamp(&mut self, at: &str, by: &str) {
        self.stamp = Some((at.to_owned(), by.to_owned()));
    }

    /// Applies a prepared patch.
    pub fn apply(&mut self, patch: &Value, missing: MissingItemRule) -> Result<(), Error> {
        let Value::Object(patch) = patch else {
            return Err(Error::NotAnObject);
        };
        for (key, value) in patch {
            if value.is_null() {
                self.map.shift_remove(key);
                self.places.remove(key);
            } else if let Some((list, _)) = LISTS.iter().find(|(list, _)| list == key) {
                let items = value.as_array().ok_or(Error::NotAList(list))?;
                self.merge_items(key, items, missing);
            } else {
                json::merge_patch(self.map.entry(key.clone()).or_insert(Value::Null), value.clone());
            }
        }
        Ok(())
    }

    /// Removes one item of a list; whether it was there.
    pub fn remove(&mut self, list: &str, id: &str) -> bool {
        if !LISTS.iter().any(|(known, _)| *known == list) {
            return false;
        }
        let Some(at) = self.places(list).remove(id) else {
            return false;
        };
        // Taken out at the end, so that the others keep their places.
        self.items(list)[at] = Value::Null;
        true
    }

    /// Replaces the part of the caller's state that a JSON pointer (RFC 6901) names; the empty one names all of it.
    ///
    /// Objects on the way are made. In an array `-` is the place behind the last element. What leads nowhere else
    /// changes nothing, and gives false.
    pub fn put(&mut self, pointer: &str, value: Value) -> bool {
        let mut target = self.map.entry("state").or_insert(Value::Null);
        for token in pointer.split('/').skip(1) {
            let token = token.replace("~1", "/").replace("~0", "~");
            if let Value::Array(items) = target {
                let at = if token == "-" {
                    Some(items.len())
                } else {
                    token.parse().ok()
                };
                let Some(at) = at.filter(|at| *at <= items.len()) else {
                    return false;
                };
                if at == items.len() {
                    items.push(Value::Null);
                }
                target = &mut items[at];
            } else {
                if !target.is_object() {
                    *target = Value::Object(Map::new());
                }
                target = target
                    .as_object_mut()
                    .expect("it was made one a line above")
                    .entry(token)
                    .or_insert(Value::Null);
            }
        }
        *target = value;
        true
    }

    /// The changed record; fails on what no record can hold, and names it.
    pub fn finish(mut self) -> Result<Record, Error> {
        for list in self.places.keys() {
            if let Some(Value::Array(items)) = self.map.get_mut(list) {
                items.retain(|item| !item.is_null());
            }
        }
        from_value(Value::Object(self.map))
    }

    fn merge_items(&mut self, list: &str, items: &[Value], missing: MissingItemRule) {
        for item in items {
            let id = item.get("id").and_then(Value::as_str).unwrap_or_default();
            if let Some(at) = self.places(list).get(id).copied() {
                json::merge_patch(&mut self.items(list)[at], item.clone());
            } else if missing == MissingItemRule::IsAdded
                || is_whole(item)
                || (self.stamp.is_some() && is_new(list, item))
            {
                let at = self.items(list).len();
                let item = self.completed(list, item);
                self.items(list).push(item);
                self.places(list).insert(id.to_owned(), at);
            }
        }
    }

    /// A new item with the time, the author and the agent that it leaves out.
    fn completed(&self, list: &str, item: &Value) -> Value {
        let mut item = item.clone();
        if let (Some((at, by)), Some(members)) = (&self.stamp, item.as_object_mut()) {
            for (name, value) in [("at", at), ("by", by)] {
                members.entry(name).or_insert_with(|| value.clone().into());
            }
            fill(list, members);
        }
        item
    }

    fn items(&mut self, list: &str) -> &mut Vec<Value> {
        let present = self.map.entry(list).or_insert_with(|| Value::Array(Vec::new()));
        present.as_array_mut().expect("known lists are arrays")
    }

    fn places(&mut self, list: &str) -> &mut HashMap<String, usize> {
        if !self.places.contains_key(list) {
            let mut places = HashMap::new();
            for (at, item) in self.items(list).iter().enumerate() {
                // Of two with one id the first is meant.
                places.entry(id_of(item).to_owned()).or_insert(at);
            }
            self.places.insert(list.to_owned(), places);
        }
        self.places.entry(list.to_owned()).or_default()
    }
}

fn id_of(item: &Value) -> &str {
    item.get("id").and_then(Value::as_str).unwrap_or_default()
}

/// Whether an element is an item of its own and not a change of one: every item has the time when it was noted.
pub(super) fn is_whole(item: &Value) -> bool {
    item.get("at").is_some()
}

/// Whether an element says all that an item of this list must say, but for what can be filled in.
pub fn is_new(list: &str, item: &Value) -> bool {
    let text = LISTS.iter().find(|(known, _)| *known == list).map(|(_, text)| *text);
    let must = MUST
        .iter()
        .filter(|must| must.0 == list && !FILLED.contains(must))
        .map(|(_, member)| *member);
    text.into_iter()
        .chain(must)
        .all(|member| item.get(member).is_some_and(Value::is_string))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn many_patches_are_applied_as_one_after_the_other() {
        let item = |id: &str, text: &str| json!({"todos": [{"id": id, "at": "2026-11-27T12:00:00Z", "by": "a", "text": text}]});
        let mut changing = RecordEditor::new(&Record::default());
        for patch in [item("a", "one"), item("b", "two"), item("c", "three")] {
            changing.apply(&patch, MissingItemRule::IsPassedOver).expect("ok");
        }
        assert!(changing.remove("todos", "b") && !changing.remove("todos", "b") && !changing.remove("summary", "b"));
        let done = |id: &str| json!({"todos": [{"id": id, "done": true}]});
        for id in ["c", "b", "never"] {
            changing.apply(&done(id), MissingItemRule::IsPassedOver).expect("ok");
        }
        changing
            .apply(&item("b", "again"), MissingItemRule::IsPassedOver)
            .expect("ok");
        let record = changing.finish().expect("whole");
        let todos: Vec<_> = record.todos.iter().map(|t| (t.text.as_str(), t.done)).collect();
        assert_eq!(todos, [("one", false), ("three", true), ("again", false)]);
        let mut strict = RecordEditor::new(&record);
        strict.apply(&done("never"), MissingItemRule::IsAdded).expect("taken");
        assert!(strict.finish().is_err());
        assert!(
            RecordEditor::new(&record)
                .apply(&json!({"todos": 5}), MissingItemRule::IsPassedOver)
                .is_err()
        );
    }

    #[test]
    fn the_state_is_put_where_a_pointer_says() {
        let mut changing = RecordEditor::new(&Record::default());
        for (at, value) in [
            ("/a/b", json!({"n": null})),
            ("/list", json!([1])),
            ("/list/-", json!(2)),
            ("/list/0", json!(0)),
            ("/list/9", json!("nowhere")),
            ("/x~1y", json!(1.50)),
        ] {
            changing.put(at, value);
        }
        let state = changing.finish().expect("any JSON").state.expect("set");
        assert_eq!(state, json!({"a": {"b": {"n": null}}, "list": [0, 2], "x/y": 1.50}));
    }
}

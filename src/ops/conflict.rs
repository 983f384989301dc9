//! Resolution of contradictions that a merge left in the record: a value is put in its place, and the conflict goes.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::{
    Error, Scene, chat,
    draft::{self, DraftChange, DraftReceipt},
    items::CurrentRecord,
};
use crate::model::{
    item::id_of,
    merge,
    patch::{self, LISTS},
};

/// Value that resolves a conflict.
#[derive(Clone, Debug, PartialEq)]
pub enum ConflictChoice {
    /// The value in the record by now.
    Current,
    /// That of the session that was merged into.
    Ours,
    /// That of the session that was merged in.
    Theirs,
    /// That of the common checkpoint.
    Base,
    /// Another one.
    Value(Value),
}

/// Resolves conflicts, all alike, in the session's draft.
pub fn resolve(
    scene: &Scene<'_>,
    now: &CurrentRecord,
    conflicts: &[Value],
    choice: &ConflictChoice,
) -> Result<DraftReceipt, Error> {
    let mut record = serde_json::to_value(&now.record).unwrap_or_default();
    let mut all = Vec::new();
    for conflict in conflicts {
        let before = record.clone();
        let mut changes = Vec::new();
        let side = |name: &str| conflict.get(name).cloned();
        let value = match choice {
            ConflictChoice::Current => None,
            ConflictChoice::Ours => Some(side("ours")),
            ConflictChoice::Theirs => Some(side("theirs")),
            ConflictChoice::Base => Some(side("base")),
            ConflictChoice::Value(value) => Some(given(conflict, value)?),
        };
        let parts = merge::parts(conflict["member"].as_str().unwrap_or_default());
        if let Some(value) = value {
            let names: Vec<&str> = parts.iter().map(String::as_str).collect();
            match names[..] {
                ["session", ref rest @ ..] => changes.push(DraftChange::Session(nested(rest, value))),
                ["steps", id, ref rest @ ..] if !rest.is_empty() || value.is_some() => {
                    changes.push(DraftChange::Step {
                        id: id.to_owned(),
                        patch: nested(rest, value),
                    });
                }
                ["steps", ..] => {}
                [name @ (chat::CONTEXT | chat::AGENT)] => {
                    let text = value.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
                    chat::set_text(scene, name, text)?;
                }
                ref path => merge::put(&mut record, path, value),
            }
        }
        changes.push(DraftChange::Remove {
            list: "conflicts".to_owned(),
            id: id_of(conflict).to_owned(),
        });
        // The record first: should a value not fit, nothing is resolved.
        let changes = record_changes(&before, &record)?.into_iter().chain(changes);
        all.extend(changes.map(|change| (change, Some(id_of(conflict).to_owned()))));
    }
    draft::append_resolving(scene, all)
}

/// A value that a person gave, as what the conflict is about: null takes away, an item is an object with its own id, and a
/// text stays the text that was typed.
fn given(conflict: &Value, value: &Value) -> Result<Option<Value>, Error> {
    let place = conflict["member"].as_str().unwrap_or_default();
    let parts = merge::parts(place);
    let names: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (list, name, member) = match names[..] {
        [list, name] if list == "steps" || LISTS.iter().any(|(known, _)| *known == list) => (list, name, "id"),
        [.., list @ "options", name] => (list, name, "key"),
        [chat::CONTEXT | chat::AGENT] if !value.is_string() && !value.is_null() => {
            return Ok(Some(value.to_string().into()));
        }
        _ => return Ok(Some(value.clone()).filter(|value| !value.is_null())),
    };
    let refused = |reason: String| {
        Err(Error::Record(patch::Error::Member {
            member: place.to_owned(),
            reason,
        }))
    };
    let mut item = match value {
        Value::Null => return Ok(None),
        Value::Object(item) => item.clone(),
        _ => return refused("it must be an object, or null to remove it".to_owned()),
    };
    match item.get(member) {
        Some(own) if own == name => {}
        Some(_) => return refused(format!("its {member} must be '{name}'")),
        None => {
            item.insert(member.to_owned(), name.into());
        }
    }
    if member == "id" && list != "steps" {
        // Who noted it and when stays.
        let sides = ["ours", "theirs", "base"].map(|side| &conflict[side]);
        for said in ["at", "by"] {
            let known = sides.iter().find_map(|side| side.get(said));
            if let Some(known) = known.filter(|_| !item.contains_key(said)) {
                item.insert(said.to_owned(), known.clone());
            }
        }
        if !patch::is_new(list, &Value::Object(item.clone())) {
            let text = LISTS
                .iter()
                .find(|(known, _)| *known == list)
                .map_or("text", |(_, text)| *text);
            return refused(format!("it must say its '{text}'"));
        }
    }
    Ok(Some(Value::Object(item)))
}

/// A merge patch that puts a value at a place.
fn nested(path: &[&str], value: Option<Value>) -> Value {
    let mut out = value.unwrap_or(Value::Null);
    for name in path.iter().rev() {
        out = json!({ *name: out });
    }
    out
}

/// The changes that make one record of another.
fn record_changes(before: &Value, after: &Value) -> Result<Vec<DraftChange>, Error> {
    let (Some(old), Some(new)) = (before.as_object(), after.as_object()) else {
        return Ok(Vec::new());
    };
    let mut changes = Vec::new();
    let mut record = Map::new();
    let names: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    for name in names {
        let (was, now) = (old.get(name), new.get(name));
        if was == now {
            continue;
        }
        if name == "state" {
            changes.push(DraftChange::Put {
                at: String::new(),
                value: now.cloned().unwrap_or(Value::Null),
            });
        } else if LISTS.iter().any(|(list, _)| list == name) {
            let items = |side: Option<&Value>| side.and_then(Value::as_array).cloned().unwrap_or_default();
            let (was, now) = (items(was), items(now));
            let old: HashMap<&str, &Value> = was.iter().rev().map(|item| (id_of(item), item)).collect();
            let new: HashSet<&str> = now.iter().map(id_of).collect();
            for item in was.iter().filter(|item| !new.contains(id_of(item))) {
                changes.push(DraftChange::Remove {
                    list: name.clone(),
                    id: id_of(item).to_owned(),
                });
            }
            let mut patches = Vec::new();
            for item in &now {
                let known = old.get(id_of(item)).copied();
                if known == Some(item) {
                    continue;
                }
                let mut patch = replacement(known, Some(item));
                patch["id"] = id_of(item).into();
                if let Some(known) = known {
                    empty(name, known, &mut patch);
                }
                patches.push(patch);
            }
            if !patches.is_empty() {
                record.insert(name.clone(), Value::Array(patches));
            }
        } else {
            record.insert(name.clone(), replacement(was, now));
        }
    }
    if !record.is_empty() {
        let patch = Value::Object(record);
        patch::check(&patch)?;
        changes.insert(0, DraftChange::Record(patch));
    }
    Ok(changes)
}

/// A merge patch that makes one value of another.
fn replacement(old: Option<&Value>, new: Option<&Value>) -> Value {
    let (Some(old), Some(new)) = (old.and_then(Value::as_object), new.and_then(Value::as_object)) else {
        return new.cloned().unwrap_or(Value::Null);
    };
    let mut out = Map::new();
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        out.insert(name.clone(), Value::Null);
    }
    // Also what is the same: a patch is checked without what it changes.
    for (name, value) in new {
        out.insert(name.clone(), replacement(old.get(name), Some(value)));
    }
    Value::Object(out)
}

/// Sets members that a patch of an item takes out, and that such an item always has, to false or empty.
fn empty(list: &str, item: &Value, patch: &mut Value) {
    let Some(members) = patch.as_object_mut() else { return };
    let taken: Vec<String> = members
        .iter()
        .filter(|(_, value)| value.is_null())
        .map(|(name, _)| name.clone())
        .collect();
    for name in &taken {
        let mut alone = members.clone();
        alone.retain(|other, _| other == name || !taken.contains(other));
        if patch::check(&json!({ list: [alone] })).is_ok() {
            continue;
        }
        match item.get(name) {
            Some(Value::Bool(_)) => drop(members.insert(name.clone(), false.into())),
            Some(Value::Array(_)) => drop(members.insert(name.clone(), json!([]))),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::record::Record;

    #[test]
    fn an_item_gets_a_value_that_lacks_what_it_has() {
        let item = |list: &str, more: Value| {
            let mut item = json!({"id": "a", "at": "2026-11-27T12:00:00Z", "by": "ana", "text": "x", "title": "x"});
            item.as_object_mut()
                .expect("an object")
                .extend(more.as_object().cloned().unwrap_or_default());
            json!({ list: [item] })
        };
        for (list, more) in [
            ("todos", json!({"done": true})),
            (
                "tasks",
                json!({"status": "todo", "files": ["f"], "depends_on": ["b"], "notes": "n", "of_later": true}),
            ),
            ("decisions", json!({"reason": "r", "of_later": [1]})),
        ] {
            let lacking = item(
                list,
                if list == "tasks" {
                    json!({"status": "todo"})
                } else {
                    json!({})
                },
            );
            let before: Record = serde_json::from_value(item(list, more)).expect("a record");
            let changes = record_changes(&serde_json::to_value(&before).expect("plain data"), &lacking).expect(list);
            let [DraftChange::Record(patch)] = &changes[..] else {
                panic!("{list}: one change")
            };
            let after = patch::apply(&before, patch).expect(list);
            assert_eq!(
                after,
                serde_json::from_value::<Record>(lacking).expect("a record"),
                "{list}"
            );
        }
    }

    #[test]
    fn a_replacement_leaves_no_member_of_the_old_value() {
        let (old, new) = (json!({"a": 1, "b": {"x": 1, "y": 2}}), json!({"b": {"y": 3}, "c": [1]}));
        let mut value = old.clone();
        crate::model::json::merge_patch(&mut value, replacement(Some(&old), Some(&new)));
        assert_eq!(value, new);
    }
}

//! Resolution of contradictions that a merge left in the record: a value is put in its place, and the conflict goes.

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
            ConflictChoice::Value(value) => Some(Some(value.clone())),
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
            for item in was
                .iter()
                .filter(|item| now.iter().all(|known| id_of(known) != id_of(item)))
            {
                changes.push(DraftChange::Remove {
                    list: name.clone(),
                    id: id_of(item).to_owned(),
                });
            }
            let mut patches = Vec::new();
            for item in &now {
                let known = was.iter().find(|known| id_of(known) == id_of(item));
                if known == Some(item) {
                    continue;
                }
                let mut patch = replacement(known, Some(item));
                patch["id"] = id_of(item).into();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replacement_leaves_no_member_of_the_old_value() {
        let (old, new) = (json!({"a": 1, "b": {"x": 1, "y": 2}}), json!({"b": {"y": 3}, "c": [1]}));
        let mut value = old.clone();
        crate::model::json::merge_patch(&mut value, replacement(Some(&old), Some(&new)));
        assert_eq!(value, new);
    }
}

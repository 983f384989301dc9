//! Items that are given more than once: in one record, which is refused, and again in a later one, where they are recognized.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{Error, LISTS, from_value};
use crate::model::record::Record;

/// The list whose items are distinguished by one member.
const BY_PATH: (&str, &str) = ("open_files", "path");
/// The list that a given one replaces.
const REPLACED: &str = "next_steps";

/// The list whose items have a list of parts that are known by a member.
const OPTIONS: (&str, &str, &str) = ("fork_points", "options", "key");

/// Refuses a record that has two items of one id in a list: only what the last one says would be left of them.
pub fn refuse_repeated_ids(record: &Value) -> Result<(), Error> {
    for (list, _) in LISTS {
        refuse_repeated(&record[list], list, "id")?;
    }
    let (list, options, key) = OPTIONS;
    for (at, item) in record[list].as_array().into_iter().flatten().enumerate() {
        refuse_repeated(&item[options], &format!("{list}[{at}].{options}"), key)?;
    }
    Ok(())
}

fn refuse_repeated(items: &Value, list: &str, member: &str) -> Result<(), Error> {
    let mut places = HashMap::new();
    for (at, item) in items.as_array().into_iter().flatten().enumerate() {
        let Some(id) = item[member].as_str() else { continue };
        if let Some(first) = places.insert(id, at) {
            return Err(Error::Member {
                member: format!("{list}[{at}].{member}"),
                reason: format!("'{list}[{first}]' has the same one, '{id}'"),
            });
        }
    }
    Ok(())
}

/// The patch with the ids of those items of a record that it gives again without an id: what it has for such an item is
/// so already. An open file is the same one wherever the place in it is. Next steps, which a new list replaces, are left
/// out where they are those of the record.
#[must_use]
pub fn with_known_ids(mut patch: Value, record: &Record) -> Value {
    let known = serde_json::to_value(record).unwrap_or_default();
    let Some(lists) = patch.as_object_mut() else {
        return patch;
    };
    for (list, text) in LISTS {
        let there = known[list].as_array().map(Vec::as_slice).unwrap_or_default();
        let Some(given) = lists.get_mut(list).and_then(Value::as_array_mut) else {
            continue;
        };
        let same: Vec<Option<usize>> = matches(list, text, given, there);
        if list == REPLACED {
            let all = there.len() == given.len() && same.iter().enumerate().all(|(at, place)| *place == Some(at));
            if all && !there.is_empty() {
                lists.shift_remove(list);
            }
            continue;
        }
        for (item, place) in given.iter_mut().zip(same) {
            if let (Some(place), Some(members)) = (place, members(text, item)) {
                let mut with_id = Map::from_iter([("id".to_owned(), there[place]["id"].clone())]);
                with_id.extend(members);
                *item = Value::Object(with_id);
            }
        }
    }
    patch
}

/// For each given item the place of the item that it is; none is taken twice.
fn matches(list: &str, text: &str, given: &[Value], there: &[Value]) -> Vec<Option<usize>> {
    let mut taken = vec![false; there.len()];
    let mut places = HashMap::<&str, usize>::new();
    for (place, other) in there.iter().enumerate() {
        // Of two with one id the first is meant.
        if let Some(id) = other["id"].as_str() {
            places.entry(id).or_insert(place);
        }
    }
    let mut place_of = |item: &Value| {
        if let Some(id) = item.get("id") {
            // One that has its id already is only compared.
            let given = item.as_object()?;
            let is_same = |other: &Value| given.iter().all(|(name, value)| other.get(name) == Some(value));
            let place = places.get(id.as_str()?).copied();
            return place.filter(|place| is_same(&there[*place]));
        }
        let members = members(text, item)?;
        let stored = stored(list, &members)?;
        let is_same = |other: &Value| {
            if list == BY_PATH.0 {
                return stored[BY_PATH.1] == other[BY_PATH.1];
            }
            members.keys().all(|name| stored.get(name) == other.get(name))
        };
        let place = (0..there.len()).find(|place| !taken[*place] && is_same(&there[*place]))?;
        taken[place] = true;
        Some(place)
    };
    given.iter().map(&mut place_of).collect()
}

/// The members of an item that is given without an id.
fn members(text: &str, item: &Value) -> Option<Map<String, Value>> {
    match item {
        Value::String(words) => Some(Map::from_iter([(text.to_owned(), words.as_str().into())])),
        Value::Object(members) if !members.contains_key("id") => {
            let given = members.iter().filter(|(_, value)| !value.is_null());
            Some(given.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        _ => None,
    }
}

/// An item as it would be stored: what is the default is not written.
fn stored(list: &str, members: &Map<String, Value>) -> Option<Value> {
    let mut item = Map::from_iter([
        ("id".to_owned(), "x".into()),
        ("at".to_owned(), "1970-01-01T00:00:00Z".into()),
        ("by".to_owned(), "".into()),
    ]);
    item.extend(members.clone());
    super::fill(list, &mut item);
    let one = Value::Object(Map::from_iter([(
        list.to_owned(),
        Value::Array(vec![Value::Object(item)]),
    )]));
    let record = serde_json::to_value(from_value(one).ok()?).ok()?;
    record[list].get(0).cloned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(value: Value) -> Record {
        serde_json::from_value(value).expect("a record")
    }

    #[test]
    fn what_is_there_is_recognized_by_all_that_is_given_of_it() {
        let at = "2026-01-01T00:00:00Z";
        let record = record(json!({
            "tasks": [{"id": "t1", "at": at, "by": "ana", "title": "port", "status": "done"}],
            "todos": [
                {"id": "o1", "at": at, "by": "ana", "text": "same"},
                {"id": "o2", "at": at, "by": "ana", "text": "same"},
            ],
            "checks": [{"id": "c1", "at": at, "by": "ana", "name": "lint", "status": "fail"}],
            "open_files": [{"id": "f1", "at": at, "by": "ana", "path": "a.rs", "line": 3}],
            "next_steps": [{"id": "n1", "at": at, "by": "ana", "text": "one"}],
        }));
        let given = json!({
            "tasks": ["port", {"title": "port", "status": "todo"}, {"title": "port", "status": "done"}],
            "todos": ["same", {"text": "same", "done": false}, "same"],
            "checks": [{"name": "lint", "status": "pass"}, {"name": "lint", "status": "fail"}],
            "open_files": [{"path": "a.rs", "line": 9}],
            "next_steps": ["one"],
            "state": {"k": 1},
        });
        let patch = with_known_ids(given, &record);
        let ids = |list: &str| -> Vec<Option<String>> {
            let items = patch[list].as_array().expect("a list");
            items
                .iter()
                .map(|item| item["id"].as_str().map(str::to_owned))
                .collect()
        };
        let id = |id: &str| Some(id.to_owned());
        // What is said of the first is so already; of the second it is not, and the third finds it taken.
        assert_eq!(ids("tasks"), [id("t1"), None, None]);
        assert_eq!(ids("todos"), [id("o1"), id("o2"), None]);
        assert_eq!(ids("checks"), [None, id("c1")], "another result is another check");
        assert_eq!(ids("open_files"), [id("f1")]);
        assert_eq!(patch.get("next_steps"), None);
        assert_eq!(patch["state"], json!({"k": 1}));
        let with_id = json!({"next_steps": [{"id": "n1", "text": "one"}]});
        assert_eq!(with_known_ids(with_id, &record), json!({}));
        let other = json!({"next_steps": ["one", "two"]});
        assert_eq!(with_known_ids(other.clone(), &record), other);
    }
}

//! Places in a record, as conflicts name them.

use serde_json::{Map, Value, json};

use crate::model::patch::LISTS;

/// A place with a part more; `~` and `/` of the part are written as in a JSON pointer.
pub(super) fn below(at: &str, part: &str) -> String {
    format!("{at}/{}", part.replace('~', "~0").replace('/', "~1"))
}

/// The parts of a place.
pub fn parts(member: &str) -> Vec<String> {
    let plain = |part: &str| part.replace("~1", "/").replace("~0", "~");
    member.split('/').map(plain).collect()
}

/// Puts a value at a place, or takes away what is there. Elements of lists are named by `id` or `key`.
pub fn put(target: &mut Value, path: &[&str], value: Option<Value>) {
    let Some((name, rest)) = path.split_first() else {
        return;
    };
    match target {
        Value::Array(items) => {
            let is_it = |item: &Value| ["id", "key"].iter().any(|member| item[*member] == **name);
            let at = items.iter().position(is_it);
            match (at, rest.is_empty(), value) {
                (Some(at), true, Some(value)) => items[at] = value,
                (Some(at), true, None) => {
                    items.remove(at);
                }
                (Some(at), false, value) => put(&mut items[at], rest, value),
                (None, true, Some(value)) => items.push(value),
                (None, ..) => {}
            }
        }
        _ if rest.is_empty() && value.is_none() => {
            if let Some(members) = target.as_object_mut() {
                members.shift_remove(*name);
            }
        }
        _ => {
            if !target.is_object() {
                *target = Value::Object(Map::new());
            }
            let members = target.as_object_mut().expect("it was made one a line above");
            if rest.is_empty() {
                members.insert((*name).to_owned(), value.unwrap_or(Value::Null));
            } else {
                let empty = if LISTS.iter().any(|(list, _)| list == name) {
                    json!([])
                } else {
                    json!({})
                };
                put(members.entry(*name).or_insert(empty), rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_put_where_the_place_says() {
        let mut record = json!({"tasks": [{"id": "a", "status": "todo"}], "phase": {"n": 1},
            "fork_points": [{"id": "f", "options": [{"key": "k", "title": "x"}]}], "state": {"a/b": [1]}});
        put(&mut record, &["tasks", "a", "status"], Some(json!("done")));
        put(&mut record, &["tasks", "b"], Some(json!({"id": "b"})));
        put(
            &mut record,
            &["fork_points", "f", "options", "k", "title"],
            Some(json!("y")),
        );
        put(&mut record, &["state", "a/b"], Some(json!(2)));
        put(&mut record, &["phase"], None);
        put(&mut record, &["notes", "new"], Some(json!(1)));
        assert_eq!(
            record,
            json!({"tasks": [{"id": "a", "status": "done"}, {"id": "b"}], "notes": {"new": 1},
                "fork_points": [{"id": "f", "options": [{"key": "k", "title": "y"}]}], "state": {"a/b": 2}})
        );
    }
}

//! Changes to a record given from outside: JSON merge patches in which lists of items merge by id.
//!
//! RFC 7396 replaces arrays whole, which would let two writers undo each other. Here the known lists of the record
//! merge item by item: an element with the id of an item changes that item, any other is appended, `null` for the
//! whole list empties it. A patch is *prepared* once, where it enters (ids, times and authors filled in), and may then
//! be applied to any record any number of times with the same result.

mod editor;
mod fault;
mod repetition;

use serde_json::{Map, Value, json};

pub use editor::{MissingItemRule, RecordEditor, is_new};
pub use repetition::{refuse_repeated_ids, with_known_ids};

use super::{record::Record, time::Timestamp};

/// The lists whose elements are items, and the field a bare string represents.
pub const LISTS: [(&str, &str); 16] = [
    ("accomplishments", "text"),
    ("next_steps", "text"),
    ("tasks", "title"),
    ("todos", "text"),
    ("decisions", "text"),
    ("blockers", "text"),
    ("questions", "text"),
    ("approvals", "question"),
    ("fork_points", "title"),
    ("delegations", "agent"),
    ("resume_instructions", "text"),
    ("memory_refs", "text"),
    ("open_files", "path"),
    ("agent_history", "text"),
    ("checks", "name"),
    ("conflicts", "member"),
];

/// Members that items of a list must have besides the field of [`LISTS`].
const MUST: [(&str, &str); 2] = [("agent_history", "agent"), ("checks", "status")];
/// Those of them that are the item's author unless given.
const FILLED: [(&str, &str); 1] = [("agent_history", "agent")];

/// Why a patch cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The patch is not an object.
    #[error("a record must be a JSON object")]
    NotAnObject,
    /// A list of items is given as something else.
    #[error("'{0}' must be a list, or null to empty it")]
    NotAList(&'static str),
    /// An element of a list is neither a string nor an object.
    #[error("'{list}[{at}]' must be an object or a string")]
    NotAnItem {
        /// The list.
        list: &'static str,
        /// The position, counted from 0.
        at: usize,
    },
    /// A member has a value of the wrong type.
    #[error("'{member}': {reason}")]
    Member {
        /// The member of the record.
        member: String,
        /// Reason why it is invalid.
        reason: String,
    },
}

/// Who and when, for items that do not say so, and where fresh ids come from.
pub struct PatchStamp<'a> {
    /// The time of the change.
    pub at: Timestamp,
    /// The author of the change.
    pub by: &'a str,
    /// Gives an id that was not given before.
    pub fresh_id: &'a mut dyn FnMut() -> String,
}

/// Fills in what items of a patch may leave out: bare strings become items, and new items get `id`, `at` and `by`.
///
/// An element with an `id` is left as it is: it changes that item, or, where there is none, becomes one; the time and the
/// author that it leaves out are those of the operation it is part of.
pub fn prepare(patch: Value, stamp: &mut PatchStamp<'_>) -> Result<Value, Error> {
    let Value::Object(mut patch) = patch else {
        return Err(Error::NotAnObject);
    };
    for (list, text_field) in LISTS {
        match patch.get_mut(list) {
            None | Some(Value::Null) => {}
            Some(Value::Array(items)) => {
                for (at, item) in items.iter_mut().enumerate() {
                    *item =
                        prepare_item(item.take(), (list, text_field), stamp).ok_or(Error::NotAnItem { list, at })?;
                }
            }
            Some(_) => return Err(Error::NotAList(list)),
        }
    }
    let patch = Value::Object(patch);
    match fault::too_much_progress(&patch) {
        Some((member, reason)) => Err(Error::Member { member, reason }),
        None => Ok(patch),
    }
}

fn prepare_item(item: Value, (list, text_field): (&str, &str), stamp: &mut PatchStamp<'_>) -> Option<Value> {
    let given = match item {
        Value::String(text) => Map::from_iter([(text_field.to_owned(), Value::String(text))]),
        Value::Object(map) if map.contains_key("id") => return Some(Value::Object(map)),
        Value::Object(map) => map,
        _ => return None,
    };
    let mut item = Map::new();
    item.insert("id".into(), (stamp.fresh_id)().into());
    item.insert("at".into(), stamp.at.to_string().into());
    item.insert("by".into(), stamp.by.into());
    item.extend(given);
    fill(list, &mut item);
    Some(Value::Object(item))
}

/// Fills in what an item leaves out and its author is.
fn fill(list: &str, item: &mut Map<String, Value>) {
    for (of, member) in FILLED {
        if of == list && !item.contains_key(member) {
            let by = item.get("by").cloned().unwrap_or_default();
            item.insert(member.to_owned(), by);
        }
    }
}

/// Applies a prepared patch.
pub fn apply(record: &Record, patch: &Value) -> Result<Record, Error> {
    let mut changing = RecordEditor::new(record);
    changing.apply(patch, MissingItemRule::IsAdded)?;
    changing.finish()
}

/// Whether a prepared patch says anything that no record could hold: for refusing it where it enters.
pub fn check(patch: &Value) -> Result<(), Error> {
    let mut changing = RecordEditor::new(&Record::default());
    changing.apply(patch, MissingItemRule::IsPassedOver)?;
    changing.finish()?;
    check_parts(patch)?;
    check_values(patch)
}

/// Refuses values that have the right type and say nothing: an id or a text that is empty, step 9 of 2.
fn check_values(patch: &Value) -> Result<(), Error> {
    let refuse = |member: String, reason: &str| {
        let reason = reason.to_owned();
        Err(Error::Member { member, reason })
    };
    for (list, text) in LISTS {
        let items = patch.get(list).and_then(Value::as_array);
        for (at, item) in items.into_iter().flatten().enumerate() {
            let is_empty = |member: &str| item[member].as_str().is_some_and(|text| text.trim().is_empty());
            for member in ["id", text] {
                if is_empty(member) {
                    return refuse(format!("{list}[{at}].{member}"), "it must not be empty");
                }
            }
            let id = item["id"].as_str();
            let depends = item["depends_on"].as_array();
            if id.is_some() && depends.is_some_and(|ids| ids.iter().any(|other| other.as_str() == id)) {
                return refuse(format!("{list}[{at}].depends_on"), "a task cannot depend on itself");
            }
        }
    }
    for member in ["step", "phase"] {
        let number = |name: &str| patch[member][name].as_u64();
        if let (Some(n), Some(of)) = (number("n"), number("of"))
            && (n > of || of == 0)
        {
            return refuse(member.to_owned(), "'n' must be at most 'of', which must not be 0");
        }
    }
    Ok(())
}

/// The same of the changes of items that exist: whether an item that has nothing but what every item must have could
/// take them. Members do not depend on each other, so then any could.
pub(super) fn check_parts(patch: &Value) -> Result<(), Error> {
    for (list, text) in LISTS {
        let Some(items) = patch.get(list).and_then(Value::as_array) else {
            continue;
        };
        let parts = items
            .iter()
            .enumerate()
            .filter(|(_, item)| !editor::is_whole(item))
            .map(|(at, part)| {
                let mut item = json!({ "id": "", "at": "1970-01-01T00:00:00Z", "by": "", text: "" });
                for (of, member) in MUST {
                    if of == list {
                        item[member] = "".into();
                    }
                }
                super::json::merge_patch(&mut item, part.clone());
                (at, item)
            });
        for (at, part) in parts {
            let one = Value::Object(Map::from_iter([(list.to_owned(), Value::Array(vec![part]))]));
            from_value(one).map_err(|error| match error {
                // The place in what was given.
                Error::Member { reason, .. } => Error::Member {
                    member: format!("{list}[{at}]"),
                    reason,
                },
                other => other,
            })?;
        }
    }
    Ok(())
}

/// Reads a record and names the member that does not fit.
fn from_value(value: Value) -> Result<Record, Error> {
    let Err(whole) = crate::model::json::from_value::<Record>(value.clone()) else {
        return Ok(crate::model::json::from_value(value).expect("it was read a line above"));
    };
    let Value::Object(map) = value else {
        return Err(Error::NotAnObject);
    };
    for (key, value) in map {
        let single = |key: &str, value: Value| {
            let one = Value::Object(Map::from_iter([(key.to_owned(), value)]));
            crate::model::json::from_value::<Record>(one).err()
        };
        let fails = |value: &Value| single(&key, value.clone()).map(|error| crate::model::json::words(&error));
        if let Some((member, reason)) = fault::innermost(&value, &key, &fails) {
            return Err(Error::Member { member, reason });
        }
    }
    Err(Error::Member {
        member: "record".into(),
        reason: crate::model::json::words(&whole),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::json, *};

    fn change(record: &Record, patch: Value) -> Result<Record, Error> {
        let mut n = 0;
        let mut fresh_id = || {
            n += 1;
            format!("id{n}")
        };
        let at = Timestamp::from_unix(0, 0);
        let patch = prepare(
            patch,
            &mut PatchStamp {
                at,
                by: "ana",
                fresh_id: &mut fresh_id,
            },
        )?;
        apply(record, &patch)
    }

    #[test]
    fn strings_become_items_and_lists_append() {
        let record = change(
            &Record::default(),
            json!({"todos": ["one", {"text": "two", "colour": "red"}]}),
        )
        .expect("ok");
        assert_eq!(record.todos.len(), 2);
        assert_eq!(
            (record.todos[0].id.as_str(), record.todos[0].by.as_str()),
            ("id1", "ana")
        );
        assert_eq!(record.todos[1].unknown["colour"], "red");
        let record = change(
            &record,
            json!({"todos": [{"id": "id1", "done": true}], "state": {"n": 1.5}}),
        )
        .expect("ok");
        assert!(record.todos[0].done && record.todos.len() == 2);
        assert_eq!(record.state.as_ref().expect("set")["n"].to_string(), "1.5");
        let record = change(&record, json!({"todos": null, "state": {"n": null, "m": 2}})).expect("ok");
        assert!(record.todos.is_empty());
        assert_eq!(record.state, Some(json!({"m": 2})));
    }

    #[test]
    fn applying_twice_changes_nothing_more() {
        let mut fresh_id = || "only".to_owned();
        let mut stamp = PatchStamp {
            at: Timestamp::from_unix(0, 0),
            by: "a",
            fresh_id: &mut fresh_id,
        };
        let patch = prepare(json!({"decisions": ["x"]}), &mut stamp).expect("ok");
        let once = apply(&Record::default(), &patch).expect("ok");
        assert_eq!(apply(&once, &patch).expect("ok"), once);
    }

    #[test]
    fn faults_are_named() {
        let cases = [
            (json!([]), "a record must be a JSON object"),
            (json!({"todos": 5}), "'todos' must be a list, or null to empty it"),
            (json!({"todos": ["a", 5]}), "'todos[1]' must be an object or a string"),
            (
                json!({"tasks": ["a", {"title": "b", "status": "dancing"}]}),
                "'tasks[1].status': it must be one of todo, in_progress, ",
            ),
            (
                json!({"iteration": "many"}),
                "'iteration': it must be a whole number, not the text \"many\"",
            ),
            (
                json!({"tasks": ["a", {"title": "x", "progress": "40"}]}),
                "'tasks[1].progress': it must be a whole number from 0 to 100",
            ),
            (
                json!({"tasks": [{"title": "x", "progress": 101}]}),
                "'tasks[0].progress': it must be a whole number from 0 to 100",
            ),
            (
                json!({"tasks": [{"title": "x", "progress": 400}]}),
                "'tasks[0].progress': it must be a whole number from 0 to 100",
            ),
            (
                json!({"todos": [{"text": "t", "done": "yes"}]}),
                "'todos[0].done': it must be true or false, not the text \"yes\"",
            ),
            (
                json!({"tasks": [{"title": "x", "files": ["a", 5]}]}),
                "'tasks[0].files[1]': it must be ",
            ),
            (json!({"error": "boom"}), "'error': it must be an object"),
            (
                json!({"partitions": ["x"]}),
                "'partitions': it must be an object, not a list",
            ),
            (
                json!({"step": "2/5"}),
                "'step': it must be an object, not the text \"2/5\"",
            ),
            (
                json!({"step": {"n": true, "of": 2}}),
                "'step.n': it must be a whole number, not true",
            ),
            (json!({"iteration": -2}), "'iteration': it must be a whole number"),
            (
                json!({"checks": [{"name": "lint"}]}),
                "'checks[0]': 'status' is missing",
            ),
        ];
        for (patch, expected) in cases {
            let error = change(&Record::default(), patch).expect_err(expected).to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn a_change_that_no_item_could_take_is_refused() {
        for (list, text) in LISTS {
            let part = |member: &str, value: Value| check(&json!({ list: [{ "id": "x", member: value }] }));
            part("colour", json!("red")).expect(list);
            part(text, json!("other")).expect(list);
            part(text, json!(null)).expect_err(list);
            part("by", json!(null)).expect_err(list);
            part(text, json!({})).expect_err(list);
        }
        for refused in [
            json!({"tasks": [{"id": "x", "status": "dancing"}]}),
            json!({"checks": [{"id": "x", "status": null}]}),
            json!({"agent_history": [{"id": "x", "agent": null}]}),
            json!({"todos": [{"id": 5, "done": true}]}),
            json!({"todos": [{"id": null, "done": true}]}),
            json!({"fork_points": [{"id": "x", "options": [{"key": null}]}]}),
        ] {
            check(&refused).expect_err(&refused.to_string());
        }
        check(&json!({"tasks": [{"id": "x", "notes": null, "files": null, "status": null}]})).expect("optional");
    }

    #[test]
    fn unknown_members_survive() {
        let record = change(&Record::default(), json!({"later": {"version": 2}, "extra": {"a": 1}})).expect("ok");
        assert_eq!(record.unknown["later"]["version"], 2);
        let bytes = json::to_bytes(&record);
        let back: Record = serde_json::from_value(json::parse(&bytes, 1000).expect("own")).expect("own");
        assert_eq!(back, record);
    }
}

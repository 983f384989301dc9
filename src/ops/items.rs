//! Items of the record with the draft in force: added, found by what a person types, changed, taken out.
//!
//! The same few functions for every kind of item; what kinds there are is in `model::item`.

use serde_json::{Map, Value};

use super::{
    Error, Scene, SelectorCandidate,
    draft::{self, DraftChange, DraftReceipt},
    session_choice::{self, SessionChoice},
    suggestions, target_session,
};
use crate::{
    model::{
        item::{ItemKind, id_of},
        name::ShortName,
        operation::LogLine,
        record::Record,
    },
    store::checkpoint::Checkpoint,
};

/// How many candidates an error lists.
const LISTED: usize = 8;

/// A session's record as it is now, saved or not.
#[derive(Debug)]
pub struct CurrentRecord {
    /// The session's name.
    pub session: ShortName,
    /// The latest checkpoint.
    pub tip: Checkpoint,
    /// The record with the draft applied.
    pub record: Record,
    /// Lines of the session log that are not saved yet.
    pub log: Vec<LogLine>,
}

impl CurrentRecord {
    /// The items of a kind, in the order in which they are numbered from 1.
    pub fn items(&self, kind: &ItemKind) -> Vec<Value> {
        let Ok(Value::Object(mut record)) = serde_json::to_value(&self.record) else {
            return Vec::new();
        };
        match record.shift_remove(kind.list) {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        }
    }

    /// The item of a kind that a text means: its id or the beginning of it, its number, its text or a part of that.
    pub fn find(&self, kind: &ItemKind, text: &str) -> Result<Value, Error> {
        find(&self.items(kind), kind, text)
    }
}

/// The record of the session that is read; nothing is changed.
pub fn now(scene: &Scene<'_>) -> Result<CurrentRecord, Error> {
    with_draft(scene, target_session::to_read(scene)?)
}

/// The record of the session that a change goes to: an item that is found in it is one that can be changed.
pub fn to_change(scene: &Scene<'_>) -> Result<CurrentRecord, Error> {
    with_draft(scene, target_session::to_change(scene)?)
}

fn with_draft(scene: &Scene<'_>, chosen: SessionChoice) -> Result<CurrentRecord, Error> {
    chosen.require_readable()?;
    let mut subject = session_choice::carried(&chosen.tip, &chosen.name);
    session_choice::with_draft(scene, &chosen.tip, &mut subject)?;
    Ok(CurrentRecord {
        session: chosen.name,
        tip: chosen.tip,
        record: subject.record,
        log: subject.log,
    })
}

/// Adds items; each is an object without what [`append`](draft::append) fills in, or a whole one with an id of the
/// caller's own, which takes the place of an item that has it.
pub fn add(scene: &Scene<'_>, kind: &ItemKind, mut items: Vec<Value>) -> Result<DraftReceipt, Error> {
    for item in items.iter_mut().filter_map(Value::as_object_mut) {
        item.retain(|_, value| !value.is_null());
    }
    put(scene, kind, items)
}

/// Adds items, or changes those whose ids are there; a null takes a member away.
pub fn put(scene: &Scene<'_>, kind: &ItemKind, mut items: Vec<Value>) -> Result<DraftReceipt, Error> {
    let by = draft::by(scene);
    for map in items.iter_mut().filter_map(Value::as_object_mut) {
        if let Some(id) = map.get("id") {
            check_id(kind, id)?;
            map.entry("at").or_insert_with(|| scene.now.to_string().into());
            map.entry("by").or_insert_with(|| by.clone().into());
        }
    }
    let patch = Map::from_iter([(kind.list.to_owned(), Value::Array(items))]);
    draft::append(scene, vec![DraftChange::Record(Value::Object(patch))])
}

/// An id of the caller's own must be one that can be typed.
fn check_id(kind: &ItemKind, id: &Value) -> Result<(), Error> {
    const LONGEST: usize = 64;
    let fits = |id: &&str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        !id.is_empty() && id.len() <= LONGEST && !id.starts_with('-') && id.bytes().all(plain)
    };
    match id.as_str().filter(fits) {
        Some(_) => Ok(()),
        None => Err(Error::ItemId {
            what: kind.word,
            id: id.to_string(),
        }),
    }
}

/// Changes items by merge patches, each with the id of the item.
pub fn change(
    scene: &Scene<'_>,
    kind: &ItemKind,
    changes: &[(String, Map<String, Value>)],
) -> Result<DraftReceipt, Error> {
    let patches = changes.iter().map(|(id, change)| {
        let mut patch = Map::from_iter([("id".to_owned(), Value::String(id.clone()))]);
        patch.extend(change.clone());
        Value::Object(patch)
    });
    let patch = Map::from_iter([(kind.list.to_owned(), Value::Array(patches.collect()))]);
    draft::append(scene, vec![DraftChange::Record(Value::Object(patch))])
}

/// Takes items out of the record.
pub fn remove(scene: &Scene<'_>, kind: &ItemKind, ids: &[String]) -> Result<DraftReceipt, Error> {
    let out = ids.iter().map(|id| DraftChange::Remove {
        list: kind.list.to_owned(),
        id: id.clone(),
    });
    draft::append(scene, out.collect())
}

fn find(items: &[Value], kind: &ItemKind, text: &str) -> Result<Value, Error> {
    let wanted = text.trim().to_lowercase();
    if let Some(item) = items.iter().find(|item| id_of(item) == text) {
        return Ok(item.clone());
    }
    let number = text.strip_prefix('#').unwrap_or(text).parse::<usize>().ok();
    if let Some(number) = number.filter(|n| (1..=items.len()).contains(n)) {
        return Ok(items[number - 1].clone());
    }
    let says = |item: &&Value| kind.text_of(item).to_lowercase();
    let ways: [&dyn Fn(&&Value) -> bool; 3] = [
        &|item| id_of(item).starts_with(text),
        &|item| says(item) == wanted,
        &|item| says(item).contains(&wanted),
    ];
    for way in ways {
        if wanted.is_empty() {
            break;
        }
        let found: Vec<&Value> = items.iter().filter(way).collect();
        match found[..] {
            [] => {}
            [one] => return Ok(one.clone()),
            _ => {
                let count = found.len();
                return Err(Error::AmbiguousItem {
                    what: kind.word,
                    text: text.to_owned(),
                    count,
                    candidates: found
                        .into_iter()
                        .map(|item| candidate(kind, item))
                        .take(LISTED)
                        .collect(),
                });
            }
        }
    }
    let mut near: Vec<(usize, &Value)> = items
        .iter()
        .map(|item| {
            let says = says(&item);
            let words = says.split_whitespace().map(|word| suggestions::distance(&wanted, word));
            let nearest = words.chain([
                suggestions::distance(&wanted, &says),
                suggestions::distance(text, id_of(item)),
            ]);
            (nearest.min().unwrap_or(usize::MAX), item)
        })
        .filter(|(distance, _)| *distance <= wanted.chars().count().div_ceil(3))
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    Err(Error::NoItem {
        what: kind.word,
        command: kind.command,
        text: text.to_owned(),
        of: items.len(),
        candidates: near
            .into_iter()
            .map(|(_, item)| candidate(kind, item))
            .take(LISTED)
            .collect(),
    })
}

fn candidate(kind: &ItemKind, item: &Value) -> SelectorCandidate {
    SelectorCandidate {
        selector: id_of(item).to_owned(),
        subject: kind.text_of(item).to_owned(),
        at: None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ids(text: &str) -> String {
        let items = vec![
            json!({"id": "abcd2345", "title": "port the parser"}),
            json!({"id": "abce2345", "title": "port the printer"}),
            json!({"id": "33333333", "title": "release"}),
            json!({"id": "xyz", "title": "Release notes"}),
        ];
        let kind = ItemKind::of("task").expect("there is one");
        match find(&items, kind, text) {
            Ok(item) => id_of(&item).to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn items_are_found_by_what_a_person_types() {
        for (text, wanted) in [
            ("abcd2345", "abcd2345"),
            ("abcd", "abcd2345"),
            ("2", "abce2345"),
            ("#1", "abcd2345"),
            ("33333333", "33333333"),
            ("333", "33333333"),
            ("release", "33333333"),
            ("RELEASE NOTES", "xyz"),
            ("printer", "abce2345"),
            ("abc", "'abc' matches 2 tasks"),
            ("port", "'port' matches 2 tasks"),
            ("5", "no task '5': there are 4"),
            ("", "no task '': there are 4"),
            ("printr", "no task 'printr'"),
        ] {
            assert!(ids(text).starts_with(wanted), "{text}: {}", ids(text));
        }
    }
}

//! Three-way merges of records: what each side changed since the common checkpoint, brought together.
//!
//! Lists are sets of items by id, items merge member by member, and where both sides changed one thing differently both
//! values are kept: ours in its place, and both in a conflict. Which side is ours does not matter where there is none.

mod order;
mod place;
mod steps;
mod thread;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value};

use order::merge_order;
use place::below;
pub use place::{parts, put};
pub use steps::steps;
pub use thread::{MergedThread, thread};

use super::{claim::Claim, patch::LISTS, record::Record, time::Timestamp};

/// A contradiction.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberConflict {
    /// Place, its parts separated by `/`.
    pub member: String,
    /// Value of the base.
    pub base: Option<Value>,
    /// Value of ours.
    pub ours: Option<Value>,
    /// Value of theirs.
    pub theirs: Option<Value>,
}

/// Records of the three sides, and what decides where both give a text that has no place for both.
#[derive(Clone, Copy, Debug)]
pub struct RecordSides<'a> {
    /// The common checkpoint's; the default for unrelated sessions.
    pub base: &'a Record,
    /// The record that is merged into.
    pub ours: &'a Record,
    /// The record that is merged in.
    pub theirs: &'a Record,
    /// Whether ours was saved after theirs.
    pub ours_is_later: bool,
}

/// Result of a merge of records.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordMerge {
    /// The merged record, without the new conflicts in it.
    pub record: Record,
    /// New conflicts.
    pub conflicts: Vec<MemberConflict>,
}

/// Members of the record that make sense only as they are.
const ATOMIC: [&str; 4] = ["phase", "step", "error", "iteration"];
/// Members that are not written where they are empty.
const MAPS: [&str; 2] = ["partitions", "extra"];
/// Members that merge by a rule of their own.
const OWN: [&str; 3] = ["summary", "auto_summary", "attachments"];

/// The claims of tasks that hold after the merge, by the ids of the tasks. A claim is one thing: its members never come
/// from both sides.
fn claims(sides: RecordSides<'_>) -> HashMap<&str, Option<Claim>> {
    let of = |record: &'_ Record, id: &str| -> Option<Claim> {
        let task = record.tasks.iter().find(|task| task.id == id)?;
        task.claim.clone()
    };
    let tasks = sides.ours.tasks.iter().chain(&sides.theirs.tasks);
    let claimed = tasks.filter(|task| task.claim.is_some());
    claimed
        .map(|task| {
            let id = task.id.as_str();
            let [base, ours, theirs] = [sides.base, sides.ours, sides.theirs].map(|record| of(record, id));
            (id, Claim::merged(base.as_ref(), ours.as_ref(), theirs.as_ref()))
        })
        .collect()
}

/// Merges records.
pub fn records(sides: RecordSides<'_>) -> RecordMerge {
    let claims = claims(sides);
    let [base, ours, theirs] = [sides.base, sides.ours, sides.theirs].map(|record| {
        let mut record = record.clone();
        for task in &mut record.tasks {
            if let Some(claim) = claims.get(task.id.as_str()) {
                task.claim.clone_from(claim);
            }
        }
        members(&record)
    });
    let mut merge = Merge::default();
    let mut out = Map::new();
    for key in keys([&base, &ours, &theirs]) {
        if OWN.contains(&key.as_str()) {
            continue;
        }
        let empty = Value::Object(Map::new());
        let missing = MAPS.contains(&key.as_str()).then_some(&empty);
        let values = [&base, &ours, &theirs].map(|side| side.get(&key).or(missing));
        let merged = if LISTS.iter().any(|(list, _)| *list == key) {
            merge.items(&key, values)
        } else {
            let rule = match key.as_str() {
                "state" | "extra" => Arrays::Atomic,
                _ => Arrays::Sets,
            };
            merge.value(&key, values, rule, ATOMIC.contains(&key.as_str()))
        };
        if let Some(value) = merged {
            out.insert(key, value);
        }
    }
    let mut record: Record = crate::model::json::from_value(Value::Object(out)).unwrap_or_else(|_| sides.ours.clone());
    record.attachments.clone_from(&sides.ours.attachments);
    (record.summary, record.auto_summary) = summary(sides);
    RecordMerge {
        record,
        conflicts: merge.conflicts,
    }
}

/// Merges JSON objects that are no records, such as the members of a session; `at` begins the places of conflicts.
pub fn objects(at: &str, sides: [&Map<String, Value>; 3]) -> (Map<String, Value>, Vec<MemberConflict>) {
    let mut merge = Merge::default();
    let mut out = Map::new();
    for key in keys(sides) {
        let values = sides.map(|side| side.get(&key));
        if let Some(value) = merge.value(&below(at, &key), values, Arrays::Sets, false) {
            out.insert(key, value);
        }
    }
    (out, merge.conflicts)
}

/// Merges texts as they are: one that only one side changed is taken.
pub fn texts(
    member: &str,
    [base, ours, theirs]: [Option<&str>; 3],
    conflicts: &mut Vec<MemberConflict>,
) -> Option<String> {
    let [base, ours, theirs] = [base, ours, theirs].map(|text| text.map(Value::from));
    let mut merge = Merge::default();
    let values = [base.as_ref(), ours.as_ref(), theirs.as_ref()];
    let merged = merge.value(member, values, Arrays::Atomic, true);
    conflicts.append(&mut merge.conflicts);
    merged.and_then(|value| value.as_str().map(str::to_owned))
}

fn members(record: &Record) -> Map<String, Value> {
    match serde_json::to_value(record) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// All keys: those of the base in its order, then new ones by name, so that both ways give the same.
fn keys(sides: [&Map<String, Value>; 3]) -> Vec<String> {
    let [base, ours, theirs] = sides;
    let new: BTreeSet<&String> = ours
        .keys()
        .chain(theirs.keys())
        .filter(|key| !base.contains_key(*key))
        .collect();
    base.keys().chain(new).cloned().collect()
}

/// The summary of a merged session: paragraphs of both, where both wrote one; the later side's come first. A text that
/// no person or agent wrote gives way.
fn summary(sides: RecordSides<'_>) -> (Option<String>, bool) {
    let of = |record: &Record| (record.summary.clone(), record.auto_summary);
    let (base, ours, theirs) = (of(sides.base), of(sides.ours), of(sides.theirs));
    if ours == theirs || theirs == base {
        return ours;
    }
    if ours == base {
        return theirs;
    }
    let is_written = |side: &(Option<String>, bool)| side.0.is_some() && !side.1;
    match (is_written(&ours), is_written(&theirs)) {
        (true, false) => return ours,
        (false, true) => return theirs,
        (false, false) => return if sides.ours_is_later { ours } else { theirs },
        (true, true) => {}
    }
    let (later, earlier) = if sides.ours_is_later {
        (ours, theirs)
    } else {
        (theirs, ours)
    };
    let text = |side: (Option<String>, bool)| side.0.unwrap_or_default();
    let (later, earlier, base) = (text(later), text(earlier), text(base));
    let known: BTreeSet<&str> = paragraphs(&later).chain(paragraphs(&base)).collect();
    let more = paragraphs(&earlier).filter(|paragraph| !known.contains(paragraph));
    let all: Vec<&str> = paragraphs(&later).chain(more).collect();
    (Some(all.join("\n\n")), false)
}

fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n")
        .map(str::trim)
        .filter(|paragraph| !paragraph.is_empty())
}

/// Rule for arrays that are no lists of items.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arrays {
    /// They are values: both sides changed one differently, then they contradict.
    Atomic,
    /// Those of texts or numbers are sets.
    Sets,
}

/// Three sides of one value: base, ours, theirs.
type Sides<'a> = [Option<&'a Value>; 3];

#[derive(Default)]
struct Merge {
    conflicts: Vec<MemberConflict>,
}

impl Merge {
    fn value(&mut self, at: &str, sides: Sides<'_>, arrays: Arrays, atomic: bool) -> Option<Value> {
        let [base, ours, theirs] = sides;
        if ours == theirs || theirs == base {
            return ours.cloned();
        }
        if ours == base {
            return theirs.cloned();
        }
        let objects = sides.map(|side| side.and_then(Value::as_object));
        if let ([base, Some(ours), Some(theirs)], false) = (objects, atomic) {
            let empty = Map::new();
            let maps = [base.unwrap_or(&empty), ours, theirs];
            return Some(Value::Object(self.members(at, maps, arrays)));
        }
        // A list that a side emptied is not written in an item.
        let empty = Value::Array(Vec::new());
        let missing = base.is_some_and(Value::is_array).then_some(&empty);
        if let (Some(ours), Some(theirs), Arrays::Sets, false) = (ours.or(missing), theirs.or(missing), arrays, atomic)
            && let Some(merged) = self.array(at, base, ours, theirs)
        {
            let is_empty = merged.as_array().is_some_and(Vec::is_empty);
            return (!is_empty || sides.iter().all(Option::is_some)).then_some(merged);
        }
        self.contradiction(at, sides)
    }

    fn members(&mut self, at: &str, sides: [&Map<String, Value>; 3], arrays: Arrays) -> Map<String, Value> {
        let mut out = Map::new();
        for key in keys(sides) {
            let values = sides.map(|side| side.get(&key));
            if let Some(value) = self.value(&below(at, &key), values, arrays, false) {
                out.insert(key, value);
            }
        }
        out
    }

    /// Keeps what is there: ours, or what only theirs has.
    fn contradiction(&mut self, at: &str, [base, ours, theirs]: Sides<'_>) -> Option<Value> {
        self.conflicts.push(MemberConflict {
            member: at.to_owned(),
            base: base.cloned(),
            ours: ours.cloned(),
            theirs: theirs.cloned(),
        });
        ours.or(theirs).cloned()
    }

    /// Arrays of plain values as sets, and arrays of objects by their `id` or `key`; `None` for others.
    fn array(&mut self, at: &str, base: Option<&Value>, ours: &Value, theirs: &Value) -> Option<Value> {
        let list = |value: &Value| value.as_array().cloned();
        let base = match base {
            None => Vec::new(),
            Some(base) => list(base)?,
        };
        let [base, ours, theirs] = [base, list(ours)?, list(theirs)?];
        let key = |value: &Value| value.to_string();
        // Of one that is there twice it is not known which of the two a side took out.
        let plain = |list: &[Value]| {
            let mut seen = BTreeSet::new();
            let is_single = |value: &Value| seen.insert(key(value));
            list.iter().all(|value| !value.is_object() && !value.is_array()) && list.iter().all(is_single)
        };
        if [&base, &ours, &theirs].into_iter().all(|list| plain(list)) {
            let index = |list: &[Value]| -> Vec<String> { list.iter().map(key).collect() };
            let keys = [index(&base), index(&ours), index(&theirs)];
            let values: HashMap<String, Value> = ours
                .iter()
                .chain(&theirs)
                .map(|value| (key(value), value.clone()))
                .collect();
            let kept = kept(&keys, |_| false);
            let ordered = merge_order(&keys, |key| kept.contains(key), Clone::clone);
            return Some(ordered.iter().filter_map(|key| values.get(key)).cloned().collect());
        }
        let name = ["id", "key"].into_iter().find(|name| {
            let has = |list: &[Value]| list.iter().all(|value| value.get(*name).is_some_and(Value::is_string));
            [&base, &ours, &theirs].into_iter().all(|list| has(list))
        })?;
        Some(self.keyed(at, name, [&base, &ours, &theirs], |item, key| {
            item.get("at").map(ToString::to_string).unwrap_or_default() + key
        }))
    }

    /// A list of items of the record.
    fn items(&mut self, list: &str, sides: Sides<'_>) -> Option<Value> {
        let [base, ours, theirs] = sides;
        if ours == theirs || theirs == base {
            return ours.cloned();
        }
        if ours == base {
            return theirs.cloned();
        }
        let lists = sides.map(|side| side.and_then(Value::as_array).cloned().unwrap_or_default());
        let [base, ours, theirs] = &lists;
        let merged = self.keyed(list, "id", [base, ours, theirs], |item, key| {
            // Instants, not texts: two machines may have two time zones.
            let at = item["at"].as_str().and_then(|at| Timestamp::parse(at).ok());
            at.map(instant).unwrap_or_default() + key
        });
        merged
            .as_array()
            .is_some_and(|items| !items.is_empty())
            .then_some(merged)
    }

    /// Objects by a member that names them. Of two with one name in a list each counts by its place among them.
    fn keyed(
        &mut self,
        at: &str,
        name: &str,
        lists: [&Vec<Value>; 3],
        place: impl Fn(&Value, &String) -> String,
    ) -> Value {
        let keyed = lists.map(|list| {
            let mut seen = BTreeMap::<String, usize>::new();
            let key = |item: &Value| {
                let id = item[name].as_str().unwrap_or_default().to_owned();
                let n = seen.entry(id.clone()).or_default();
                *n += 1;
                if *n == 1 { id } else { format!("{id}#{n}") }
            };
            list.iter().map(key).collect::<Vec<String>>()
        });
        let maps: Vec<HashMap<&String, &Value>> = keyed
            .iter()
            .zip(lists)
            .map(|(keys, list)| keys.iter().zip(list).collect())
            .collect();
        let changed = |key: &String| {
            let base = maps[0].get(key);
            [&maps[1], &maps[2]]
                .into_iter()
                .any(|side| side.get(key).is_some_and(|item| Some(item) != base))
        };
        let kept = kept(&keyed, changed);
        let position = |key: &String| {
            let item = maps[1].get(key).or(maps[2].get(key));
            // Of one that both sides have, the earlier time counts on both.
            let times = [maps[1].get(key), maps[2].get(key)]
                .into_iter()
                .flatten()
                .map(|item| place(item, key));
            times.min().or(item.map(|item| place(item, key))).unwrap_or_default()
        };
        let ordered = merge_order(&keyed, |key| kept.contains(key), position);
        let mut out = Vec::new();
        for key in &ordered {
            let sides = [0, 1, 2].map(|side: usize| maps[side].get(key).copied());
            out.extend(self.item(&below(at, key), sides));
        }
        Value::Array(out)
    }

    fn item(&mut self, at: &str, sides: Sides<'_>) -> Option<Value> {
        let [base, ours, theirs] = sides;
        if ours == theirs || theirs == base {
            return ours.cloned();
        }
        if ours == base {
            return theirs.cloned();
        }
        if at.starts_with("conflicts/") {
            // One that both found has the view of each.
            return ours.or(theirs).cloned();
        }
        let (Some(Value::Object(ours)), Some(Value::Object(theirs))) = (ours, theirs) else {
            return self.contradiction(at, sides);
        };
        let empty = Map::new();
        let base = base.and_then(Value::as_object).unwrap_or(&empty);
        // When and by whom an item was noted is no statement about the work.
        let frame = |map: &Map<String, Value>| {
            let text = |name: &str| map.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            (text("at"), text("by"))
        };
        let later = if frame(ours) >= frame(theirs) { ours } else { theirs };
        let mut out = Map::new();
        for key in keys([base, ours, theirs]) {
            let values = [base.get(&key), ours.get(&key), theirs.get(&key)];
            let value = if matches!(key.as_str(), "at" | "by") && values[1] != values[0] && values[2] != values[0] {
                later.get(&key).cloned()
            } else {
                self.value(&below(at, &key), values, Arrays::Sets, false)
            };
            if let Some(value) = value {
                out.insert(key, value);
            }
        }
        Some(Value::Object(out))
    }
}

/// A time as a text that sorts by it.
fn instant(at: Timestamp) -> String {
    format!("{:020}", at.to_chrono().timestamp_millis().max(0))
}

/// The keys that a merge keeps: those of both sides, new ones, and of those that a side took out the ones that the other
/// changed.
fn kept(keys: &[Vec<String>; 3], changed: impl Fn(&String) -> bool) -> BTreeSet<String> {
    let [base, ours, theirs] = [0, 1, 2].map(|side: usize| keys[side].iter().collect::<BTreeSet<&String>>());
    let all = ours.union(&theirs).copied();
    let is_kept = |key: &&String| {
        let both = ours.contains(*key) && theirs.contains(*key);
        both || !base.contains(*key) || changed(key)
    };
    all.filter(is_kept).cloned().collect()
}

#[cfg(test)]
mod tests;

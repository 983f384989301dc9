//! Properties of merges of any records. `PROPTEST_CASES` asks for more cases than usual.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proptest::{collection::vec, option, prelude::*};
use serde_json::{Map, Value, json};

use super::super::*;

/// Lists whose items are made here, with a member that has a text.
const OF_TEXT: [(&str, &str); 5] = [
    ("tasks", "title"),
    ("todos", "text"),
    ("next_steps", "text"),
    ("decisions", "text"),
    ("checks", "name"),
];

fn record(value: &Value) -> Record {
    serde_json::from_value(value.clone()).expect("a record")
}

fn value_of(record: &Record) -> Value {
    serde_json::to_value(record).expect("plain data")
}

/// Change of an item.
#[derive(Clone, Debug)]
enum ItemEdit {
    Keep,
    Text(String),
    Author(String),
    Unknown(Value),
    Files(Vec<String>),
    Remove,
}

/// Changes of a list: of its items, of its order, and new items.
#[derive(Clone, Debug)]
struct ListEdit {
    items: Vec<ItemEdit>,
    moves: Vec<(usize, usize)>,
    new: Vec<(String, String, u32)>,
}

/// Changes of a side.
#[derive(Clone, Debug)]
struct Side {
    lists: Vec<ListEdit>,
    /// Members of the state, of `extra` and of a member that this version does not know; `None` takes one out.
    maps: Vec<(&'static str, String, Option<Value>)>,
    partitions: Vec<(String, Vec<String>)>,
    phase: Option<u8>,
    empties: bool,
}

fn word() -> impl Strategy<Value = String> {
    "[pqr]{1,2}"
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<u8>().prop_map(Value::from),
        word().prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec(("[a-c/~]", inner), 0..3).prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
}

fn item_edit() -> impl Strategy<Value = ItemEdit> {
    prop_oneof![
        5 => Just(ItemEdit::Keep),
        2 => word().prop_map(ItemEdit::Text),
        1 => word().prop_map(ItemEdit::Author),
        1 => tree().prop_map(ItemEdit::Unknown),
        1 => vec("[x-z]", 0..4).prop_map(ItemEdit::Files),
        2 => Just(ItemEdit::Remove),
    ]
}

fn list_edit() -> impl Strategy<Value = ListEdit> {
    let new = vec(("n[0-5]", word(), 0..60_u32), 0..4);
    (vec(item_edit(), 6), vec((0..6_usize, 0..6_usize), 0..2), new).prop_map(|(items, moves, new)| ListEdit {
        items,
        moves,
        new,
    })
}

fn side() -> impl Strategy<Value = Side> {
    let map = prop_oneof![Just("state"), Just("extra"), Just("of_a_later_version")];
    let maps = vec((map, "[a-c]", option::weighted(0.7, tree())), 0..5);
    (
        vec(list_edit(), OF_TEXT.len()),
        maps,
        vec(("[ab]", vec("[x-z]", 0..4)), 0..2),
        option::weighted(0.2, 1..4_u8),
        proptest::bool::weighted(0.05),
    )
        .prop_map(|(lists, maps, partitions, phase, empties)| Side {
            lists,
            maps,
            partitions,
            phase,
            empties,
        })
}

fn item(list: &str, id: &str, text: &str, second: u32) -> Value {
    let member = OF_TEXT.iter().find(|(name, _)| *name == list).expect("one of them").1;
    let mut item = json!({"id": id, "at": format!("2026-11-27T12:00:{second:02}Z"), "by": "ana", member: text});
    match list {
        "tasks" => item["status"] = "todo".into(),
        "checks" => item["status"] = "passed".into(),
        _ => {}
    }
    item
}

fn base() -> impl Strategy<Value = Value> {
    let items = vec(vec(0..60_u32, 0..6), OF_TEXT.len());
    let maps = vec(("[a-c]", tree()), 0..3);
    (items, maps).prop_map(|(lists, members)| {
        let mut record = json!({"summary": "base", "phase": {"n": 1, "of": 9}});
        for ((list, _), seconds) in OF_TEXT.iter().zip(lists) {
            let items = seconds.iter().enumerate();
            record[list] = items
                .map(|(n, second)| item(list, &format!("b{n}"), "base", *second))
                .collect();
        }
        for map in ["state", "extra", "of_a_later_version"] {
            record[map] = members.iter().cloned().collect::<Map<_, _>>().into();
        }
        record
    })
}

fn edited(base: &Value, side: &Side) -> Value {
    if side.empties {
        return json!({});
    }
    let mut record = base.clone();
    for ((list, member), edit) in OF_TEXT.iter().zip(&side.lists) {
        let mut items = Vec::new();
        for (item, edit) in base[list].as_array().into_iter().flatten().zip(&edit.items) {
            let mut item = item.clone();
            match edit {
                ItemEdit::Text(text) => item[member] = text.as_str().into(),
                ItemEdit::Author(by) => item["by"] = by.as_str().into(),
                ItemEdit::Unknown(value) => item["of_a_later_version"] = value.clone(),
                ItemEdit::Files(files) if *list == "tasks" => item["files"] = json!(files),
                ItemEdit::Keep | ItemEdit::Files(_) => {}
                ItemEdit::Remove => continue,
            }
            items.push(item);
        }
        for (from, to) in &edit.moves {
            if *from < items.len() && *to < items.len() {
                let item = items.remove(*from);
                items.insert(*to, item);
            }
        }
        for (id, text, second) in &edit.new {
            if items.iter().all(|item| item["id"] != **id) {
                items.push(item(list, id, text, *second));
            }
        }
        record[list] = items.into();
    }
    for (map, key, value) in &side.maps {
        match (value, record[map].as_object_mut()) {
            (Some(value), Some(members)) => drop(members.insert(key.clone(), value.clone())),
            (None, Some(members)) => drop(members.shift_remove(key)),
            _ => {}
        }
    }
    for (who, paths) in &side.partitions {
        record["partitions"][who] = json!(paths);
    }
    if let Some(n) = side.phase {
        record["phase"]["n"] = n.into();
    }
    record
}

fn merge(base: &Record, ours: &Record, theirs: &Record, ours_is_later: bool) -> RecordMerge {
    records(RecordSides {
        base,
        ours,
        theirs,
        ours_is_later,
    })
}

fn ids(record: &Value, list: &str) -> Vec<String> {
    let items = record[list].as_array().into_iter().flatten();
    items
        .map(|item| item["id"].as_str().expect("an id").to_owned())
        .collect()
}

fn find<'a>(record: &'a Value, list: &str, id: &str) -> Option<&'a Value> {
    record[list].as_array()?.iter().find(|item| item["id"] == id)
}

/// The value at a place.
fn at<'a>(record: &'a Value, place: &str) -> Option<&'a Value> {
    parts(place).iter().try_fold(record, |value, part| match value {
        Value::Array(items) => items
            .iter()
            .find(|item| ["id", "key"].iter().any(|name| item[*name] == **part)),
        value => value.get(part),
    })
}

/// Items by id: what is in a record whatever its order.
fn unordered(record: &Value) -> BTreeMap<String, Value> {
    let mut out = BTreeMap::new();
    for (name, value) in record.as_object().into_iter().flatten() {
        let items = value.as_array().filter(|_| LISTS.iter().any(|(list, _)| list == name));
        match items {
            None => drop(out.insert(name.clone(), value.clone())),
            Some(items) => {
                let key = |item: &Value| format!("{name}/{}", item["id"]);
                out.extend(items.iter().map(|item| (key(item), item.clone())));
            }
        }
    }
    out
}

/// The items of a list that a side has, in the order of the base.
fn common(record: &Value, base: &Value, list: &str) -> Vec<String> {
    let known = ids(base, list);
    ids(record, list).into_iter().filter(|id| known.contains(id)).collect()
}

proptest! {
    #[test]
    fn no_merge_loses_anything(base in base(), one in side(), other in side()) {
        let (ours, theirs) = (edited(&base, &one), edited(&base, &other));
        let sides = [&base, &ours, &theirs].map(record);
        let [base, ours, theirs] = sides.each_ref().map(value_of);
        let merged = merge(&sides[0], &sides[1], &sides[2], true);
        let back = merge(&sides[0], &sides[2], &sides[1], false);
        let result = value_of(&merged.record);
        let places: BTreeSet<&str> = merged.conflicts.iter().map(|conflict| conflict.member.as_str()).collect();
        prop_assert_eq!(places.len(), merged.conflicts.len(), "each place once");

        for (list, member) in OF_TEXT {
            let now = ids(&result, list);
            prop_assert_eq!(now.iter().collect::<BTreeSet<_>>().len(), now.len(), "no item is there twice");
            for id in ids(&ours, list).iter().chain(&ids(&theirs, list)) {
                let [before, here, there] = [&base, &ours, &theirs].map(|side| find(side, list, id));
                let is_removed = |side: Option<&Value>, other: Option<&Value>| side.is_none() && other == before;
                let is_gone = is_removed(here, there) || is_removed(there, here);
                let found = find(&result, list, id);
                prop_assert_eq!(found.is_none(), is_gone, "{}/{}", list, id);
                let (Some(found), place) = (found, format!("{list}/{id}")) else { continue };
                let (Some(here), Some(there)) = (here, there) else {
                    // Changed on a side and taken out on the other, or new.
                    prop_assert_eq!(places.contains(&*place), before.is_some(), "{}", place);
                    prop_assert_eq!(Some(found), here.or(there));
                    continue;
                };
                // The text is that of the side that changed it; of two the one here, and both are in a conflict.
                let texts = [before.map_or(&Value::Null, |before| &before[member]), &here[member], &there[member]];
                let is_conflict = texts[1] != texts[2] && texts[1] != texts[0] && texts[2] != texts[0];
                prop_assert_eq!(places.contains(&*format!("{place}/{member}")), is_conflict, "{}", place);
                let expected = if texts[1] == texts[0] { texts[2] } else { texts[1] };
                prop_assert_eq!(&found[member], expected, "{}", place);
            }
            for id in &now {
                prop_assert!(find(&ours, list, id).or(find(&theirs, list, id)).is_some(), "{} is of nobody", id);
            }
            // The order of a side counts, if the other did not choose one.
            let is_in_order = |side: &Value| {
                let order = common(side, &base, list);
                let kept: Vec<_> = ids(&base, list).into_iter().filter(|id| order.contains(id)).collect();
                order == kept
            };
            for (side, rest) in [(&ours, &theirs), (&theirs, &ours)] {
                if is_in_order(rest) {
                    let order: Vec<_> = ids(side, list).into_iter().filter(|id| now.contains(id)).collect();
                    let found: Vec<_> = now.iter().filter(|id| order.contains(id)).cloned().collect();
                    let both_added = |id: &String| {
                        find(&base, list, id).is_none() && find(rest, list, id).is_some()
                    };
                    if !order.iter().any(both_added) {
                        prop_assert_eq!(found, order, "{}", list);
                    }
                }
            }
        }

        // Which side is ours does not matter, but for the values that contradict each other.
        let mirrored: BTreeMap<_, _> = back.conflicts.iter().map(|c| (&c.member, (&c.base, &c.theirs, &c.ours))).collect();
        let shown: BTreeMap<_, _> = merged.conflicts.iter().map(|c| (&c.member, (&c.base, &c.ours, &c.theirs))).collect();
        prop_assert_eq!(&shown, &mirrored);
        if merged.conflicts.is_empty() {
            prop_assert_eq!(&merged, &back);
        }
        let resolved = |mut whole: Value, side: fn(&MemberConflict) -> &Option<Value>| {
            for conflict in &merged.conflicts {
                let parts = parts(&conflict.member);
                let path: Vec<&str> = parts.iter().map(String::as_str).collect();
                put(&mut whole, &path, side(conflict).clone());
            }
            value_of(&record(&whole))
        };
        for conflict in &merged.conflicts {
            prop_assert!(conflict.ours != conflict.theirs && conflict.ours != conflict.base && conflict.theirs != conflict.base);
            prop_assert_eq!(at(&result, &conflict.member), conflict.ours.as_ref().or(conflict.theirs.as_ref()), "{}", &conflict.member);
        }
        let all_of_ours = resolved(result.clone(), |conflict| &conflict.ours);
        let of_ours = resolved(value_of(&back.record), |conflict| &conflict.ours);
        prop_assert_eq!(unordered(&all_of_ours), unordered(&of_ours), "a resolution does not depend on the way");

        // Merged again, nothing changes: both sides are in it.
        for side in [&sides[1], &sides[2], &sides[0]] {
            let again = merge(side, &merged.record, side, true);
            prop_assert_eq!((&again.record, again.conflicts.len()), (&merged.record, 0));
        }
        prop_assert_eq!(&merge(&sides[0], &sides[0], &sides[2], true).record, &sides[2]);
        prop_assert_eq!(&merge(&sides[0], &sides[1], &sides[0], true).record, &sides[1]);
        let equal = merge(&sides[0], &sides[1], &sides[1], true);
        prop_assert_eq!((&equal.record, equal.conflicts.len()), (&sides[1], 0));
    }

    #[test]
    fn maps_merge_member_by_member(base in tree_map(), one in tree_map(), other in tree_map()) {
        let side = |members: &Map<String, Value>| record(&json!({"state": members, "of_a_later_version": members}));
        let sides = [side(&base), side(&one), side(&other)];
        let merged = value_of(&merge(&sides[0], &sides[1], &sides[2], true).record);
        let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
        for key in keys {
            let values = [base.get(key), one.get(key), other.get(key)];
            let expected = match values {
                [before, here, there] if here == there || there == before => here,
                [before, here, there] if here == before => there,
                [_, Some(Value::Object(_)), Some(Value::Object(_))] => continue,
                [_, here, there] => here.or(there),
            };
            prop_assert_eq!(merged["state"].get(key), expected, "{}", key);
        }
    }

    #[test]
    fn steps_lose_and_double_nothing(common in 0..6_usize, one in vec(0..4_u8, 0..10), other in vec(0..4_u8, 0..10)) {
        let base: Vec<_> = (0..common).map(|n| step(&format!("b{n}"), n, "base")).collect();
        let side = |name: &str, edits: &[u8]| {
            let mut steps = base.clone();
            for (n, edit) in edits.iter().enumerate() {
                match (edit, steps.iter().position(|step| step.id == format!("b{n}"))) {
                    (0, Some(at)) => drop(steps.remove(at)),
                    (1, Some(at)) => steps[at] = step(&format!("b{n}"), n, name),
                    (2, _) => {
                        let last = steps.iter().map(|step| step.n as usize).max().unwrap_or(0);
                        steps.push(step(&format!("{name}{n}"), last, name));
                    }
                    _ => {}
                }
            }
            steps
        };
        let (ours, theirs) = (side("o", &one), side("t", &other));
        let (merged, conflicts) = steps(&base, &ours, &theirs);
        let (back, mirrored) = steps(&base, &theirs, &ours);
        let known: HashMap<&str, &crate::model::step::Step> = base.iter().map(|step| (&*step.id, step)).collect();
        let ids = |steps: &[crate::model::step::Step]| steps.iter().map(|step| step.id.clone()).collect::<Vec<_>>();
        let has = |steps: &[crate::model::step::Step], id: &str| steps.iter().any(|step| step.id == id);
        for (side, rest) in [(&ours, &theirs), (&theirs, &ours)] {
            for step in side {
                let is_gone = !has(rest, &step.id) && known.get(&*step.id) == Some(&step);
                prop_assert_eq!(has(&merged, &step.id), !is_gone, "{}", step.id);
            }
        }
        let numbers: BTreeSet<u32> = merged.iter().map(|step| step.n).collect();
        prop_assert_eq!(numbers.len(), merged.len(), "each number once");
        prop_assert_eq!(ids(&merged), ids(&back));
        prop_assert_eq!(conflicts.len(), mirrored.len());
        if conflicts.is_empty() {
            prop_assert_eq!(&merged, &back);
        }
        prop_assert_eq!(&steps(&theirs, &merged, &theirs).0, &merged);
    }
}

fn tree_map() -> impl Strategy<Value = Map<String, Value>> {
    vec(("[a-d]", tree()), 0..5).prop_map(|members| members.into_iter().collect())
}

fn step(id: &str, n: usize, title: &str) -> crate::model::step::Step {
    let (n, second) = (n + 1, n % 60);
    let at = format!("2026-11-27T12:00:{second:02}Z");
    serde_json::from_value(json!({"n": n, "id": id, "at": at, "by": "ana", "title": title, "status": "done"}))
        .expect("a step")
}

/// Lists of thousands of items on both sides: nothing is lost, and it takes no time worth speaking of.
#[test]
fn long_lists_merge() {
    const MANY: usize = 4000;
    let list = |name: &str, skip: usize| -> Vec<Value> {
        let common = (0..MANY)
            .filter(|n| n % 7 != skip)
            .map(|n| item("todos", &format!("b{n}"), "base", 0));
        common
            .chain((0..MANY).map(|n| item("todos", &format!("{name}{n}"), name, 1)))
            .collect()
    };
    let base: Vec<Value> = (0..MANY).map(|n| item("todos", &format!("b{n}"), "base", 0)).collect();
    let sides = [base, list("o", 1), list("t", 2)].map(|todos| record(&json!({ "todos": todos })));
    let merged = merge(&sides[0], &sides[1], &sides[2], true);
    let taken_out = (0..MANY).filter(|n| n % 7 == 1 || n % 7 == 2).count();
    assert_eq!(
        (merged.record.todos.len(), merged.conflicts.len()),
        (3 * MANY - taken_out, 0)
    );
    assert_eq!(merged, merge(&sides[0], &sides[2], &sides[1], false));
    let steps = |name: &str| -> Vec<_> {
        let base = (0..MANY).map(|n| step(&format!("b{n}"), n, "base"));
        base.chain((0..MANY).map(|n| step(&format!("{name}{n}"), MANY + n, name)))
            .collect()
    };
    let (merged, conflicts) = super::steps(&steps("o")[..MANY], &steps("o"), &steps("t"));
    assert_eq!((merged.len(), conflicts.len()), (3 * MANY, 0));
}

/// Two people who merge the same have one conflict, each from the own view: merged with each other, they have no conflict
/// about a conflict.
#[test]
fn conflicts_do_not_contradict_each_other() {
    let conflict = |ours: &str, theirs: &str, at: &str| json!({"id": "x", "at": at, "by": ours, "member": "tasks/a/title", "session": theirs, "ours": ours, "theirs": theirs});
    let side = |conflict: Value| record(&json!({ "conflicts": [conflict] }));
    let ours = side(conflict("ana", "ben", "2026-11-27T12:00:00Z"));
    let theirs = side(conflict("ben", "ana", "2026-11-27T12:00:01Z"));
    let merged = merge(&Record::default(), &ours, &theirs, true);
    assert_eq!((&merged.record, merged.conflicts.len()), (&ours, 0));
    // One that a side resolved is resolved.
    let merged = merge(&ours, &Record::default(), &ours, true);
    assert_eq!((merged.record.conflicts.len(), merged.conflicts.len()), (0, 0));
    assert_eq!(merge(&ours, &ours, &Record::default(), true).record.conflicts.len(), 0);
}

/// Values that are in a list more than once are no set: no side loses one unseen.
#[test]
fn a_list_with_a_value_twice_is_one_value() {
    let side = |list: Value| record(&json!({ "of_a_later_version": list }));
    let sides = [side(json!([1, 1, 2])), side(json!([1, 1, 2, 3])), side(json!([1, 2]))];
    let merged = merge(&sides[0], &sides[1], &sides[2], true);
    assert_eq!(value_of(&merged.record)["of_a_later_version"], json!([1, 1, 2, 3]));
    assert_eq!(merged.conflicts.len(), 1);
}

/// What is not written where it is empty was emptied, and does not contradict what the other side put into it.
#[test]
fn what_a_side_emptied_contradicts_nothing() {
    let side = |files: Value, extra: Value, partitions: Value| {
        let mut task = item("tasks", "a", "title", 0);
        task["files"] = files;
        record(&json!({"tasks": [task], "extra": extra, "partitions": partitions}))
    };
    let base = side(json!(["x"]), json!({"a": 1}), json!({"ana": ["src"]}));
    let ours = side(json!([]), json!({}), json!({}));
    let theirs = side(
        json!(["x", "y"]),
        json!({"a": 1, "b": 2}),
        json!({"ana": ["src"], "ben": ["doc"]}),
    );
    let merged = merge(&base, &ours, &theirs, true);
    assert_eq!(merged.conflicts, []);
    assert_eq!(
        merged.record,
        side(json!(["y"]), json!({"b": 2}), json!({"ben": ["doc"]}))
    );
    assert_eq!(merged, merge(&base, &theirs, &ours, false));
    assert_eq!(merge(&base, &ours, &ours, true).record, ours);
}

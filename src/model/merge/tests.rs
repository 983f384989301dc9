//! Merges of records and chats: examples, and what holds for any edits of both sides.

mod property;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::model::{chat::Message, chat::Role, chat::tests::message};

fn record(value: Value) -> Record {
    serde_json::from_value(value).expect("a record")
}

fn task(id: &str, second: u32, status: &str) -> Value {
    json!({"id": id, "at": format!("2026-11-27T12:00:{second:02}Z"), "by": "ana", "title": format!("title of {id}"), "status": status})
}

fn merge(base: &Record, ours: &Record, theirs: &Record) -> RecordMerge {
    records(RecordSides {
        base,
        ours,
        theirs,
        ours_is_later: true,
    })
}

/// The other way round, with the same clock.
fn swapped(base: &Record, ours: &Record, theirs: &Record) -> RecordMerge {
    records(RecordSides {
        base,
        ours: theirs,
        theirs: ours,
        ours_is_later: false,
    })
}

#[test]
fn both_sides_changes_come_together() {
    let base = record(json!({"tasks": [task("a", 1, "todo"), task("b", 2, "todo")],
        "state": {"db": {"host": "x", "port": 1}, "n": [1]}, "partitions": {"ana": ["src"]}}));
    let ours = record(
        json!({"tasks": [task("a", 1, "done"), task("b", 2, "todo"), task("d", 4, "todo")],
        "state": {"db": {"host": "x", "port": 2}, "n": [1]}, "partitions": {"ana": ["src", "doc"]}}),
    );
    let theirs = record(json!({"tasks": [task("a", 1, "todo"), task("c", 3, "todo")],
        "state": {"db": {"host": "y", "port": 1}, "n": [1, 2]}, "partitions": {"ana": ["src", "tests"], "ben": ["x"]}}));
    let merged = merge(&base, &ours, &theirs);
    assert_eq!(merged.conflicts, []);
    assert_eq!(merged, swapped(&base, &ours, &theirs));
    let got = serde_json::to_value(&merged.record).expect("plain data");
    let ids: Vec<_> = got["tasks"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|task| task["id"].as_str().expect("id"))
        .collect();
    assert_eq!(
        ids,
        ["a", "c", "d"],
        "b was taken out by one side, and the other left it alone"
    );
    assert_eq!(got["tasks"][0]["status"], "done");
    assert_eq!(got["state"], json!({"db": {"host": "y", "port": 2}, "n": [1, 2]}));
    assert_eq!(got["partitions"]["ana"].as_array().expect("a list").len(), 3);
}

#[test]
fn contradictions_keep_both_values() {
    let base = record(
        json!({"tasks": [task("a", 1, "todo"), task("b", 2, "todo")], "state": {"k": 1}, "phase": {"n": 1, "of": 3}}),
    );
    let ours = record(
        json!({"tasks": [task("a", 1, "done"), task("b", 2, "done")], "state": {"k": 2}, "phase": {"n": 2, "of": 3}}),
    );
    let theirs = record(json!({"tasks": [task("a", 1, "dropped")], "state": {"k": [3]}, "phase": {"n": 3, "of": 4}}));
    let merged = merge(&base, &ours, &theirs);
    let mut places: Vec<_> = merged
        .conflicts
        .iter()
        .map(|conflict| conflict.member.as_str())
        .collect();
    places.sort_unstable();
    assert_eq!(places, ["phase", "state/k", "tasks/a/status", "tasks/b"]);
    let status = merged
        .conflicts
        .iter()
        .find(|c| c.member == "tasks/a/status")
        .expect("one");
    assert_eq!(
        (&status.base, &status.ours, &status.theirs),
        (&Some("todo".into()), &Some("done".into()), &Some("dropped".into()))
    );
    assert_eq!(
        merged.record.tasks.len(),
        2,
        "what one side changed and the other took out stays"
    );
    assert_eq!(merged.record.state, Some(json!({"k": 2})));
}

#[test]
fn summaries_of_both_are_kept() {
    let base = record(json!({"summary": "start"}));
    let ours = record(json!({"summary": "server"}));
    let theirs = record(json!({"summary": "tokens\n\nstart"}));
    let merged = merge(&base, &ours, &theirs).record;
    assert_eq!(merged.summary.as_deref(), Some("server\n\ntokens"));
    assert_eq!(merged, swapped(&base, &ours, &theirs).record);
    let automatic = record(json!({"summary": "3 files", "auto_summary": true}));
    assert_eq!(merge(&base, &automatic, &theirs).record.summary, theirs.summary);
}

#[test]
fn a_place_is_read_back() {
    let base = Record::default();
    let ours = record(json!({"state": {"a/b": {"c~d": 1}}}));
    let theirs = record(json!({"state": {"a/b": {"c~d": 2}}}));
    let merged = merge(&base, &ours, &theirs);
    assert_eq!(parts(&merged.conflicts[0].member), ["state", "a/b", "c~d"]);
}

fn said(id: &str, second: i64, text: &str) -> Message {
    let mut said = message(id, Role::User, json!(text));
    said.at = Timestamp::from_unix(second, 0);
    said
}

fn ids(messages: &[Message]) -> String {
    messages
        .iter()
        .map(|message| message.id.as_str())
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn threads_come_together_by_time() {
    let base = [said("a", 1, "a"), said("b", 2, "b")];
    let ours = [base.to_vec(), vec![said("c", 3, "c"), said("e", 5, "e")]].concat();
    let theirs = [base.to_vec(), vec![said("d", 4, "d"), said("f", 6, "f")]].concat();
    let merged = thread(&base, &ours, &theirs, None);
    assert_eq!((ids(&merged.messages).as_str(), merged.renamed), ("a b c d e f", 0));
    assert_eq!(merged, thread(&base, &theirs, &ours, None));
    // A clock that is behind does not tear a thread apart.
    let slow = [base.to_vec(), vec![said("y", 9, "y"), said("z", 3, "z")]].concat();
    assert_eq!(ids(&thread(&base, &ours, &slow, None).messages), "a b c e y z");
    // What a side took out stays out, and what a summary represents stays in front.
    assert_eq!(ids(&thread(&base, &ours[2..], &theirs, None).messages), "c d e f");
    let summarized = thread(&base, &ours, &theirs, Some((0, 4)));
    assert_eq!(
        (ids(&summarized.messages).as_str(), summarized.summarized),
        ("a b c e d f", 4)
    );
    // Two messages that were given one id are two.
    let other = [base.to_vec(), vec![said("c", 4, "other")]].concat();
    let merged = thread(&base, &ours, &other, None);
    assert_eq!((merged.messages.len(), merged.renamed), (5, 1));
    assert_eq!(
        thread(&base, &merged.messages, &other[..2], None).messages,
        merged.messages
    );
}

/// Change of one task on a side.
#[derive(Clone, Debug)]
enum Edit {
    Keep,
    Status(usize),
    Title(String),
    Remove,
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        3 => Just(Edit::Keep),
        1 => (0..5_usize).prop_map(Edit::Status),
        1 => "[a-z]{1,6}".prop_map(Edit::Title),
        1 => Just(Edit::Remove),
    ]
}

type Side = (Vec<Edit>, Vec<u32>, Option<String>, Vec<(String, u8)>);

fn side() -> impl Strategy<Value = Side> {
    let state = proptest::collection::vec(("[abc]", any::<u8>()), 0..3);
    (
        proptest::collection::vec(edit(), 6),
        proptest::collection::vec(0..60_u32, 0..4),
        proptest::option::of("[a-z]{1,8}"),
        state,
    )
}

fn edited(base: &Record, side: &Side, name: &str) -> Record {
    let mut value = serde_json::to_value(base).expect("plain data");
    let words = ["todo", "in_progress", "done", "blocked", "dropped"];
    let mut tasks = Vec::new();
    for (task, edit) in value["tasks"]
        .as_array()
        .cloned()
        .unwrap_or_default()
        .into_iter()
        .zip(&side.0)
    {
        let mut task = task;
        match edit {
            Edit::Keep => {}
            Edit::Status(n) => task["status"] = words[*n].into(),
            Edit::Title(title) => task["title"] = title.as_str().into(),
            Edit::Remove => continue,
        }
        tasks.push(task);
    }
    for (n, second) in side.1.iter().enumerate() {
        tasks.push(task(&format!("{name}{n}"), *second, "todo"));
    }
    value["tasks"] = tasks.into();
    if let Some(summary) = &side.2 {
        value["summary"] = summary.as_str().into();
    }
    for (key, n) in &side.3 {
        value["state"][key] = (*n).into();
    }
    record(value)
}

proptest! {
    #[test]
    fn a_merge_loses_no_item_and_does_not_depend_on_the_order(
        seconds in proptest::collection::vec(0..60_u32, 6), one in side(), other in side(),
    ) {
        let tasks: Vec<Value> = seconds.iter().enumerate().map(|(n, at)| task(&format!("t{n}"), *at, "todo")).collect();
        let base = record(json!({"tasks": tasks, "summary": "base", "state": {"a": 0, "z": [1]}}));
        let (ours, theirs) = (edited(&base, &one, "ours"), edited(&base, &other, "theirs"));
        let merged = merge(&base, &ours, &theirs);
        let ids = |record: &Record| record.tasks.iter().map(|task| task.id.clone()).collect::<BTreeSet<_>>();
        // Every item that a side has is there, but those that the other took out and this side left alone.
        for (side, rest) in [(&ours, &theirs), (&theirs, &ours)] {
            for task in &side.tasks {
                let gone = !ids(rest).contains(&task.id) && base.tasks.contains(task);
                prop_assert_eq!(ids(&merged.record).contains(&task.id), !gone);
            }
        }
        let back = swapped(&base, &ours, &theirs);
        if merged.conflicts.is_empty() {
            prop_assert_eq!(&merged, &back);
            prop_assert_eq!(serde_json::to_string(&merged.record).unwrap(), serde_json::to_string(&back.record).unwrap());
        }
        prop_assert_eq!(merged.conflicts.len(), back.conflicts.len());
        for conflict in &merged.conflicts {
            prop_assert!(conflict.ours != conflict.theirs && conflict.ours != conflict.base && conflict.theirs != conflict.base);
        }
        // What was merged comes from theirs: a second merge changes nothing.
        prop_assert_eq!(&merge(&theirs, &merged.record, &theirs).record, &merged.record);
        prop_assert_eq!(&merge(&base, &merged.record, &base).record, &merged.record);
        // A side that changed nothing gives the other.
        prop_assert_eq!(&merge(&base, &base, &theirs).record, &theirs);
    }

    #[test]
    fn threads_lose_and_double_nothing(
        common in 0..5_i64, ours in proptest::collection::vec(0..30_i64, 0..8), theirs in proptest::collection::vec(0..30_i64, 0..8),
    ) {
        let base: Vec<Message> = (0..common).map(|n| said(&format!("b{n}"), n, "x")).collect();
        let side = |name: &str, times: &[i64]| {
            let new = times.iter().enumerate().map(|(n, at)| said(&format!("{name}{n}"), *at, "x"));
            base.iter().cloned().chain(new).collect::<Vec<_>>()
        };
        let (ours, theirs) = (side("o", &ours), side("t", &theirs));
        let merged = thread(&base, &ours, &theirs, None);
        prop_assert_eq!(merged.messages.len(), ours.len() + theirs.len() - base.len());
        prop_assert_eq!(merged.renamed, 0);
        for one in [&ours, &theirs] {
            let own: Vec<_> = merged.messages.iter().filter(|message| one.contains(message)).collect();
            prop_assert_eq!(own, one.iter().collect::<Vec<_>>(), "in its own order");
        }
        prop_assert_eq!(&thread(&base, &theirs, &ours, None).messages, &merged.messages);
        prop_assert_eq!(&thread(&theirs, &merged.messages, &theirs, None).messages, &merged.messages);
    }
}

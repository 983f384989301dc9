//! Contradictions in the record: each that a merge shows is resolved by the command that its message names.

use proptest::{collection::vec, prelude::*};
use serde_json::{Map, Value, json};

use crate::support::World;

/// Changes of a side: what becomes of each task and todo, members of maps, and the phase.
#[derive(Clone, Debug)]
struct Side {
    items: Vec<(u8, String)>,
    maps: Vec<(&'static str, String, Value)>,
    phase: u8,
}

fn word() -> impl Strategy<Value = String> {
    "[pqr]{1,2}"
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<u8>().prop_map(Value::from),
        word().prop_map(Value::from),
        vec(word(), 0..3).prop_map(Value::from),
        vec(("[ab/~]", word().prop_map(Value::from)), 0..3)
            .prop_map(|members| members.into_iter().collect::<Map<_, _>>().into()),
    ]
}

fn side() -> impl Strategy<Value = Side> {
    let map = prop_oneof![
        Just("state"),
        Just("extra"),
        Just("of_a_later_version"),
        Just("partitions")
    ];
    (vec((0..6_u8, word()), 8), vec((map, "[a-c]", value()), 0..6), 1..4_u8).prop_map(|(items, maps, phase)| Side {
        items,
        maps,
        phase,
    })
}

fn base() -> Value {
    let at = "2026-11-27T12:00:00Z";
    let task =
        |n| json!({"id": format!("t{n}"), "at": at, "by": "ana", "title": "base", "status": "todo", "files": ["a"]});
    let todo = |n| json!({"id": format!("o{n}"), "at": at, "by": "ana", "text": "base"});
    json!({"tasks": (0..4).map(task).collect::<Vec<_>>(), "todos": (0..4).map(todo).collect::<Vec<_>>(),
        "phase": {"n": 1, "of": 9}, "state": {"a": 1, "b": {"a": "x", "b": 1}}, "extra": {"a": [1]},
        "of_a_later_version": {"a": 1}, "partitions": {"a": ["src"]}})
}

fn edited(side: &Side) -> Value {
    let mut record = base();
    for (list, text, edits) in [
        ("tasks", "title", &side.items[..4]),
        ("todos", "text", &side.items[4..]),
    ] {
        let items = base()[list].as_array().cloned().unwrap_or_default();
        let mut kept = Vec::new();
        for (mut item, (edit, word)) in items.into_iter().zip(edits) {
            match (edit, list) {
                (0, _) => continue,
                (1 | 2, _) => item[text] = word.as_str().into(),
                (3, "tasks") => item["status"] = "done".into(),
                (3, _) => item["done"] = true.into(),
                (4, "tasks") => item["files"] = json!([word]),
                _ => {}
            }
            kept.push(item);
        }
        let (edit, word) = &edits[0];
        if *edit > 2 {
            // Both may add one of this id.
            let mut new = base()[list][0].clone();
            new["id"] = "new".into();
            new[text] = word.as_str().into();
            kept.push(new);
        }
        record[list] = kept.into();
    }
    for (map, key, value) in &side.maps {
        match *map {
            "partitions" => record[map][key] = json!([value.to_string()]),
            map => record[map][key] = value.clone(),
        }
    }
    record["phase"]["n"] = side.phase.into();
    record
}

/// Saves a record in the place of the one that is there.
fn save(world: &World, record: &Value) {
    let members = record.as_object().unwrap();
    let nothing: Map<_, _> = members.keys().map(|name| (name.clone(), Value::Null)).collect();
    for record in [&Value::Object(nothing), record] {
        world.file("../record.json", record.to_string());
        world
            .checkpoint(["save", "--allow-empty", "-m", "a side", "--record", "../record.json"])
            .success();
    }
}

fn record(world: &World) -> Value {
    world.git(["show", "checkpoints/base:checkpoint.json"]).stdout_json()["record"].clone()
}

/// The value at a place of the record.
fn at(record: &Value, place: &str) -> Option<Value> {
    let plain = |part: &str| part.replace("~1", "/").replace("~0", "~");
    let found = place.split('/').map(plain).try_fold(record, |value, part| match value {
        Value::Array(items) => items.iter().find(|item| item["id"] == *part),
        value => value.get(&part),
    });
    found.cloned()
}

/// A few cases, or as many as `CHECKPOINT_TEST_CASES` asks for.
fn cases() -> u32 {
    let asked = std::env::var("CHECKPOINT_TEST_CASES").ok();
    asked.and_then(|cases| cases.parse().ok()).unwrap_or(4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn each_contradiction_is_resolved_by_the_command_that_is_named(ours in side(), theirs in side(), choice in 0..4_usize) {
        let world = World::with_commit();
        world.checkpoint(["start", "base"]).success();
        save(&world, &base());
        world.checkpoint(["fork", "base", "--name", "t"]).success();
        save(&world, &edited(&theirs));
        world.checkpoint(["switch", "base"]).success();
        save(&world, &edited(&ours));
        let merged = world.checkpoint(["merge", "t", "--json"]);
        let conflicts = merged.stdout_json()["conflicts"].as_array().cloned().unwrap_or_default();
        merged.code(i32::from(!conflicts.is_empty()));
        if let Some(first) = conflicts.first() {
            merged.stderr_has(&format!("git checkpoint conflict resolve {} --ours", first["id"].as_str().unwrap()));
        }
        let listed = world.checkpoint(["conflict", "list", "--json"]).success().stdout_json();
        let listed = listed["items"].as_array().cloned().unwrap_or_default();
        prop_assert_eq!(listed.len(), conflicts.len(), "each is shown");
        let mut expected = Vec::new();
        for (n, conflict) in conflicts.iter().enumerate() {
            let (id, member) = (conflict["id"].as_str().unwrap(), conflict["member"].as_str().unwrap());
            let here = at(&record(&world), member);
            prop_assert_eq!(here.as_ref(), conflict.get("ours").or(conflict.get("theirs")), "{}", member);
            // What the common checkpoint does not have is no value for a member that every item has.
            let sides = if conflict.get("base").is_some() { 3 } else { 2 };
            let side = ["ours", "theirs", "base"][(n + choice) % sides];
            let option = format!("--{side}");
            world.checkpoint(["conflict", "resolve", id, &option]).success();
            expected.push((member.to_owned(), side, conflict.get(side).cloned()));
        }
        world.checkpoint(["save", "--allow-empty", "-m", "resolved"]).success();
        let resolved = record(&world);
        prop_assert!(resolved.get("conflicts").is_none(), "{}", resolved);
        for (member, side, value) in expected {
            prop_assert_eq!(at(&resolved, &member), value, "{} {}", member, side);
        }
        world.checkpoint(["merge", "t"]).success().stdout_has("Up to date");
        world.checkpoint(["verify", "--all"]).success();
    }
}

/// A fork whose answer and line of a file contradict those of its source.
fn contradicting() -> World {
    let world = World::with_commit();
    world.file("f", "one\n");
    world.git(["add", "f"]).success();
    world.git(["commit", "--quiet", "-m", "f"]).success();
    world.checkpoint(["question", "add", "which port?"]).success();
    world.checkpoint(["save", "-m", "base"]).success();
    world
        .checkpoint(["fork", "--name", "alt", "--worktree", "../alt"])
        .success();
    for (directory, answer) in [("repo", "80"), ("alt", "90")] {
        world.enter(directory);
        world.file("f", format!("{answer}\n"));
        world.checkpoint(["question", "answer", "1", answer]).success();
        world.checkpoint(["save", "-m", answer]).success();
    }
    world.enter("repo");
    world
}

#[test]
fn conflicts_of_files_and_record_are_counted_together_and_those_that_are_left_are_named() {
    let left = "1 conflict of the record is left; see: git checkpoint conflict";
    for way in ["continue", "save", "resolved"] {
        let world = contradicting();
        world
            .checkpoint(["merge", "alt"])
            .code(1)
            .stderr_has("2 conflicts to resolve, 1 of them in the record");
        world.file("f", "both\n");
        world.git(["add", "f"]).success();
        if way == "resolved" {
            world.checkpoint(["conflict", "resolve", "1", "--ours"]).success();
        }
        let words: &[&str] = match way {
            "save" => &["save", "-m", "both"],
            _ => &["merge", "--continue"],
        };
        let concluded = world.checkpoint(words);
        concluded.success();
        let log = world.checkpoint(["log"]).success().stdout().to_owned();
        if way == "resolved" {
            concluded.stderr_lacks("left");
            assert!(log.contains("resolved the conflicts of merging"), "{log}");
        } else {
            concluded.stderr_has(left);
            assert!(!log.contains("resolved the conflicts of merging"), "{log}");
        }
    }
}

//! Drafts under pressure: many processes at once, and many changes.

use std::{collections::BTreeSet, time::Instant};

use serde_json::Value;

use crate::support::{PROGRAM, World};

fn todos(world: &World, session: &str) -> Vec<Value> {
    let found = world
        .checkpoint(["todo", "list", "--session", session, "--json"])
        .success()
        .stdout_json();
    found["items"].as_array().unwrap().clone()
}

#[test]
fn sixty_four_processes_changing_one_draft_lose_nothing() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    let script = format!(
        "for n in $(seq 64); do '{PROGRAM}' todo add --session s \"n$n\" > ../out.$n 2>&1 & pids=\"$pids $!\"; done
         '{PROGRAM}' save --session s -m between > ../save 2>&1 &
         pids=\"$pids $!\"
         for pid in $pids; do wait $pid || exit 1; done"
    );
    world.command("sh", ["-c", &script]).run().success();
    let texts: BTreeSet<String> = todos(&world, "s")
        .iter()
        .map(|t| t["text"].as_str().unwrap().to_owned())
        .collect();
    let wanted: BTreeSet<String> = (1..=64).map(|n| format!("n{n}")).collect();
    assert_eq!(texts, wanted);
    world.checkpoint(["save", "--session", "s", "-m", "all"]).success();
    assert_eq!(todos(&world, "s").len(), 64, "nothing twice");
    let document = world
        .git(["show", "checkpoints/s:checkpoint.json"])
        .success()
        .stdout_json();
    assert_eq!(document["record"]["todos"].as_array().unwrap().len(), 64);
    world.checkpoint(["verify", "s"]).success();
}

/// A change of the draft looks for the session's latest checkpoint in one place only, where it was found last.
#[test]
fn a_change_of_the_draft_sees_when_its_session_is_damaged() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    let add = |n: usize| {
        let said = world.checkpoint(["message", "add", "--role", "user", &format!("m{n}")]);
        let added = world.checkpoint(["todo", "add", &format!("n{n}")]);
        assert_eq!(said.is_success(), added.is_success(), "{n}: {}", said.stderr());
        added
    };
    add(1).success();
    add(2).success();
    // Elsewhere under another name, as a collection of garbage puts it.
    world.git(["gc", "--quiet"]).success();
    add(3).success();
    add(4).success();
    // Moved on by somebody else.
    world.checkpoint(["save", "-m", "all"]).success();
    add(5).success();
    let (packs, away) = (world.path(".git/objects/pack"), world.root().join("away"));
    std::fs::rename(&packs, &away).unwrap();
    std::fs::create_dir(&packs).unwrap();
    add(6)
        .code(128)
        .stderr_has("refs/checkpoints/s")
        .stderr_has("does not exist");
    std::fs::remove_dir(&packs).unwrap();
    std::fs::rename(&away, &packs).unwrap();
    add(7).success();
    let texts: Vec<String> = todos(&world, "s")
        .iter()
        .map(|todo| todo["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(texts, ["n1", "n2", "n3", "n4", "n5", "n7"]);
    let chat = world
        .checkpoint(["message", "list", "--json"])
        .success()
        .stdout()
        .to_owned();
    for n in 1..8 {
        assert_eq!(chat.contains(&format!("\"m{n}\"")), n != 6, "{n}: {chat}");
    }
    // Another session under the same name is not the one noted.
    world.checkpoint(["start", "other"]).success();
    let other = world.git_line(["rev-parse", "refs/checkpoints/other"]);
    world.git(["update-ref", "refs/checkpoints/s", &other]).success();
    let added = world
        .checkpoint(["todo", "add", "--session", "s", "--json", "n8"])
        .success()
        .stdout_json();
    let document = world
        .git(["show", "refs/checkpoints/other:checkpoint.json"])
        .success()
        .stdout_json();
    assert_eq!(added["session_id"], document["session"]["id"]);
    // One that has ended takes no more messages.
    let said = || world.checkpoint(["message", "add", "--session", "other", "--role", "user", "late"]);
    said().success();
    said().success();
    world
        .checkpoint(["finish", "--session", "other", "-m", "done"])
        .success();
    let refused = said();
    assert!(!refused.is_success(), "{}", refused.stdout());
    assert_eq!(refused.status().code(), said().status().code());
}

#[test]
fn sixty_four_processes_without_a_session_start_one() {
    let world = World::with_commit();
    let script = format!(
        "for n in $(seq 64); do '{PROGRAM}' todo add \"n$n\" > ../out.$n 2>&1 & pids=\"$pids $!\"; done
         for pid in $pids; do wait $pid || exit 1; done"
    );
    world.command("sh", ["-c", &script]).run().success();
    let refs = world.git_line(["for-each-ref", "--format=%(refname)", "refs/checkpoints"]);
    assert_eq!(refs.lines().count(), 1, "{refs}");
    assert_eq!(todos(&world, refs.trim_start_matches("refs/checkpoints/")).len(), 64);
}

/// Ten thousand operations are written at once, as the file holds them: what is measured is how a change of such a draft
/// behaves, and how the draft is read and saved.
#[test]
fn ten_thousand_operations_stay_quick() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["todo", "add", "first"]).success();
    let time = |args: &[&str]| {
        let started = Instant::now();
        world.checkpoint(args).success();
        started.elapsed()
    };
    let fastest = |args: &[&str]| (0..5).map(|_| time(args)).min().unwrap();
    let few = fastest(&["todo", "add", "short"]);
    let drafts = world.path(".git/checkpoint/drafts");
    let path = std::fs::read_dir(drafts).unwrap().next().unwrap().unwrap().path();
    let mut text = std::fs::read_to_string(&path).unwrap();
    let first = text.lines().count();
    for n in first..=10_000 {
        let id = format!("t{n}");
        let operation = serde_json::json!({
            "n": n, "id": format!("o{n}"), "at": "2026-01-02T03:04:05+00:00", "by": "a",
            "record": {"todos": [{"id": id, "at": "2026-01-02T03:04:05+00:00", "by": "a", "text": format!("number {n}")}]},
        });
        text += &(operation.to_string() + "\n");
    }
    std::fs::write(&path, text).unwrap();
    let many = fastest(&["todo", "add", "long"]);
    // A generous bound, since other tests run meanwhile: what it must not do is read the draft, which takes this build
    // a second.
    let slack = std::time::Duration::from_millis(300);
    assert!(many < few * 3 + slack, "{few:?} with few, {many:?} with many");
    let found = time(&["todo", "done", "number 5000"]);
    let saved = time(&["save", "-m", "all"]);
    let after = fastest(&["todo", "add", "after"]);
    assert!(after < few * 3 + slack, "{few:?} before, {after:?} after the save");
    println!("append {few:?} with few, {many:?} with 10,000; found {found:?}; saved {saved:?}; append after {after:?}");
    let limit = std::time::Duration::from_secs(20);
    assert!(found < limit && saved < limit, "found in {found:?}, saved in {saved:?}");
    let document = world
        .git(["show", "checkpoints/s:checkpoint.json"])
        .success()
        .stdout_json();
    assert_eq!(document["record"]["todos"].as_array().unwrap().len(), 10_005);
}

#[test]
fn a_torn_line_is_passed_over_and_told() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["todo", "add", "one"]).success();
    let drafts = world.path(".git/checkpoint/drafts");
    let path = std::fs::read_dir(drafts).unwrap().next().unwrap().unwrap().path();
    // Killed while writing: the line has no end.
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, [&whole[..], br#"{"n": 2, "id": "x", "at": "20"#].concat()).unwrap();
    world.checkpoint(["todo", "add", "two"]).success();
    assert_eq!(todos(&world, "s").len(), 2);
    // A whole line that makes no sense is kept, and reported.
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, [&whole[..], b"nonsense\n"].concat()).unwrap();
    world.checkpoint(["todo", "add", "three"]).success();
    assert_eq!(todos(&world, "s").len(), 3);
    world
        .checkpoint(["save", "-m", "x"])
        .success()
        .stderr_has("unreadable lines (4)");
    assert_eq!(todos(&world, "s").len(), 3);
}

#[test]
fn an_operation_that_fits_no_record_is_passed_over_told_and_kept() {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world.checkpoint(["todo", "add", "one"]).success();
    let drafts = world.path(".git/checkpoint/drafts");
    let path = std::fs::read_dir(drafts).unwrap().next().unwrap().unwrap().path();
    let mut text = std::fs::read_to_string(&path).unwrap();
    let broken = [
        serde_json::json!({"record": {"phase": {"n": "two", "of": 3}}}),
        serde_json::json!({"record": {"todos": "none"}}),
        serde_json::json!({"session": {"status": "dancing"}}),
        serde_json::json!({"step": {"id": "x", "at": "2026-01-02T03:04:05Z", "by": "a", "patch": {"status": 5}}}),
    ];
    for (mut operation, n) in broken.clone().into_iter().zip(2..) {
        for (key, value) in [("id", "x"), ("at", "2026-01-02T03:04:05Z"), ("by", "a")] {
            operation[key] = value.into();
        }
        operation["n"] = n.into();
        text += &(operation.to_string() + "\n");
    }
    std::fs::write(&path, text).unwrap();
    world.checkpoint(["todo", "add", "two"]).success();
    assert_eq!(
        world.checkpoint(["status", "--json"]).success().stdout_json()["current"]["draft_unreadable"],
        serde_json::json!([3, 4, 5, 6])
    );
    world.checkpoint(["step", "list"]).success();
    world
        .checkpoint(["save", "-m", "x"])
        .success()
        .stderr_has("unreadable lines (3, 4, 5, 6)");
    assert_eq!(todos(&world, "s").len(), 2);
    // They stay for whoever wants to mend them, and stop nothing.
    world.checkpoint(["todo", "add", "three"]).success();
    world.checkpoint(["save", "-m", "y"]).success();
    assert_eq!(todos(&world, "s").len(), 3);
    let kept = std::fs::read_to_string(&path).unwrap();
    assert_eq!(kept.lines().count(), 1 + broken.len(), "{kept}");
    world.checkpoint(["verify", "--all"]).success();
}

//! Which session a change goes to, its log, what `status` says, and events that save by themselves.

use serde_json::{Value, json};

use crate::support::World;

fn begun() -> World {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world
}

/// The record of a save after these commands.
fn record(world: &World) -> Value {
    world.checkpoint(["save", "-m", "saved"]).success();
    world
        .git(["show", "checkpoints/s:checkpoint.json"])
        .success()
        .stdout_json()["record"]
        .clone()
}

#[test]
fn notes_are_the_session_log() {
    let world = begun();
    world
        .checkpoint(["note", "first"])
        .success()
        .stdout_is("Noted: first\n");
    world
        .checkpoint(["note", "--level", "error", "no\u{1b}[31m answer", "--agent", "claude"])
        .success();
    world.checkpoint(["note", "--level", "loud", "x"]).code(129);
    world.checkpoint(["note", "list"]).code(129).stderr_has("log --notes");
    let out = world.checkpoint(["log", "--notes"]).success().stdout().to_owned();
    assert!(out.contains("error") && out.contains("claude") && out.contains("not saved") && !out.contains('\u{1b}'));
    assert!(
        out.find("answer").unwrap() < out.find("first").unwrap(),
        "latest first: {out}"
    );
    world.checkpoint(["save", "-m", "one"]).success();
    world.checkpoint(["note", "second"]).success();
    world.checkpoint(["save", "-m", "two"]).success();
    // In one file as long as it is short.
    assert_eq!(
        world.git_line(["ls-tree", "-r", "--name-only", "checkpoints/s", "log/"]),
        "log/000000.jsonl"
    );
    let stored = world.git_line(["show", "checkpoints/s:log/000000.jsonl"]);
    assert_eq!(stored.lines().count(), 3);
    let found = world
        .checkpoint(["log", "--notes", "-n", "2", "--json"])
        .success()
        .stdout_json();
    assert_eq!(
        (&found["schema"], &found["total"]),
        (&json!("git-checkpoint.notes/1"), &json!(3))
    );
    assert_eq!(
        (&found["notes"][0]["message"], &found["notes"][0]["saved"]),
        (&json!("second"), &json!(true))
    );
    // What was known at an older checkpoint.
    let old = world
        .checkpoint(["log", "--notes", "s~1", "--json"])
        .success()
        .stdout_json();
    assert_eq!(old["total"], 2);
    // A long log is kept in pieces.
    let long = "x".repeat(3000);
    for _ in 0..50 {
        world.checkpoint(["note", &long]).success();
    }
    world.checkpoint(["save", "-m", "three"]).success();
    let files = world.git_line(["ls-tree", "-r", "-l", "checkpoints/s", "log/"]);
    assert_eq!(files.lines().count(), 2);
    assert_eq!(
        world.checkpoint(["log", "--notes", "--json"]).success().stdout_json()["total"],
        53
    );
    world.checkpoint(["verify", "s"]).success();
}

#[test]
fn secrets_do_not_reach_the_draft() {
    let world = begun();
    let secret = format!("ghp_{}", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8");
    let out = world.checkpoint(["todo", "add", &format!("use {secret}"), "--json"]);
    out.success();
    assert!(!out.stdout().contains(&secret) && out.stderr().contains("was replaced"));
    world.checkpoint(["note", &secret]).success();
    world
        .checkpoint(["state", "set", &json!({ "t": secret }).to_string()])
        .success();
    world.checkpoint(["todo", "add", "plain"]).success();
    world.checkpoint(["task", "add", "t"]).success();
    let out = world.checkpoint(["task", "block", "1", "--notes", &secret, "--json"]);
    out.success();
    assert!(!out.stdout().contains(&secret));
    let out = world.checkpoint(["partition", "set", "a", &secret]);
    out.success();
    assert!(!out.stdout().contains(&secret));
    for file in std::fs::read_dir(world.path(".git/checkpoint/drafts")).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(&secret));
    }
}

#[test]
fn the_session_is_the_one_that_save_would_take() {
    let world = World::with_commit();
    // None at all: one is started, without a snapshot.
    let first = world
        .checkpoint(["todo", "add", "one", "--json"])
        .success()
        .stdout_json();
    assert_eq!(first["session_is"], "started");
    let name = first["session"].as_str().unwrap().to_owned();
    assert_eq!(name, "main");
    assert_eq!(
        world.git_line(["ls-tree", "--name-only", &format!("checkpoints/{name}")]),
        "checkpoint.json"
    );
    assert_eq!(
        world
            .checkpoint(["todo", "add", "two", "--json"])
            .success()
            .stdout_json()["session_is"],
        "meant"
    );
    // Paused: it is continued, and says so; the save makes it active.
    world.checkpoint(["pause", "-m", "away"]).success();
    let third = world.checkpoint(["todo", "add", "three"]).success().stdout().to_owned();
    assert!(third.ends_with(&format!("\n  session {name}, resumed\n")), "{third}");
    world.checkpoint(["save", "-m", "back"]).success();
    let document = world
        .git(["show", &format!("checkpoints/{name}:checkpoint.json")])
        .success()
        .stdout_json();
    assert_eq!(document["session"]["status"], "active");
    assert_eq!(document["record"]["todos"].as_array().unwrap().len(), 3);
    // Named: there it goes, and the current one stays current.
    world
        .checkpoint(["todo", "add", "elsewhere", "--session", "other"])
        .success()
        .stdout_has("  session other, new\n");
    world
        .command(crate::support::PROGRAM, ["todo", "add", "env"])
        .env("CHECKPOINT_SESSION", "other")
        .env("CHECKPOINT_AGENT", "bot")
        .run()
        .success();
    let other = world
        .checkpoint(["todo", "list", "--session", "other", "--json"])
        .success()
        .stdout_json();
    assert_eq!(
        (other["items"].as_array().unwrap().len(), &other["items"][1]["by"]),
        (2, &json!("bot"))
    );
    world
        .checkpoint(["todo", "list", "--session", "othr"])
        .code(3)
        .stderr_has("other");
    world.checkpoint(["status"]).success().stdout_has(&name);
    // A renamed one is followed; a deleted one is not written to.
    world.checkpoint(["rename", &name, "renamed"]).success();
    assert_eq!(
        world
            .checkpoint(["todo", "add", "four", "--json"])
            .success()
            .stdout_json()["session"],
        "renamed"
    );
    world.checkpoint(["delete", "renamed"]).success();
    let fresh = world
        .checkpoint(["todo", "add", "five", "--json"])
        .success()
        .stdout_json();
    assert_eq!(fresh["session_is"], "started");
}

#[test]
fn status_tells_the_draft_and_what_it_changes() {
    let world = begun();
    world.checkpoint(["todo", "add", "old"]).success();
    world.checkpoint(["save", "-m", "saved"]).success();
    world.checkpoint(["todo", "done", "old"]).success();
    world.checkpoint(["decision", "keep v1"]).success();
    world.checkpoint(["note", "x"]).success();
    world
        .checkpoint(["status"])
        .success()
        .stdout_has("3 changes not saved yet")
        .stdout_has("- todo        old")
        .stdout_has("+ done        old")
        .stdout_has("+ decision    keep v1")
        .stdout_has("+ 1 note");
    let status = world.checkpoint(["status", "--json"]).success().stdout_json();
    assert_eq!(status["current"]["draft"].as_array().unwrap().len(), 3);
    world.checkpoint(["status", "--exit-code"]).code(1);
    world.checkpoint(["save", "-m", "again"]).success();
    world.checkpoint(["status"]).success().stdout_lacks("not saved yet");
}

#[test]
fn events_save_by_themselves_where_they_are_asked_to() {
    let world = begun();
    let tip = || world.git_line(["rev-parse", "checkpoints/s"]);
    let set = |name: &str, value: &str| world.git(["config", name, value]).success().stdout().len();
    world.checkpoint(["task", "add", "t"]).success();
    let before = tip();
    world.checkpoint(["task", "done", "t"]).success().stdout_lacks("Saved");
    assert_eq!(tip(), before);
    set("checkpoint.saveOn", "task-complete, agent-spawn phase-complete");
    world.file("new", "x");
    world.checkpoint(["task", "reopen", "t"]).success();
    world
        .checkpoint(["task", "done", "t"])
        .success()
        .stdout_has("Saved")
        .stdout_has("on task-complete");
    assert_ne!(tip(), before);
    let document = world
        .git(["show", "checkpoints/s:checkpoint.json"])
        .success()
        .stdout_json();
    assert_eq!(
        (&document["kind"], &document["trigger"]),
        (&json!("event"), &json!("task-complete"))
    );
    world.git(["cat-file", "-e", "checkpoints/s^2:new"]).success();
    world.checkpoint(["log"]).success().stdout_has("task-complete");
    let spawned = world
        .checkpoint(["delegation", "add", "claude", "--json"])
        .success()
        .stdout_json();
    assert_eq!(spawned["checkpoint"]["kind"], "event");
    world.checkpoint(["phase", "1/3"]).success().stdout_lacks("Saved");
    world
        .checkpoint(["phase", "2/3"])
        .success()
        .stdout_has("on phase-complete");
    world
        .checkpoint(["log"])
        .success()
        .stdout_has("agent-spawn")
        .stdout_has("phase-complete");
    // Every so many changes.
    set("checkpoint.saveEvery", "3");
    for n in 1..=7 {
        let out = world.checkpoint(["todo", "add", &format!("n{n}")]);
        out.success();
        assert_eq!(out.stdout().contains("Saved"), n % 3 == 0, "{n}: {}", out.stdout());
    }
    // Words that nothing emits are reported.
    set("checkpoint.saveOn", "task-compleet");
    world
        .checkpoint(["status"])
        .success()
        .stderr_has("unknown event 'task-compleet'");
}

#[test]
fn an_event_that_cannot_be_saved_loses_nothing() {
    let world = begun();
    world.git(["config", "checkpoint.saveOn", "task-complete"]).success();
    world.checkpoint(["task", "add", "t"]).success();
    let tip = world.git_line(["rev-parse", "checkpoints/s"]);
    let lock = world.path(".git/checkpoint/worktree.lock");
    std::fs::write(&lock, "").unwrap();
    let held = std::fs::File::open(&lock).unwrap();
    held.lock().unwrap();
    world
        .checkpoint(["task", "done", "t"])
        .success()
        .stdout_has("Done: task")
        .stderr_has("warning: the change is recorded, but saving on 'task-complete' failed");
    drop(held);
    assert_eq!(world.git_line(["rev-parse", "checkpoints/s"]), tip);
    assert_eq!(record(&world)["tasks"][0]["status"], "done");
}

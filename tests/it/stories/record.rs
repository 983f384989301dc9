//! The record between saves: a story for each command, and what the next checkpoint holds afterwards.

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

fn list(world: &World, command: &str) -> Vec<Value> {
    let found = world.checkpoint([command, "list", "--json"]).success().stdout_json();
    assert_eq!(found["schema"], "git-checkpoint.items/1");
    found["items"].as_array().unwrap().clone()
}

#[test]
fn a_task_from_the_plan_to_the_end() {
    let world = begun();
    let before = world.fingerprint();
    let added = world
        .checkpoint([
            "task",
            "add",
            "port the parser",
            "--agent",
            "ana",
            "--issue",
            "#12",
            "--files",
            "./src/../src/main.txt",
            "--json",
        ])
        .success()
        .stdout_json();
    assert_eq!(
        (&added["schema"], &added["outcome"]),
        (&json!("git-checkpoint.draft/1"), &json!("added"))
    );
    let id = added["items"][0]["id"].as_str().unwrap().to_owned();
    world
        .checkpoint(["task", "add", "port the printer", "--depends-on", "1", "--notes", "-x"])
        .success();
    world
        .checkpoint(["task", "start", &id[..4], "--percent", "30"])
        .success()
        .stdout_has("Started task")
        .stdout_has("port the parser");
    world
        .checkpoint(["task", "block", "printer", "--notes", "waits for 1"])
        .success();
    world
        .checkpoint(["task", "list"])
        .success()
        .stdout_has("in progress")
        .stdout_has("blocked")
        .stdout_has("ana, #12, 30%, src/main.txt")
        .stdout_has(&format!("after {id}"));
    world
        .checkpoint(["task", "done", "1"])
        .success()
        .stdout_has("Done: task");
    world
        .checkpoint(["task", "edit", "2", "--title", "print", "--notes", "", "--agent", "ben"])
        .success();
    world.checkpoint(["task", "reopen", "2"]).success();
    world.checkpoint(["task", "add", "third"]).success();
    world.checkpoint(["task", "drop", "third"]).success();
    assert_eq!(
        world.fingerprint(),
        before,
        "a draft command changes nothing of the repository's own"
    );
    let tasks = record(&world)["tasks"].clone();
    let brief: Vec<_> = tasks
        .as_array()
        .unwrap()
        .iter()
        .map(|t| (t["title"].as_str().unwrap(), t["status"].as_str().unwrap()))
        .collect();
    assert_eq!(
        brief,
        [("port the parser", "done"), ("print", "todo"), ("third", "dropped")]
    );
    assert_eq!(
        (&tasks[0]["progress"], &tasks[0]["by"]),
        (&json!(100), &json!("Ana Author"))
    );
    assert_eq!((&tasks[1]["agent"], tasks[1].get("notes")), (&json!("ben"), None));
    assert_eq!(tasks[1]["depends_on"], json!([id]));
    // Saved, they are still found, and the draft is empty.
    world.checkpoint(["status", "--exit-code"]).success();
    world
        .checkpoint(["task", "list", "--open"])
        .success()
        .stdout_has("print")
        .stdout_lacks("third");
}

#[test]
fn items_are_found_or_the_candidates_named() {
    let world = begun();
    for title in ["port the parser", "port the printer", "release"] {
        world.checkpoint(["task", "add", title]).success();
    }
    world
        .checkpoint(["task", "done", "port"])
        .code(3)
        .stderr_has("'port' matches 2 tasks")
        .stderr_has("port the printer");
    world
        .checkpoint(["task", "done", "printr"])
        .code(3)
        .stderr_has("did you mean one of these?")
        .stderr_has("port the printer")
        .stderr_lacks("release");
    world
        .checkpoint(["task", "done", "9"])
        .code(3)
        .stderr_has("no task '9': there are 3");
    world
        .checkpoint(["todo", "done", "1"])
        .code(3)
        .stderr_has("there are none");
    world
        .checkpoint(["task", "add", "  "])
        .code(129)
        .stderr_has("the text is empty");
    world.checkpoint(["task", "add"]).code(129);
    world.checkpoint(["task", "strat", "1"]).code(129).stderr_has("'start'");
    world
        .checkpoint(["task", "edit", "1"])
        .code(129)
        .stderr_has("nothing to change");
    world.checkpoint(["task", "edit", "1", "--percent", "101"]).code(129);
    // One that fails changes nothing of the others.
    world.checkpoint(["task", "done", "release", "nothing like it"]).code(3);
    assert!(
        list(&world, "task")
            .iter()
            .all(|t| t["status"] == "todo" || t.get("status").is_none())
    );
}

#[test]
fn items_as_json() {
    let world = begun();
    let given = r#"["a text", {"title": "whole", "id": "T-7", "status": "in_progress", "colour": "red"}]"#;
    let run = |text: &str| {
        world
            .command(crate::support::PROGRAM, ["task", "add", "--json-input", "-", "--json"])
            .input(text)
            .run()
    };
    assert_eq!(run(given).success().stdout_json()["items"].as_array().unwrap().len(), 2);
    // The same again changes the one that has an id, and adds the other.
    run(given).success();
    run(r#"{"title": "renamed", "id": "T-7"}"#).success();
    let tasks = record(&world)["tasks"].clone();
    assert_eq!(tasks.as_array().unwrap().len(), 3);
    assert_eq!(
        (&tasks[1]["id"], &tasks[1]["title"], &tasks[1]["colour"]),
        (&json!("T-7"), &json!("renamed"), &json!("red"))
    );
    for (bad, why) in [
        ("[5]", "must be a JSON object or text"),
        ("{", "cannot read the tasks"),
        (
            r#"{"title": "x", "status": "dancing"}"#,
            "it must be one of todo, in_progress, ",
        ),
        (r#"{"name": "x"}"#, "'title' is missing"),
        (r#"{"title": "x", "id": "a\u001bb"}"#, "is not a valid id for a task"),
        ("[]", "the text of the task is missing"),
    ] {
        let out = run(bad);
        assert!(
            !out.is_success() && out.stderr().contains(why),
            "{bad}: {}",
            out.stderr()
        );
        assert!(!out.stderr().contains('\u{1b}'));
    }
    assert_eq!(list(&world, "task").len(), 3, "nothing of what was refused was kept");
}

#[test]
fn lists_of_texts() {
    let world = begun();
    world
        .checkpoint(["todo", "add", "tell ops"])
        .success()
        .stdout_has("Added todo");
    world.checkpoint(["todo", "add", "sweep"]).success();
    world.checkpoint(["todo", "done", "1", "2"]).success();
    world.checkpoint(["todo", "reopen", "sweep"]).success();
    world
        .checkpoint(["todo", "list", "--open"])
        .success()
        .stdout_has("sweep")
        .stdout_lacks("ops");
    world
        .checkpoint(["decision", "keep v1", "--reason", "old clients"])
        .success();
    world
        .checkpoint(["decision", "list"])
        .success()
        .stdout_has("because old clients");
    world
        .checkpoint(["decision", "lst"])
        .code(129)
        .stderr_has("looks like the command 'list'");
    world.checkpoint(["decision", "add", "lst"]).success();
    world.checkpoint(["decision", "remove", "lst"]).success();
    world
        .checkpoint(["blocker", "add", "no staging", "--needs", "a key", "--ref", "OPS-31"])
        .success();
    world.checkpoint(["blocker", "add", "other"]).success();
    world
        .checkpoint(["blocker", "clear", "other"])
        .success()
        .stdout_has("Cleared blocker");
    world.checkpoint(["question", "drop 3.8?"]).success();
    world.checkpoint(["question", "add", "why?"]).success();
    world.checkpoint(["question", "answer", "1", "yes"]).success();
    world.checkpoint(["instruction", "add", "migrate first"]).success();
    world.checkpoint(["memory", "add", "notes/auth.md#x"]).success();
    world
        .checkpoint(["agent", "note", "read it all", "--agent", "claude"])
        .success();
    let record = record(&world);
    assert_eq!(
        (&record["todos"][0]["done"], record["todos"][1].get("done")),
        (&json!(true), None)
    );
    assert_eq!(record["decisions"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&record["blockers"][0]["needs"], &record["blockers"][0]["ref"]),
        (&json!("a key"), &json!("OPS-31"))
    );
    assert_eq!(record["blockers"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&record["questions"][0]["answer"], record["questions"][1].get("answer")),
        (&json!("yes"), None)
    );
    assert_eq!(record["resume_instructions"][0]["text"], "migrate first");
    assert_eq!(record["memory_refs"][0]["text"], "notes/auth.md#x");
    assert_eq!(
        (&record["agent_history"][0]["agent"], &record["agent_history"][0]["by"]),
        (&json!("claude"), &json!("Ana Author"))
    );
}

#[test]
fn approvals_are_asked_and_answered() {
    let world = begun();
    world
        .checkpoint([
            "approval",
            "ask",
            "deploy?",
            "--provider",
            "slack",
            "--channel",
            "#ops",
            "--thread",
            "7",
            "--asked-at",
            "2026-01-01T10:00:00+01:00",
        ])
        .success();
    world.checkpoint(["approval", "ask", "merge?"]).success();
    world
        .checkpoint(["approval", "list", "--open"])
        .success()
        .stdout_has("deploy?")
        .stdout_has("slack #ops 7");
    world
        .checkpoint([
            "approval", "answer", "deploy?", "Approved", "--by", "ben", "--reason", "green",
        ])
        .success();
    world
        .checkpoint(["approval", "answer", "2", "after the freeze"])
        .success();
    world
        .checkpoint(["approval", "ask", "x", "--asked-at", "nonsense"])
        .code(129)
        .stderr_has("'nonsense' is not a date");
    let record = record(&world);
    let first = &record["approvals"][0];
    assert_eq!(
        (&first["answer"], &first["answered_by"], &first["reason"]),
        (&json!("approve"), &json!("ben"), &json!("green"))
    );
    assert_eq!(first["asked_at"], "2026-01-01T09:00:00+00:00");
    assert_eq!(
        (
            &record["approvals"][1]["answer"],
            &record["approvals"][1]["answered_by"]
        ),
        (&json!("after the freeze"), &json!("Ana Author"))
    );
}

#[test]
fn the_state_keeps_what_it_is_given() {
    let world = begun();
    world.checkpoint(["state", "get"]).code(1);
    world
        .checkpoint([
            "state",
            "set",
            r#"{"n": 1.50, "none": null, "list": [1, {"deep": "x"}]}"#,
        ])
        .success();
    world
        .checkpoint(["state", "set", "2", "--at", "/list/1/deep"])
        .success();
    world.checkpoint(["state", "set", "-7", "--at", "/list/-"]).success();
    world
        .checkpoint(["state", "set", "0", "--at", "/list/9"])
        .code(3)
        .stderr_has("the state has nothing at");
    world
        .checkpoint(["state", "patch", r#"{"n": null, "more": {"a": 1}}"#])
        .success();
    world
        .checkpoint(["state", "set", "word"])
        .code(128)
        .stderr_has("text must be quoted JSON");
    world
        .checkpoint(["state", "get", "/list/1"])
        .success()
        .stdout_is("{\n  \"deep\": 2\n}\n");
    world.checkpoint(["state", "get", "/nowhere"]).code(1);
    world
        .checkpoint(["state", "get", "nowhere"])
        .code(129)
        .stderr_has("begins with '/'");
    let state = record(&world)["state"].clone();
    assert_eq!(
        state,
        json!({"none": null, "list": [1, {"deep": 2}, -7], "more": {"a": 1}})
    );
    world
        .command(crate::support::PROGRAM, ["state", "set", "-"])
        .input("[]")
        .run()
        .success();
    assert_eq!(record(&world)["state"], json!([]));
}

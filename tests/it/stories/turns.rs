//! The turns of an agent: listed, gone back to, and its session resumed elsewhere.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use crate::support::{PROGRAM, World};

const ID: &str = "5b1c9a4e-1111-4222-8333-944455556666";

/// A repository with hooks for Claude Code.
fn enabled() -> World {
    let world = World::with_commit();
    world.git(["config", "checkpoint.agents", "true"]).success();
    fs::create_dir_all(sessions(&world)).unwrap();
    world
}

fn slug(path: &str) -> String {
    path.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect()
}

/// The directory in which Claude Code keeps the sessions of the working tree.
fn sessions(world: &World) -> PathBuf {
    let slug = slug(world.repo().to_str().unwrap());
    world.home().join(".claude/projects").join(slug)
}

fn record(world: &World, id: &str, n: usize, kind: &str, content: &Value) -> String {
    let role = if kind == "user" { "user" } else { "assistant" };
    let parent = if n == 0 {
        Value::Null
    } else {
        json!(format!("u{}", n - 1))
    };
    let message = json!({"role": role, "content": content, "id": format!("m{n}"), "stop_reason": "end_turn"});
    let record = json!({"type": kind, "uuid": format!("u{n}"), "parentUuid": parent, "sessionId": id,
        "isSidechain": false, "promptId": format!("p{}", n / 2), "cwd": world.repo(), "version": "2.1.0",
        "timestamp": format!("2026-11-28T10:00:{n:02}Z"), "message": message});
    format!("{record}\n")
}

fn hook(world: &World, id: &str, event: &str, turn: usize, prompt: &str) {
    let payload = json!({"session_id": id, "cwd": world.repo(), "hook_event_name": event, "prompt": prompt,
        "prompt_id": format!("p{turn}"), "transcript_path": sessions(world).join(format!("{id}.jsonl"))});
    let mut command = world.command(PROGRAM, ["hook", "claude-code", event]);
    // As the worker that a hook starts: the test waits for it.
    command = command.env("CHECKPOINT_AGENT_HOOK", "worker");
    command.input(payload.to_string()).run().success().no_stderr();
}

/// A turn that writes a file of its number.
fn turn(world: &World, n: usize) {
    let prompt = format!("make file {n}");
    let file = sessions(world).join(format!("{ID}.jsonl"));
    hook(world, ID, "UserPromptSubmit", n, &prompt);
    let mut text = fs::read_to_string(&file).unwrap_or_default();
    text += &record(world, ID, 2 * n, "user", &json!(prompt));
    let made = world.path(format!("f{n}"));
    let answer = json!([{"type": "text", "text": format!("Made {}.", made.display())}]);
    text += &record(world, ID, 2 * n + 1, "assistant", &answer);
    fs::write(&file, text).unwrap();
    world.file(format!("f{n}"), format!("{n}\n"));
    hook(world, ID, "Stop", n, "");
}

fn turns(world: &World) -> Vec<Value> {
    let listed = world.checkpoint(["turns", "--json"]).success().stdout_json();
    listed["turns"].as_array().unwrap().clone()
}

fn lines(path: &Value) -> usize {
    fs::read_to_string(path.as_str().unwrap()).unwrap().lines().count()
}

#[test]
fn turns_are_listed_and_rewound_with_the_conversation() {
    let world = enabled();
    turn(&world, 0);
    world.file("mine", "by hand\n");
    turn(&world, 1);
    turn(&world, 2);
    let listed = turns(&world);
    let seen: Vec<_> = listed
        .iter()
        .map(|turn| {
            (
                turn["n"].as_u64().unwrap(),
                turn["subject"].as_str().unwrap(),
                &turn["files"],
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            (1, "make file 0", &json!(["f0"])),
            (2, "make file 1", &json!(["f1"])),
            (3, "make file 2", &json!(["f2"]))
        ]
    );
    assert_eq!(
        (&listed[1]["follows_edits"], &listed[2]["follows_edits"]),
        (&json!(true), &json!(false))
    );
    world.checkpoint(["turns"]).success().stdout_has("make file 2");
    world
        .checkpoint(["turns", "--files"])
        .success()
        .stdout_has("after edits by hand");

    // A dry run writes nothing, neither here nor for the agent.
    let before = world.fingerprint();
    let plan = world
        .checkpoint(["rewind", "1", "--dry-run", "--json"])
        .success()
        .stdout_json();
    assert_eq!(
        (&plan["turn"], &plan["dry_run"], &plan["files"]["outcome"]),
        (&json!(1), &json!(true), &json!("planned"))
    );
    assert!(!PathBuf::from(plan["agent"]["file"].as_str().unwrap()).exists());
    assert!(before.differences(&world.fingerprint()).is_empty());

    let planned = world.checkpoint(["rewind", "1", "--dry-run"]);
    let planned = planned.success().stdout();
    assert!(planned.contains("would be written to"), "{planned}");
    assert!(planned.ends_with("\nDry run: nothing was changed.\n"), "{planned}");
    let done = world.checkpoint(["rewind", "1", "--json"]).success().stdout_json();
    let there = |name: &str| world.path(name).exists();
    assert!(there("f0") && !there("f1") && !there("f2") && !there("mine"));
    let agent = &done["agent"];
    assert_ne!(agent["id"], ID);
    assert_eq!(
        agent["command"],
        format!("claude --resume {}", agent["id"].as_str().unwrap())
    );
    let text = fs::read_to_string(agent["file"].as_str().unwrap()).unwrap();
    assert_eq!(text.lines().count(), 2);
    assert!(!text.contains(ID) && text.contains(agent["id"].as_str().unwrap()) && !text.contains("make file 1"));
    // The agent's own file is as it was.
    assert_eq!(lines(&json!(sessions(&world).join(format!("{ID}.jsonl")))), 6);
    world.checkpoint(["undo"]).success();
    assert!(there("f0") && there("f1") && there("f2") && there("mine"));

    // Without a number the latest turn is taken back.
    world.checkpoint(["rewind"]).success().stdout_has("claude --resume");
    assert!(there("f1") && there("mine") && !there("f2"));
    world.checkpoint(["rewind", "2", "--before"]).success();
    assert!(there("f0") && there("mine") && !there("f1"));
    world.checkpoint(["rewind", "9"]).code(3).stderr_has("turn 9");
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn a_rewound_session_goes_on_in_the_same_session_here() {
    let world = enabled();
    turn(&world, 0);
    turn(&world, 1);
    let done = world.checkpoint(["rewind", "1", "--json"]).success().stdout_json();
    let id = done["agent"]["id"].as_str().unwrap().to_owned();
    let file = PathBuf::from(done["agent"]["file"].as_str().unwrap());
    hook(&world, &id, "UserPromptSubmit", 5, "another way");
    let mut text = fs::read_to_string(&file).unwrap();
    text += &record(&world, &id, 10, "user", &json!("another way"));
    fs::write(&file, text).unwrap();
    world.file("other", "x\n");
    hook(&world, &id, "Stop", 5, "");
    let listed = turns(&world);
    assert_eq!(listed.len(), 3);
    assert_eq!(listed[2]["agent_session"], id);
    let messages = world.checkpoint(["message", "list", "--json"]).success().stdout_json();
    let texts = messages["messages"].as_array().unwrap().iter();
    assert_eq!(texts.filter(|message| message["content"] == "make file 0").count(), 1);
}

#[test]
fn an_agent_goes_on_in_another_clone() {
    let world = enabled();
    turn(&world, 0);
    turn(&world, 1);
    let old = world.repo();
    let session = world.git_line(["for-each-ref", "--format=%(refname:lstrip=2)", "refs/checkpoints"]);
    world.git(["init", "--quiet", "--bare", "../there.git"]).success();
    world.git(["remote", "add", "origin", "../there.git"]).success();
    world.git(["push", "--quiet", "origin", "HEAD"]);
    world.checkpoint(["push", "origin", session.trim()]).success();
    // The agent has the session here already; its file stays.
    let here = world
        .checkpoint(["resume", "--agent", "--json"])
        .success()
        .stdout_json();
    assert_eq!((&here["written"], &here["id"]), (&json!(false), &json!(ID)));

    fs::remove_dir_all(world.home().join(".claude")).unwrap();
    world.git(["clone", "--quiet", "../there.git", "../other"]);
    world.enter("other");
    world.checkpoint(["pull", "origin", session.trim()]).success();
    let there = world
        .checkpoint(["resume", session.trim(), "--agent", "--json"])
        .success()
        .stdout_json();
    assert_eq!((&there["written"], &there["id"]), (&json!(true), &json!(ID)));
    let file = PathBuf::from(there["file"].as_str().unwrap());
    assert_eq!(file, sessions(&world).join(format!("{ID}.jsonl")));
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text.lines().count(), 4);
    assert!(!text.contains(old.to_str().unwrap()) && text.contains(world.path("f0").to_str().unwrap()));
    // Again: it is there. As a file: the same bytes.
    let again = world
        .checkpoint(["resume", session.trim(), "--agent"])
        .success()
        .stdout()
        .to_owned();
    assert!(again.contains("already has the session"), "{again}");
    let exported = world.checkpoint(["export", "--format", "claude-code", session.trim()]);
    assert_eq!(exported.success().stdout(), text);
    // An earlier turn gives a copy under another id.
    let earlier = world
        .checkpoint(["resume", &format!("{}~1", session.trim()), "--agent", "--json"])
        .success()
        .stdout_json();
    assert_ne!(earlier["id"], ID);
    // Another agent starts with the context.
    world
        .checkpoint(["resume", session.trim(), "--agent", "codex"])
        .success()
        .stdout_has("codex \"$(git checkpoint resume");
    world
        .checkpoint(["export", "--format", "codex", session.trim()])
        .code(3)
        .stderr_has("has no session of Codex");
}

/// An agent that goes on in another working tree: what differs between the two is nobody's change.
#[test]
fn a_turn_over_two_working_trees_counts_what_it_changed_in_the_last() {
    let world = enabled();
    turn(&world, 0);
    world.git(["add", "-A"]).success();
    world.git(["commit", "-qm", "first turn"]).success();
    world
        .git(["worktree", "add", "-q", "../linked", "-b", "linked", "HEAD~"])
        .success();
    world.file("only-here", "1\n");
    world.file("f0", "edited here\n");
    let event = |event: &str, turn: usize, within: &str| {
        let payload = json!({"session_id": ID, "cwd": world.path(within), "hook_event_name": event,
            "prompt": format!("prompt {turn}"), "prompt_id": format!("p{turn}"),
            "transcript_path": sessions(&world).join(format!("{ID}.jsonl"))});
        let command = world.command(PROGRAM, ["hook", "claude-code", event]).within(within);
        let command = command.env("CHECKPOINT_AGENT_HOOK", "worker");
        command.input(payload.to_string()).run().success().no_stderr();
    };
    event("UserPromptSubmit", 1, ".");
    world.file("../linked/there", "1\n");
    event("Stop", 1, "../linked");
    let listed = turns(&world);
    assert_eq!(
        (listed.len(), &listed[1]["files"]),
        (2, &json!(["there"])),
        "{listed:?}"
    );
    // There the next turn is exact.
    event("UserPromptSubmit", 2, "../linked");
    world.file("../linked/next", "1\n");
    event("Stop", 2, "../linked");
    let listed = turns(&world);
    assert_eq!(listed[2]["files"], json!(["next"]), "{listed:?}");
    // And back: compared with what was saved here last.
    event("UserPromptSubmit", 3, "../linked");
    world.file("back", "1\n");
    event("Stop", 3, ".");
    let listed = turns(&world);
    assert_eq!(listed[3]["files"], json!(["back"]), "{listed:?}");
}

#[test]
fn each_fork_gets_a_session_of_its_own() {
    let world = enabled();
    turn(&world, 0);
    let fork = [
        "fork",
        "@",
        "--name",
        "one",
        "--worktree",
        "../one",
        "--name",
        "two",
        "--worktree",
        "../two",
        "--agent-session",
    ];
    let done = world
        .checkpoint(fork.into_iter().chain(["--json"]))
        .success()
        .stdout_json();
    let ids: Vec<_> = done["forks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fork| fork["agent"]["id"].clone())
        .collect();
    assert!(ids[0] != ids[1] && ids.iter().all(|id| id != ID), "{ids:?}");
    let file = done["forks"][0]["agent"]["file"].as_str().unwrap();
    let there = world.path("../one").canonicalize().unwrap();
    assert!(file.contains(&slug(there.to_str().unwrap())), "{file}");
    assert!(fs::read_to_string(file).unwrap().contains(there.to_str().unwrap()));
}

#[test]
fn sub_agents_are_steps_and_to_dos_are_tasks() {
    let world = enabled();
    let file = sessions(&world).join(format!("{ID}.jsonl"));
    hook(&world, ID, "UserPromptSubmit", 0, "ask a helper");
    let todos = |second: &str| {
        json!({"type": "tool_use", "id": "t1", "name": "TodoWrite", "input": {"todos": [
        {"content": "look", "status": "completed", "activeForm": "looking"},
        {"content": "write", "status": second, "activeForm": "writing"}]}})
    };
    let task = json!({"type": "tool_use", "id": "t2", "name": "Task", "input": {"description": "Count files",
        "subagent_type": "general-purpose", "prompt": "Count the files."}});
    let mut text = record(&world, ID, 0, "user", &json!("ask a helper"));
    text += &record(&world, ID, 1, "assistant", &json!([todos("in_progress"), task]));
    let result =
        json!([{"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "There are 3."}]}]);
    text += &record(&world, ID, 2, "user", &result);
    text += &record(&world, ID, 3, "assistant", &json!([{"type": "text", "text": "Three."}]));
    fs::write(&file, &text).unwrap();
    hook(&world, ID, "Stop", 0, "");
    let steps = world.checkpoint(["step", "list", "--json"]).success().stdout_json();
    let step = &steps["steps"][0];
    assert_eq!(
        (&step["title"], &step["status"]),
        (&json!("Count files"), &json!("done")),
        "{steps}"
    );
    assert_eq!(step["prompt"], "Count the files.");
    let session = world.git_line(["for-each-ref", "--format=%(refname:lstrip=2)", "refs/checkpoints"]);
    let tasks = |world: &World| {
        let document = world.git_line(["show", &format!("refs/checkpoints/{}:checkpoint.json", session.trim())]);
        let document: Value = serde_json::from_str(&document).unwrap();
        let tasks = document["record"]["tasks"].as_array().unwrap().clone();
        tasks
            .iter()
            .map(|task| {
                (
                    task["title"].as_str().unwrap().to_owned(),
                    task["status"].as_str().unwrap().to_owned(),
                )
            })
            .collect::<Vec<_>>()
    };
    let of = |title: &str, status: &str| (title.to_owned(), status.to_owned());
    assert_eq!(tasks(&world), [of("look", "done"), of("write", "in_progress")]);
    hook(&world, ID, "UserPromptSubmit", 2, "go on");
    text += &record(&world, ID, 4, "user", &json!("go on"));
    text += &record(&world, ID, 5, "assistant", &json!([todos("completed")]));
    fs::write(&file, &text).unwrap();
    hook(&world, ID, "Stop", 2, "");
    assert_eq!(tasks(&world), [of("look", "done"), of("write", "done")]);
    let steps = world.checkpoint(["step", "list", "--json"]).success().stdout_json();
    assert_eq!(steps["steps"].as_array().unwrap().len(), 1);
}

#[test]
fn a_failed_hook_is_said_once() {
    let world = enabled();
    turn(&world, 0);
    // The session's draft cannot be read: the hook fails, and the agent does not notice.
    let drafts = world.path(".git/checkpoint/drafts");
    fs::remove_dir_all(&drafts).unwrap();
    fs::write(&drafts, "").unwrap();
    world.file("f9", "9\n");
    hook(&world, ID, "Stop", 9, "");
    fs::remove_file(&drafts).unwrap();
    world
        .checkpoint(["status"])
        .stderr_has("the hook of claude-code failed");
    let again = world.checkpoint(["status"]);
    assert!(!again.stderr().contains("the hook of"), "{}", again.stderr());
}

/// An event of an agent session without a file, as the agent itself calls the hook.
fn bare(world: &World, event: &str, prompt: &str) {
    let payload = json!({"session_id": ID, "cwd": world.repo(), "hook_event_name": event, "prompt": prompt,
        "transcript_path": "/nowhere"});
    let command = world.command(PROGRAM, ["hook", "claude-code", event]);
    command.input(payload.to_string()).run().success().no_stderr();
}

fn worked(world: &World, event: &str, prompt: &str) {
    let payload = json!({"session_id": ID, "cwd": world.repo(), "hook_event_name": event, "prompt": prompt});
    let mut command = world.command(PROGRAM, ["hook", "claude-code", event]);
    command = command.env("CHECKPOINT_AGENT_HOOK", "worker");
    command.input(payload.to_string()).run().success().no_stderr();
}

#[test]
fn a_turn_that_ends_with_a_commit_or_a_save_is_a_turn() {
    let world = enabled();
    world.checkpoint(["hooks", "install"]).success();
    worked(&world, "UserPromptSubmit", "write f and commit it");
    world.file("f", "one\n");
    world.git(["add", "f"]).success();
    world.git(["commit", "--quiet", "-m", "f"]).success();
    world.checkpoint(["save", "-m", "committed"]).success();
    worked(&world, "Stop", "");
    worked(&world, "UserPromptSubmit", "write g and h");
    world.file("g", "two\n");
    world
        .checkpoint(["save", "-m", "half", "--agent", "claude-code"])
        .success();
    world.file("h", "three\n");
    world
        .checkpoint(["save", "-m", "whole", "--agent", "claude-code"])
        .success();
    worked(&world, "Stop", "");
    // A second report, and a turn in which nothing happened.
    worked(&world, "Stop", "");
    worked(&world, "UserPromptSubmit", "nothing");
    worked(&world, "Stop", "");
    let listed = turns(&world);
    let seen: Vec<_> = listed
        .iter()
        .map(|turn| (turn["subject"].as_str().unwrap(), &turn["files"]))
        .collect();
    assert_eq!(
        seen,
        [
            ("write f and commit it", &json!(["f"])),
            ("write g and h", &json!(["g", "h"]))
        ]
    );
    for (file, prompt) in [
        ("f", "write f and commit it"),
        ("g", "write g and h"),
        ("h", "write g and h"),
    ] {
        let why = world.checkpoint(["why", &format!("{file}:1")]);
        why.success().stdout_has(prompt).stdout_has("claude-code");
    }
    // The latest turn is reverted, and no other.
    world.checkpoint(["rewind"]).success();
    assert!(world.path("f").exists() && !world.path("g").exists() && !world.path("h").exists());
}

#[test]
fn events_behind_a_slow_save_keep_their_order_and_their_files() {
    let world = enabled();
    world.git(["config", "filter.slow.clean", "sleep 0.7; cat"]).success();
    world.file(".gitattributes", "*.slow filter=slow\n");
    // Longer than a hook takes to begin with the files of its moment.
    let wait = || std::thread::sleep(std::time::Duration::from_millis(350));
    for (file, prompt) in [("a.slow", "one"), ("b.slow", "two"), ("c.slow", "three")] {
        bare(&world, "UserPromptSubmit", prompt);
        wait();
        world.file(file, format!("{prompt}\n"));
        bare(&world, "Stop", "");
        wait();
    }
    let begun = std::time::Instant::now();
    while turns(&world).len() < 3 && begun.elapsed().as_secs() < 30 {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let listed = turns(&world);
    let subjects: Vec<_> = listed.iter().map(|turn| turn["subject"].as_str().unwrap()).collect();
    assert_eq!(subjects, ["one", "two", "three"]);
    // On a busy machine a hook may begin late; that is not taken for exact.
    for (turn, file) in listed.iter().zip(["a.slow", "b.slow", "c.slow"]) {
        if turn["inexact"] == false {
            assert!(turn["files"].as_array().unwrap().contains(&json!(file)), "{turn}");
        }
    }
    let all = |turn: &Value| turn["files"].as_array().unwrap().clone();
    let mut files: Vec<Value> = listed
        .iter()
        .flat_map(all)
        .filter(|file| *file != ".gitattributes")
        .collect();
    files.dedup();
    assert_eq!(json!(files), json!(["a.slow", "b.slow", "c.slow"]), "each in its turn");
    assert!(listed[1..].iter().all(|turn| turn["follows_edits"] == false));
    let tickets = fs::read_dir(world.path(".git/checkpoint/agents")).unwrap().flatten();
    let left = tickets.filter(|entry| entry.path().extension().is_some_and(|end| end == "ticket"));
    assert_eq!(left.count(), 0);
}

/// Each rewind without a number takes one more turn back.
#[test]
fn a_rewind_goes_on_from_where_the_last_one_went() {
    let world = enabled();
    for n in 0..3 {
        turn(&world, n);
    }
    let files = || (0..4).map(|n| world.path(format!("f{n}")).exists()).collect::<Vec<_>>();
    let copies = || fs::read_dir(sessions(&world)).unwrap().count();
    world.checkpoint(["rewind"]).success();
    assert_eq!(files(), [true, true, false, false]);
    world.checkpoint(["rewind"]).success();
    assert_eq!(files(), [true, false, false, false]);
    world.checkpoint(["undo"]).success();
    assert_eq!(files(), [true, true, false, false]);
    world.checkpoint(["rewind", "1"]).success();
    assert_eq!(files(), [true, false, false, false]);

    // Where it is already, nothing is written, and undo reverts the last one that did something.
    let before = copies();
    world
        .checkpoint(["rewind", "1"])
        .success()
        .stdout_lacks("claude --resume");
    assert_eq!(copies(), before);
    world.checkpoint(["undo"]).success();
    assert_eq!(files(), [true, true, false, false]);
    world.checkpoint(["rewind", "1"]).success();

    world.file("mine", "by hand\n");
    world.checkpoint(["rewind"]).success();
    assert_eq!(files(), [false, false, false, false]);
    world.checkpoint(["rewind"]).code(3).stderr_has("before the first turn");
    assert_eq!(files(), [false, false, false, false]);

    // A turn that comes after is the latest one.
    turn(&world, 3);
    assert_eq!(files(), [false, false, false, true]);
    world.checkpoint(["rewind"]).success();
    assert_eq!(files(), [false, false, false, false]);
    world.checkpoint(["rewind", "3"]).success();
    assert_eq!(files(), [true, true, true, false]);
}

/// The path of the session file comes with the event.
#[test]
fn a_file_without_a_message_is_not_taken_for_a_session_file() {
    let world = enabled();
    let plain = world.root().join("passwords");
    fs::write(&plain, "root:x:0:0:needle:/root:/bin/sh\n{\"token\":\"needle\"}\n").unwrap();
    let event = |name: &str, n: usize| {
        let payload = json!({"session_id": ID, "cwd": world.repo(), "hook_event_name": name, "prompt": "p",
            "prompt_id": format!("p{n}"), "transcript_path": plain});
        let mut command = world.command(PROGRAM, ["hook", "claude-code", name]);
        command = command.env("CHECKPOINT_AGENT_HOOK", "worker");
        command.input(payload.to_string()).run().success();
    };
    event("UserPromptSubmit", 0);
    world.file("made", "made\n");
    event("Stop", 0);
    assert_eq!(turns(&world).len(), 1);
    let objects = world.git(["cat-file", "--batch-all-objects", "--batch"]);
    assert!(!String::from_utf8_lossy(objects.stdout_bytes()).contains("needle"));
    // As soon as it has messages it is read from its beginning.
    fs::write(&plain, record(&world, ID, 2, "user", &json!("the needle"))).unwrap();
    event("UserPromptSubmit", 1);
    world.file("made", "again\n");
    event("Stop", 1);
    let messages = world.checkpoint(["message", "list"]).success().stdout().to_owned();
    assert!(messages.contains("the needle"), "{messages}");
}

/// Who made a checkpoint is said by every list: a person between the turns, the agent in a turn.
#[test]
fn what_a_person_saves_in_the_session_of_an_agent_is_listed_as_theirs() {
    let by = |world: &World, command: &str| {
        let text = world.checkpoint([command]).success().stdout().to_owned();
        text.lines().nth(1).unwrap_or_default().to_owned()
    };
    let world = enabled();
    turn(&world, 0);
    assert!(by(&world, "log").contains("claude-code") && by(&world, "list").contains("claude-code"));
    world.file("h", "h\n");
    world.checkpoint(["save", "-m", "by hand"]).success();
    for command in ["log", "list"] {
        let line = by(&world, command);
        assert!(line.contains("Ana Author") && !line.contains("claude-code"), "{line}");
    }
    let log = world.checkpoint(["log", "--json"]).success().stdout_json();
    assert_eq!(log["checkpoints"][0]["agent"], Value::Null);
    assert_eq!(log["checkpoints"][1]["agent"], "claude-code");
    // The session is that of the agent even so.
    let list = world.checkpoint(["list", "--agent", "claude-code", "--json"]);
    assert_eq!(list.success().stdout_json()["sessions"][0]["agent"], "claude-code");
    // In a turn it is the agent that saves, also when the turn has ended.
    world.advance(60);
    hook(&world, ID, "UserPromptSubmit", 1, "make file 1");
    world.file("by agent", "1\n");
    world.checkpoint(["save", "-m", "in the turn"]).success();
    assert!(by(&world, "log").contains("claude-code"));
    assert!(by(&world, "list").contains("claude-code"));
    // Where no turns are recorded, the agent is who calls.
    let world = World::with_commit();
    world.file("h", "h\n");
    world.checkpoint(["save", "-m", "x", "--agent", "robot"]).success();
    assert!(by(&world, "log").contains("robot") && by(&world, "list").contains("robot"));
}

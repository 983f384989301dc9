//! The chat: adding, reading, importing and saving messages, requests, and what may never be lost or leak.

mod clear;
mod compact;
mod import;
mod load;

use std::fs;

use serde_json::{Value, json};

use crate::support::World;

/// A world with a session `s` that is current.
fn session() -> World {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world
}

fn say(world: &World, role: &str, text: &str) {
    let added = world.command(crate::support::PROGRAM, ["message", "add", "--role", role, "-"]);
    added.input(text).run().success();
}

/// The messages as JSON, summarized ones included.
fn messages(world: &World) -> Vec<Value> {
    let list = world
        .checkpoint(["message", "list", "--full", "--json"])
        .success()
        .stdout_json();
    list["messages"].as_array().unwrap().clone()
}

/// Everything that is stored: all objects, and all of our own files.
fn everything(world: &World) -> Vec<u8> {
    let mut out = world
        .git(["cat-file", "--batch-all-objects", "--batch"])
        .success()
        .stdout_bytes()
        .to_vec();
    let mut directories = vec![world.path(".git/checkpoint")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
            } else {
                out.extend(fs::read(path).unwrap());
            }
        }
    }
    out
}

fn holds(bytes: &[u8], part: &str) -> bool {
    bytes.windows(part.len()).any(|window| window == part.as_bytes())
}

#[test]
fn a_save_writes_little_more_of_the_chat_than_what_is_new() {
    let world = session();
    let mut said = Vec::new();
    let mut add = |text: String| {
        say(&world, "user", &text);
        said.push(Value::from(text));
        world.checkpoint(["save"]).success();
        let listed = world.git_line(["ls-tree", "checkpoints/s:chat"]);
        let blob = |line: &str| line.split([' ', '\t']).nth(2).unwrap().to_owned();
        listed.lines().map(blob).collect::<Vec<_>>()
    };
    let first = add("long ".repeat(16_000));
    let second = add("short".to_owned());
    let third = add("and another".to_owned());
    assert_eq!((first.len(), second.len(), third.len()), (1, 2, 2));
    // The long chunk stays as it was; the short one is extended.
    assert_eq!((&second[0], &third[0]), (&first[0], &first[0]));
    assert_ne!(second[1], third[1]);
    let texts: Vec<_> = messages(&world)
        .iter()
        .map(|message| message["content"].clone())
        .collect();
    assert_eq!(texts, said);
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn messages_wait_are_saved_and_read_back() {
    let world = session();
    let before = world.fingerprint();
    say(&world, "user", "make the refresh tests green");
    world
        .checkpoint([
            "message",
            "add",
            "--role",
            "assistant",
            "--agent",
            "claude",
            "--meta",
            r#"{"model":"m","cost":0.10}"#,
            "done",
        ])
        .success()
        .stdout_has("of assistant to s");
    assert_eq!(messages(&world).len(), 2, "they are seen before they are saved");
    world.checkpoint(["status"]).success().stdout_has("unsaved");
    world.checkpoint(["status", "--exit-code", "--quiet"]).code(1);
    world.checkpoint(["save", "-m", "first"]).success();
    assert_eq!(world.fingerprint(), before);
    let stored = world.git_line(["show", "checkpoints/s:chat/000000.jsonl"]);
    assert_eq!(stored.lines().count(), 2);
    assert!(stored.contains(r#""cost":0.10"#), "numbers keep their digits: {stored}");
    let document: Value = serde_json::from_str(&world.git_line(["show", "checkpoints/s:checkpoint.json"])).unwrap();
    assert_eq!(document["chat"], json!({ "messages": 2, "chunks": 1 }));
    world.checkpoint(["save"]).success().stdout_has("Nothing new");
    say(&world, "tool", "third");
    world.checkpoint(["save"]).success();
    let texts: Vec<_> = messages(&world).iter().map(|m| m["content"].clone()).collect();
    assert_eq!(texts, ["make the refresh tests green", "done", "third"]);
    world
        .checkpoint(["message", "show", "2"])
        .success()
        .stdout_has("claude")
        .stdout_has("    done");
    world
        .checkpoint(["message", "show", "9"])
        .code(3)
        .stderr_has("no message '9'");
    let older = world
        .checkpoint(["message", "list", "s~1", "--json"])
        .success()
        .stdout_json();
    assert_eq!(older["total"], 2);
    world.checkpoint(["verify"]).success();
    world.git(["fsck", "--strict"]).success().no_stderr();
}

#[test]
fn blocks_and_pictures_come_back_as_they_were() {
    let world = session();
    let mut picture = b"\x89PNG\r\n\x1a\n".to_vec();
    picture.extend((0..9000_u32).map(|n| (n * 7 % 251) as u8));
    world.file("shot.png", &picture);
    let blocks = r#"[{"type":"text","text":"look","z":1.50,"a":null},
        {"type":"tool_use","id":"t1","name":"read","input":{"path":"a.rs","n":123456789012345678901234567890}},
        {"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"x"}]},{"type":"later","odd":[[]]}]"#;
    world.file("blocks.json", blocks);
    world
        .checkpoint([
            "message",
            "add",
            "--role",
            "user",
            "--blocks",
            "blocks.json",
            "--image",
            "shot.png",
        ])
        .success();
    let waiting = messages(&world);
    world.checkpoint(["save"]).success();
    assert_eq!(messages(&world), waiting, "saving changes nothing of it");
    let data = waiting[0]["content"][4]["source"]["data"].as_str().unwrap().to_owned();
    let chunk = world.git_line(["show", "checkpoints/s:chat/000000.jsonl"]);
    assert!(!chunk.contains(&data[..60]) && chunk.contains("123456789012345678901234567890"));
    let tree = world.git_line(["ls-tree", "checkpoints/s:chat"]);
    let id = tree
        .lines()
        .find(|line| !line.contains("jsonl"))
        .unwrap()
        .split(['\t', ' '])
        .nth(2)
        .unwrap()
        .to_owned();
    assert_eq!(world.git(["cat-file", "blob", &id]).success().stdout_bytes(), picture);
    world.file("no.png", "text");
    world
        .checkpoint(["message", "add", "--role", "user", "--image", "no.png", "x"])
        .code(128)
        .stderr_has("'no.png' is not a PNG");
}

#[test]
fn a_torn_line_is_cut_off_and_damage_is_told() {
    let world = session();
    say(&world, "user", "one");
    let directory = world.path(".git/checkpoint/drafts");
    let file = fs::read_dir(directory)
        .unwrap()
        .map(|e| e.unwrap().path())
        .find(|p| p.to_string_lossy().ends_with("chat.jsonl"))
        .unwrap();
    let whole = fs::read(&file).unwrap();
    let mut torn = whole.clone();
    torn.extend(b"{\"message\":{\"id\":\"x\",\"content\":\"never ackno");
    fs::write(&file, &torn).unwrap();
    assert_eq!(messages(&world).len(), 1);
    say(&world, "user", "two");
    assert_eq!(messages(&world).len(), 2);
    let mut damaged = fs::read(&file).unwrap();
    damaged.extend(b"\0\0\0\0\n");
    fs::write(&file, &damaged).unwrap();
    say(&world, "user", "three");
    let list = world.checkpoint(["message", "list"]).success().stdout().to_owned();
    assert_eq!(list.lines().count(), 3, "{list}");
    world.checkpoint(["message", "list"]).stderr_has("unreadable lines (4)");
    // A save that was killed before it could clear the file: the file is there again.
    let before = fs::read(&file).unwrap();
    world.checkpoint(["save"]).success();
    fs::write(&file, before).unwrap();
    assert_eq!(messages(&world).len(), 3, "nothing twice");
    say(&world, "user", "four");
    world.checkpoint(["save"]).success();
    let texts: Vec<_> = messages(&world).iter().map(|m| m["content"].clone()).collect();
    assert_eq!(texts, ["one", "two", "three", "four"]);
}

#[test]
fn a_request_has_its_parts_and_keeps_its_limit() {
    let world = session();
    world.file("agent.md", "You write Rust.\n");
    world.file("context.md", "A git plugin.\n");
    world.checkpoint(["agent", "describe", "agent.md"]).success();
    world.checkpoint(["context", "set", "context.md"]).success();
    world
        .checkpoint(["context", "show"])
        .success()
        .stdout_has("A git plugin.");
    for n in 0..20 {
        say(&world, "user", &format!("message number {n} with a few words more"));
    }
    world
        .checkpoint(["save", "-m", "parser done", "-d", "keep v1"])
        .success();
    assert_eq!(world.git_line(["show", "checkpoints/s:agent.md"]), "You write Rust.");
    let out = world
        .checkpoint(["request", "what is next?"])
        .success()
        .stdout()
        .to_owned();
    for part in [
        "# Agent\n\nYou write Rust.",
        "# Context\n\nA git plugin.",
        "# Checkpoint\n",
        "keep v1",
        "# Messages\n\n### user\n\nmessage number 0",
        "# User prompt\n\nwhat is next?",
    ] {
        assert!(out.contains(part), "{part:?} in {out}");
    }
    let whole = world
        .checkpoint(["request", "what is next?", "--json"])
        .success()
        .stdout_json();
    let sum = |value: &Value| {
        ["agent", "context", "checkpoint", "messages", "user"]
            .iter()
            .map(|part| value["tokens"][part].as_u64().unwrap())
            .sum::<u64>()
    };
    let total = whole["tokens"]["total"].as_u64().unwrap();
    assert!(total.abs_diff(sum(&whole)) <= 5, "{whole}");
    let cut = world.checkpoint(["request", "what is next?", "--json", "--max-tokens", "150"]);
    let value = cut.success().stdout_json();
    cut.stderr_has("left out, oldest first");
    assert!(value["tokens"]["total"].as_u64().unwrap() <= 150, "{value}");
    let system = value["system"].as_str().unwrap();
    assert!(
        system.contains("message number 19") && !system.contains("message number 0 "),
        "{system}"
    );
    assert_eq!(
        value["messages"]["included"].as_u64().unwrap() + value["messages"]["left_out"].as_u64().unwrap(),
        20
    );
    world
        .checkpoint(["request", "x", "--max-tokens", "10"])
        .code(128)
        .stderr_has("without any message");
    world
        .checkpoint(["request", "x", "--preview"])
        .success()
        .stdout_has("user prompt")
        .stdout_has("exact (o200k_base)");
    world.file("empty", "");
    world
        .checkpoint(["context", "set", "empty"])
        .success()
        .stdout_has("Removed");
    world.checkpoint(["save"]).success();
    world.git(["show", "checkpoints/s:context.md"]).code(128);
}

#[test]
fn token_figures_of_one_chat_agree() {
    let world = session();
    for n in 0..12 {
        say(
            &world,
            "user",
            &format!("message {n} with some words to summarize, and names like Größe_{n}"),
        );
    }
    let agree = || {
        let tokens = world.checkpoint(["tokens", "--json"]).success().stdout_json();
        let preview = world.checkpoint(["request", "what is next?", "--preview", "--json"]);
        let request = preview.success().stdout_json();
        let status = world.checkpoint(["status", "--json"]).success().stdout_json();
        let user = request["tokens"]["user"].as_u64().unwrap();
        assert_eq!(
            tokens["tokens"].as_u64().unwrap() + user,
            request["tokens"]["total"].as_u64().unwrap(),
            "{tokens} {request}"
        );
        for part in ["agent", "context", "checkpoint", "messages", "headings"] {
            assert_eq!(tokens["parts"][part], request["tokens"][part], "{part}");
        }
        let chat = &status["current"]["chat"];
        assert_eq!(
            (&chat["tokens"], &chat["method"]),
            (&tokens["parts"]["messages"], &json!("exact"))
        );
    };
    agree();
    world.checkpoint(["save", "-m", "said", "--next", "go on"]).success();
    agree();
    say(&world, "assistant", "one that waits");
    agree();
    world.checkpoint(["compact", "--force"]).success();
    agree();
    let line = world.checkpoint(["status"]);
    line.success()
        .stdout_has("summarized")
        .stdout_has("in the others, 1 compaction");
}

#[test]
fn tokens_say_how_they_are_known() {
    let world = session();
    world.file("prompt.md", "The quick brown fox jumps over the lazy dog.\n");
    world
        .checkpoint(["tokens", "prompt.md"])
        .success()
        .stdout_has("10 tokens, exact (o200k_base)");
    world
        .checkpoint(["tokens", "prompt.md", "--model", "gpt-4"])
        .success()
        .stdout_has("exact (cl100k_base)");
    let estimated = world
        .checkpoint(["tokens", "prompt.md", "--model", "claude-opus-4-6", "--json"])
        .success()
        .stdout_json();
    assert_eq!(
        (&estimated["method"], &estimated["tokens"]),
        (&json!("estimated"), &json!(12))
    );
    assert!(estimated["source"].as_str().unwrap().contains("1.18"));
    let run = world
        .command(crate::support::PROGRAM, ["tokens", "-"])
        .input(b"a\xffb".to_vec())
        .run();
    run.success().stdout_has("exact");
    world
        .checkpoint(["tokens", "no-such-thing"])
        .code(3)
        .stderr_has("or use an existing file");
    let usage = json!({ "model": "claude-x", "usage": { "input_tokens": 100, "cache_read_input_tokens": 20, "output_tokens": 7 } });
    say(&world, "user", "hello");
    world
        .checkpoint([
            "message",
            "add",
            "--role",
            "assistant",
            "--meta",
            &usage.to_string(),
            "hi",
        ])
        .success();
    world
        .checkpoint(["tokens", "--model", "claude-x"])
        .success()
        .stdout_has("127 tokens, recorded");
    say(&world, "user", "more");
    world
        .checkpoint(["tokens", "--model", "claude-x"])
        .success()
        .stdout_has("estimated: 127 recorded, and the 1 message after");
    world
        .checkpoint(["tokens", "--model", "gpt-4o"])
        .success()
        .stdout_has("exact");
    // A transcript brings its usage, the helper's next to it apart; what was recorded before a compaction counts no more.
    let line = |uuid: &str, role: &str, side: bool, usage: Value| {
        let message = json!({ "role": role, "content": "word ".repeat(60), "model": "claude-y", "usage": usage });
        json!({ "uuid": uuid, "type": role, "isSidechain": side, "timestamp": "2026-01-02T03:04:05Z", "message": message })
            .to_string()
    };
    let lines = [
        line("1", "user", false, Value::Null),
        line(
            "2",
            "assistant",
            false,
            json!({ "input_tokens": 3, "cache_creation_input_tokens": 4000, "output_tokens": 50 }),
        ),
        line("3", "assistant", true, json!({ "input_tokens": 9, "output_tokens": 9 })),
        line(
            "4",
            "assistant",
            false,
            json!({ "input_tokens": 0, "output_tokens": 0 }),
        ),
    ];
    world.file("transcript.jsonl", &(lines.join("\n") + "\n"));
    world.checkpoint(["message", "import", "transcript.jsonl"]).success();
    let model = ["tokens", "--model", "claude-y"];
    world
        .checkpoint(model)
        .success()
        .stdout_has("estimated: 4053 recorded, and the 2 messages after");
    world.checkpoint(["compact", "--force"]).success();
    world
        .checkpoint(model)
        .success()
        .stdout_has("estimated: o200k_base times");
}

#[test]
fn without_a_session_one_is_taken_as_by_other_drafts() {
    let world = World::with_commit();
    world
        .checkpoint(["message", "list"])
        .code(3)
        .stderr_has("there are no sessions yet");
    world
        .checkpoint(["message", "add", "--role", "user", "first"])
        .success()
        .stdout_has("to main");
    assert_eq!(messages(&world).len(), 1);
    world.checkpoint(["pause"]).success();
    world
        .checkpoint(["message", "add", "--role", "user", "second"])
        .success();
    assert_eq!(messages(&world).len(), 2, "the paused one goes on");
    world
        .checkpoint(["message", "list", "--session", "none"])
        .code(3)
        .stderr_has("none");
    world.checkpoint(["message", "add", "--role", "nobody", "x"]).code(129);
    world
        .checkpoint(["message", "add", "--role", "user", "--meta", "[1]", "x"])
        .code(129)
        .stderr_has("JSON object");
    world
        .checkpoint(["message", "add", "--role", "user", "--meta", "{", "x"])
        .code(128)
        .stderr_has("cannot read --meta");
    let hidden = world.command(crate::support::PROGRAM, ["message", "add", "--role", "user"]);
    hidden.input("\x1b[31mred").run().success();
    world
        .checkpoint(["message", "list"])
        .success()
        .stdout_has("\\x1b[31mred");
}

//! A session file that somebody imports again by hand: one that only grew is read on, any other one as a whole.

use serde_json::{Value, json};

use crate::support::{PROGRAM, World};

/// A turn of a conversation: a prompt and an answer.
fn turn(n: usize, said: &str) -> String {
    let record = |kind: &str, uuid: String, content: Value| {
        let message = json!({"id": format!("m{uuid}"), "role": kind, "content": content, "stop_reason": "end_turn"});
        let record = json!({"type": kind, "uuid": uuid, "parentUuid": null, "sessionId": "5f1d", "isSidechain": false,
            "cwd": "/p", "promptId": format!("k{n}"), "timestamp": "2026-11-28T10:00:00Z", "message": message});
        format!("{record}\n")
    };
    let answer = json!([{"type": "text", "text": format!("answer {n} {}", "words ".repeat(300))}]);
    record("user", format!("u{n}"), json!(format!("{said} {n}"))) + &record("assistant", format!("a{n}"), answer)
}

fn turns(range: std::ops::Range<usize>) -> String {
    range.map(|n| turn(n, "prompt")).collect()
}

fn started() -> World {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world
}

/// What an import says: the records that it read, and the messages that were added, updated and known.
fn import(world: &World, file: &str) -> [u64; 4] {
    let done = world
        .checkpoint(["message", "import", file, "--json"])
        .success()
        .stdout_json();
    ["records", "added", "updated", "known"].map(|name| done[name].as_u64().unwrap())
}

fn said(world: &World) -> Vec<String> {
    let listed = world.checkpoint(["message", "list", "--full", "--json"]);
    let listed = listed.success().stdout_json();
    let messages = listed["messages"].as_array().unwrap();
    messages.iter().map(|message| message["content"].to_string()).collect()
}

/// Adds to a file in its place.
fn append(world: &World, file: &str, text: &str) {
    use std::io::Write as _;
    let path = world.path(file);
    let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// Puts another file in its place.
fn replace(world: &World, file: &str, text: &str) {
    world.file("replacement", text);
    std::fs::rename(world.path("replacement"), world.path(file)).unwrap();
}

/// The copy that is kept of the first session file.
fn kept(world: &World) -> String {
    let names = world.git_line(["ls-tree", "--name-only", "checkpoints/s:transcript/0"]);
    let chunks = names.lines().map(|name| {
        let chunk = world.git(["cat-file", "blob", &format!("checkpoints/s:transcript/0/{name}")]);
        chunk.success().stdout().to_owned()
    });
    chunks.collect()
}

#[test]
fn a_file_that_only_grew_is_read_on() {
    let world = started();
    world.file("t.jsonl", turns(0..5));
    assert_eq!(import(&world, "t.jsonl"), [10, 10, 0, 0]);
    assert_eq!(import(&world, "t.jsonl"), [0, 0, 0, 10]);
    append(&world, "t.jsonl", &turns(5..6));
    assert_eq!(import(&world, "t.jsonl"), [2, 2, 0, 10]);
    world.checkpoint(["save", "-q", "-m", "kept"]).success();
    assert_eq!(import(&world, "t.jsonl"), [0, 0, 0, 12]);
    // A last line that is torn waits for the rest of it.
    let (more, torn) = (turns(6..7), turns(7..8));
    let (before, behind) = torn.split_at(90);
    append(&world, "t.jsonl", &(more + before));
    let done = world.checkpoint(["message", "import", "t.jsonl"]);
    done.success().stderr_has("the last line is incomplete");
    append(&world, "t.jsonl", behind);
    assert_eq!(import(&world, "t.jsonl"), [2, 2, 0, 14]);
    // Under another name it is the same file.
    std::fs::rename(world.path("t.jsonl"), world.path("u.jsonl")).unwrap();
    assert_eq!(import(&world, "u.jsonl"), [0, 0, 0, 16]);
    world.checkpoint(["save", "-q", "-m", "kept"]).success();
    assert_eq!(kept(&world), turns(0..8));
    assert_eq!(said(&world).len(), 16);
    world.checkpoint(["verify", "s"]).success();
}

#[test]
fn a_file_that_is_another_one_is_read_as_a_whole() {
    let world = started();
    world.file("t.jsonl", turns(0..8));
    assert_eq!(import(&world, "t.jsonl"), [16, 16, 0, 0]);
    // Cut and grown again, in its place.
    world.file("t.jsonl", turns(0..3));
    assert_eq!(import(&world, "t.jsonl"), [6, 0, 0, 6]);
    world.file("t.jsonl", turns(0..3) + &turns(8..14));
    assert_eq!(import(&world, "t.jsonl"), [12, 12, 0, 6]);
    // Rotated: the name is that of another conversation.
    let other = |text: String| text.replace("5f1d", "8e2e");
    std::fs::rename(world.path("t.jsonl"), world.path("t.1.jsonl")).unwrap();
    world.file("t.jsonl", other(turns(14..16)));
    assert_eq!(import(&world, "t.jsonl"), [4, 4, 0, 0]);
    assert_eq!(import(&world, "t.1.jsonl"), [0, 0, 0, 18]);
    // Its beginning was rewritten, in its place.
    world.file("t.jsonl", other(turn(14, "longer prompt") + &turns(15..16)));
    assert_eq!(import(&world, "t.jsonl"), [4, 0, 1, 3]);
    world.checkpoint(["save", "-q", "-m", "kept"]).success();
    // An editor replaced it; both ends are as they were.
    let middle = other(turns(20..30));
    replace(&world, "t.jsonl", &middle);
    assert_eq!(import(&world, "t.jsonl"), [20, 20, 0, 0]);
    let edited = middle.replace("prompt 24", "prompt 24, and more..");
    let edited = edited.replace("answer 25 words words ", "answer 25 ");
    assert_eq!(edited.len(), middle.len());
    replace(&world, "t.jsonl", &edited);
    assert_eq!(import(&world, "t.jsonl"), [20, 0, 1, 19]);
    assert!(said(&world).iter().any(|text| text.contains("prompt 24, and more")));
    world.checkpoint(["save", "-q", "-m", "kept"]).success();
    world.checkpoint(["verify", "s"]).success();
}

#[test]
fn a_file_whose_messages_left_the_chat_is_read_as_a_whole() {
    let world = started();
    world.git(["config", "checkpoint.transcripts", "chat"]).success();
    world.file("t.jsonl", turns(0..2));
    assert_eq!(import(&world, "t.jsonl"), [4, 4, 0, 0]);
    world.checkpoint(["save", "-q", "-m", "kept"]).success();
    world.checkpoint(["clear", "--messages", "--yes"]).success();
    // As many messages as before, but others.
    for n in 0..5 {
        world
            .checkpoint(["message", "add", "--role", "user", &format!("note {n}")])
            .success();
    }
    assert_eq!(import(&world, "t.jsonl"), [4, 4, 0, 0]);
    assert_eq!(said(&world).len(), 9);
    // A copy that was not wanted before.
    world.file("c.jsonl", turns(40..43).replace("5f1d", "77aa"));
    assert_eq!(import(&world, "c.jsonl"), [6, 6, 0, 0]);
    world.git(["config", "checkpoint.transcripts", "full"]).success();
    assert_eq!(import(&world, "c.jsonl"), [6, 0, 0, 6]);
    assert_eq!(import(&world, "c.jsonl"), [0, 0, 0, 6]);
    // In another session nothing of it was read.
    world.checkpoint(["start", "other"]).success();
    assert_eq!(import(&world, "c.jsonl"), [6, 6, 0, 0]);
    world.checkpoint(["save", "-q", "-m", "kept"]).success();
    world.checkpoint(["verify", "--all"]).success();
}

#[test]
fn events_of_an_agent_and_imports_by_hand_go_on_where_the_other_one_ended() {
    let world = started();
    world.git(["config", "checkpoint.agents", "true"]).success();
    world.file("../5f1d.jsonl", turns(0..3));
    let path = world.path("../5f1d.jsonl");
    let event = |name: &str, key: usize| {
        let payload = json!({"session_id": "5f1d", "cwd": world.path("."), "hook_event_name": name,
            "prompt_id": format!("k{key}"), "prompt": format!("prompt {key}"), "transcript_path": path});
        let hook = world.command(PROGRAM, ["hook", "claude-code", name]);
        let hook = hook.env("CHECKPOINT_AGENT_HOOK", "worker");
        hook.input(payload.to_string()).run().success();
    };
    event("UserPromptSubmit", 2);
    event("Stop", 2);
    assert_eq!(import(&world, "../5f1d.jsonl"), [0, 0, 0, 6]);
    append(&world, "../5f1d.jsonl", &turns(3..4));
    assert_eq!(import(&world, "../5f1d.jsonl"), [2, 2, 0, 6]);
    event("UserPromptSubmit", 4);
    append(&world, "../5f1d.jsonl", &turns(4..5));
    event("Stop", 4);
    assert_eq!(import(&world, "../5f1d.jsonl"), [0, 0, 0, 10]);
    assert_eq!(said(&world).len(), 10);
    world
        .checkpoint(["save", "-q", "-m", "kept", "--allow-empty"])
        .success();
    assert_eq!(kept(&world), turns(0..5));
    world.checkpoint(["verify", "s"]).success();
}

#[test]
fn an_import_of_nothing_starts_no_session() {
    let world = World::with_commit();
    world.file("t.jsonl", "{\"type\":\"user\"}\nno\n");
    world
        .checkpoint(["message", "import", "t.jsonl", "--from", "claude-code"])
        .code(128);
    assert_eq!(world.git_line(["for-each-ref", "refs/checkpoints"]), "");
    world.file("t.jsonl", turns(0..1));
    assert_eq!(import(&world, "t.jsonl"), [2, 2, 0, 0]);
}

#[test]
fn the_count_of_tokens_follows_later_states() {
    let time = "2026-11-28T10:00:00Z";
    let head = json!({"sessionId": "g", "projectHash": "x", "startTime": time});
    let asked = json!({"id": "g1", "timestamp": time, "type": "user", "content": [{"text": "read it"}]});
    let calling = json!({"id": "g2", "timestamp": time, "type": "gemini", "content": format!("Reading {}", "words ".repeat(3000))});
    let mut called = calling.clone();
    called["toolCalls"] = json!([{"id": "c", "name": "read_file", "args": {"path": "a ".repeat(200)},
        "status": "success", "result": [{"functionResponse": {"id": "c", "response": {"output": "the text"}}}]}]);
    let half = format!("{head}\n{asked}\n{calling}\n");
    let whole = format!("{half}{called}\n");
    let counted = |parts: &[&str]| {
        let world = started();
        world.git(["config", "checkpoint.compactAt", "20000"]).success();
        for part in parts {
            world.file("g.jsonl", part);
            import(&world, "g.jsonl");
            world.checkpoint(["save", "-q", "-m", "kept"]).success();
        }
        let document = world.git_line(["show", "checkpoints/s:checkpoint.json"]);
        let document: Value = serde_json::from_str(&document).unwrap();
        document["tokens"]["count"].as_u64().unwrap()
    };
    let expected = counted(&[&whole]);
    assert!(expected > counted(&[&half]));
    assert_eq!(counted(&[&half, &whole]), expected);
}

/// Also the place of the last reading has parts of the conversation: its latest prompt, and calls without a result.
#[test]
fn a_secret_in_the_latest_turn_is_nowhere_below_git() {
    let secret = format!("ghp_{}", "q7Zs2Lx9Rw4Tb8Nd1Kf6Hj3Mv5Pc0YgUaEo1");
    let called = json!([{"type": "tool_use", "id": "c1", "name": "Bash",
        "input": {"command": format!("curl -H 'Authorization: Bearer {secret}' host")}}]);
    let message = json!({"id": "mx", "role": "assistant", "content": called, "stop_reason": "tool_use"});
    let record = json!({"type": "assistant", "uuid": "x", "parentUuid": "a1", "sessionId": "5f1d", "cwd": "/p", "isSidechain": false,
        "timestamp": "2026-11-28T10:00:01Z", "gitBranch": format!("try-{secret}"), "message": message});
    for extent in ["full", "chat"] {
        let world = started();
        world.git(["config", "checkpoint.transcripts", extent]).success();
        world.file(
            "t.jsonl",
            turn(0, "prompt") + &turn(1, &format!("use {secret}")) + &format!("{record}\n"),
        );
        import(&world, "t.jsonl");
        let mut directories = vec![world.path(".git")];
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(directory).unwrap().flatten() {
                if entry.path().is_dir() {
                    directories.push(entry.path());
                } else {
                    let bytes = std::fs::read(entry.path()).unwrap();
                    let text = String::from_utf8_lossy(&bytes);
                    assert!(!text.contains(&secret), "{}", entry.path().display());
                }
            }
        }
        // The next reading continues from there.
        append(&world, "t.jsonl", &turns(2..3));
        assert_eq!(import(&world, "t.jsonl")[..2], [2, 2]);
    }
}

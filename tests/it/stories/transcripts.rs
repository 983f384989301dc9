//! Session files of coding agents become the chat: whole, in parts, again, and without secrets.

use serde_json::{Value, json};

use crate::support::World;

fn line(kind: &str, uuid: &str, message: &Value) -> String {
    let record = json!({"type": kind, "uuid": uuid, "parentUuid": null, "sessionId": "5f1d", "isSidechain": false,
        "cwd": "/p", "timestamp": "2026-11-28T10:00:00Z", "message": message});
    format!("{record}\n")
}

fn transcript(turns: usize) -> String {
    let usage = json!({"input_tokens": 100, "output_tokens": 7});
    let mut out = String::new();
    for n in 0..turns {
        let answer = |part: usize, block: Value| {
            let message = json!({"id": format!("msg_{n}"), "role": "assistant", "model": "m", "content": [block],
                "usage": usage});
            line("assistant", &format!("a{n}-{part}"), &message)
        };
        out += &line(
            "user",
            &format!("u{n}"),
            &json!({"role": "user", "content": format!("prompt {n}")}),
        );
        out += &answer(1, json!({"type": "thinking", "thinking": "", "signature": "AA"}));
        out += &answer(2, json!({"type": "text", "text": format!("answer {n}")}));
        let call = json!({"type": "tool_use", "id": format!("t{n}"), "name": "Bash", "input": {"command": "ls"}});
        out += &answer(3, call);
        let result = json!([{"type": "tool_result", "tool_use_id": format!("t{n}"), "content": "a\nb"}]);
        out += &line("user", &format!("r{n}"), &json!({"role": "user", "content": result}));
        let last = json!({"id": format!("end_{n}"), "role": "assistant", "model": "m", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": format!("done {n}")}], "usage": usage});
        out += &line("assistant", &format!("e{n}"), &last);
    }
    out
}

fn import(world: &World, file: &str) -> Value {
    world
        .checkpoint(["message", "import", file, "--json"])
        .success()
        .stdout_json()
}

fn messages(world: &World) -> Vec<Value> {
    let listed = world.checkpoint(["message", "list", "--json"]).success().stdout_json();
    listed["messages"].as_array().unwrap().clone()
}

fn started() -> World {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world
}

#[test]
fn every_part_of_an_answer_is_kept_and_a_second_import_adds_nothing() {
    let world = started();
    world.file("t.jsonl", transcript(2));
    let done = import(&world, "t.jsonl");
    assert_eq!(
        (&done["agent"], &done["added"], &done["agent_session"]),
        (&json!("claude-code"), &json!(12), &json!("5f1d"))
    );
    assert_eq!(done["turns"][1]["tokens"]["output"], 14);
    assert_eq!(import(&world, "t.jsonl")["added"], 0);
    world.checkpoint(["save", "-m", "kept"]).success();
    let again = import(&world, "t.jsonl");
    assert_eq!(
        (&again["added"], &again["updated"], &again["known"]),
        (&json!(0), &json!(0), &json!(12))
    );
    let list = world.checkpoint(["message", "list"]).success().stdout().to_owned();
    assert!(
        list.contains("answer 0") && list.contains("turn 2: 1 tool call: Bash; 200 tokens in, 14 out"),
        "{list}"
    );
    assert!(!list.contains("[result]"), "folded: {list}");
    world
        .checkpoint(["message", "list", "--all"])
        .success()
        .stdout_has("[result] a");
    let texts = world
        .checkpoint(["message", "list", "--texts", "--json"])
        .success()
        .stdout_json();
    let texts: Vec<_> = texts["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["content"].as_str().unwrap())
        .collect();
    assert_eq!(
        texts,
        ["prompt 0", "answer 0", "done 0", "prompt 1", "answer 1", "done 1"]
    );
    world.checkpoint(["verify", "s"]).success();
}

#[test]
fn sub_agents_of_an_imported_file_are_steps_and_to_dos_are_tasks() {
    let todos = |second: &str| {
        json!({"type": "tool_use", "id": "t1", "name": "TodoWrite", "input": {"todos": [
            {"content": "look", "status": "completed", "activeForm": "looking"},
            {"content": "write", "status": second, "activeForm": "writing"}]}})
    };
    let task = json!({"type": "tool_use", "id": "t2", "name": "Task", "input": {"description": "Count files",
        "subagent_type": "general-purpose", "prompt": "Count the files."}});
    let result =
        json!([{"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "There are 3."}]}]);
    let answer = |uuid: &str, content: Value| {
        let message = json!({"id": uuid, "role": "assistant", "model": "m", "content": content});
        line("assistant", uuid, &message)
    };
    let mut text = line("user", "u0", &json!({"role": "user", "content": "ask a helper"}));
    text += &answer("a0", json!([todos("in_progress"), task]));
    text += &line("user", "u1", &json!({"role": "user", "content": result}));
    text += &answer("a1", json!([{"type": "text", "text": "Three."}]));
    let world = started();
    world.file("t.jsonl", &text);
    let steps = |world: &World| {
        let listed = world.checkpoint(["step", "list", "--json"]).success().stdout_json();
        let steps = listed["steps"].as_array().unwrap().clone();
        let member = |step: &Value, name: &str| step[name].as_str().unwrap_or_default().to_owned();
        let of = |step: &Value| ["title", "status", "prompt", "turn"].map(|name| member(step, name));
        steps.iter().map(of).collect::<Vec<_>>()
    };
    let tasks = |world: &World| {
        let listed = world.checkpoint(["task", "list", "--json"]).success().stdout_json();
        let tasks = listed["items"].as_array().unwrap().clone();
        let member = |task: &Value, name: &str| task[name].as_str().unwrap_or_default().to_owned();
        let of = |task: &Value| ["title", "status"].map(|name| member(task, name));
        tasks.iter().map(of).collect::<Vec<_>>()
    };
    let of = |title: &str, status: &str| [title.to_owned(), status.to_owned()];
    import(&world, "t.jsonl");
    let helper = ["Count files", "done", "Count the files.", "u0"].map(str::to_owned);
    assert_eq!(steps(&world), std::slice::from_ref(&helper));
    assert_eq!(tasks(&world), [of("look", "done"), of("write", "in_progress")]);
    world.checkpoint(["save", "-m", "kept"]).success();
    // Again: nothing waits to be saved.
    import(&world, "t.jsonl");
    world.checkpoint(["status"]).success().stdout_has("everything is saved");
    text += &line("user", "u2", &json!({"role": "user", "content": "go on"}));
    text += &answer("a2", json!([todos("completed")]));
    world.file("t.jsonl", &text);
    import(&world, "t.jsonl");
    assert_eq!(tasks(&world), [of("look", "done"), of("write", "done")]);
    assert_eq!(steps(&world).len(), 1);
    // As a session of its own.
    world.checkpoint(["import", "t.jsonl"]).success();
    let listed = world
        .checkpoint(["step", "list", "5f1d", "--json"])
        .success()
        .stdout_json();
    assert_eq!(listed["steps"][0]["title"], "Count files");
    assert_eq!(listed["steps"][0]["output"]["head"], "There are 3.");
    assert_eq!(listed["steps"].as_array().unwrap().len(), 1);
}

#[test]
fn a_file_that_grows_gives_the_chat_of_the_whole_whatever_is_saved_between() {
    let whole = transcript(4);
    let expected = {
        let world = started();
        world.file("t.jsonl", &whole);
        import(&world, "t.jsonl");
        messages(&world)
    };
    let world = started();
    for (n, cut) in [137, 700, 1501, 1502, 2900, whole.len()].into_iter().enumerate() {
        world.file("t.jsonl", &whole[..cut]);
        // Cut within a line: it waits for the next time.
        world.checkpoint(["message", "import", "t.jsonl", "--from", "claude-code"]);
        if n % 2 == 1 {
            world.checkpoint(["save", "-m", "between"]).success();
        }
    }
    assert_eq!(messages(&world), expected);
    // The whole after the parts, from another place.
    world.file("moved.jsonl", &whole);
    assert_eq!(import(&world, "moved.jsonl")["added"], 0);
    assert_eq!(messages(&world), expected);
}

#[test]
fn a_message_that_grew_is_updated_where_it_is_saved() {
    let world = started();
    let head = json!({"sessionId": "g", "projectHash": "x", "startTime": "2026-11-28T10:00:00Z"});
    let asked =
        json!({"id": "g1", "timestamp": "2026-11-28T10:00:01Z", "type": "user", "content": [{"text": "read it"}]});
    let calling = json!({"id": "g2", "timestamp": "2026-11-28T10:00:02Z", "type": "gemini", "content": "Reading."});
    let mut called = calling.clone();
    called["toolCalls"] = json!([{"id": "c", "name": "read_file", "args": {}, "status": "success",
        "result": [{"functionResponse": {"id": "c", "response": {"output": "the text"}}}]}]);
    world.file("g.jsonl", format!("{head}\n{asked}\n{calling}\n"));
    assert_eq!(import(&world, "g.jsonl")["added"], 2);
    world.checkpoint(["save", "-m", "half"]).success();
    world.file("g.jsonl", format!("{head}\n{asked}\n{calling}\n{called}\n"));
    let done = import(&world, "g.jsonl");
    assert_eq!((&done["added"], &done["updated"]), (&json!(1), &json!(1)));
    let before = messages(&world);
    world.checkpoint(["save", "-m", "whole"]).success();
    assert_eq!(messages(&world), before);
    assert_eq!(before.len(), 3);
    assert_eq!(before[1]["content"][1]["name"], "read_file");
    let chunk = world.git(["show", "checkpoints/s:chat/000000.jsonl"]);
    assert_eq!(chunk.success().stdout().lines().count(), 3, "each once");
    world.checkpoint(["verify", "s"]).success();
}

#[test]
fn the_same_number_in_another_chat_is_another_message() {
    let world = started();
    world.file("a", "{\"id\":1,\"role\":\"user\",\"content\":\"A\"}\n");
    world.file("b", "{\"id\":1,\"role\":\"user\",\"content\":\"another chat\"}\n");
    world.file("c", "{\"id\":1,\"role\":\"user\",\"content\":\"A and more\"}\n");
    assert_eq!(import(&world, "a")["added"], 1);
    assert_eq!(import(&world, "b")["added"], 1);
    assert_eq!(import(&world, "b")["added"], 0);
    let grown = import(&world, "c");
    assert_eq!((&grown["added"], &grown["updated"]), (&json!(0), &json!(1)));
    let texts: Vec<_> = messages(&world)
        .iter()
        .map(|m| m["content"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(texts, ["A and more", "another chat"]);
}

#[test]
fn secrets_in_any_part_of_a_transcript_reach_no_object() {
    let world = started();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let mut file = line(
        "user",
        "u",
        &json!({"role": "user", "content": format!("use {secret}")}),
    );
    let answer = json!({"id": "m", "role": "assistant", "content": [
        {"type": "thinking", "thinking": format!("so {secret}")},
        {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": format!("curl -u {secret}")}}]});
    file += &line("assistant", "a", &answer);
    let result = json!([{"type": "tool_result", "tool_use_id": "t",
        "content": [{"type": "text", "text": format!("TOKEN={secret}")}]}]);
    file += &line("user", "r", &json!({"role": "user", "content": result}));
    world.file("../t.jsonl", file);
    assert_eq!(import(&world, "../t.jsonl")["redactions"], 4);
    world.checkpoint(["save", "-m", "kept"]).success();
    let stored = messages(&world);
    assert_eq!(stored.len(), 3);
    assert!(!Value::Array(stored).to_string().contains(&secret));
    let objects = world.git(["cat-file", "--batch-all-objects", "--batch"]);
    assert!(!String::from_utf8_lossy(objects.success().stdout_bytes()).contains(&secret));
}

#[test]
fn what_the_named_agent_did_not_write_is_refused_with_the_line() {
    let world = started();
    world.file("t.jsonl", "{\"type\":\"user\"}\nno\n");
    world
        .checkpoint(["message", "import", "t.jsonl", "--from", "codex"])
        .code(128)
        .stderr_has("no message was found");
    assert!(messages(&world).is_empty());
}

#[test]
fn a_file_that_is_shorter_for_a_while_adds_nothing_twice() {
    // Codex gives a prompt its own id only in a later record.
    let event = |kind: &str, payload: Value| {
        format!(
            "{}\n",
            json!({"timestamp": "2026-11-28T10:00:00Z", "type": kind, "payload": payload})
        )
    };
    let mut lines = vec![event(
        "session_meta",
        json!({"id": "s", "cwd": "/p", "cli_version": "0.171.0"}),
    )];
    for n in 0..3 {
        let (said, own) = (format!("prompt {n}"), format!("own-{n}"));
        let item = json!({"type": "message", "id": format!("msg_{n}"), "role": "user", "content": [{"type": "input_text", "text": said}]});
        lines.push(event("response_item", item));
        let item = json!({"type": "UserMessage", "id": own, "content": [{"type": "text", "text": said}]});
        lines.push(event(
            "event_msg",
            json!({"type": "item_completed", "turn_id": format!("t{n}"), "item": item}),
        ));
        let item = json!({"type": "message", "id": format!("a{n}"), "role": "assistant", "content": [{"type": "output_text", "text": format!("answer {n}")}]});
        lines.push(event("response_item", item));
    }
    let whole = lines.concat();
    for shorter in 1..lines.len() {
        let world = started();
        for (n, to) in [lines.len(), shorter, lines.len() - 1, lines.len()]
            .into_iter()
            .enumerate()
        {
            // Another file each time, as after a copy.
            let _ = std::fs::remove_file(world.path("../s.jsonl"));
            world.file("../s.jsonl", lines[..to].concat());
            let done = world.checkpoint(["message", "import", "--from", "codex", "../s.jsonl"]);
            assert!(to == 1 || done.status().success(), "{shorter} {to}");
            if n == 1 {
                world.checkpoint(["save", "-q", "-m", "between"]).success();
            }
        }
        let ids: Vec<_> = messages(&world).iter().map(|one| one["id"].clone()).collect();
        assert_eq!(ids, ["own-0", "a0", "own-1", "a1", "own-2", "a2"], "{shorter}");
        assert_eq!(whole.lines().count(), lines.len());
        world.checkpoint(["verify"]).success();
    }
}

#[test]
fn files_of_agents_that_are_not_driven_give_what_a_person_saw() {
    let world = World::with_commit();
    let sessions = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/sessions");
    let mut count = 0;
    for agent in ["aider", "cline", "cursor"] {
        for entry in std::fs::read_dir(sessions.join("transcripts").join(agent)).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_str().unwrap();
            let expected = sessions.join("expected").join(agent).join(format!("{stem}.chat.jsonl"));
            let expected = std::fs::read_to_string(expected).unwrap();
            let expected: Vec<(String, String)> = expected
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap())
                .map(|said| {
                    (
                        said["role"].as_str().unwrap().into(),
                        said["content"].as_str().unwrap().into(),
                    )
                })
                .collect();
            count += 1;
            let session = format!("s{count}");
            world.checkpoint(["start", &session]).success();
            let done = import(&world, path.to_str().unwrap());
            assert_eq!(
                (&done["agent"], &done["unknown"]),
                (&json!(agent), &json!({})),
                "{path:?}"
            );
            let listed = world
                .checkpoint(["message", "list", "--full", "--json"])
                .success()
                .stdout_json();
            let text = |message: &Value| match &message["content"] {
                Value::Array(blocks) => {
                    let texts = blocks.iter().filter(|block| block["type"] == "text");
                    texts
                        .filter_map(|block| block["text"].as_str())
                        .collect::<Vec<_>>()
                        .join("\n")
                }
                content => content.as_str().unwrap_or_default().to_owned(),
            };
            let seen: Vec<(String, String)> = listed["messages"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|message| message["role"] == "user" || message["role"] == "assistant")
                .map(|message| {
                    (
                        message["role"].as_str().unwrap().to_owned(),
                        text(message).trim().to_owned(),
                    )
                })
                .filter(|(_, text)| !text.is_empty())
                .collect();
            assert_eq!(seen, expected, "{path:?}");
        }
    }
    assert_eq!(count, 4);
}

#[test]
fn a_message_that_gets_another_id_later_is_one_message_in_whatever_way_the_file_is_read() {
    let world = started();
    let line = |kind: &str, payload: &Value| {
        format!(
            "{}\n",
            json!({ "timestamp": "2026-11-28T12:31:06.084Z", "type": kind, "payload": payload })
        )
    };
    let item = |kind: &str, id: &str, content: &Value| {
        let item = json!({ "type": kind, "id": id, "content": content });
        let payload = json!({ "type": "item_completed", "thread_id": "s-1", "turn_id": "t1", "item": item });
        line("event_msg", &payload)
    };
    let begun = line("session_meta", &json!({ "id": "s-1", "cwd": "/p" }));
    let content = json!([{ "type": "input_text", "text": "go on" }]);
    let first = line(
        "response_item",
        &json!({ "type": "message", "id": "msg_1", "role": "user", "content": content }),
    );
    let later = item("UserMessage", "u-1", &json!([{ "type": "text", "text": "go on" }]));
    let answer = item("AgentMessage", "a-1", &json!([{ "type": "Text", "text": "Done." }]));
    let is_one = |world: &World| {
        let said: Vec<Value> = messages(world)
            .into_iter()
            .filter(|message| message["role"] == "user")
            .collect();
        assert_eq!(said.len(), 1, "{said:?}");
        assert_eq!(said[0]["id"], "u-1");
    };
    world.file("rollout.jsonl", format!("{begun}{first}"));
    import(&world, "rollout.jsonl");
    world
        .checkpoint(["save", "-q", "--no-files", "-m", "between"])
        .success();
    // Another file, which is read from its beginning, where both ids follow each other.
    world.file("copy.jsonl", format!("{begun}{first}{later}{answer}"));
    import(&world, "copy.jsonl");
    is_one(&world);
    world.checkpoint(["save", "-q", "--no-files", "-m", "after"]).success();
    import(&world, "copy.jsonl");
    is_one(&world);
}

#[test]
fn a_truncated_database_of_opencode_is_imported_as_far_as_it_goes() {
    let world = started();
    let fixture = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/agents/opencode.db");
    world.file("o.db", std::fs::read(fixture).unwrap());
    let database = rusqlite::Connection::open(world.path("o.db")).unwrap();
    let root = world.git_line(["rev-parse", "--show-toplevel"]);
    database.execute("UPDATE session SET directory = ?1", [root]).unwrap();
    drop(database);
    // The last page has the last part.
    let mut bytes = world.read("o.db");
    bytes.truncate(bytes.len() - 1024);
    world.file("o.db", bytes);
    world
        .checkpoint(["message", "import", "o.db"])
        .success()
        .stderr_has("warning: 'part': the table is damaged");
    let said = messages(&world);
    assert!(
        said.iter().any(|message| message.to_string().contains("call_1")),
        "{said:?}"
    );
}

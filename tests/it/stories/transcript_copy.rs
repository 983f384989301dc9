//! The copy of an agent's session file next to the chat: whole, without secrets, in chunks that stay.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::support::World;

fn started() -> World {
    let world = World::with_commit();
    world.checkpoint(["start", "s"]).success();
    world
}

/// A record with ids, a signature and numbers in a form that no parser writes back.
fn record(n: usize, text: &str) -> String {
    let text = Value::from(text);
    format!(
        r#"{{"type":"user" ,"uuid":"u{n}","parentUuid":null,"sessionId":"5f1d","isSidechain":false,"cost":1.50e-3,"slash":"a\/b\u00e9","timestamp":"2026-11-28T10:00:00Z","message":{{"role":"user","content":{text}}},"signature":"Eu8BCkYICxABGAIqQL{n:040}wT9xQ2rV7zB4nM1kJ6hG3fD8sA5pL0oI9uY2tR4eW7qZ1xC6vB3nM"}}"#
    ) + "\n"
}

fn transcript(lines: std::ops::Range<usize>) -> String {
    lines.fold(String::new(), |mut out, n| {
        let _ = write!(out, "{}", record(n, &format!("prompt {n} {}", "words ".repeat(60))));
        out
    })
}

fn import(world: &World, name: &str, bytes: &str) {
    world.file(name, bytes);
    world.checkpoint(["message", "import", name]).success();
    world.checkpoint(["save", "-m", "kept"]).success();
    std::fs::remove_file(world.path(name)).unwrap();
}

fn kept(world: &World) -> String {
    let names = world.git_line(["ls-tree", "--name-only", "checkpoints/s:transcript/0"]);
    names.lines().fold(String::new(), |out, name| {
        let chunk = world.git(["cat-file", "blob", &format!("checkpoints/s:transcript/0/{name}")]);
        out + chunk.success().stdout()
    })
}

fn entries(world: &World) -> Vec<String> {
    let tree = world.git_line(["ls-tree", "checkpoints/s:transcript/0"]);
    tree.lines().map(str::to_owned).collect()
}

fn info(world: &World) -> Value {
    let document = world.git_line(["show", "checkpoints/s:checkpoint.json"]);
    serde_json::from_str::<Value>(&document).unwrap()["transcripts"].clone()
}

#[test]
fn the_file_is_kept_byte_for_byte_and_full_chunks_stay() {
    let world = started();
    let (first, second) = (transcript(0..900), transcript(900..1000));
    import(&world, "5f1d.jsonl", &first);
    assert_eq!(kept(&world), first);
    let before = entries(&world);
    assert!(before.len() > 1);
    import(&world, "5f1d.jsonl", &(first.clone() + &second));
    assert_eq!(kept(&world), first.clone() + &second);
    let after = entries(&world);
    assert_eq!(after[..before.len() - 1], before[..before.len() - 1]);
    let info = info(&world);
    assert_eq!(
        (
            &info[0]["agent"],
            &info[0]["agent_session"],
            &info[0]["lines"],
            &info[0]["file"]
        ),
        (
            &json!("claude-code"),
            &json!("5f1d"),
            &json!(1000),
            &json!("5f1d.jsonl")
        )
    );
    for chunk in &after {
        let id = chunk.split_whitespace().nth(2).unwrap();
        let size: usize = world.git_line(["cat-file", "-s", id]).trim().parse().unwrap();
        assert!(size <= 256 << 10, "{size}");
    }
    world.checkpoint(["verify", "s"]).success();
    // An earlier state of the file, under another name, takes nothing away.
    import(&world, "copy.jsonl", &transcript(0..500));
    assert_eq!(kept(&world), first + &second);
}

#[test]
fn only_secrets_are_replaced() {
    let world = started();
    let secret = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
    let file = record(1, "one") + &record(2, &format!("use \"{secret}\" now")) + &record(3, "three");
    import(&world, "5f1d.jsonl", &file);
    let expected = file.replace(&secret, "[REDACTED:github-token]");
    assert_eq!(kept(&world), expected);
    assert_eq!(info(&world)[0]["redactions"], 1);
}

#[test]
fn torn_lines_wait_and_a_rewritten_file_is_kept_anew() {
    let world = started();
    let file = transcript(0..3);
    let cut = file.len() - 40;
    world.file("5f1d.jsonl", &file[..cut]);
    world.checkpoint(["message", "import", "5f1d.jsonl"]).success();
    // Saved only afterwards: what waits is in order.
    import(&world, "5f1d.jsonl", &file);
    assert_eq!(kept(&world), file);
    let other = transcript(7..9);
    import(&world, "5f1d.jsonl", &other);
    assert_eq!(kept(&world), other);
    world.checkpoint(["verify", "s"]).success();
}

#[test]
fn the_setting_and_clear_leave_no_copy() {
    let world = started();
    world.git(["config", "checkpoint.transcripts", "chat"]).success();
    import(&world, "5f1d.jsonl", &transcript(0..3));
    assert_eq!(info(&world), Value::Null);
    world.git(["config", "checkpoint.transcripts", "full"]).success();
    import(&world, "5f1d.jsonl", &transcript(0..4));
    assert_eq!(kept(&world), transcript(0..4));
    world.checkpoint(["clear", "--messages", "--yes"]).success();
    assert_eq!(info(&world), Value::Null);
    world.git(["cat-file", "-e", "checkpoints/s:transcript"]).code(128);
    world.checkpoint(["verify", "s"]).success();
}

#[test]
fn a_copy_goes_with_forks_and_pushes() {
    let world = started();
    import(&world, "5f1d.jsonl", &transcript(0..30));
    world.checkpoint(["fork", "s", "--name", "branch-off"]).success();
    let of = |name: &str| world.git_line(["rev-parse", &format!("checkpoints/{name}:transcript")]);
    assert_eq!(of("s"), of("branch-off"));
    world.git(["init", "-q", "--bare", "../remote.git"]).success();
    world.git(["remote", "add", "origin", "../remote.git"]).success();
    world.checkpoint(["push", "origin", "s"]).success();
    let here = of("s");
    world.git(["clone", "--quiet", "../remote.git", "../other"]);
    world.enter("other");
    world.checkpoint(["pull", "origin", "s"]).success();
    world.checkpoint(["verify", "--all"]).success();
    assert_eq!(world.git_line(["rev-parse", "checkpoints/s:transcript"]), here);
}

/// A token of its own for each number, in the form of GitHub's.
fn token(n: u64) -> String {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut state = n
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(0x1234_5678_9abc_def1);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(letters[usize::try_from(state % 62).unwrap()])
    };
    format!("ghp_{}", (0..36).map(|_| next()).collect::<String>())
}

fn base64(bytes: &[u8]) -> String {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let word = (0..3).fold(0_u32, |word, at| {
            word << 8 | u32::from(three.get(at).copied().unwrap_or(0))
        });
        for at in 0..4 {
            let letter = letters[usize::try_from(word >> (18 - 6 * at) & 63).unwrap()];
            out.push(if at <= three.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

/// The forms in which people and tools leave a token.
fn planted(token: &str, form: usize) -> String {
    match form % 5 {
        0 => format!("use {token} for it"),
        1 => format!("HOME=/root\nGITHUB_TOKEN={token}\nPATH=/bin:/usr/bin"),
        2 => format!(
            "data: {}",
            base64(format!("machine github.com login me password {token}").as_bytes())
        ),
        3 => json!({ "auth": { "token": token } }).to_string(),
        _ => format!("git clone https://me:{token}@github.com/me/it"),
    }
}

/// Records of each agent, with `@` where something can be planted.
fn templates() -> Vec<(&'static str, Vec<Value>)> {
    let claude = |kind: &str, n: usize, content: Value| {
        json!({"type": kind, "uuid": format!("u{n}"), "sessionId": "s", "isSidechain": false,
            "timestamp": "2026-11-28T10:00:00Z", "message": {"role": kind, "id": format!("m{n}"), "content": content}})
    };
    vec![
        (
            "claude-code",
            vec![
                claude("user", 1, json!("@")),
                claude(
                    "assistant",
                    2,
                    json!([{"type": "thinking", "thinking": "@"}, {"type": "text", "text": "@"},
                {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "@", "env": {"A": "@"}}}]),
                ),
                claude(
                    "user",
                    3,
                    json!([{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "@"}]}]),
                ),
                json!({"type": "attachment", "uuid": "x", "sessionId": "s", "attachment": {"type": "file", "content": "@"}}),
                json!({"type": "unknown-kind", "sessionId": "s", "deep": [[{"a": {"b": "@"}}]]}),
            ],
        ),
        (
            "codex",
            vec![
                json!({"timestamp": "2026-11-28T10:00:00Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/p",
                "cli_version": "0.171.0", "instructions": "@"}}),
                json!({"timestamp": "2026-11-28T10:00:01Z", "type": "event_msg", "payload": {"type": "item_completed",
                "turn_id": "t1", "item": {"type": "UserMessage", "id": "i1", "content": [{"type": "text", "text": "@"}]}}}),
                json!({"timestamp": "2026-11-28T10:00:02Z", "type": "response_item", "payload": {"type": "function_call",
                "call_id": "c", "name": "shell", "arguments": "{\"command\":\"@\"}"}}),
                json!({"timestamp": "2026-11-28T10:00:03Z", "type": "response_item", "payload": {"type": "function_call_output",
                "call_id": "c", "output": "@"}}),
                json!({"timestamp": "2026-11-28T10:00:04Z", "type": "event_msg", "payload": {"type": "item_completed",
                "turn_id": "t1", "item": {"type": "AgentMessage", "id": "i2", "content": [{"type": "Text", "text": "@"}]}}}),
            ],
        ),
        (
            "gemini",
            vec![
                json!({"sessionId": "s", "projectHash": "x", "startTime": "2026-11-28T10:00:00Z", "kind": "main"}),
                json!({"id": "g1", "timestamp": "2026-11-28T10:00:01Z", "type": "user", "content": [{"text": "@"}]}),
                json!({"id": "g2", "timestamp": "2026-11-28T10:00:02Z", "type": "gemini", "content": "@",
                "thoughts": [{"subject": "@", "description": "@"}], "toolCalls": [{"id": "c", "name": "run", "args": {"command": "@"},
                "status": "success", "result": [{"functionResponse": {"id": "c", "response": {"output": "@"}}}]}]}),
            ],
        ),
        (
            "copilot",
            vec![
                json!({"type": "session.start", "id": "e0", "timestamp": "2026-11-28T10:00:00Z", "data": {"sessionId": "s",
                "producer": "copilot-agent", "copilotVersion": "@", "selectedModel": "@", "context": {"cwd": "/p"}}}),
                json!({"type": "user.message", "id": "e1", "timestamp": "2026-11-28T10:00:01Z", "data": {"content": "@",
                "transformedContent": "@"}}),
                json!({"type": "assistant.message", "id": "e2", "timestamp": "2026-11-28T10:00:02Z", "data": {"messageId": "m",
                "content": "@", "toolRequests": [{"toolCallId": "c", "name": "bash", "arguments": {"command": "@"}}]}}),
                json!({"type": "tool.execution_complete", "id": "e3", "timestamp": "2026-11-28T10:00:03Z",
                "data": {"toolCallId": "c", "success": true, "result": {"content": "@"}}}),
            ],
        ),
        (
            "pi",
            vec![
                json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-11-28T10:00:00Z", "cwd": "/p"}),
                json!({"type": "message", "id": "a", "parentId": null, "timestamp": "2026-11-28T10:00:01Z",
                "message": {"role": "user", "content": [{"type": "text", "text": "@"}]}}),
                json!({"type": "message", "id": "b", "parentId": "a", "timestamp": "2026-11-28T10:00:02Z", "message": {"role":
                "assistant", "content": [{"type": "text", "text": "@"}, {"type": "toolCall", "id": "c", "name": "bash",
                "arguments": {"command": "@"}}]}}),
                json!({"type": "message", "id": "d", "parentId": "b", "timestamp": "2026-11-28T10:00:03Z", "message": {"role":
                "toolResult", "toolCallId": "c", "content": [{"type": "text", "text": "@"}]}}),
            ],
        ),
        (
            "qwen",
            vec![
                json!({"uuid": "a", "parentUuid": null, "sessionId": "s", "timestamp": "2026-11-28T10:00:00Z", "type": "user",
                "message": {"role": "user", "parts": [{"text": "@"}]}}),
                json!({"uuid": "b", "parentUuid": "a", "sessionId": "s", "timestamp": "2026-11-28T10:00:01Z", "type": "assistant",
                "message": {"role": "model", "parts": [{"text": "@", "thought": true}, {"functionCall": {"id": "c", "name": "run",
                "args": {"command": "@"}}}]}}),
                json!({"uuid": "d", "parentUuid": "b", "sessionId": "s", "timestamp": "2026-11-28T10:00:02Z", "type": "tool_result",
                "message": {"role": "user", "parts": [{"functionResponse": {"id": "c", "name": "run", "response": {"output": "@"}}}]}}),
            ],
        ),
        (
            "cline",
            vec![
                json!({"sessionId": "s", "origin": {"source": "cli", "version": "@"}, "messages": [
                {"id": "l1", "role": "user", "content": [{"type": "text", "text": "<user_input mode=\"act\">ask</user_input>"}, {"type": "text", "text": "@"}]},
                {"id": "l2", "role": "assistant", "modelInfo": {"id": "@"}, "content": [{"type": "thinking", "thinking": "@"}, {"type": "tool_use", "id": "c", "name": "editor", "input": {"new_text": "@"}}]},
                {"id": "l3", "role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "@"}]}], "system_prompt": "@"}),
            ],
        ),
        (
            "cursor",
            vec![
                json!({"role": "user", "message": {"content": [{"type": "text", "text": "@"}]}}),
                json!({"role": "assistant", "message": {"content": [{"type": "text", "text": "@"}, {"type": "tool_use", "name": "Shell", "input": {"command": "@", "env": ["@"]}}]}}),
                json!({"role": "tool", "message": {"content": [{"type": "text", "text": "@"}]}}),
            ],
        ),
        (
            "opencode",
            vec![
                json!({"info": {"id": "s", "directory": "/p", "title": "@"}, "messages": [
            {"info": {"id": "m1", "role": "user", "time": {"created": 1}}, "parts": [{"id": "p1", "type": "text", "text": "@"}]},
            {"info": {"id": "m2", "role": "assistant", "parentID": "m1", "time": {"created": 2}}, "parts": [
                {"id": "p2", "type": "reasoning", "text": "@"}, {"id": "p3", "type": "tool", "tool": "bash", "callID": "c",
                "state": {"status": "completed", "input": {"command": "@"}, "output": "@"}}]}]}),
            ],
        ),
    ]
}

/// Puts the next token wherever there is room for one.
fn plant(value: &mut Value, next: &mut dyn FnMut() -> String) {
    match value {
        Value::String(text) if text == "@" => *text = next(),
        Value::String(text) if text.contains('@') && text.starts_with('{') => {
            let quoted = Value::from(next()).to_string();
            *text = text.replace("\"@\"", &quoted);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| plant(item, next)),
        Value::Object(members) => members.values_mut().for_each(|value| plant(value, next)),
        _ => {}
    }
}

#[test]
fn no_secret_of_hundreds_reaches_an_object() {
    let world = started();
    let mut tokens = Vec::new();
    for (agent, records) in templates() {
        // Every form in every place.
        for round in 0..10 {
            let mut text = String::new();
            for record in &records {
                let mut record = record.clone();
                plant(&mut record, &mut || {
                    let token = token(tokens.len() as u64 + 1);
                    let text = planted(&token, tokens.len() + round);
                    tokens.push(token);
                    text
                });
                let session = format!("\"{agent}-{round}\"");
                text += &(record.to_string().replace("\"s\"", &session) + "\n");
            }
            let file = format!("../{agent}-{round}.jsonl");
            world.file(&file, &text);
            let done = world
                .checkpoint(["message", "import", &file, "--json"])
                .success()
                .stdout_json();
            assert_eq!(done["agent"], agent, "{done}");
        }
    }
    assert!(tokens.len() >= 300, "{}", tokens.len());
    world.checkpoint(["save", "-m", "kept"]).success();
    let objects = world.git(["cat-file", "--batch-all-objects", "--batch"]);
    let objects = String::from_utf8_lossy(objects.success().stdout_bytes()).into_owned();
    let in_base64 = |token: &String| {
        let packed = base64(format!("machine github.com login me password {token}").as_bytes());
        packed[44..80].to_owned()
    };
    let found: Vec<_> = tokens
        .iter()
        .filter(|token| objects.contains(token.as_str()) || objects.contains(&in_base64(token)))
        .collect();
    assert!(found.is_empty(), "{} of {}: {found:?}", found.len(), tokens.len());
    let info = info(&world);
    assert_eq!(info.as_array().unwrap().len(), 90);
    assert!(
        info.as_array()
            .unwrap()
            .iter()
            .all(|info| info["redactions"].as_u64() > Some(2)),
        "{info}"
    );
}

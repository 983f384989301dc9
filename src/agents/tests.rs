//! Properties of all readers: a file read in parts gives what the whole gives, and no bytes make them fail.

use serde_json::{Value, json};

use super::*;
use crate::model::{chat::Role, time::Timestamp};

mod mutations;

/// A time for records that have none.
pub(super) fn now() -> Timestamp {
    Timestamp::from_unix(1_800_000_000, 0)
}

/// Lines of JSON.
pub(super) fn jsonl(records: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    for record in records {
        out.extend(record.to_string().into_bytes());
        out.push(b'\n');
    }
    out
}

/// A whole file of the agent that it is found to be.
pub(super) fn read_all(bytes: &[u8]) -> Reading {
    let (agent, layout) = detect(bytes).expect("an agent's file");
    read(agent, layout, bytes, now())
}

/// The texts that a person saw: role and text.
pub(super) fn seen(reading: &Reading) -> Vec<(Role, String)> {
    reading
        .messages
        .iter()
        .filter(|update| !update.message.meta.contains_key("helper"))
        .filter(|update| matches!(update.message.role, Role::User | Role::Assistant))
        .map(|said| {
            (
                said.message.role,
                blocks::texts(&blocks::of(Some(&said.message.content))),
            )
        })
        .filter(|(_, text)| !text.is_empty())
        .collect()
}

#[allow(clippy::needless_pass_by_value, reason = "the calls read better")]
fn claude(kind: &str, uuid: &str, message: Value) -> Value {
    json!({"type": kind, "uuid": uuid, "parentUuid": null, "sessionId": "s1", "isSidechain": false,
        "timestamp": format!("2026-11-28T10:00:0{}Z", uuid.len() % 10), "message": message})
}

#[test]
fn every_line_of_an_answer_of_claude_code_is_a_message_and_its_tokens_count_once() {
    let usage = json!({"input_tokens": 100, "cache_read_input_tokens": 20, "output_tokens": 7});
    let answer = |uuid, block| {
        claude(
            "assistant",
            uuid,
            json!({"id": "msg_1", "role": "assistant", "model": "m", "content": [block], "usage": usage}),
        )
    };
    let bytes = jsonl(&[
        claude("user", "u", json!({"role": "user", "content": "fix the lexer"})),
        answer("a1", json!({"type": "thinking", "thinking": "", "signature": "AA"})),
        answer("a2", json!({"type": "text", "text": "I will read it."})),
        answer(
            "a3",
            json!({"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": "lexer.rs"}}),
        ),
        claude(
            "user",
            "r",
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "fn"}]}),
        ),
        json!({"type": "a-new-type", "sessionId": "s1"}),
    ]);
    let reading = read_all(&bytes);
    let ids: Vec<_> = reading.messages.iter().map(|said| said.message.id.as_str()).collect();
    assert_eq!(ids, ["u", "a1", "a2", "a3", "r"]);
    assert_eq!(reading.messages[4].message.role, Role::Tool);
    assert_eq!(
        seen(&reading),
        [
            (Role::User, "fix the lexer".into()),
            (Role::Assistant, "I will read it.".into())
        ]
    );
    let turn = reading.turns.last().expect("a turn");
    assert_eq!((turn.key.as_str(), turn.subject.as_str()), ("u", "fix the lexer"));
    let used = TokenUsage {
        input: 120,
        cached: 20,
        output: 7,
        reasoning: 0,
    };
    assert_eq!(turn.tokens, used);
    let counted = reading
        .messages
        .iter()
        .filter_map(|said| said.message.meta.get("usage"));
    assert_eq!(counted.map(TokenUsage::from_json).collect::<Vec<_>>(), [used]);
    assert_eq!(reading.unknown.get("a-new-type"), Some(&1));
}

#[test]
fn a_prompt_of_codex_counts_once_whatever_says_it() {
    let line =
        |kind: &str, payload: Value| json!({"timestamp": "2026-11-28T10:00:00Z", "type": kind, "payload": payload});
    let item =
        |text: &str| json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]});
    let answer = line(
        "response_item",
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}),
    );
    let head = line("session_meta", json!({"id": "s", "cwd": "/p"}));
    let context = line(
        "response_item",
        item("<environment_context>\n  <cwd>/p</cwd>\n</environment_context>"),
    );
    let said = [(Role::User, "go on".to_owned()), (Role::Assistant, "Done.".to_owned())];
    // Only response items; with the event of the time before; with today's event and its own id.
    let old = jsonl(&[
        head.clone(),
        context.clone(),
        line("response_item", item("go on")),
        answer.clone(),
    ]);
    assert_eq!(seen(&read_all(&old)), said);
    let event = line(
        "event_msg",
        json!({"type": "user_message", "message": "go on", "kind": "plain"}),
    );
    let middle = jsonl(&[
        head.clone(),
        context.clone(),
        line("response_item", item("go on")),
        event,
        answer.clone(),
    ]);
    assert_eq!(seen(&read_all(&middle)), said);
    let done = json!({"type": "item_completed", "turn_id": "t", "item": {"type": "UserMessage", "id": "own", "content": [{"type": "text", "text": "go on"}]}});
    let new = jsonl(&[
        head,
        line("event_msg", json!({"type": "task_started", "turn_id": "t"})),
        context,
        line("response_item", item("go on")),
        line("event_msg", done),
        answer,
        line(
            "event_msg",
            json!({"type": "turn_aborted", "turn_id": "t", "reason": "interrupted"}),
        ),
    ]);
    let reading = read_all(&new);
    assert_eq!(seen(&reading), said);
    assert_eq!(reading.messages[0].message.id, "own");
    let turn = reading.turns.last().expect("a turn");
    assert_eq!(
        (turn.key.as_str(), turn.subject.as_str(), turn.ending),
        ("t", "go on", Ending::Interrupted)
    );
}

/// A file of every agent, in its own shape, with what makes reading it hard.
fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let claude = jsonl(&[
        json!({"type": "queue-operation", "sessionId": "s1", "timestamp": "2026-11-28T10:00:00Z"}),
        claude("user", "u1", json!({"role": "user", "content": "first"})),
        claude(
            "assistant",
            "a1",
            json!({"id": "m1", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "looking"}],
            "usage": {"input_tokens": 10, "output_tokens": 1}}),
        ),
        claude(
            "assistant",
            "a2",
            json!({"id": "m1", "role": "assistant", "model": "m", "stop_reason": "tool_use",
            "content": [{"type": "tool_use", "id": "t1", "name": "Task", "input": {"description": "d", "prompt": "p"}}],
            "usage": {"input_tokens": 10, "output_tokens": 9}}),
        ),
        json!({"type": "user", "uuid": "h1", "isSidechain": true, "agentId": "helper", "sessionId": "s1", "timestamp": "2026-11-28T10:00:05Z",
            "message": {"role": "user", "content": "p"}}),
        claude(
            "user",
            "r1",
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "ok"}]}]}),
        ),
        claude(
            "assistant",
            "a3",
            json!({"id": "m2", "role": "assistant", "model": "m", "stop_reason": "end_turn", "content": "done", "usage": {"input_tokens": 5, "output_tokens": 2}}),
        ),
        json!({"type": "system", "subtype": "compact_boundary", "uuid": "c1", "sessionId": "s1", "compactMetadata": {"trigger": "auto", "preTokens": 9}}),
        json!({"type": "user", "uuid": "c2", "isCompactSummary": true, "sessionId": "s1", "message": {"role": "user", "content": "before: things"}}),
        claude("user", "u1", json!({"role": "user", "content": "first"})),
        claude("user", "u2", json!({"role": "user", "content": "second \u{2028} line"})),
        claude(
            "user",
            "u3",
            json!({"role": "user", "content": [{"type": "text", "text": "[Request interrupted by user]"}]}),
        ),
        json!({"type": "custom-title", "customTitle": "The title", "sessionId": "s1"}),
    ]);
    let event =
        |kind: &str, payload: Value| json!({"timestamp": "2026-11-28T10:00:00Z", "type": kind, "payload": payload});
    let said = |role: &str, text: &str| {
        let part = if role == "user" { "input_text" } else { "output_text" };
        event(
            "response_item",
            json!({"type": "message", "role": role, "content": [{"type": part, "text": text}]}),
        )
    };
    let counted = |n: u64| {
        event(
            "event_msg",
            json!({"type": "token_count", "info": {"total_token_usage": {"input_tokens": n, "output_tokens": n}}}),
        )
    };
    let codex = jsonl(&[
        event("session_meta", json!({"id": "s", "cwd": "/p"})),
        event("event_msg", json!({"type": "task_started", "turn_id": "t1"})),
        said("user", "<environment_context>x</environment_context>"),
        said("user", "go"),
        event(
            "event_msg",
            json!({"type": "item_completed", "turn_id": "t1", "item": {"type": "UserMessage", "id": "i1", "content": [{"type": "text", "text": "go"}]}}),
        ),
        event(
            "response_item",
            json!({"type": "function_call", "name": "update_plan", "call_id": "c1", "arguments": "{\"plan\":[{\"step\":\"a\",\"status\":\"completed\"}]}"}),
        ),
        event(
            "response_item",
            json!({"type": "function_call_output", "call_id": "c1", "output": "Exit code: 1\nno"}),
        ),
        counted(10),
        counted(10),
        said("assistant", "went"),
        counted(25),
        event("event_msg", json!({"type": "task_complete", "turn_id": "t1"})),
        event("event_msg", json!({"type": "task_started", "turn_id": "t2"})),
        said("user", "more"),
        event(
            "event_msg",
            json!({"type": "turn_aborted", "turn_id": "t2", "reason": "interrupted"}),
        ),
    ]);
    let head = json!({"sessionId": "g", "projectHash": "x", "startTime": "2026-11-28T10:00:00Z", "kind": "main"});
    let asked = json!({"id": "g1", "timestamp": "2026-11-28T10:00:01Z", "type": "user", "content": [{"text": "<hook_context>c</hook_context>\n\nhello"}]});
    let calling = json!({"id": "g2", "timestamp": "2026-11-28T10:00:02Z", "type": "gemini", "content": "", "tokens": {"input": 9, "output": 1, "thoughts": 2}, "model": "g"});
    let mut called = calling.clone();
    called["toolCalls"] = json!([{"id": "c1", "name": "read_file", "args": {}, "status": "success",
        "result": [{"functionResponse": {"id": "c1", "response": {"output": "text"}}}]}]);
    let answered = json!({"id": "g3", "timestamp": "2026-11-28T10:00:03Z", "type": "user", "content": [{"functionResponse": {"id": "c1", "response": {"output": "text"}}}]});
    let answer = json!({"id": "g4", "timestamp": "2026-11-28T10:00:04Z", "type": "gemini", "content": "hi"});
    let gemini = jsonl(&[
        head.clone(),
        asked.clone(),
        calling,
        called.clone(),
        answered,
        answer.clone(),
        json!({"$set": {"messages": [{"id": "g1", "timestamp": "2026-11-28T11:00:00Z", "type": "user", "content": [{"text": "hello"}]},
            {"id": "g4", "timestamp": "2026-11-28T11:00:00Z", "type": "gemini", "content": [{"text": "hi"}]}]}}),
        json!({"id": "g5", "timestamp": "2026-11-28T11:00:01Z", "type": "user", "content": "again"}),
        json!({"$rewindTo": "g5"}),
        json!({"id": "g6", "timestamp": "2026-11-28T11:00:02Z", "type": "user", "content": "other"}),
        json!({"$set": {"summary": "Title"}}),
    ]);
    let mut whole = head;
    whole["messages"] = json!([asked, called, answer]);
    let copilot = jsonl(&[
        json!({"type": "session.start", "id": "e0", "timestamp": "2026-11-28T10:00:00Z", "data": {"sessionId": "c", "selectedModel": "m"}}),
        json!({"type": "user.message", "id": "e1", "timestamp": "2026-11-28T10:00:01Z", "data": {"content": "ask"}}),
        json!({"type": "session.usage_record", "id": "e2", "data": {"usage": {"inputTokens": 5, "outputTokens": 2, "apiCallId": "x"}}}),
        json!({"type": "assistant.message", "id": "e3", "data": {"content": "", "model": "m", "toolRequests": [{"toolCallId": "k", "name": "task", "arguments": "{\"prompt\":\"p\"}"}]}}),
        json!({"type": "subagent.started", "id": "e4", "agentId": "h", "data": {"toolCallId": "k", "agentName": "explore"}}),
        json!({"type": "assistant.message", "id": "e5", "agentId": "h", "data": {"content": "in the helper"}}),
        json!({"type": "tool.execution_complete", "id": "e6", "data": {"toolCallId": "k", "success": true, "result": {"content": "r"}}}),
        json!({"type": "assistant.message", "id": "e7", "data": {"content": "answer"}}),
        json!({"type": "abort", "id": "e8", "data": {"reason": "user"}}),
    ]);
    let opencode = json!({"info": {"id": "o", "title": "T"}, "messages": [
        {"info": {"id": "m1", "role": "user", "time": {"created": 1_795_866_481_000_u64}}, "parts": [{"type": "text", "text": "\"two words\""}]},
        {"info": {"id": "m2", "role": "assistant", "parentID": "m1", "modelID": "m", "finish": "stop", "tokens": {"input": 3, "output": 1, "cache": {"read": 1, "write": 0}}, "time": {"created": 1_795_866_482_000_u64}},
         "parts": [{"type": "tool", "callID": "c", "tool": "write", "state": {"status": "completed", "input": {}, "output": "ok"}}, {"type": "text", "text": "done"}]}]});
    let qwen = jsonl(&[
        json!({"uuid": "q1", "sessionId": "q", "timestamp": "2026-11-28T10:00:00Z", "type": "user", "provenance": "real_user", "message": {"role": "user", "parts": [{"text": "ask"}]}}),
        json!({"uuid": "q2", "sessionId": "q", "type": "assistant", "model": "m", "message": {"role": "model", "parts": [{"text": "t", "thought": true}, {"functionCall": {"id": "c", "name": "f", "args": {}}}]}, "usageMetadata": {"promptTokenCount": 4, "totalTokenCount": 6}}),
        json!({"uuid": "q3", "sessionId": "q", "type": "tool_result", "message": {"role": "user", "parts": [{"functionResponse": {"id": "c", "response": {"output": "r"}}}]}, "toolCallResult": {"status": "success"}}),
        json!({"uuid": "q4", "sessionId": "q", "type": "assistant", "message": {"role": "model", "parts": [{"text": "done"}]}}),
    ]);
    let pi = jsonl(&[
        json!({"type": "session", "version": 3, "id": "p", "timestamp": "2026-11-28T10:00:00Z", "cwd": "/p"}),
        json!({"type": "message", "id": "p1", "parentId": null, "message": {"role": "user", "content": [{"type": "text", "text": "ask"}]}}),
        json!({"type": "message", "id": "p2", "parentId": "p1", "message": {"role": "assistant", "content": [{"type": "toolCall", "id": "c", "name": "write", "arguments": {}}], "usage": {"input": 3, "output": 1}, "stopReason": "toolUse"}}),
        json!({"type": "message", "id": "p3", "parentId": "p2", "message": {"role": "toolResult", "toolCallId": "c", "content": [{"type": "text", "text": "ok"}]}}),
        json!({"type": "message", "id": "p4", "parentId": "p1", "message": {"role": "assistant", "content": [{"type": "text", "text": "on another branch"}], "stopReason": "stop"}}),
    ]);
    let cline = json!({"sessionId": "l", "origin": {"source": "cli"}, "messages": [
        {"id": "l1", "role": "user", "ts": 1_795_866_481_000_u64, "content": [{"type": "text", "text": "<user_input mode=\"act\">ask</user_input>"}]},
        {"id": "l2", "role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "editor", "input": {}}], "metrics": {"inputTokens": 3, "outputTokens": 1}},
        {"id": "l3", "role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "ok"}]},
        {"id": "l4", "role": "assistant", "content": [{"type": "text", "text": "done"}]}]});
    let cursor = jsonl(&[
        json!({"role": "user", "message": {"content": [{"type": "text", "text": "<user_query>\nask\n</user_query>"}]}}),
        json!({"role": "assistant", "message": {"content": [{"type": "text", "text": "done"}]}}),
        json!({"role": "user", "message": {"content": [{"type": "text", "text": "<user_query>\nask\n</user_query>"}]}}),
    ]);
    let aider = "\n# aider chat started at 2026-11-28 12:26:40\n\n> Aider v1  \n\n#### ask  \n#### more  \n\ndone\n```\n# aider chat started at 2020\n#### not a prompt\n```\n\n> Tokens: 1k sent\n";
    vec![
        ("claude-code", claude),
        ("codex", codex),
        ("gemini", gemini),
        ("gemini", whole.to_string().into_bytes()),
        ("copilot", copilot),
        ("opencode", opencode.to_string().into_bytes()),
        ("qwen", qwen),
        ("pi", pi),
        ("cline", cline.to_string().into_bytes()),
        ("cursor", cursor),
        ("aider", aider.as_bytes().to_vec()),
    ]
}

/// The chat that readings give: each message once, in its longest state.
fn chat(readings: &[Reading]) -> Vec<(String, Role, String, String)> {
    let mut out: Vec<(String, Role, String, String)> = Vec::new();
    for update in readings.iter().flat_map(|reading| &reading.messages) {
        let message = &update.message;
        let meta = Value::Object(message.meta.clone()).to_string();
        let line = (message.id.clone(), message.role, message.content.to_string(), meta);
        let before = update.replaces.as_deref().unwrap_or(&message.id);
        match out.iter_mut().find(|(id, ..)| id == before || *id == message.id) {
            None => out.push(line),
            Some(known) if !update.is_copy && line.2.len() >= known.2.len() => *known = line,
            Some(_) => {}
        }
    }
    out
}

#[test]
fn every_agent_is_known_by_its_file_and_gives_what_a_person_saw() {
    let texts = |name: &str, file: &[u8]| {
        let (agent, _) = detect(file).expect("an agent's file");
        assert_eq!(agent.name(), name);
        let reading = read_all(file);
        assert!(reading.unknown.is_empty(), "{name}: {:?}", reading.unknown);
        seen(&reading).into_iter().map(|(_, text)| text).collect::<Vec<_>>()
    };
    let expected: &[&[&str]] = &[
        &["first", "looking", "done", "first", "second \u{2028} line"],
        &["go", "went", "more"],
        &["hello", "hi", "hello", "hi", "again", "other"],
        &["hello", "hi"],
        &["ask", "answer"],
        &["two words", "done"],
        &["ask", "done"],
        &["ask", "on another branch"],
        &["ask", "done"],
        &["ask", "done", "ask"],
        &[
            "ask\nmore",
            "done\n```\n# aider chat started at 2020\n#### not a prompt\n```",
        ],
    ];
    for ((name, file), expected) in samples().iter().zip(expected) {
        assert_eq!(texts(name, file), *expected, "{name}");
    }
}

#[test]
fn what_a_session_says_beside_its_messages_is_read() {
    let all = samples();
    let of = |n: usize| read_all(&all[n].1);
    let claude = of(0);
    assert_eq!(claude.state.facts.title.as_deref(), Some("The title"));
    assert_eq!(claude.turns.last().map(|turn| turn.ending), Some(Ending::Interrupted));
    let helper = &claude.helpers[claude.helpers.len() - 1];
    assert_eq!(
        (helper.prompt.as_str(), helper.result.as_deref(), helper.ending),
        ("p", Some("ok"), Ending::Done)
    );
    assert_eq!(
        claude.turns[0].tokens,
        TokenUsage {
            input: 15,
            cached: 0,
            output: 11,
            reasoning: 0
        }
    );
    let codex = of(1);
    assert_eq!(
        codex.turns[0].tokens,
        TokenUsage {
            input: 25,
            cached: 0,
            output: 25,
            reasoning: 0
        }
    );
    assert_eq!(codex.tasks.as_ref().map(|tasks| tasks[0].title.as_str()), Some("a"));
    assert_eq!(
        codex.turns.iter().map(|turn| turn.ending).collect::<Vec<_>>(),
        [Ending::Done, Ending::Interrupted]
    );
    let gemini = of(2);
    assert_eq!(gemini.state.facts.title.as_deref(), Some("Title"));
    assert_eq!(
        gemini.turns[0].tokens,
        TokenUsage {
            input: 9,
            cached: 0,
            output: 3,
            reasoning: 2
        }
    );
    let copilot = of(4);
    assert_eq!(copilot.helpers[0].result.as_deref(), Some("r"));
    assert_eq!(copilot.turns[0].tokens.input, 5);
    for n in [0, 1, 2, 4, 5, 6, 7, 8] {
        assert!(of(n).state.facts.id.is_some(), "{}", all[n].0);
    }
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % bound.max(1)
    }
}

#[test]
fn parts_give_the_chat_of_the_whole() {
    for (name, file) in samples() {
        let (agent, layout) = detect(&file).expect("an agent's file");
        if layout != Layout::Lines {
            continue;
        }
        let whole = read_all(&file);
        let mut dice = Dice(7);
        for _ in 0..300 {
            let (mut readings, mut state, mut lines, mut from) = (Vec::new(), State::default(), 0, 0);
            loop {
                // The file as it is at this time: cut anywhere, also within a line.
                let to = if dice.below(4) == 0 {
                    file.len()
                } else {
                    from + dice.below(file.len() - from + 1)
                };
                let mut reader = Reader::new(agent, layout, state, lines, now());
                reader.feed(&file[from..to]);
                let reading = reader.end();
                from += usize::try_from(reading.taken).expect("small");
                // What is remembered goes through a file.
                let kept = serde_json::to_string(&reading.state).expect("a state");
                state = serde_json::from_str(&kept).expect("its own form");
                lines = reading.lines;
                readings.push(reading);
                if to == file.len() {
                    break;
                }
            }
            assert_eq!(from, file.len(), "{name}");
            assert_eq!(chat(&readings), chat(std::slice::from_ref(&whole)), "{name}");
            assert_eq!(state.turn, whole.state.turn, "{name}");
        }
    }
}

#[test]
fn the_copy_of_a_parents_history_in_a_fork_of_codex_has_the_parents_ids() {
    let line = |at: &str, kind: &str, payload: Value| json!({"timestamp": at, "type": kind, "payload": payload});
    let said = |at: &str, role: &str, text: &str| {
        line(
            at,
            "response_item",
            json!({"type": "message", "role": role, "content": [{"type": "text", "text": text}]}),
        )
    };
    let history = |at: &str| {
        vec![
            said(at, "user", "one"),
            said(at, "assistant", "two"),
            said(at, "user", "one"),
        ]
    };
    let mut parent = vec![line("2026-11-28T10:00:00Z", "session_meta", json!({"id": "parent"}))];
    parent.extend(history("2026-11-28T10:00:01Z"));
    let mut fork = vec![
        line(
            "2026-11-28T12:00:00Z",
            "session_meta",
            json!({"id": "fork", "forked_from_id": "parent"}),
        ),
        line("2026-11-28T12:00:00Z", "session_meta", json!({"id": "parent"})),
    ];
    fork.extend(history("2026-11-28T12:00:00Z"));
    fork.push(said("2026-11-28T12:01:00Z", "assistant", "only here"));
    let ids = |records: &[Value]| -> Vec<String> {
        read_all(&jsonl(records))
            .messages
            .into_iter()
            .map(|update| update.message.id)
            .collect()
    };
    let (parent, fork) = (ids(&parent), ids(&fork));
    assert_eq!(parent.len(), 3);
    assert_eq!(fork[..3], parent[..]);
    assert_eq!(fork.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
}

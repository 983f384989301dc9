//! What all readers have in common: a file read in parts gives what the whole gives, and no bytes make them fail.

use serde_json::{Value, json};

use super::*;
use crate::model::{chat::Role, time::Timestamp};

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

//! Codex: `~/.codex/sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl`.
//!
//! Three generations. New rollouts say with `item_completed` what the person typed; those before with `user_message`
//! events; the oldest have response items alone, in records without an envelope. Response items are what went to and
//! came from the model, with texts of the program among the person's, so a user's item counts only until an event says
//! the same. The old ones have no ids: theirs are a chain of digests, so that the copy of a parent's history at the
//! beginning of a fork gives the parent's ids, however often it was copied.

mod events;
mod write;

use serde_json::{Value, json};

use self::events::{event, tokens};
use super::{
    Agent, Fold, Sample, blocks,
    fold::details,
    session_file::{SessionCopy, SessionFile},
    transcript::{Ending, HelperRun, TaskItem, task_status},
    word,
};
use crate::model::{chat::Role, time::Timestamp};

/// Codex.
#[derive(Debug)]
pub(super) struct Codex;

impl Agent for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn title(&self) -> &'static str {
        "Codex"
    }

    fn knows(&self, sample: &Sample<'_>) -> bool {
        sample.any(|record| {
            let enveloped = matches!(
                word(record, "type"),
                "session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted" | "world_state"
            ) && record.get("payload").is_some();
            let bare =
                record.get("instructions").is_some() && record.get("id").is_some() && record.get("type").is_none()
                    || word(record, "record_type") == "state";
            enveloped || bare
        })
    }

    fn take(&self, record: &Value, fold: &mut Fold) {
        let at = fold.time(record.get("timestamp"));
        let Some(payload) = record.get("payload").filter(|_| record.get("type").is_some()) else {
            return bare(record, at, fold);
        };
        if let Some(turn) = turn_of(payload) {
            settle(turn, at, fold);
        }
        match word(record, "type") {
            "session_meta" => meta(payload, at, fold),
            "turn_context" => fold.model(word(payload, "model")),
            "response_item" => response(payload, at, fold),
            "event_msg" => event(payload, at, fold),
            "token_usage_record" => {
                fold.set_mark("counted", "1");
                if let Some(used) = payload.get("usage") {
                    let response = payload.get("response_id").and_then(Value::as_str);
                    fold.usage(response, tokens(used));
                }
            }
            "compacted" => {
                let text = ["message", "summary"]
                    .iter()
                    .map(|name| word(payload, name))
                    .find(|text| !text.is_empty());
                let facts = details(&[
                    ("trigger", payload.get("trigger")),
                    ("tokens_before", payload.get("preTokens")),
                ]);
                let id = fold.chained("compacted", text.unwrap_or_default());
                fold.event(&id, at, "compacted", text.unwrap_or_default(), &facts);
            }
            "world_state" | "session_state" | "ghost_snapshot" | "inter_agent_communication" => {}
            other => fold.unknown(other),
        }
    }

    fn session_file(&self, copy: &SessionCopy<'_>) -> Result<SessionFile, String> {
        write::session_file(copy)
    }

    fn resume_command<'i>(&self, id: &'i str) -> Vec<&'i str> {
        vec!["codex", "resume", id]
    }
}

/// The turn that a record names.
fn turn_of(payload: &Value) -> Option<&str> {
    ["/turn_id", "/internal_chat_message_metadata_passthrough/turn_id"]
        .iter()
        .find_map(|at| payload.pointer(at).and_then(Value::as_str))
        .filter(|turn| !turn.is_empty())
}

/// Begins the turn that a record names, if it is not the latest; its subject comes with the prompt.
fn settle(turn: &str, at: Timestamp, fold: &mut Fold) {
    let is_latest = fold.latest_turn().is_some_and(|latest| latest.key == turn);
    if !is_latest {
        fold.begin(turn, "", at);
    }
}

/// A record of the oldest rollouts, without an envelope: the head, or a response item.
fn bare(record: &Value, at: Timestamp, fold: &mut Fold) {
    if !word(record, "record_type").is_empty() {
        return;
    }
    if record.get("type").is_none() && record.get("id").is_some() {
        return meta(record, at, fold);
    }
    match word(record, "type") {
        "" => fold.unknown(""),
        _ => response(record, at, fold),
    }
}

fn meta(payload: &Value, at: Timestamp, fold: &mut Fold) {
    let Some(id) = payload.get("id").and_then(Value::as_str) else {
        return fold.unknown("session_meta without an id");
    };
    if fold.mark("chain").is_none() {
        // Of several heads, as copies of a parent's history bring them, the last one is where it all began.
        fold.set_mark("root", id);
    }
    if let Some(own) = fold.facts().id.clone()
        && own != id
    {
        fold.set_mark("copied", at.unix().to_string());
        fold.facts().forked_from.get_or_insert_with(|| id.to_owned());
        return;
    }
    let facts = fold.facts();
    facts.id = Some(id.to_owned());
    for (name, fact) in [("cwd", &mut facts.directory), ("cli_version", &mut facts.version)] {
        if let Some(text) = payload.get(name).and_then(Value::as_str) {
            *fact = Some(text.to_owned());
        }
    }
    if let Some(branch) = payload.pointer("/git/branch").and_then(Value::as_str) {
        facts.branch = Some(branch.to_owned());
    }
    let parent = ["/parent_thread_id", "/source/subagent/thread_spawn/parent_thread_id"]
        .iter()
        .find_map(|at| payload.pointer(at).and_then(Value::as_str));
    facts.helper_of = parent.map(str::to_owned);
    let from = ["/history_base/thread_id", "/forked_from_id"]
        .iter()
        .find_map(|at| payload.pointer(at).and_then(Value::as_str));
    facts.forked_from = from.map(str::to_owned);
    if let Some(from) = payload.get("forked_from_id").and_then(Value::as_str) {
        fold.set_mark("root", from);
    }
}

fn response(item: &Value, at: Timestamp, fold: &mut Fold) {
    match word(item, "type") {
        "message" => message(item, at, fold),
        "reasoning" => {
            let mut thoughts = Vec::new();
            for name in ["summary", "content"] {
                for part in blocks::of(item.get(name)) {
                    let text = word(&part, "text");
                    if !text.is_empty() {
                        thoughts.push(blocks::thought(text));
                    }
                }
            }
            let id = own_id(item, fold, "reasoning", &json!(thoughts).to_string());
            fold.say(&id, at, Role::Assistant, thoughts);
        }
        "function_call"
        | "custom_tool_call"
        | "local_shell_call"
        | "tool_search_call"
        | "web_search_call"
        | "image_generation_call"
        | "mcp_call" => call(item, at, fold),
        "function_call_output"
        | "custom_tool_call_output"
        | "local_shell_call_output"
        | "tool_search_output"
        | "mcp_call_output" => output(item, at, fold),
        "compaction" | "context_compaction" | "ghost_snapshot" | "compaction_summary" => {}
        other => fold.unknown(&format!("response_item {other}")),
    }
}

fn own_id(item: &Value, fold: &mut Fold, kind: &str, text: &str) -> String {
    match item.get("id").and_then(Value::as_str) {
        Some(id) if !id.is_empty() => id.to_owned(),
        _ => fold.chained(kind, text),
    }
}

fn parts(content: Option<&Value>) -> Vec<Value> {
    let mut out = Vec::new();
    for part in blocks::of(content) {
        match blocks::kind(&part).to_ascii_lowercase().as_str() {
            "text" | "input_text" | "output_text" => out.push(blocks::text(word(&part, "text"))),
            "input_image" | "image" | "local_image" => {
                let at = ["image_url", "url", "path"]
                    .iter()
                    .map(|name| word(&part, name))
                    .find(|at| !at.is_empty());
                out.push(at.map_or_else(|| part.clone(), blocks::image_at));
            }
            _ => out.push(part),
        }
    }
    out.retain(|part| blocks::as_text(part).is_none_or(|text| !text.is_empty()));
    out
}

fn message(item: &Value, at: Timestamp, fold: &mut Fold) {
    let parts = parts(item.get("content"));
    let text = blocks::texts(&parts);
    match word(item, "role") {
        "assistant" => {
            let id = own_id(item, fold, "assistant", &text);
            fold.clear_mark("typed");
            answer(&id, at, parts, fold);
        }
        "user" => {
            let kinds = item.pointer("/internal_chat_message_metadata_passthrough/content_item_kinds");
            let by_person = kinds.and_then(Value::as_array).map(|kinds| {
                kinds
                    .iter()
                    .any(|kind| kind.as_str().is_some_and(|kind| kind.starts_with("user.")))
            });
            let is_prompt = by_person.unwrap_or_else(|| !is_injected(&text));
            if !is_prompt {
                return;
            }
            let id = own_id(item, fold, "user", &text);
            // The event of it, with an id of its own, may follow.
            let latest = item.get("id").and_then(Value::as_str).unwrap_or(&id);
            fold.set_mark("typed", format!("{latest}\n{text}"));
            prompt(&id, at, &text, parts, fold);
        }
        _ => {}
    }
}

/// A prompt begins a turn, unless a record has begun it already.
fn prompt(id: &str, at: Timestamp, text: &str, parts: Vec<Value>, fold: &mut Fold) {
    let fresh = fold
        .latest_turn()
        .is_some_and(|turn| turn.ending == Ending::Open && turn.subject.is_empty());
    if fresh {
        fold.name_turn(text);
    } else if fold.mark("turns").is_none() || fold.latest_turn().is_none_or(|turn| turn.ending != Ending::Open) {
        fold.begin(id, text, at);
    }
    fold.say(id, at, Role::User, parts);
}

fn answer(id: &str, at: Timestamp, parts: Vec<Value>, fold: &mut Fold) {
    let model = fold.facts().model.clone();
    if let Some(said) = fold.say(id, at, Role::Assistant, parts)
        && let Some(model) = model
    {
        said.message.meta.insert("model".into(), model.into());
    }
}

/// Whether a text in the user's name is the program's: it is within one pair of tags, or has a known beginning.
fn is_injected(text: &str) -> bool {
    let text = text.trim();
    let tagged = text
        .strip_prefix('<')
        .and_then(|rest| rest.split_once('>'))
        .is_some_and(|(tag, _)| {
            let name = tag.split_whitespace().next().unwrap_or_default();
            !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
                && text.ends_with(&format!("</{name}>"))
        });
    tagged || text.is_empty() || text.starts_with("# AGENTS.md instructions")
}

fn call(item: &Value, at: Timestamp, fold: &mut Fold) {
    fold.clear_mark("typed");
    let call = ["call_id", "id"]
        .iter()
        .map(|name| word(item, name))
        .find(|id| !id.is_empty());
    let name = match (word(item, "name"), word(item, "type")) {
        ("", kind) => kind.strip_suffix("_call").unwrap_or(kind),
        (name, _) => name,
    };
    let given = ["arguments", "input", "action", "query"]
        .iter()
        .find_map(|name| item.get(*name));
    // Arguments are JSON in a string; a patch is a text.
    let input = match given {
        Some(Value::String(text)) => serde_json::from_str(text)
            .ok()
            .filter(|value| {
                matches!(value, Value::Object(_) | Value::Array(_)) && !crate::model::json::is_deeper(value, 32)
            })
            .unwrap_or_else(|| Value::String(text.clone())),
        Some(other) => other.clone(),
        None => Value::Null,
    };
    let text = format!("{name}\n{input}");
    let id = own_id(item, fold, "call", &text);
    let call = call.unwrap_or(&id).to_owned();
    match name {
        "update_plan" => plan(&input, fold),
        "spawn_agent" => {
            fold.helper(HelperRun {
                id: call.clone(),
                turn: None,
                kind: input.get("agent_type").and_then(Value::as_str).map(str::to_owned),
                title: word(&input, "message").lines().next().unwrap_or_default().to_owned(),
                prompt: word(&input, "message").to_owned(),
                result: None,
                ending: Ending::Open,
            });
            fold.call(
                &call,
                json!({ "tool": "spawn_agent", "message": word(&input, "message") }),
            );
        }
        _ => {}
    }
    fold.say(&id, at, Role::Assistant, vec![blocks::call(&call, name, &input)]);
}

fn output(item: &Value, at: Timestamp, fold: &mut Fold) {
    let call = word(item, "call_id").to_owned();
    let given = item.get("output").or_else(|| item.get("tools")).unwrap_or(&Value::Null);
    // Newer rollouts have a text or parts; older ones JSON in a string, or an object, with the text in it.
    let inner = match given {
        Value::String(text) => serde_json::from_str::<Value>(text)
            .ok()
            .filter(|inner| inner.get("output").is_some()),
        Value::Object(_) => Some(given.clone()),
        _ => None,
    };
    let (content, failed) = if let Some(inner) = &inner {
        let content = inner.get("output").or_else(|| inner.get("content")).unwrap_or(inner);
        let code = inner.pointer("/metadata/exit_code").and_then(Value::as_i64);
        (
            content.clone(),
            code.is_some_and(|code| code != 0) || inner.get("success") == Some(&Value::Bool(false)),
        )
    } else {
        let code = given.as_str().and_then(exit_code);
        (given.clone(), code.is_some_and(|code| code != 0))
    };
    let content = if content.is_array() {
        Value::Array(parts(Some(&content)))
    } else {
        content
    };
    let id = own_id(item, fold, "output", &format!("{call}\n{content}"));
    fold.take_call(&call);
    fold.say(&id, at, Role::Tool, vec![blocks::result(&call, &content, failed)]);
}

/// The exit code that the text of a command's output begins with.
fn exit_code(text: &str) -> Option<i64> {
    text.lines().take(6).find_map(|line| {
        let rest = line
            .strip_prefix("Exit code: ")
            .or_else(|| line.strip_prefix("Process exited with code "))?;
        rest.trim().parse().ok()
    })
}

fn plan(input: &Value, fold: &mut Fold) {
    let Some(steps) = input.get("plan").and_then(Value::as_array) else {
        return;
    };
    let list = steps.iter().enumerate().map(|(n, step)| TaskItem {
        id: (n + 1).to_string(),
        title: word(step, "step").to_owned(),
        status: task_status(word(step, "status")),
    });
    let list: Vec<TaskItem> = list.filter(|task| !task.title.is_empty()).collect();
    fold.tasks(|tasks| *tasks = list);
}

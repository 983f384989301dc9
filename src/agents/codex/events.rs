//! Events of the program: turns, what the person typed, tokens and helpers.

use serde_json::{Value, json};

use super::{
    super::{
        Fold, blocks,
        transcript::{Ending, HelperRun, TokenUsage},
    },
    answer, parts, plan, prompt, turn_of, word,
};
use crate::model::{chat::Role, time::Timestamp};

/// Events that are known and say nothing that another record does not say.
const SILENT: &[&str] = &[
    "agent_message",
    "agent_message_delta",
    "agent_reasoning",
    "agent_reasoning_raw_content",
    "agent_reasoning_section_break",
    "entered_review_mode",
    "exec_command_begin",
    "exec_command_end",
    "exited_review_mode",
    "item_started",
    "mcp_tool_call_begin",
    "mcp_tool_call_end",
    "patch_apply_begin",
    "patch_apply_end",
    "thread_rolled_back",
    "thread_settings_applied",
    "turn_diff",
    "undo_completed",
    "undo_started",
    "view_image_tool_call",
    "web_search_begin",
    "web_search_end",
];

/// Folds an event of the program.
pub(super) fn event(payload: &Value, at: Timestamp, fold: &mut Fold) {
    match word(payload, "type") {
        "task_started" | "turn_started" => {
            if turn_of(payload).is_some() {
                fold.set_mark("turns", "1");
            }
        }
        "task_complete" | "turn_complete" => {
            fold.end_turn(Ending::Done, at);
            close(at, fold);
        }
        "turn_aborted" => {
            let reason = word(payload, "reason");
            let id = match turn_of(payload) {
                Some(turn) => format!("{turn}:aborted"),
                None => fold.chained("aborted", reason),
            };
            fold.event(&id, at, "interrupted", reason, &Value::Null);
            fold.end_turn(Ending::Interrupted, at);
            close(at, fold);
        }
        "error" | "stream_error" => {
            let text = word(payload, "message");
            let id = fold.chained("error", text);
            fold.event(&id, at, "failed", text, &Value::Null);
            if word(payload, "type") == "error" {
                fold.end_turn(Ending::Failed, at);
            }
        }
        "user_message" => {
            let text = word(payload, "message").to_owned();
            let mut said = vec![blocks::text(text.as_str())];
            for name in ["images", "local_images"] {
                for image in payload.get(name).and_then(Value::as_array).into_iter().flatten() {
                    said.push(image.as_str().map_or_else(|| image.clone(), blocks::image_at));
                }
            }
            said.retain(|part| blocks::as_text(part).is_none_or(|text| !text.is_empty()));
            // The response item said it already, with an id that does not depend on this event.
            if typed(fold).is_some_and(|(_, before)| before.trim() == text.trim()) {
                return fold.clear_mark("typed");
            }
            let id = fold.chained("user", &text);
            prompt(&id, at, &text, said, fold);
        }
        "token_count" => {
            let total = payload.pointer("/info/total_token_usage");
            let last = payload.pointer("/info/last_token_usage");
            if fold.mark("counted").is_some() || is_copy(at, fold) {
                remember(total, fold);
                return;
            }
            let used = since(total, last, fold);
            fold.usage(None, used);
            remember(total, fold);
        }
        "context_compacted" => {}
        "item_completed" => item(payload, at, fold),
        "plan_update" => plan(payload, fold),
        "thread_name_updated" => {
            let name = ["thread_name", "name"]
                .iter()
                .map(|name| word(payload, name))
                .find(|name| !name.is_empty());
            if let Some(name) = name {
                fold.facts().title = Some(name.to_owned());
            }
        }
        known if SILENT.contains(&known) => {}
        other => fold.unknown(&format!("event_msg {other}")),
    }
}

/// The user's item that an event has not confirmed yet: id and text.
fn typed(fold: &Fold) -> Option<(String, String)> {
    let (id, text) = fold.mark("typed")?.split_once('\n')?;
    Some((id.to_owned(), text.to_owned()))
}

fn item(payload: &Value, at: Timestamp, fold: &mut Fold) {
    let Some(item) = payload.get("item") else {
        return fold.unknown("item_completed without an item");
    };
    let id = word(item, "id");
    match word(item, "type") {
        "UserMessage" => {
            let parts = parts(item.get("content"));
            let text = blocks::texts(&parts);
            let before = typed(fold).filter(|(_, before)| before.trim() == text.trim());
            fold.clear_mark("typed");
            prompt(id, at, &text, parts, fold);
            if let Some((before, _)) = before {
                fold.replace_last(&before);
            }
        }
        "AgentMessage" => answer(id, at, parts(item.get("content")), fold),
        "ContextCompaction" => fold.event(id, at, "compacted", "", &Value::Null),
        "CollabAgentToolCall" => helpers(item, fold),
        "Plan" | "TodoList" | "CommandExecution" | "FileChange" | "McpToolCall" | "WebSearch" | "Reasoning"
        | "ImageView" | "ImageGeneration" | "HookPrompt" => {}
        other => fold.unknown(&format!("item {other}")),
    }
}

/// Helpers as the agent itself lists them: by their threads, while the call that started one has an id of its own.
fn helpers(item: &Value, fold: &mut Fold) {
    let (prompt, call) = (word(item, "prompt"), word(item, "id"));
    let starts = word(item, "tool") == "spawn_agent" && !call.is_empty();
    let states = item.get("agents_states").and_then(Value::as_object);
    let threads = item.get("receiver_thread_ids").and_then(Value::as_array);
    for thread in threads.into_iter().flatten().filter_map(Value::as_str) {
        let state = states.and_then(|states| states.get(thread));
        let result = state.and_then(|state| state.get("completed")).and_then(Value::as_str);
        if prompt.is_empty() && result.is_none() {
            continue;
        }
        let mut run = fold.running_helper(thread).unwrap_or_else(|| HelperRun {
            id: if starts { call } else { thread }.to_owned(),
            turn: fold.latest_turn().map(|turn| turn.key.clone()),
            kind: None,
            title: String::new(),
            prompt: String::new(),
            result: None,
            ending: Ending::Open,
        });
        if !prompt.is_empty() {
            prompt.lines().next().unwrap_or_default().clone_into(&mut run.title);
            prompt.clone_into(&mut run.prompt);
        }
        if let Some(result) = result {
            run.result = Some(result.to_owned());
            run.ending = Ending::Done;
        }
        fold.keep_running(thread, &run);
        fold.helper(run);
    }
}

/// Whether a record of this time belongs to the copy of a parent's history: it was written in the moment of the fork.
fn is_copy(at: Timestamp, fold: &Fold) -> bool {
    let Some(forked) = fold.mark("copied").and_then(|at| at.parse::<i64>().ok()) else {
        return false;
    };
    (at.unix() - forked).abs() <= 1
}

pub(super) fn tokens(used: &Value) -> TokenUsage {
    let count = |name: &str| used.get(name).and_then(Value::as_u64).unwrap_or(0);
    TokenUsage {
        input: count("input_tokens"),
        cached: count("cached_input_tokens"),
        output: count("output_tokens"),
        reasoning: count("reasoning_output_tokens"),
    }
}

/// The tokens since the record before: the total grows, and where it does not, as after a resume, the last request counts.
fn since(total: Option<&Value>, last: Option<&Value>, fold: &Fold) -> TokenUsage {
    let before = fold
        .mark("total")
        .and_then(|text| serde_json::from_str::<TokenUsage>(text).ok());
    let last = last.map(tokens);
    match (total.map(tokens), before) {
        (Some(total), Some(before)) if total == before => TokenUsage::default(),
        (Some(total), Some(before)) if total.input >= before.input && total.output >= before.output => {
            total.minus(before)
        }
        (Some(total), None) if last.is_none() => total,
        _ => last.unwrap_or_default(),
    }
}

fn remember(total: Option<&Value>, fold: &mut Fold) {
    if let Some(total) = total {
        fold.set_mark("total", json!(tokens(total)).to_string());
    }
}

/// The tokens of a turn have no message of their own; the end of the turn has them.
fn close(at: Timestamp, fold: &mut Fold) {
    fold.clear_mark("typed");
    let Some(turn) = fold.latest_turn().cloned() else {
        return;
    };
    if turn.tokens.is_zero() {
        return;
    }
    let usage = turn.tokens.to_json();
    let key = format!("{}:usage", turn.key);
    let event = blocks::event("usage", "", &Value::Null);
    if let Some(said) = fold.say(&key, at, Role::System, vec![event]) {
        said.message.meta.insert("turn_usage".into(), usage);
        if let Some(model) = turn.model {
            said.message.meta.insert("model".into(), model.into());
        }
    }
}

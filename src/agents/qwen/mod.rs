//! Qwen Code: `~/.qwen/projects/<slug>/chats/<session>.jsonl`, parts as of Gemini in lines as of Claude Code.

mod write;

use serde_json::{Value, json};

use super::{
    Agent, Fold, Sample, blocks, gemini,
    session_file::{SessionCopy, SessionFile},
    transcript::{Ending, HelperRun, TaskItem, TokenUsage, task_status},
    word,
};
use crate::model::{chat::Role, time::Timestamp};

/// Qwen Code.
#[derive(Debug)]
pub(super) struct Qwen;

/// Kinds of lines of the system that are known and hold nothing of the conversation.
const SILENT: &[&str] = &[
    "at_command",
    "attribution_snapshot",
    "file_history_snapshot",
    "session_context",
    "ui_telemetry",
];

impl Agent for Qwen {
    fn name(&self) -> &'static str {
        "qwen"
    }

    fn title(&self) -> &'static str {
        "Qwen Code"
    }

    fn knows(&self, sample: &Sample<'_>) -> bool {
        sample
            .any(|record| record.get("uuid").is_some() && record.pointer("/message/parts").is_some_and(Value::is_array))
    }

    fn take(&self, record: &Value, fold: &mut Fold) {
        let facts = fold.facts();
        for (name, fact) in [
            ("sessionId", &mut facts.id),
            ("cwd", &mut facts.directory),
            ("gitBranch", &mut facts.branch),
            ("version", &mut facts.version),
        ] {
            if let Some(text) = record.get(name).and_then(Value::as_str) {
                *fact = Some(text.to_owned());
            }
        }
        let at = fold.time(record.get("timestamp"));
        let id = match word(record, "uuid") {
            "" => super::derived_id(record),
            id => id.to_owned(),
        };
        let helper = word(record, "agentId");
        if !helper.is_empty() {
            fold.set_helper(helper);
        }
        let parts = record.pointer("/message/parts");
        match word(record, "type") {
            "user" => {
                let mut typed = gemini::texts(parts);
                super::notification::take(&blocks::texts(&typed), fold);
                typed.retain(|part| blocks::as_text(part).is_none_or(|text| !is_injected(text)));
                if !matches!(word(record, "provenance"), "" | "real_user") || typed.is_empty() {
                    return;
                }
                if helper.is_empty() {
                    fold.begin(&id, &blocks::texts(&typed), at);
                }
                fold.say(&id, at, Role::User, typed);
            }
            "assistant" => assistant(record, &id, at, fold),
            "tool_result" => {
                let failed = !matches!(
                    record.pointer("/toolCallResult/status").and_then(Value::as_str),
                    None | Some("success")
                );
                let answers = parts.and_then(Value::as_array).into_iter().flatten();
                for answer in answers.clone().filter_map(|part| part.get("functionResponse")) {
                    end_helper(answer, failed, fold);
                }
                let results = answers.filter_map(|part| part.get("functionResponse")).map(|answer| {
                    let content = blocks::content(vec![gemini::answer_text(answer)]);
                    blocks::result(word(answer, "id"), &content, failed)
                });
                let results = results.collect();
                fold.say(&id, at, Role::Tool, results);
            }
            "system" => system(record, &id, at, fold),
            other => fold.unknown(other),
        }
    }

    fn session_file(&self, copy: &SessionCopy<'_>) -> Result<SessionFile, String> {
        write::session_file(copy)
    }

    fn resume_command<'i>(&self, id: &'i str) -> Vec<&'i str> {
        vec!["qwen", "--resume", id]
    }
}

fn is_injected(text: &str) -> bool {
    let text = text.trim();
    ["<system-reminder>", "<qwen:", "<session_context>"]
        .iter()
        .any(|tag| text.starts_with(tag))
}

fn assistant(record: &Value, id: &str, at: Timestamp, fold: &mut Fold) {
    let mut parts = gemini::texts(record.pointer("/message/parts"));
    let answers = parts.iter().any(|part| blocks::as_text(part).is_some());
    let given = record.pointer("/message/parts").and_then(Value::as_array);
    let mut calls = false;
    for call in given.into_iter().flatten().filter_map(|part| part.get("functionCall")) {
        calls = true;
        let args = call.get("args").unwrap_or(&Value::Null);
        parts.push(blocks::call(word(call, "id"), word(call, "name"), args));
        if matches!(word(call, "name"), "agent" | "task") {
            let run = HelperRun {
                id: word(call, "id").to_owned(),
                turn: fold.latest_turn().map(|turn| turn.key.clone()),
                kind: args.get("subagent_type").and_then(Value::as_str).map(str::to_owned),
                title: word(args, "description").to_owned(),
                prompt: word(args, "prompt").to_owned(),
                result: None,
                ending: Ending::Open,
            };
            fold.keep_running(word(call, "id"), &run);
            fold.helper(run);
        }
        if word(call, "name") == "todo_write"
            && let Some(todos) = args.get("todos").and_then(Value::as_array)
        {
            let list = todos.iter().enumerate().map(|(n, todo)| TaskItem {
                id: match word(todo, "id") {
                    "" => (n + 1).to_string(),
                    id => id.to_owned(),
                },
                title: word(todo, "content").to_owned(),
                status: task_status(word(todo, "status")),
            });
            let list: Vec<TaskItem> = list.filter(|task| !task.title.is_empty()).collect();
            fold.tasks(|tasks| *tasks = list);
        }
    }
    let model = word(record, "model").to_owned();
    fold.model(&model);
    fold.end_turn(if answers && !calls { Ending::Done } else { Ending::Open }, at);
    let used = record.get("usageMetadata").map(tokens);
    let new = used.map(|used| fold.usage(Some(id), used));
    if let Some(said) = fold.say(id, at, Role::Assistant, parts) {
        if !model.is_empty() {
            said.message.meta.insert("model".into(), model.into());
        }
        if let Some(new) = new.filter(|new| !new.is_zero()) {
            said.message.meta.insert("usage".into(), new.to_json());
        }
    }
}

/// Ends the helper whose result this is, unless it continues in the background.
fn end_helper(answer: &Value, failed: bool, fold: &mut Fold) {
    let Some(mut run) = fold.running_helper(word(answer, "id")) else {
        return;
    };
    let text = blocks::texts(&[gemini::answer_text(answer)]);
    if text.starts_with("Background agent launched") && !failed {
        return;
    }
    run.result = Some(text);
    run.ending = if failed { Ending::Failed } else { Ending::Done };
    fold.helper(run);
}

fn tokens(given: &Value) -> TokenUsage {
    let count = |name: &str| given.get(name).and_then(Value::as_u64);
    let input = count("promptTokenCount").unwrap_or(0);
    let reasoning = count("thoughtsTokenCount").unwrap_or(0);
    let output = match count("totalTokenCount") {
        Some(total) if total >= input => total - input,
        _ => count("candidatesTokenCount").unwrap_or(0),
    };
    TokenUsage {
        input,
        cached: count("cachedContentTokenCount").unwrap_or(0),
        output,
        reasoning,
    }
}

fn system(record: &Value, id: &str, at: Timestamp, fold: &mut Fold) {
    let payload = record.get("systemPayload").unwrap_or(&Value::Null);
    match word(record, "subtype") {
        "chat_compression" => {
            let facts = json!({
                "tokens_before": payload.pointer("/info/originalTokenCount"),
                "tokens_after": payload.pointer("/info/newTokenCount"),
            });
            fold.event(id, at, "compacted", "", &facts);
        }
        "slash_command" => {
            let text = ["rawCommand", "command", "name"]
                .iter()
                .map(|name| word(payload, name))
                .find(|text| !text.is_empty());
            fold.event(id, at, "command", text.unwrap_or_default(), &Value::Null);
        }
        "custom_title" | "session_title" | "title" => {
            let title = ["customTitle", "title"]
                .iter()
                .map(|name| word(payload, name))
                .find(|title| !title.is_empty());
            if let Some(title) = title {
                fold.facts().title = Some(title.to_owned());
            }
        }
        known if SILENT.contains(&known) => {}
        other => fold.unknown(&format!("system {other}")),
    }
}

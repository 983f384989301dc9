//! Copilot CLI: `~/.copilot/session-state/<id>/events.jsonl`, an event a line.
//!
//! The identity of a message is that of its event. Events of a helper carry its `agentId`. Tokens come in an event of
//! their own right before the answer that they were used for.

mod write;

use serde_json::{Value, json};

use super::{
    Agent, Fold, Sample, blocks,
    fold::details,
    session_file::{SessionCopy, SessionFile},
    transcript::{Ending, HelperRun, TokenUsage, task_status},
    word,
};
use crate::model::{chat::Role, time::Timestamp};

/// Copilot CLI.
#[derive(Debug)]
pub(super) struct Copilot;

/// Beginnings of event types that are known and hold nothing of the conversation.
const SILENT: &[&str] = &[
    "assistant.idle",
    "assistant.intent",
    "assistant.message_delta",
    "assistant.message_start",
    "assistant.reasoning_delta",
    "assistant.streaming_delta",
    "assistant.turn_",
    "assistant.usage",
    "command.",
    "external_tool.",
    "hook.",
    "mcp.",
    "pending_messages.",
    "permission.",
    "session.",
    "skill.",
    "subagent.configured",
    "subagent.deselected",
    "subagent.selected",
    "system.",
    "tool.execution_partial_result",
    "tool.execution_progress",
    "tool.execution_start",
    "tool.user_requested",
    "user_input.",
];

impl Agent for Copilot {
    fn name(&self) -> &'static str {
        "copilot"
    }

    fn title(&self) -> &'static str {
        "Copilot CLI"
    }

    fn knows(&self, sample: &Sample<'_>) -> bool {
        sample.any(|record| {
            let kind = word(record, "type");
            let ours = [
                "session.start",
                "session.resume",
                "user.message",
                "assistant.message",
                "tool.execution_complete",
            ];
            ours.contains(&kind) && record.get("data").is_some_and(Value::is_object)
        })
    }

    fn take(&self, record: &Value, fold: &mut Fold) {
        let at = fold.time(record.get("timestamp"));
        let data = record.get("data").unwrap_or(&Value::Null);
        let helper = word(record, "agentId");
        if !helper.is_empty() {
            fold.set_helper(helper);
        }
        let id = match word(record, "id") {
            "" => super::derived_id(record),
            id => id.to_owned(),
        };
        match word(record, "type") {
            "session.start" | "session.resume" => start(data, fold),
            "session.title_changed" => {
                if !word(data, "title").is_empty() {
                    fold.facts().title = Some(word(data, "title").to_owned());
                }
            }
            "session.usage_record" => {
                if let Some(used) = data.get("usage") {
                    let new = fold.usage(used.get("apiCallId").and_then(Value::as_str), tokens(used));
                    fold.defer_usage(new);
                }
            }
            "session.compaction_complete" => {
                let facts = details(&[
                    ("tokens_before", data.get("preCompactionTokens")),
                    ("tokens_after", data.get("postCompactionTokens")),
                ]);
                fold.event(&id, at, "compacted", word(data, "summaryContent"), &facts);
            }
            "session.snapshot_rewind" => {
                let to = details(&[("to", data.get("upToEventId").or_else(|| data.get("eventId")))]);
                fold.event(&id, at, "rewound", "", &to);
            }
            "session.error" => {
                fold.event(&id, at, "failed", word(data, "message"), &Value::Null);
                fold.end_turn(Ending::Failed, at);
            }
            "session.todos_changed" => todos(data, fold),
            "user.message" => user(&id, data, at, helper.is_empty(), fold),
            "assistant.message" => assistant(&id, data, at, helper.is_empty(), fold),
            "assistant.reasoning" => {
                fold.say(&id, at, Role::Assistant, vec![blocks::thought(word(data, "content"))]);
            }
            "tool.execution_complete" => result(&id, data, at, fold),
            "subagent.started" => {
                let call = word(data, "toolCallId").to_owned();
                let asked = fold.take_call(&call);
                let own = if helper.is_empty() { call.as_str() } else { helper };
                fold.helper(HelperRun {
                    id: own.to_owned(),
                    turn: None,
                    kind: data.get("agentName").and_then(Value::as_str).map(str::to_owned),
                    title: word(data, "agentDescription").to_owned(),
                    prompt: asked.as_ref().map_or("", |asked| word(asked, "prompt")).to_owned(),
                    result: None,
                    ending: Ending::Open,
                });
                fold.call(&call, json!({ "helper": own }));
            }
            "subagent.completed" | "subagent.failed" if !helper.is_empty() => {
                let failed = word(record, "type") == "subagent.failed";
                let ending = if failed { Ending::Failed } else { Ending::Done };
                fold.update_helper(helper, |run| run.ending = ending);
            }
            "abort" => {
                fold.event(&id, at, "interrupted", word(data, "reason"), &Value::Null);
                fold.end_turn(Ending::Interrupted, at);
            }
            known if SILENT.iter().any(|beginning| known.starts_with(beginning)) => {}
            other => fold.unknown(other),
        }
    }

    fn session_file(&self, copy: &SessionCopy<'_>) -> Result<SessionFile, String> {
        write::session_file(copy)
    }

    fn resume_command<'i>(&self, id: &'i str) -> Vec<&'i str> {
        vec!["copilot", "--resume", id]
    }
}

fn start(data: &Value, fold: &mut Fold) {
    let facts = fold.facts();
    let found = [
        (data.get("sessionId"), &mut facts.id),
        (data.get("copilotVersion"), &mut facts.version),
        (data.pointer("/context/cwd"), &mut facts.directory),
        (data.pointer("/context/branch"), &mut facts.branch),
    ];
    for (value, fact) in found {
        if let Some(text) = value.and_then(Value::as_str) {
            *fact = Some(text.to_owned());
        }
    }
    fold.model(word(data, "selectedModel"));
}

fn tokens(used: &Value) -> TokenUsage {
    let count = |name: &str| used.get(name).and_then(Value::as_u64).unwrap_or(0);
    TokenUsage {
        input: count("inputTokens"),
        cached: count("cacheReadTokens"),
        output: count("outputTokens"),
        reasoning: count("reasoningTokens"),
    }
}

fn user(id: &str, data: &Value, at: Timestamp, is_own: bool, fold: &mut Fold) {
    let mut parts = blocks::of(data.get("content"));
    for attached in data.get("attachments").and_then(Value::as_array).into_iter().flatten() {
        parts.push(attached.clone());
    }
    parts.retain(|part| blocks::as_text(part).is_none_or(|text| !text.is_empty()));
    if is_own {
        fold.begin(id, &blocks::texts(&parts), at);
    }
    fold.say(id, at, Role::User, parts);
}

fn assistant(id: &str, data: &Value, at: Timestamp, is_own: bool, fold: &mut Fold) {
    let mut parts = Vec::new();
    if !word(data, "reasoningText").is_empty() {
        parts.push(blocks::thought(word(data, "reasoningText")));
    }
    if !word(data, "content").is_empty() {
        parts.push(blocks::text(word(data, "content")));
    }
    let calls = data.get("toolRequests").and_then(Value::as_array);
    for call in calls.into_iter().flatten() {
        let id = word(call, "toolCallId");
        // Arguments were JSON in a string before they were an object.
        let input = match call.get("arguments") {
            Some(Value::String(text)) => serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into()),
            Some(input) => input.clone(),
            None => Value::Null,
        };
        parts.push(blocks::call(id, word(call, "name"), &input));
        if word(call, "name") == "task" {
            fold.call(id, json!({ "prompt": word(&input, "prompt") }));
        }
    }
    let model = word(data, "model").to_owned();
    if is_own {
        fold.model(&model);
        let ends = calls.is_none_or(Vec::is_empty);
        fold.end_turn(if ends { Ending::Done } else { Ending::Open }, at);
    }
    if let Some(said) = fold.say(id, at, Role::Assistant, parts)
        && !model.is_empty()
    {
        said.message.meta.insert("model".into(), model.into());
    }
}

fn result(id: &str, data: &Value, at: Timestamp, fold: &mut Fold) {
    let call = word(data, "toolCallId").to_owned();
    let failed = data.get("success") == Some(&Value::Bool(false));
    let content = data
        .pointer("/result/content")
        .or_else(|| data.pointer("/error/message"))
        .or_else(|| data.get("error"))
        .cloned()
        .unwrap_or_else(|| "".into());
    if let Some(known) = fold.take_call(&call)
        && let Some(helper) = known.get("helper").and_then(Value::as_str)
    {
        let text = blocks::texts(&blocks::of(Some(&content)));
        fold.update_helper(helper, |run| {
            run.result = Some(text);
            run.ending = if failed { Ending::Failed } else { Ending::Done };
        });
    }
    fold.say(id, at, Role::Tool, vec![blocks::result(&call, &content, failed)]);
}

fn todos(data: &Value, fold: &mut Fold) {
    let Some(given) = data
        .get("todos")
        .or_else(|| data.get("items"))
        .and_then(Value::as_array)
    else {
        return;
    };
    let list = given.iter().enumerate().map(|(n, todo)| super::TaskItem {
        id: match word(todo, "id") {
            "" => (n + 1).to_string(),
            id => id.to_owned(),
        },
        title: ["title", "content", "text"]
            .iter()
            .map(|name| word(todo, name))
            .find(|title| !title.is_empty())
            .unwrap_or_default()
            .to_owned(),
        status: task_status(word(todo, "status")),
    });
    let list: Vec<_> = list.filter(|task| !task.title.is_empty()).collect();
    fold.tasks(|tasks| *tasks = list);
}

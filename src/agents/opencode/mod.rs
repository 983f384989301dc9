//! OpenCode: what `opencode export` writes, one document with the session, its messages and their parts.

mod write;

use serde_json::Value;

use super::{
    Agent, Fold, Layout, Sample, blocks,
    session_file::{SessionCopy, SessionFile},
    transcript::{Ending, HelperRun, TaskItem, TokenUsage, task_status},
    word,
};
use crate::model::{chat::Role, time::Timestamp};

/// OpenCode.
#[derive(Debug)]
pub(super) struct OpenCode;

impl Agent for OpenCode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn title(&self) -> &'static str {
        "OpenCode"
    }

    fn layout(&self, _: &Sample<'_>) -> Layout {
        Layout::Document
    }

    fn knows(&self, sample: &Sample<'_>) -> bool {
        sample.any(|record| {
            record.pointer("/info/id").is_some()
                && record
                    .get("messages")
                    .and_then(Value::as_array)
                    .is_some_and(|messages| {
                        messages
                            .iter()
                            .all(|message| message.get("parts").is_some() && message.get("info").is_some())
                    })
        })
    }

    fn take(&self, record: &Value, fold: &mut Fold) {
        let info = record.get("info").unwrap_or(&Value::Null);
        fold.time(info.pointer("/time/created"));
        let facts = fold.facts();
        for (name, fact) in [
            ("id", &mut facts.id),
            ("title", &mut facts.title),
            ("directory", &mut facts.directory),
            ("version", &mut facts.version),
            ("parentID", &mut facts.helper_of),
        ] {
            if let Some(text) = info.get(name).and_then(Value::as_str) {
                *fact = Some(text.to_owned());
            }
        }
        for message in record.get("messages").and_then(Value::as_array).into_iter().flatten() {
            fold.release_turn();
            self::message(message, fold);
        }
    }

    fn session_file(&self, copy: &SessionCopy<'_>) -> Result<SessionFile, String> {
        write::session_file(copy)
    }

    fn resume_command<'i>(&self, id: &'i str) -> Vec<&'i str> {
        vec!["opencode", "--session", id]
    }
}

fn message(given: &Value, fold: &mut Fold) {
    let info = given.get("info").unwrap_or(&Value::Null);
    let at = fold.time(info.pointer("/time/created"));
    let id = match word(info, "id") {
        "" => super::derived_id(given),
        id => id.to_owned(),
    };
    let parts = given
        .get("parts")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    match word(info, "role") {
        "user" => user(&id, &parts, at, fold),
        "assistant" => assistant(info, &id, &parts, at, fold),
        other => fold.unknown(&format!("message of {other}")),
    }
}

fn user(id: &str, parts: &[Value], at: Timestamp, fold: &mut Fold) {
    let mut said = Vec::new();
    for part in parts {
        match blocks::kind(part) {
            "text" => {
                let is_set = |name: &str| part.get(name) == Some(&Value::Bool(true));
                let text = unquoted(word(part, "text"));
                if !is_set("synthetic") && !is_set("ignored") && !text.is_empty() {
                    said.push(blocks::text(text));
                }
            }
            "file" => said.push(blocks::image_at(word(part, "url"))),
            "compaction" => fold.event(&format!("{id}:compacted"), at, "compacted", "", &Value::Null),
            "agent" | "subtask" => said.push(part.clone()),
            other => fold.unknown(&format!("part {other}")),
        }
    }
    if said.is_empty() {
        return;
    }
    fold.begin(id, &blocks::texts(&said), at);
    fold.say(id, at, Role::User, said);
}

/// `opencode run` puts a prompt with white space in it into quotes.
fn unquoted(text: &str) -> String {
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inner {
        Some(inner) if inner.contains(char::is_whitespace) && !inner.replace("\\\"", "").contains('"') => {
            inner.replace("\\\"", "\"")
        }
        _ => text.to_owned(),
    }
}

fn assistant(info: &Value, id: &str, parts: &[Value], at: Timestamp, fold: &mut Fold) {
    let parent = word(info, "parentID");
    if !parent.is_empty() && fold.latest_turn().is_some_and(|turn| turn.key != parent) {
        fold.set_turn(parent);
    }
    let mut said = Vec::new();
    let mut results = Vec::new();
    for part in parts {
        match blocks::kind(part) {
            "text" if !word(part, "text").is_empty() => said.push(blocks::text(word(part, "text"))),
            "reasoning" if !word(part, "text").is_empty() => said.push(blocks::thought(word(part, "text"))),
            "tool" => tool(part, &mut said, &mut results, fold),
            "file" => said.push(blocks::image_at(word(part, "url"))),
            "text" | "reasoning" | "step-start" | "step-finish" | "patch" | "snapshot" | "retry" | "agent" => {}
            other => fold.unknown(&format!("part {other}")),
        }
    }
    if info.get("summary") == Some(&Value::Bool(true)) {
        let text = blocks::texts(&said);
        return fold.event(id, at, "compacted", &text, &Value::Null);
    }
    let model = word(info, "modelID").to_owned();
    fold.model(&model);
    let used = info.get("tokens").map(tokens);
    if let Some(used) = used {
        fold.usage(Some(id), used);
        fold.cost(info.get("cost").and_then(Value::as_f64));
    }
    if let Some(message) = fold.say(id, at, Role::Assistant, said) {
        if !model.is_empty() {
            message.message.meta.insert("model".into(), model.into());
        }
        if let Some(used) = used.filter(|used| !used.is_zero()) {
            message.message.meta.insert("usage".into(), used.to_json());
        }
    }
    fold.say(&format!("{id}:results"), at, Role::Tool, results);
    let ended = info
        .pointer("/time/completed")
        .and_then(super::fold::time_of)
        .unwrap_or(at);
    if let Some(error) = info.get("error").filter(|error| !error.is_null()) {
        let stopped = word(error, "name").contains("Abort");
        let text = error
            .pointer("/data/message")
            .and_then(Value::as_str)
            .unwrap_or_else(|| word(error, "name"));
        let (kind, ending) = if stopped {
            ("interrupted", Ending::Interrupted)
        } else {
            ("failed", Ending::Failed)
        };
        fold.event(&format!("{id}:{kind}"), at, kind, text, &Value::Null);
        fold.end_turn(ending, ended);
    } else {
        let open = matches!(word(info, "finish"), "" | "tool-calls" | "unknown");
        fold.end_turn(if open { Ending::Open } else { Ending::Done }, ended);
    }
}

fn tool(part: &Value, said: &mut Vec<Value>, results: &mut Vec<Value>, fold: &mut Fold) {
    let state = part.get("state").unwrap_or(&Value::Null);
    let input = state.get("input").unwrap_or(&Value::Null);
    let (call, name) = (word(part, "callID"), word(part, "tool"));
    said.push(blocks::call(call, name, input));
    let failed = word(state, "status") == "error";
    let output = state.get(if failed { "error" } else { "output" });
    if let Some(output) = output {
        results.push(blocks::result(call, output, failed));
    }
    match name {
        "todowrite" => {
            let Some(given) = input.get("todos").and_then(Value::as_array) else {
                return;
            };
            let list = given.iter().enumerate().map(|(n, todo)| TaskItem {
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
        "task" => {
            let session = ["sessionId", "sessionID"]
                .iter()
                .find_map(|name| state.get("metadata")?.get(*name)?.as_str());
            fold.helper(HelperRun {
                id: session.unwrap_or(call).to_owned(),
                turn: None,
                kind: input.get("subagent_type").and_then(Value::as_str).map(str::to_owned),
                title: word(input, "description").to_owned(),
                prompt: word(input, "prompt").to_owned(),
                result: output.and_then(Value::as_str).map(str::to_owned),
                ending: match word(state, "status") {
                    "completed" => Ending::Done,
                    "error" => Ending::Failed,
                    _ => Ending::Open,
                },
            });
        }
        _ => {}
    }
}

fn tokens(given: &Value) -> TokenUsage {
    let count = |at: &str| given.pointer(at).and_then(Value::as_u64).unwrap_or(0);
    let (cached, reasoning) = (count("/cache/read"), count("/reasoning"));
    TokenUsage {
        input: count("/input")
            .saturating_add(cached)
            .saturating_add(count("/cache/write")),
        cached,
        output: count("/output").saturating_add(reasoning),
        reasoning,
    }
}

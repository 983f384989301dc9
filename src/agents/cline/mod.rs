//! Cline: `<id>.messages.json` of the command line, and `api_conversation_history.json` of the editor.

use serde_json::Value;

use super::{
    Agent, Fold, Layout, Sample, blocks,
    transcript::{Ending, TokenUsage},
};
use crate::model::chat::Role;

/// Cline.
#[derive(Debug)]
pub(super) struct Cline;

impl Agent for Cline {
    fn name(&self) -> &'static str {
        "cline"
    }

    fn title(&self) -> &'static str {
        "Cline"
    }

    fn layout(&self, _: &Sample<'_>) -> Layout {
        Layout::Document
    }

    fn knows(&self, sample: &Sample<'_>) -> bool {
        sample.any(|record| {
            // Other programs write a session id and messages too; the origin is Cline's.
            let command_line = record.get("sessionId").is_some()
                && record.get("origin").is_some_and(Value::is_object)
                && record
                    .get("messages")
                    .and_then(Value::as_array)
                    .is_some_and(|messages| {
                        messages
                            .iter()
                            .all(|message| message.get("role").is_some() && message.get("content").is_some())
                    });
            let editor = record.get(0).is_some_and(|first| {
                let text = blocks::texts(&blocks::of(first.get("content")));
                word(first, "role") == "user" && text.trim_start().starts_with("<task>")
            });
            command_line || editor
        })
    }

    fn take(&self, record: &Value, fold: &mut Fold) {
        if let Some(id) = record.get("sessionId").and_then(Value::as_str) {
            fold.facts().id = Some(id.to_owned());
        }
        if let Some(version) = record.pointer("/origin/version").and_then(Value::as_str) {
            fold.facts().version = Some(version.to_owned());
        }
        let messages = record.get("messages").unwrap_or(record).as_array();
        for (n, given) in messages.into_iter().flatten().enumerate() {
            message(n, given, fold);
        }
    }
}

fn word<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn message(n: usize, given: &Value, fold: &mut Fold) {
    let at = fold.time(given.get("ts"));
    let id = match word(given, "id") {
        // The editor's messages have none; their place does not change.
        "" => format!("{}-{n}", super::derived_id(given)),
        id => id.to_owned(),
    };
    let content = blocks::of(given.get("content"));
    match word(given, "role") {
        "user" => {
            let (results, said): (Vec<Value>, Vec<Value>) = content
                .into_iter()
                .partition(|block| blocks::kind(block) == "tool_result");
            let answers = !results.is_empty();
            fold.say(&id, at, Role::Tool, results);
            let mut typed = Vec::new();
            for block in said {
                match blocks::as_text(&block) {
                    Some(text) => typed.extend(unwrapped(text).map(blocks::text)),
                    None => typed.push(block),
                }
            }
            if typed.is_empty() {
                return;
            }
            let id = if answers { format!("{id}:text") } else { id };
            fold.begin(&id, &blocks::texts(&typed), at);
            fold.say(&id, at, Role::User, typed);
        }
        "assistant" => {
            let calls = content.iter().any(|block| blocks::kind(block) == "tool_use");
            let model = given
                .pointer("/modelInfo/id")
                .and_then(Value::as_str)
                .unwrap_or_default();
            fold.model(model);
            fold.end_turn(if calls { Ending::Open } else { Ending::Done }, at);
            let used = given.get("metrics").map(tokens);
            if let Some(used) = used {
                fold.usage(Some(&id), used);
            }
            if let Some(said) = fold.say(&id, at, Role::Assistant, content) {
                if !model.is_empty() {
                    said.message.meta.insert("model".into(), model.into());
                }
                if let Some(used) = used.filter(|used| !used.is_zero()) {
                    said.message.meta.insert("usage".into(), used.to_json());
                }
            }
        }
        other => fold.unknown(&format!("message of {other}")),
    }
}

/// Text that the person typed: out of the tags around it, without what the program adds; `None` where all is the program's.
fn unwrapped(text: &str) -> Option<&str> {
    let trimmed = text.trim();
    for tag in ["user_input", "task", "feedback", "answer", "user_message"] {
        let inner = trimmed
            .strip_prefix(&format!("<{tag}"))
            .and_then(|rest| rest.split_once('>'))
            .and_then(|(_, rest)| rest.rsplit_once(&format!("</{tag}>")));
        if let Some((inner, _)) = inner {
            return Some(inner.trim_matches('\n'));
        }
    }
    let added = ["<environment_details>", "[TASK RESUMPTION]", "# task_progress"];
    let program = added.iter().any(|tag| trimmed.starts_with(tag)) || trimmed.is_empty();
    // The editor answers a tool in a text that begins with the tool's name in brackets.
    let answer = trimmed.starts_with('[') && trimmed.lines().next().is_some_and(|line| line.ends_with("] Result:"));
    (!program && !answer).then_some(text)
}

fn tokens(given: &Value) -> TokenUsage {
    let count = |name: &str| given.get(name).and_then(Value::as_u64).unwrap_or(0);
    let cached = count("cacheReadTokens");
    TokenUsage {
        input: count("inputTokens")
            .saturating_add(cached)
            .saturating_add(count("cacheWriteTokens")),
        cached,
        output: count("outputTokens"),
        reasoning: 0,
    }
}

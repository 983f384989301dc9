//! Cline: `<id>.messages.json` of the command line, and `api_conversation_history.json` of the editor.

mod text_form;

use serde_json::Value;

use super::{
    Agent, Fold, Layout, Sample, blocks,
    transcript::{Ending, TokenUsage},
    word,
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
            let UserParts { results, typed } = UserParts::of(content, &id);
            let answers = !results.is_empty();
            fold.say(&id, at, Role::Tool, results);
            if typed.is_empty() {
                return;
            }
            let id = if answers { format!("{id}:text") } else { id };
            fold.begin(&id, &blocks::texts(&typed), at);
            fold.say(&id, at, Role::User, typed);
        }
        "assistant" => {
            let content = text_form::answer(content, &id);
            // What ends the work is a tool as well.
            let calls = content
                .iter()
                .any(|block| blocks::kind(block) == "tool_use" && !text_form::ENDS.contains(&word(block, "name")));
            let model = ["/modelInfo/id", "/modelInfo/modelId"]
                .into_iter()
                .find_map(|place| given.pointer(place)?.as_str())
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

/// The parts of a message in the role of the user: results of tools, and words of the person.
#[derive(Debug, Default)]
struct UserParts {
    results: Vec<Value>,
    typed: Vec<Value>,
}

impl UserParts {
    /// Takes a message apart. The editor answers a tool in texts: a head such as `[read_file for 'a'] Result:`, then the
    /// result. What the person said about it is in tags, among the results too.
    fn of(content: Vec<Value>, id: &str) -> Self {
        let mut out = Self::default();
        let mut is_result = false;
        for block in content {
            if blocks::kind(&block) == "tool_result" {
                let words = blocks::of(block.get("content"));
                out.typed.extend(
                    words
                        .iter()
                        .filter_map(blocks::as_text)
                        .filter_map(said_in_tags)
                        .map(blocks::text),
                );
                out.results.push(block);
                continue;
            }
            let Some(text) = blocks::as_text(&block) else {
                out.typed.push(block);
                continue;
            };
            if let Some(words) = said_in_tags(text) {
                out.typed.push(blocks::text(words));
            } else if is_program(text) {
                is_result = false;
            } else if is_result_head(text) || is_result {
                is_result = true;
                let call = format!("{id}:{}", out.results.len());
                out.results.push(blocks::result(&call, &text.into(), false));
            } else {
                out.typed.push(blocks::text(text));
            }
        }
        out
    }
}

/// Words of the person in the tags that the program puts around them.
fn said_in_tags(text: &str) -> Option<&str> {
    let trimmed = text.trim();
    ["user_input", "task", "feedback", "answer", "user_message"]
        .iter()
        .find_map(|tag| {
            let (_, rest) = trimmed
                .strip_prefix(&format!("<{tag}"))
                .filter(|rest| rest.starts_with(['>', ' ']))?
                .split_once('>')?;
            let (inner, _) = rest.rsplit_once(&format!("</{tag}>"))?;
            Some(inner.trim_matches('\n'))
        })
}

/// Whether a text is the program's own.
fn is_program(text: &str) -> bool {
    let trimmed = text.trim();
    let added = ["<environment_details>", "[TASK RESUMPTION]", "# task_progress"];
    trimmed.is_empty() || added.iter().any(|tag| trimmed.starts_with(tag))
}

/// Whether a text begins the result of a tool.
fn is_result_head(text: &str) -> bool {
    let trimmed = text.trim();
    trimmed.starts_with('[') && trimmed.lines().next().is_some_and(|line| line.ends_with("] Result:"))
}

fn tokens(given: &Value) -> TokenUsage {
    // The editor counts in `tokens`: what went in, from a cache or not, and what came out.
    if let Some(inner) = given.get("tokens") {
        let count = |name: &str| inner.get(name).and_then(Value::as_u64).unwrap_or(0);
        return TokenUsage {
            input: count("prompt"),
            cached: count("cached"),
            output: count("completion"),
            reasoning: 0,
        };
    }
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

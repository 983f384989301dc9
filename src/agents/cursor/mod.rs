//! Cursor: `~/.cursor/projects/<slug>/agent-transcripts/<id>/<id>.jsonl`, texts and tool calls without ids and times.

use serde_json::Value;

use super::{Agent, Fold, Sample, blocks, transcript::Ending};
use crate::model::chat::Role;

/// Cursor.
#[derive(Debug)]
pub(super) struct Cursor;

impl Agent for Cursor {
    fn name(&self) -> &'static str {
        "cursor"
    }

    fn title(&self) -> &'static str {
        "Cursor"
    }

    fn knows(&self, sample: &Sample<'_>) -> bool {
        sample.any(|record| {
            record.as_object().is_some_and(|members| members.len() == 2)
                && record.get("role").is_some_and(Value::is_string)
                && record.pointer("/message/content").is_some_and(Value::is_array)
        })
    }

    fn take(&self, record: &Value, fold: &mut Fold) {
        let at = fold.time(record.get("timestamp"));
        let content = blocks::of(record.pointer("/message/content"));
        let role = record.get("role").and_then(Value::as_str).unwrap_or_default();
        if fold.facts().id.is_none() {
            let name = fold.mark("root").map(str::to_owned);
            fold.facts().id = name;
        }
        let id = fold.chained(role, &Value::Array(content.clone()).to_string());
        match role {
            "user" => {
                let typed = content.into_iter().filter_map(|block| match blocks::as_text(&block) {
                    Some(text) => typed(text).map(blocks::text),
                    None => Some(block),
                });
                let typed: Vec<Value> = typed.collect();
                if !typed.is_empty() {
                    fold.begin(&id, &blocks::texts(&typed), at);
                    fold.say(&id, at, Role::User, typed);
                }
            }
            "assistant" => {
                let calls = content.iter().any(|block| blocks::kind(block) == "tool_use");
                fold.end_turn(if calls { Ending::Open } else { Ending::Done }, at);
                fold.say(
                    &id,
                    at,
                    Role::Assistant,
                    content.into_iter().filter_map(shown).collect(),
                );
            }
            "tool" => {
                fold.say(&id, at, Role::Tool, content);
            }
            other => fold.unknown(other),
        }
    }
}

/// The mark that the program leaves where the model's thoughts were.
const LEFT_OUT: &str = "[REDACTED]";

/// A block of an answer without marks of thoughts that the program left out; `None` where nothing else is in it.
fn shown(block: Value) -> Option<Value> {
    let Some(text) = blocks::as_text(&block) else {
        return Some(block);
    };
    let mut rest = text.trim_start();
    if !rest.starts_with(LEFT_OUT) && !rest.trim_end().ends_with(LEFT_OUT) {
        return Some(block);
    }
    while let Some(behind) = rest.strip_prefix(LEFT_OUT) {
        rest = behind.trim_start();
    }
    while let Some(before) = rest.trim_end().strip_suffix(LEFT_OUT) {
        rest = before.trim_end();
    }
    (!rest.is_empty()).then(|| blocks::text(rest))
}

/// The query in its tags, or the text itself; `None` where all of it is the program's.
fn typed(text: &str) -> Option<&str> {
    if let Some((_, rest)) = text.split_once("<user_query>") {
        let inner = rest.split_once("</user_query>").map_or(rest, |(inner, _)| inner);
        return Some(inner.trim_matches('\n'));
    }
    (!text.trim().is_empty()).then_some(text)
}

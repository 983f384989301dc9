//! Pi: `~/.pi/agent/sessions/<slug>/<time>_<id>.jsonl`, a tree of entries.
//!
//! An entry that does not hang on the latest one begins another branch: the person went back in the conversation.

mod write;

use serde_json::{Value, json};

use super::{
    Agent, Fold, Sample, blocks,
    session_file::{SessionCopy, SessionFile},
    transcript::{Ending, TokenUsage},
    word,
};
use crate::model::{chat::Role, time::Timestamp};

/// Pi.
#[derive(Debug)]
pub(super) struct Pi;

impl Agent for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn title(&self) -> &'static str {
        "Pi"
    }

    fn knows(&self, sample: &Sample<'_>) -> bool {
        sample.any(|record| {
            let head =
                word(record, "type") == "session" && record.get("version").is_some() && record.get("cwd").is_some();
            let entry = word(record, "type") == "message"
                && record.get("parentId").is_some()
                && record.pointer("/message/role").is_some();
            head || entry
        })
    }

    fn take(&self, record: &Value, fold: &mut Fold) {
        let at = fold.time(record.get("timestamp"));
        let id = match word(record, "id") {
            "" => super::derived_id(record),
            id => id.to_owned(),
        };
        if word(record, "type") == "session" {
            let facts = fold.facts();
            facts.id = Some(id);
            if !word(record, "cwd").is_empty() {
                facts.directory = Some(word(record, "cwd").to_owned());
            }
            if !word(record, "parentSession").is_empty() {
                facts.forked_from = Some(word(record, "parentSession").to_owned());
            }
            return;
        }
        branch(record, &id, at, fold);
        match word(record, "type") {
            "message" => message(record, &id, at, fold),
            "compaction" => {
                let facts = json!({ "tokens_before": record.get("tokensBefore") });
                fold.event(&id, at, "compacted", word(record, "summary"), &facts);
            }
            "branch_summary" => fold.event(&id, at, "note", word(record, "summary"), &Value::Null),
            "session_info" => {
                if !word(record, "name").is_empty() {
                    fold.facts().title = Some(word(record, "name").to_owned());
                }
            }
            "model_change" => fold.model(word(record, "modelId")),
            "custom" | "custom_message" | "label" | "thinking_level_change" => {}
            other => fold.unknown(other),
        }
    }

    fn session_file(&self, copy: &SessionCopy<'_>) -> Result<SessionFile, String> {
        write::session_file(copy)
    }

    fn resume_command<'i>(&self, id: &'i str) -> Vec<&'i str> {
        vec!["pi", "--session", id]
    }
}

fn branch(record: &Value, id: &str, at: Timestamp, fold: &mut Fold) {
    let parent = word(record, "parentId");
    let latest = fold.mark("latest").unwrap_or_default().to_owned();
    // A copy of the latest entry, or one that begins the tree, is no branch.
    if !parent.is_empty() && !latest.is_empty() && parent != latest && id != latest {
        fold.event(&format!("{id}:rewound"), at, "rewound", "", &json!({ "after": parent }));
    }
    fold.set_mark("latest", id);
}

fn message(record: &Value, id: &str, at: Timestamp, fold: &mut Fold) {
    let Some(given) = record.get("message") else {
        return fold.unknown("message without content");
    };
    match word(given, "role") {
        "user" => {
            let parts = parts(given.get("content"));
            fold.begin(id, &blocks::texts(&parts), at);
            fold.say(id, at, Role::User, parts);
        }
        "assistant" => assistant(given, id, at, fold),
        "toolResult" => {
            let failed = given.get("isError") == Some(&Value::Bool(true));
            let content = blocks::content(parts(given.get("content")));
            let block = blocks::result(word(given, "toolCallId"), &content, failed);
            fold.say(id, at, Role::Tool, vec![block]);
        }
        "bashExecution" => {
            let text = format!("! {}\n{}", word(given, "command"), word(given, "output"));
            fold.event(id, at, "command", text.trim_end(), &Value::Null);
        }
        "system" | "custom" | "branchSummary" | "compactionSummary" => {}
        other => fold.unknown(&format!("message of {other}")),
    }
}

fn parts(content: Option<&Value>) -> Vec<Value> {
    let mut out = Vec::new();
    for part in blocks::of(content) {
        match blocks::kind(&part) {
            "text" if word(&part, "text").is_empty() => {}
            "text" => out.push(blocks::text(word(&part, "text"))),
            "thinking" => out.push(blocks::thought(word(&part, "thinking"))),
            "toolCall" => {
                let input = part.get("arguments").unwrap_or(&Value::Null);
                out.push(blocks::call(word(&part, "id"), word(&part, "name"), input));
            }
            "image" if part.get("data").is_some() => {
                out.push(blocks::image(word(&part, "mimeType"), word(&part, "data")));
            }
            _ => out.push(part),
        }
    }
    out
}

fn assistant(given: &Value, id: &str, at: Timestamp, fold: &mut Fold) {
    let model = word(given, "model").to_owned();
    fold.model(&model);
    let used = given.get("usage").map(tokens);
    let new = used.map(|used| fold.usage(Some(id), used));
    fold.cost(given.pointer("/usage/cost/total").and_then(Value::as_f64));
    if let Some(said) = fold.say(id, at, Role::Assistant, parts(given.get("content"))) {
        if !model.is_empty() {
            said.message.meta.insert("model".into(), model.into());
        }
        if let Some(new) = new.filter(|new| !new.is_zero()) {
            said.message.meta.insert("usage".into(), new.to_json());
        }
    }
    match word(given, "stopReason") {
        "stop" | "length" => fold.end_turn(Ending::Done, at),
        "aborted" => {
            fold.event(
                &format!("{id}:stopped"),
                at,
                "interrupted",
                word(given, "errorMessage"),
                &Value::Null,
            );
            fold.end_turn(Ending::Interrupted, at);
        }
        "error" => {
            fold.event(
                &format!("{id}:failed"),
                at,
                "failed",
                word(given, "errorMessage"),
                &Value::Null,
            );
            fold.end_turn(Ending::Failed, at);
        }
        _ => fold.end_turn(Ending::Open, at),
    }
}

fn tokens(given: &Value) -> TokenUsage {
    let count = |name: &str| given.get(name).and_then(Value::as_u64).unwrap_or(0);
    let cached = count("cacheRead");
    TokenUsage {
        input: count("input")
            .saturating_add(cached)
            .saturating_add(count("cacheWrite")),
        cached,
        output: count("output"),
        reasoning: count("reasoning"),
    }
}

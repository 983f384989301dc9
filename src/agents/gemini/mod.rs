//! Gemini CLI: `~/.gemini/tmp/<project>/chats/session-<time>-<id>.jsonl`, before that one JSON document.
//!
//! A record is a message, a later full copy of one (tools have answered meanwhile), or a patch: `$set`, which on every
//! resume brings all messages again with new times and less in them, and `$rewindTo`. The same id may be that of a
//! message of the model and for the answers of its tools, so an answer goes by the id of its call.

mod write;

use serde_json::{Value, json};

use super::{
    Agent, Fold, Layout, Sample, blocks,
    session_file::{SessionCopy, SessionFile},
    transcript::{Ending, HelperRun, TaskItem, TokenUsage, task_status},
    word,
};
use crate::model::{chat::Role, time::Timestamp};

/// Gemini CLI.
#[derive(Debug)]
pub(super) struct Gemini;

impl Agent for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn title(&self) -> &'static str {
        "Gemini CLI"
    }

    fn layout(&self, sample: &Sample<'_>) -> Layout {
        let whole = match sample.records {
            [only] => only.get("messages").is_some(),
            records => records.is_empty(),
        };
        if whole { Layout::Document } else { Layout::Lines }
    }

    fn knows(&self, sample: &Sample<'_>) -> bool {
        sample.any(|record| {
            let head = record.get("sessionId").is_some() && record.get("projectHash").is_some();
            let is_answer = |message: &Value| word(message, "type") == "gemini" && message.get("id").is_some();
            let said = record.get("messages").and_then(Value::as_array);
            head || is_answer(record)
                || record.get("sessionId").is_some() && said.is_some_and(|all| all.iter().any(is_answer))
        })
    }

    fn take(&self, record: &Value, fold: &mut Fold) {
        if let Some(patch) = record.get("$set") {
            return set(patch, fold);
        }
        if let Some(to) = record.get("$rewindTo").and_then(Value::as_str) {
            let at = fold.time(None);
            let nth = fold.mark("rewinds").and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) + 1;
            fold.set_mark("rewinds", nth.to_string());
            let id = format!("{to}:rewound:{nth}");
            fold.event(&id, at, "rewound", "", &json!({ "to": to }));
            return fold.end_turn(Ending::Done, at);
        }
        if record.get("sessionId").is_some() && record.get("type").is_none() {
            head(record, fold);
            for message in record.get("messages").and_then(Value::as_array).into_iter().flatten() {
                fold.release_turn();
                self::message(message, false, fold);
            }
            return;
        }
        message(record, false, fold);
    }

    fn session_file(&self, copy: &SessionCopy<'_>) -> Result<SessionFile, String> {
        write::session_file(copy)
    }

    fn resume_command<'i>(&self, id: &'i str) -> Vec<&'i str> {
        vec!["gemini", "--resume", id]
    }
}

fn head(record: &Value, fold: &mut Fold) {
    fold.time(record.get("startTime"));
    let facts = fold.facts();
    if !word(record, "sessionId").is_empty() {
        facts.id = Some(word(record, "sessionId").to_owned());
    }
    if !word(record, "summary").is_empty() {
        facts.title = Some(word(record, "summary").to_owned());
    }
    let directories = record.get("directories").and_then(Value::as_array);
    if let Some(directory) = directories.and_then(|all| all.first()).and_then(Value::as_str) {
        facts.directory = Some(directory.to_owned());
    }
}

/// A patch of the head, perhaps with all messages again.
fn set(patch: &Value, fold: &mut Fold) {
    head(patch, fold);
    let mut turn = None;
    for given in patch.get("messages").and_then(Value::as_array).into_iter().flatten() {
        fold.release_turn();
        if is_prompt(given) {
            let id = word(given, "id");
            turn = Some(id.to_owned());
            if fold.latest_turn().is_none() {
                let at = fold.time(given.get("timestamp"));
                fold.begin(id, &blocks::texts(&typed(given)), at);
            }
        }
        if let Some(turn) = &turn
            && fold.latest_turn().is_none_or(|latest| latest.key != *turn)
        {
            fold.set_turn(turn);
        }
        message(given, true, fold);
    }
}

fn is_prompt(given: &Value) -> bool {
    word(given, "type") == "user" && !typed(given).is_empty()
}

fn message(given: &Value, is_copy: bool, fold: &mut Fold) {
    let id = match word(given, "id") {
        "" => super::derived_id(given),
        id => id.to_owned(),
    };
    let at = if is_copy {
        super::fold::time_of(given.get("timestamp").unwrap_or(&Value::Null)).unwrap_or_else(|| fold.time(None))
    } else {
        fold.time(given.get("timestamp"))
    };
    match word(given, "type") {
        "user" => {
            for answer in parts(given.get("content"))
                .iter()
                .filter_map(|part| part.get("functionResponse"))
            {
                // The call's own record has the answer as well, and more of it.
                response(answer, &id, at, true, fold);
            }
            let typed = typed(given);
            if typed.is_empty() {
                return;
            }
            if !is_copy {
                fold.begin(&id, &blocks::texts(&typed), at);
            }
            copy(fold.say(&id, at, Role::User, typed), is_copy);
        }
        "gemini" => model(given, &id, at, is_copy, fold),
        "error" => {
            let text = blocks::texts(&texts(given.get("content")));
            fold.event(&id, at, "failed", &text, &Value::Null);
            fold.end_turn(Ending::Failed, at);
        }
        "info" | "warning" => {
            let text = blocks::texts(&texts(given.get("content")));
            fold.event(&id, at, "note", &text, &Value::Null);
        }
        other => fold.unknown(other),
    }
}

fn copy(said: Option<&mut super::MessageUpdate>, is_copy: bool) {
    if let Some(said) = said {
        said.is_copy = is_copy;
    }
}

/// The parts of a content: one, many, or a bare string.
fn parts(content: Option<&Value>) -> Vec<Value> {
    match content {
        Some(Value::Array(parts)) => parts.clone(),
        Some(Value::String(text)) => vec![json!({ "text": text })],
        Some(Value::Object(_)) => content.cloned().into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The blocks for parts of text and of images.
pub(super) fn texts(content: Option<&Value>) -> Vec<Value> {
    let mut out = Vec::new();
    for part in parts(content) {
        let inline = part.get("inlineData");
        if part.get("thought") == Some(&Value::Bool(true)) {
            if !word(&part, "text").is_empty() {
                out.push(blocks::thought(word(&part, "text")));
            }
        } else if !word(&part, "text").is_empty() {
            out.push(blocks::text(word(&part, "text")));
        } else if part.is_string() {
            out.push(blocks::text(part.as_str().unwrap_or_default()));
        } else if let Some(inline) = inline {
            out.push(blocks::image(word(inline, "mimeType"), word(inline, "data")));
        } else if let Some(file) = part.get("fileData") {
            out.push(blocks::image_at(word(file, "fileUri")));
        }
    }
    out
}

/// Text that the person typed: without the context that the program and its hooks put in.
fn typed(given: &Value) -> Vec<Value> {
    let mut out = Vec::new();
    for block in texts(given.get("content")) {
        let Some(text) = blocks::as_text(&block) else {
            out.push(block);
            continue;
        };
        let text = without_hook_context(text);
        let injected = text.trim_start();
        if !injected.is_empty() && !injected.starts_with("<session_context>") {
            out.push(blocks::text(text));
        }
    }
    out
}

fn without_hook_context(text: &str) -> &str {
    let mut rest = text;
    while let Some((_, behind)) = rest
        .trim_start()
        .strip_prefix("<hook_context>")
        .and_then(|inner| inner.split_once("</hook_context>"))
    {
        rest = behind.trim_start();
    }
    match rest.split_once("\n\n<hook_context>") {
        Some((before, behind)) if behind.trim_end().ends_with("</hook_context>") => before,
        _ => rest,
    }
}

fn model(given: &Value, id: &str, at: Timestamp, is_copy: bool, fold: &mut Fold) {
    let mut said = Vec::new();
    for thought in given.get("thoughts").and_then(Value::as_array).into_iter().flatten() {
        let text = [word(thought, "subject"), word(thought, "description")].join("\n");
        if !text.trim().is_empty() {
            said.push(blocks::thought(text.trim()));
        }
    }
    let text = texts(given.get("content"));
    let answers = !text.is_empty();
    said.extend(text);
    let calls = given
        .get("toolCalls")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    for call in &calls {
        said.push(blocks::call(
            word(call, "id"),
            word(call, "name"),
            call.get("args").unwrap_or(&Value::Null),
        ));
    }
    for called in parts(given.get("content"))
        .iter()
        .filter_map(|part| part.get("functionCall"))
    {
        let id = word(called, "id");
        if !calls.iter().any(|call| word(call, "id") == id) {
            said.push(blocks::call(
                id,
                word(called, "name"),
                called.get("args").unwrap_or(&Value::Null),
            ));
        }
    }
    let used = given.get("tokens").filter(|tokens| tokens.is_object()).map(tokens);
    if !is_copy {
        fold.model(word(given, "model"));
        if let Some(used) = used {
            fold.usage(Some(id), used);
        }
        fold.end_turn(
            if answers && calls.is_empty() {
                Ending::Done
            } else {
                Ending::Open
            },
            at,
        );
    }
    if let Some(message) = fold.say(id, at, Role::Assistant, said) {
        message.is_copy = is_copy;
        let meta = &mut message.message.meta;
        if !word(given, "model").is_empty() {
            meta.insert("model".into(), word(given, "model").into());
        }
        // All of it, not what is new: a later copy is the newer state of the same message.
        if let Some(used) = used.filter(|used| !used.is_zero()) {
            meta.insert("usage".into(), used.to_json());
        }
    }
    for call in &calls {
        if !is_copy {
            meaning(call, fold);
        }
        let failed = !matches!(word(call, "status"), "success" | "");
        let Some(result) = call.get("result").filter(|result| !result.is_null()) else {
            continue;
        };
        let call_id = word(call, "id");
        let mut content = Vec::new();
        for part in parts(Some(result)) {
            match part.get("functionResponse") {
                Some(answer) => content.push(answer_text(answer)),
                None => content.extend(texts(Some(&part))),
            }
        }
        let at = super::fold::time_of(call.get("timestamp").unwrap_or(&Value::Null)).unwrap_or(at);
        let block = blocks::result(call_id, &blocks::content(content), failed);
        copy(fold.say(&result_id(call_id, id), at, Role::Tool, vec![block]), is_copy);
    }
}

fn result_id(call: &str, message: &str) -> String {
    if call.is_empty() {
        format!("{message}:result")
    } else {
        format!("{call}:result")
    }
}

fn response(answer: &Value, message: &str, at: Timestamp, is_copy: bool, fold: &mut Fold) {
    let call = word(answer, "id");
    let failed = answer.pointer("/response/error").is_some();
    let block = blocks::result(call, &blocks::content(vec![answer_text(answer)]), failed);
    copy(
        fold.say(&result_id(call, message), at, Role::Tool, vec![block]),
        is_copy,
    );
}

/// The text of a function's response.
pub(super) fn answer_text(answer: &Value) -> Value {
    let inner = ["output", "error", "content", "result"]
        .iter()
        .find_map(|name| answer.get("response")?.get(*name))
        .or_else(|| answer.get("response"));
    blocks::text(match inner {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    })
}

/// Side effects of a call: the to-do list, a helper.
fn meaning(call: &Value, fold: &mut Fold) {
    let args = call.get("args").unwrap_or(&Value::Null);
    match word(call, "name") {
        "write_todos" if call.get("result").is_some() => {
            let Some(given) = args.get("todos").and_then(Value::as_array) else {
                return;
            };
            let list = given.iter().enumerate().map(|(n, todo)| TaskItem {
                id: (n + 1).to_string(),
                title: word(todo, "description").to_owned(),
                status: task_status(word(todo, "status")),
            });
            let list: Vec<TaskItem> = list.filter(|task| !task.title.is_empty()).collect();
            fold.tasks(|tasks| *tasks = list);
        }
        name if name == "invoke_agent" || call.get("agentId").is_some() => {
            let own = match word(call, "agentId") {
                "" => word(call, "id"),
                id => id,
            };
            let prompt = ["prompt", "objective", "query", "task"]
                .iter()
                .map(|name| word(args, name))
                .find(|text| !text.is_empty());
            let result = call.get("result").map(|result| {
                let parts = parts(Some(result));
                let texts: Vec<Value> = parts
                    .iter()
                    .filter_map(|part| part.get("functionResponse"))
                    .map(answer_text)
                    .collect();
                blocks::texts(&texts)
            });
            fold.helper(HelperRun {
                id: own.to_owned(),
                turn: None,
                kind: Some(match word(args, "agent_name") {
                    "" => name.to_owned(),
                    kind => kind.to_owned(),
                }),
                title: prompt.unwrap_or_default().lines().next().unwrap_or_default().to_owned(),
                prompt: prompt.unwrap_or_default().to_owned(),
                ending: match word(call, "status") {
                    "success" => Ending::Done,
                    "error" => Ending::Failed,
                    "cancelled" => Ending::Interrupted,
                    _ => Ending::Open,
                },
                result,
            });
        }
        _ => {}
    }
}

fn tokens(given: &Value) -> TokenUsage {
    let count = |name: &str| given.get(name).and_then(Value::as_u64).unwrap_or(0);
    let thoughts = count("thoughts");
    TokenUsage {
        input: count("input").saturating_add(count("tool")),
        cached: count("cached"),
        output: count("output").saturating_add(thoughts),
        reasoning: thoughts,
    }
}

//! Claude Code: `~/.claude/projects/<slug>/<session>.jsonl`, and one file a helper in `<session>/subagents/`.
//!
//! One answer is several lines, a part each, that share `message.id` and repeat the answer's tokens; the identity of a
//! line is its `uuid`. Lines form a tree by `parentUuid`, but their order in the file is the order in which they were
//! said, also where a parent is missing or a chain goes in a circle; so the order counts, and the tree does not.

mod write;

use serde_json::{Value, json};

use super::{
    Agent, Fold, Sample, blocks,
    fold::details,
    session_file::{SessionCopy, SessionFile},
    transcript::{Ending, HelperRun, TaskItem, TokenUsage, task_status},
    word,
};
use crate::model::{chat::Role, record::TaskStatus, time::Timestamp};

/// Claude Code.
#[derive(Debug)]
pub(super) struct ClaudeCode;

/// Types of lines that are known and hold nothing of the conversation.
const SILENT: &[&str] = &[
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "atis-latch",
    "cost-state",
    "file-history-snapshot",
    "frame-link",
    "last-prompt",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "relocated",
    "tools-used",
    "worktree-state",
];

/// Tags around texts that a person did not type, though they are in lines of the user.
const INJECTED: &[&str] = &[
    "<system-reminder>",
    "<ide_opened_file>",
    "<ide_selection>",
    "<ide_diagnostics>",
    "<task-notification>",
    "<teammate-message",
    "<user-prompt-submit-hook>",
    "<session-start-hook>",
    "<new-diagnostics>",
];

/// Tags of commands of the program and of the person's own shell, and of their output.
const COMMANDS: &[&str] = &[
    "<command-name>",
    "<command-message>",
    "<command-args>",
    "<local-command-stdout>",
    "<local-command-stderr>",
    "<local-command-caveat>",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
];

/// How the program notes in a line of the user that the person stopped it.
const STOPPED: &str = "[Request interrupted by user";

impl Agent for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn title(&self) -> &'static str {
        "Claude Code"
    }

    fn knows(&self, sample: &Sample<'_>) -> bool {
        sample.any(|record| {
            let talks = matches!(word(record, "type"), "user" | "assistant")
                && record.get("uuid").is_some_and(Value::is_string)
                && record.pointer("/message/role").is_some()
                && record.pointer("/message/parts").is_none();
            let rest = record.get("sessionId").is_some()
                && (SILENT.contains(&word(record, "type")) || word(record, "type") == "attachment");
            talks || rest
        })
    }

    fn take(&self, record: &Value, fold: &mut Fold) {
        let facts = fold.facts();
        for (name, fact) in [
            ("sessionId", &mut facts.id),
            ("cwd", &mut facts.directory),
            ("gitBranch", &mut facts.branch),
            ("version", &mut facts.version),
        ] {
            if let Some(text) = record.get(name).and_then(Value::as_str)
                && !text.is_empty()
            {
                *fact = Some(text.to_owned());
            }
        }
        let at = fold.time(record.get("timestamp"));
        place(record, fold);
        match word(record, "type") {
            "user" => user(record, at, fold),
            "assistant" => assistant(record, at, fold),
            "attachment" => attachment(record, at, fold),
            "system" => system(record, at, fold),
            "compact_boundary" => compacted(record, at, fold),
            "summary" | "ai-title" | "custom-title" | "agent-name" => title(record, fold),
            known if SILENT.contains(&known) => {}
            other => fold.unknown(other),
        }
    }

    fn session_file(&self, copy: &SessionCopy<'_>) -> Result<SessionFile, String> {
        write::session_file(copy)
    }

    fn resume_command<'i>(&self, id: &'i str) -> Vec<&'i str> {
        vec!["claude", "--resume", id]
    }
}

fn is_set(value: &Value, name: &str) -> bool {
    value.get(name) == Some(&Value::Bool(true))
}

/// Notes whose line it is: that of a helper within the file of a session, or of the file's own conversation. In a
/// helper's own file every line is a side chain, and the first line has its name.
fn place(record: &Value, fold: &mut Fold) {
    if !matches!(word(record, "type"), "user" | "assistant") {
        return;
    }
    let helper = if is_set(record, "isSidechain") {
        let id = word(record, "agentId");
        if id.is_empty() { "side chain" } else { id }
    } else {
        ""
    };
    if fold.mark("own").is_none() {
        fold.set_mark("own", helper);
        if !helper.is_empty() {
            let session = fold.facts().id.clone();
            fold.facts().helper_of = session;
        }
    }
    if !helper.is_empty() && fold.mark("own") != Some(helper) {
        fold.set_helper(helper);
    }
}

/// A line without an identity gets one from its content; copies of it have the same.
fn id(record: &Value) -> String {
    let uuid = word(record, "uuid");
    if uuid.is_empty() {
        super::derived_id(record)
    } else {
        uuid.to_owned()
    }
}

fn user(record: &Value, at: Timestamp, fold: &mut Fold) {
    let id = id(record);
    let Some(message) = record.get("message") else {
        return fold.unknown("user without a message");
    };
    let content = blocks::of(message.get("content"));
    if is_set(record, "isCompactSummary") {
        let summary = blocks::texts(&content);
        return fold.event(&id, at, "compacted", &summary, &json!({ "summary": true }));
    }
    if is_set(record, "isMeta") || is_set(record, "isVisibleInTranscriptOnly") {
        return;
    }
    let key = match word(record, "promptId") {
        "" => id.clone(),
        key => key.to_owned(),
    };
    let (results, said): (Vec<Value>, Vec<Value>) = content
        .into_iter()
        .partition(|block| blocks::kind(block) == "tool_result");
    for block in &results {
        result(record, block, fold);
    }
    let has_results = !results.is_empty();
    if has_results {
        let known = fold.latest_turn().is_some_and(|turn| turn.key == key);
        if !word(record, "promptId").is_empty() && !known {
            fold.set_turn(&key);
        }
        fold.say(&id, at, Role::Tool, results);
    }
    // What is said along with results has its own identity.
    let own = |kind: &str| {
        if has_results {
            format!("{id}:{kind}")
        } else {
            id.clone()
        }
    };
    let text = blocks::texts(&said);
    if text.trim_start().starts_with(STOPPED) {
        fold.event(&own("stopped"), at, "interrupted", text.trim(), &Value::Null);
        return fold.end_turn(Ending::Interrupted, at);
    }
    if let Some(command) = command(&text) {
        return fold.event(&own("command"), at, "command", &command, &Value::Null);
    }
    super::notification::take(&text, fold);
    let typed: Vec<Value> = said.into_iter().filter(|block| !is_injected(block)).collect();
    if typed.is_empty() {
        return;
    }
    if !has_results && !is_set(record, "isSidechain") {
        fold.begin(&key, &blocks::texts(&typed), at);
    } else if fold.mark("own").is_some_and(|own| !own.is_empty()) && fold.latest_turn().is_none() {
        // The prompt of a helper, in its own file.
        fold.begin(&key, &blocks::texts(&typed), at);
    }
    fold.say(&own("text"), at, Role::User, typed);
}

fn is_injected(block: &Value) -> bool {
    blocks::as_text(block).is_some_and(|text| {
        let text = text.trim();
        text.is_empty() || INJECTED.iter().any(|tag| text.starts_with(tag))
    })
}

/// A command of the program as the person typed it, or its output; `None` for what is no command.
fn command(text: &str) -> Option<String> {
    let text = text.trim();
    COMMANDS.iter().find(|tag| text.starts_with(**tag))?;
    let part = |tag: &str| {
        let rest = text.split_once(&format!("<{tag}>"))?.1;
        Some(
            rest.split_once(&format!("</{tag}>"))
                .map_or(rest, |(part, _)| part)
                .trim(),
        )
    };
    let name = part("command-name").map(|name| {
        let args = part("command-args").unwrap_or_default();
        format!("{name} {args}").trim().to_owned()
    });
    let shell = part("bash-input").map(|line| format!("! {line}"));
    let outputs = [
        "local-command-stdout",
        "local-command-stderr",
        "bash-stdout",
        "bash-stderr",
    ];
    name.or(shell)
        .or_else(|| {
            let outputs: Vec<&str> = outputs.iter().filter_map(|tag| part(tag)).collect();
            (!outputs.is_empty()).then(|| outputs.join("\n"))
        })
        .or_else(|| Some(text.to_owned()))
}

/// Facts of a tool call's result beyond its text: helpers and the to-do list.
fn result(record: &Value, block: &Value, fold: &mut Fold) {
    let call = word(block, "tool_use_id");
    let failed = is_set(block, "is_error");
    let Some(input) = fold.take_call(call) else { return };
    let given = record.get("toolUseResult").unwrap_or(&Value::Null);
    match word(&input, "tool") {
        "Agent" | "Task" => {
            let text = blocks::texts(&blocks::of(given.get("content").or_else(|| block.get("content"))));
            let in_background = is_set(given, "isAsync") || word(given, "status") == "async_launched";
            let run = HelperRun {
                id: call.to_owned(),
                turn: fold.latest_turn().map(|turn| turn.key.clone()),
                kind: input.get("subagent_type").and_then(Value::as_str).map(str::to_owned),
                title: word(&input, "description").to_owned(),
                prompt: word(&input, "prompt").to_owned(),
                result: (!in_background).then_some(text),
                ending: match (failed, in_background) {
                    (true, _) => Ending::Failed,
                    (false, true) => Ending::Open,
                    (false, false) => Ending::Done,
                },
            };
            if in_background && !failed {
                fold.keep_running(call, &run);
            }
            fold.helper(run);
        }
        "TaskCreate" if !failed => {
            let id = given.pointer("/task/id").map(plain).unwrap_or_default();
            let title = word(&input, "subject").to_owned();
            fold.tasks(|tasks| {
                let id = if id.is_empty() {
                    (tasks.len() + 1).to_string()
                } else {
                    id
                };
                tasks.retain(|task| task.id != id);
                tasks.push(TaskItem {
                    id,
                    title,
                    status: TaskStatus::Todo,
                });
            });
        }
        "TaskUpdate" if !failed => {
            let id = input.get("taskId").map(plain).unwrap_or_default();
            let (title, status) = (word(&input, "subject").to_owned(), word(&input, "status").to_owned());
            fold.tasks(|tasks| {
                if let Some(task) = tasks.iter_mut().find(|task| task.id == id) {
                    if !title.is_empty() {
                        task.title = title;
                    }
                    if !status.is_empty() {
                        task.status = task_status(&status);
                    }
                }
            });
        }
        _ => {}
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn assistant(record: &Value, at: Timestamp, fold: &mut Fold) {
    let id = id(record);
    let Some(message) = record.get("message") else {
        return fold.unknown("assistant without a message");
    };
    let content = blocks::of(message.get("content"));
    let model = word(message, "model");
    if model == "<synthetic>" || is_set(record, "isApiErrorMessage") {
        let text = blocks::texts(&content);
        // Written where a session is resumed without a prompt; the user never saw it.
        if text.trim() == "No response requested." {
            return;
        }
        fold.event(&id, at, "failed", &text, &Value::Null);
        return fold.end_turn(Ending::Failed, at);
    }
    fold.model(model);
    let is_own = !is_set(record, "isSidechain") || fold.mark("own") == Some(word(record, "agentId"));
    for block in content.iter().filter(|block| blocks::kind(block) == "tool_use") {
        let (name, call) = (word(block, "name"), word(block, "id"));
        let input = block.get("input").unwrap_or(&Value::Null);
        if name == "TodoWrite" && is_own {
            todos(input, fold);
        } else if matches!(name, "Agent" | "Task" | "TaskCreate" | "TaskUpdate") {
            let mut kept = input.as_object().cloned().unwrap_or_default();
            kept.insert("tool".into(), name.into());
            if matches!(name, "Agent" | "Task") {
                fold.helper(HelperRun {
                    id: call.to_owned(),
                    turn: None,
                    kind: input.get("subagent_type").and_then(Value::as_str).map(str::to_owned),
                    title: word(input, "description").to_owned(),
                    prompt: word(input, "prompt").to_owned(),
                    result: None,
                    ending: Ending::Open,
                });
            }
            fold.call(call, kept.into());
        }
    }
    if is_own {
        match word(message, "stop_reason") {
            "end_turn" | "stop_sequence" | "max_tokens" | "refusal" => fold.end_turn(Ending::Done, at),
            _ => fold.end_turn(Ending::Open, at),
        }
    }
    let response = format!("{}\n{}", word(message, "id"), word(record, "requestId"));
    let response = (response.len() > 1).then_some(response.as_str());
    let used = message.get("usage").map(usage);
    let new = used.map(|used| fold.usage(response, used));
    let named = message.get("id").filter(|id| id.is_string()).cloned();
    if let Some(said) = fold.say(&id, at, Role::Assistant, content) {
        let meta = &mut said.message.meta;
        if !model.is_empty() {
            meta.insert("model".into(), model.into());
        }
        if let Some(new) = new.filter(|new| !new.is_zero()) {
            meta.insert("usage".into(), new.to_json());
        }
        if let Some(named) = named {
            meta.insert("response".into(), named);
        }
    }
}

fn usage(given: &Value) -> TokenUsage {
    let count = |name: &str| given.get(name).and_then(Value::as_u64).unwrap_or(0);
    let cached = count("cache_read_input_tokens");
    let thinking = given
        .pointer("/output_tokens_details/thinking_tokens")
        .and_then(Value::as_u64);
    TokenUsage {
        input: count("input_tokens")
            .saturating_add(cached)
            .saturating_add(count("cache_creation_input_tokens")),
        cached,
        output: count("output_tokens"),
        reasoning: thinking.unwrap_or(0),
    }
}

fn todos(input: &Value, fold: &mut Fold) {
    let Some(given) = input.get("todos").and_then(Value::as_array) else {
        return;
    };
    let list = given.iter().enumerate().map(|(n, todo)| TaskItem {
        id: todo.get("id").map_or_else(|| (n + 1).to_string(), plain),
        title: word(todo, "content").to_owned(),
        status: task_status(word(todo, "status")),
    });
    let list: Vec<TaskItem> = list.filter(|todo| !todo.title.is_empty()).collect();
    fold.tasks(|tasks| *tasks = list);
}

/// A prompt that was typed while the program worked is only in an attachment.
fn attachment(record: &Value, at: Timestamp, fold: &mut Fold) {
    let Some(given) = record.get("attachment") else {
        return fold.unknown("attachment without content");
    };
    if word(given, "type") != "queued_command" || !matches!(word(given, "commandMode"), "" | "prompt") {
        return;
    }
    let typed: Vec<Value> = blocks::of(given.get("prompt"))
        .into_iter()
        .filter(|block| !is_injected(block))
        .collect();
    if command(&blocks::texts(&typed)).is_none() {
        fold.say(&id(record), at, Role::User, typed);
    }
}

fn system(record: &Value, at: Timestamp, fold: &mut Fold) {
    match word(record, "subtype") {
        "compact_boundary" | "microcompact_boundary" => compacted(record, at, fold),
        "turn_duration" | "stop_hook_summary" if fold.latest_turn().is_some_and(|turn| turn.ending == Ending::Open) => {
            fold.end_turn(Ending::Done, at);
        }
        _ => {}
    }
}

fn compacted(record: &Value, at: Timestamp, fold: &mut Fold) {
    let of = |name: &str| record.pointer(&format!("/compactMetadata/{name}"));
    let facts = details(&[
        ("trigger", of("trigger")),
        ("tokens_before", of("preTokens")),
        ("tokens_after", of("postTokens")),
    ]);
    fold.event(&id(record), at, "compacted", "", &facts);
}

fn title(record: &Value, fold: &mut Fold) {
    // A title by the person stays, whatever the program finds later.
    let by_person = word(record, "type") == "custom-title";
    if fold.mark("titled").is_some() && !by_person {
        return;
    }
    let given = ["customTitle", "aiTitle", "agentName", "title", "summary"]
        .iter()
        .map(|name| word(record, name))
        .find(|title| !title.is_empty());
    if let Some(title) = given {
        fold.facts().title = Some(title.to_owned());
        if by_person {
            fold.set_mark("titled", "1");
        }
    }
}

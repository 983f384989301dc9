//! `checkpoint_save`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Arguments, Tool, ToolCall, ToolResult, arguments, input, published, wrong};
use crate::serve::{CommandFailure, CommandLine};

pub(super) const SAVE: Tool = Tool {
    name: "checkpoint_save",
    title: "Save a checkpoint",
    description: "Save the state of the work: the record (what was done, decided, what comes next) and the exact files. \
                  Changes no file, index, branch or commit. Call it after each finished piece of work and before anything \
                  risky. Give an idempotency_key when the call may be repeated.",
    read_only: false,
    destructive: false,
    idempotent: false,
    input: input::<SaveArguments>,
    output: || published("receipt"),
    call,
};

/// Arguments of `checkpoint_save`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct SaveArguments {
    /// The record. What carries over from the checkpoint before need not be given again.
    record: Option<RecordChange>,
    /// Whether to save the files too; true by default.
    files: Option<bool>,
    /// The session; the current one of the branch by default, which is started if there is none.
    session: Option<String>,
    /// Name of the agent that did the work.
    agent: Option<String>,
    /// A name for the checkpoint, unique in its session: lower-case letters, digits, '.', '_' and '-'.
    name: Option<String>,
    /// Whether the session is put aside afterwards, for another person or for later.
    pause: Option<bool>,
    /// A key of yours for this request: sent again with the same key, it makes no second checkpoint.
    idempotency_key: Option<String>,
}

/// Changes of the record.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
struct RecordChange {
    /// Summary of the session as it stands: one or a few sentences.
    summary: Option<String>,
    /// Next steps, most urgent first; they replace those saved before.
    next_steps: Option<Vec<String>>,
    /// Things achieved since the last checkpoint; they are added.
    accomplishments: Option<Vec<TextOrItem>>,
    /// Decisions with their reasons; they are added.
    decisions: Option<Vec<TextOrItem>>,
    /// Things that stop the work; they are added.
    blockers: Option<Vec<TextOrItem>>,
    /// Questions for the user; they are added.
    questions: Option<Vec<TextOrItem>>,
    /// Reminders; they are added.
    todos: Option<Vec<TextOrItem>>,
    /// Instructions for the next resume; they are added.
    resume_instructions: Option<Vec<TextOrItem>>,
    /// Further members of a record; an unknown one is kept and reported.
    #[serde(flatten)]
    more: Map<String, Value>,
}

/// An item: its text, or an object with `text` and what else it has. An object with the `id` of an existing item
/// changes that one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum TextOrItem {
    /// The text alone.
    Text(String),
    /// The members of the item.
    Item(Map<String, Value>),
}

impl TextOrItem {
    fn value(&self) -> Value {
        match self {
            Self::Text(text) => Value::String(text.clone()),
            Self::Item(members) => Value::Object(members.clone()),
        }
    }
}

fn call(call: &ToolCall<'_>, given: Arguments) -> Result<ToolResult, CommandFailure> {
    let given: SaveArguments = arguments(given)?;
    call.result(line(call.agent(given.agent.as_ref()), &given, given.record_change()?))
}

impl SaveArguments {
    /// The record as the command reads it; `None` if nothing of it is given but the summary and next steps.
    fn record_change(&self) -> Result<Option<Value>, CommandFailure> {
        let Some(record) = &self.record else { return Ok(None) };
        let mut change = record.more.clone();
        for taken in ["summary", "next_steps"] {
            if change.contains_key(taken) {
                return Err(wrong(&format!("'{taken}' has the wrong type")));
            }
        }
        let lists = [
            ("accomplishments", &record.accomplishments),
            ("decisions", &record.decisions),
            ("blockers", &record.blockers),
            ("questions", &record.questions),
            ("todos", &record.todos),
            ("resume_instructions", &record.resume_instructions),
        ];
        for (name, list) in lists {
            if let Some(list) = list.as_ref().filter(|list| !list.is_empty()) {
                let items = list.iter().map(TextOrItem::value);
                change.insert(name.to_owned(), items.collect());
            }
        }
        if record.next_steps.as_ref().is_some_and(Vec::is_empty) {
            change.insert("next_steps".to_owned(), Value::Null);
        }
        Ok((!change.is_empty()).then_some(Value::Object(change)))
    }
}

fn line(agent: Option<&str>, given: &SaveArguments, record: Option<Value>) -> CommandLine {
    let pause = given.pause.unwrap_or_default();
    let parts = given.record.as_ref();
    let line = CommandLine::new(if pause { "pause" } else { "save" })
        .option("message", parts.and_then(|record| record.summary.as_ref()))
        .for_argument("record.summary")
        .each(
            "next-step",
            parts
                .and_then(|record| record.next_steps.as_deref())
                .unwrap_or_default(),
        )
        .for_argument("record.next_steps")
        .flag("no-files", given.files == Some(false))
        .for_argument("files")
        .option("session", given.session.as_ref())
        .option("agent", agent)
        .option("name", given.name.as_ref())
        .option("key", given.idempotency_key.as_ref())
        .for_argument("idempotency_key");
    match record {
        Some(record) => line.option("record", Some("-")).input(record.to_string()),
        None => line,
    }
}

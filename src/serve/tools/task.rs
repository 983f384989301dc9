//! `checkpoint_task`: the tasks of the record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Arguments, Tool, ToolCall, ToolResult, arguments, input, wrong};
use crate::{
    render::{
        draft::{DraftView, ItemList},
        schemas,
    },
    serve::{CommandFailure, CommandLine},
};

pub(super) const TASK: Tool = Tool {
    name: "checkpoint_task",
    title: "Manage tasks",
    description: "Manage the tasks of the session. add: needs title. start, done, block, drop, reopen, edit, remove: need \
                  task. list: all tasks, or the open ones. A change is kept at once and is part of the next \
                  checkpoint_save.",
    read_only: false,
    destructive: false,
    idempotent: false,
    input: input::<TaskArguments>,
    output: schemas::of_type::<TaskResult>,
    call,
};

/// Action of `checkpoint_task`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum TaskAction {
    Add,
    Start,
    Done,
    Block,
    Drop,
    Reopen,
    Edit,
    Remove,
    List,
}

impl TaskAction {
    fn command(self) -> &'static str {
        match self {
            Self::Add => "task add",
            Self::Start => "task start",
            Self::Done => "task done",
            Self::Block => "task block",
            Self::Drop => "task drop",
            Self::Reopen => "task reopen",
            Self::Edit => "task edit",
            Self::Remove => "task remove",
            Self::List => "task list",
        }
    }
}

/// Arguments of `checkpoint_task`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TaskArguments {
    /// The change to make.
    action: TaskAction,
    /// The task: its id, its number in the list, or its title.
    task: Option<String>,
    /// Title, for add and edit.
    title: Option<String>,
    /// An id of yours for a new task; a task that has it is changed instead of added again.
    id: Option<String>,
    /// Who works on it.
    assignee: Option<String>,
    /// The issue in a tracker.
    issue: Option<String>,
    /// Notes, such as the reason.
    notes: Option<String>,
    /// Progress in percent.
    percent: Option<u8>,
    /// Files or directories that it concerns, for add and edit.
    #[serde(default)]
    files: Vec<String>,
    /// Tasks that come first, for add and edit.
    #[serde(default)]
    depends_on: Vec<String>,
    /// Whether to list only open tasks.
    open: Option<bool>,
    /// The session; the current one by default.
    session: Option<String>,
}

/// Result of `checkpoint_task`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "The result of a call of checkpoint_task")]
struct TaskResult {
    /// The action.
    action: TaskAction,
    /// The change, for every action but list.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<DraftView<'static>>")]
    change: Option<Value>,
    /// The tasks, for list.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<ItemList<'static>>")]
    tasks: Option<Value>,
}

fn call(call: &ToolCall<'_>, given: Arguments) -> Result<ToolResult, CommandFailure> {
    let given: TaskArguments = arguments(given)?;
    let (view, warnings) = call.view(line(&given)?)?;
    let (change, tasks) = match given.action {
        TaskAction::List => (None, Some(view)),
        _ => (Some(view), None),
    };
    Ok(ToolResult {
        structured: json!(TaskResult {
            action: given.action,
            change,
            tasks,
        }),
        text: None,
        warnings,
    })
}

fn line(given: &TaskArguments) -> Result<CommandLine, CommandFailure> {
    let line = CommandLine::new(given.action.command()).option("session", given.session.as_ref());
    let details = |line: CommandLine| {
        line.option("agent", given.assignee.as_ref())
            .for_argument("assignee")
            .option("notes", given.notes.as_ref())
            .option("percent", given.percent)
    };
    let task = || match &given.task {
        Some(task) if !task.trim().is_empty() => Ok(task),
        _ => Err(wrong("this action needs 'task'")),
    };
    Ok(match given.action {
        TaskAction::List => line.flag("open", given.open == Some(true)),
        TaskAction::Add if given.id.is_some() => {
            if !given.depends_on.is_empty() {
                return Err(wrong("give 'depends_on' with edit where the task has an id of yours"));
            }
            line.option("json-input", Some("-"))
                .for_argument("id")
                .input(item(given)?.to_string())
        }
        TaskAction::Add => {
            let title = given.title.as_ref().filter(|title| !title.trim().is_empty());
            let title = title.ok_or_else(|| wrong("this action needs 'title'"))?;
            details(line)
                .option("issue", given.issue.as_ref())
                .each("files", &given.files)
                .each("depends-on", &given.depends_on)
                .operands([title])
        }
        TaskAction::Edit if !given.has_details() => {
            return Err(wrong(
                "nothing to change: give 'title', 'assignee', 'issue', 'notes', 'percent', 'files' or 'depends_on'",
            ));
        }
        TaskAction::Edit => details(line)
            .option("title", given.title.as_ref())
            .option("issue", given.issue.as_ref())
            .each("files", &given.files)
            .each("depends-on", &given.depends_on)
            .operands([task()?]),
        TaskAction::Remove => line.operands([task()?]),
        _ => details(line).operands([task()?]),
    })
}

impl TaskArguments {
    /// Whether anything of a task is given.
    fn has_details(&self) -> bool {
        let texts = [&self.title, &self.assignee, &self.issue, &self.notes];
        texts.iter().any(|text| text.is_some())
            || self.percent.is_some()
            || !self.files.is_empty()
            || !self.depends_on.is_empty()
    }
}

/// A task with an id of the caller's own.
fn item(given: &TaskArguments) -> Result<Value, CommandFailure> {
    if given.percent.is_some_and(|percent| percent > 100) {
        return Err(wrong("'percent' is at most 100"));
    }
    let mut item = Map::new();
    let members = [
        ("id", &given.id),
        ("title", &given.title),
        ("agent", &given.assignee),
        ("issue", &given.issue),
        ("notes", &given.notes),
    ];
    for (name, value) in members {
        if let Some(value) = value {
            item.insert(name.to_owned(), value.as_str().into());
        }
    }
    if let Some(percent) = given.percent {
        item.insert("progress".to_owned(), percent.into());
    }
    if !given.files.is_empty() {
        item.insert("files".to_owned(), given.files.clone().into());
    }
    Ok(Value::Object(item))
}

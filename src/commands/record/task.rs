//! `task`: units of work with a status.

use clap::Subcommand;
use serde_json::Value;

use super::{ItemArgs, ItemFields, ItemListArgs, JsonItems, SessionArg, some_text, stored_path};
use crate::{
    commands::{Context, error::CommandError},
    model::{
        item::{id_of, status_word},
        record::TaskStatus,
    },
};

/// Manage tasks and their status
///
/// Tasks are part of the session's record. Changes are recorded immediately and saved with the next checkpoint.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Plan, start and finish a task:
    git checkpoint task add 'port the parser' --agent ana \\
      --issue '#12' --files src/parser
    git checkpoint task start 1
    git checkpoint task done parser
  From a script:
    echo '[{\"title\": \"port the printer\", \"id\": \"T-7\"}]' | \\
      git checkpoint task add --json-input -
    git checkpoint task list --open --json

'task done' saves automatically if checkpoint.saveOn has 'task-complete'.")]
pub(in crate::commands) struct Args {
    #[command(subcommand)]
    action: Option<TaskAction>,
}

#[derive(Debug, Subcommand)]
enum TaskAction {
    /// Add a task
    Add(TaskAddArgs),
    /// Mark a task as in progress
    Start(TaskMoveArgs),
    /// Mark a task as done
    Done(TaskMoveArgs),
    /// Mark a task as blocked
    Block(TaskMoveArgs),
    /// Mark a task as dropped
    Drop(TaskMoveArgs),
    /// Reopen a task
    Reopen(TaskMoveArgs),
    /// Change a task; an empty text removes a detail
    Edit(TaskEditArgs),
    /// List the tasks with their numbers
    List(ItemListArgs),
    /// Remove a task from the record
    Remove(ItemArgs),
}

#[derive(Debug, clap::Args)]
struct TaskAddArgs {
    /// Title of the task
    #[arg(value_name = "TITLE", value_parser = some_text, required_unless_present = "json_input")]
    title: Option<String>,
    #[command(flatten)]
    details: TaskDetails,
    #[command(flatten)]
    given: JsonItems,
    #[command(flatten)]
    whose: SessionArg,
}

#[derive(Debug, clap::Args)]
struct TaskDetails {
    /// The agent or person who works on it
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The issue in a tracker
    #[arg(long, value_name = "ID")]
    issue: Option<String>,
    /// A file or directory that it affects; repeatable
    #[arg(long, visible_alias = "file", value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    files: Vec<String>,
    /// A task that it depends on; repeatable
    #[arg(long, value_name = "ITEM")]
    depends_on: Vec<String>,
    /// Remarks
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    notes: Option<String>,
    /// Progress in percent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=100))]
    percent: Option<u8>,
}

#[derive(Debug, clap::Args)]
struct TaskMoveArgs {
    #[command(flatten)]
    chosen: ItemArgs,
    /// The agent or person who works on it
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Notes, such as the reason
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    notes: Option<String>,
    /// Progress in percent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(0..=100))]
    percent: Option<u8>,
}

#[derive(Debug, clap::Args)]
struct TaskEditArgs {
    #[command(flatten)]
    chosen: ItemArgs,
    /// Title of the task
    #[arg(long, value_name = "TEXT", value_parser = some_text)]
    title: Option<String>,
    #[command(flatten)]
    details: TaskDetails,
}

pub(in crate::commands) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let kind = super::kind("task");
    let (args, status, words) = match args.action {
        None => return super::list(context, &ItemListArgs::default(), kind),
        Some(TaskAction::List(args)) => return super::list(context, &args, kind),
        Some(TaskAction::Remove(chosen)) => return super::remove(context, &chosen, kind, ("removed", "Removed")),
        Some(TaskAction::Add(args)) => {
            let fields = details(context, args.details, &args.whose)?;
            return super::add(context, &args.whose, &args.given, kind, args.title, fields, &[]);
        }
        Some(TaskAction::Edit(args)) => {
            let fields = details(context, args.details, &args.chosen.whose)?.text("title", args.title);
            if fields.0.is_empty() {
                let error = CommandError::new(crate::commands::error::FailureKind::Usage, "nothing to change");
                return Err(error.hint("for example: --title, --agent, --issue, --files, --notes, --percent"));
            }
            return super::change(context, &args.chosen, kind, ("changed", "Changed"), &fields, &[]);
        }
        Some(TaskAction::Start(args)) => (args, TaskStatus::InProgress, ("started", "Started")),
        Some(TaskAction::Done(args)) => (args, TaskStatus::Done, ("done", "Done:")),
        Some(TaskAction::Block(args)) => (args, TaskStatus::Blocked, ("blocked", "Blocked:")),
        Some(TaskAction::Drop(args)) => (args, TaskStatus::Dropped, ("dropped", "Dropped")),
        Some(TaskAction::Reopen(args)) => (args, TaskStatus::Todo, ("reopened", "Reopened")),
    };
    let triggers: &[&str] = if status == TaskStatus::Done {
        &["task-complete"]
    } else {
        &[]
    };
    super::change_each(context, &args.chosen, kind, words, triggers, |item| {
        // A number that was kept ends at the end; none is made up.
        let whole = status == TaskStatus::Done && item["progress"].is_number();
        Ok(ItemFields::default()
            .value("status", Some(status_word(status)))
            .text("agent", args.agent.clone())
            .text("notes", args.notes.clone())
            .value("progress", args.percent.or(whole.then_some(100))))
    })
}

/// The details as members; tasks that come first are looked up.
fn details(context: &mut Context, details: TaskDetails, whose: &SessionArg) -> Result<ItemFields, CommandError> {
    let mut fields = ItemFields::default()
        .text("agent", details.agent)
        .text("issue", details.issue)
        .text("notes", details.notes)
        .value("progress", details.percent);
    if !details.files.is_empty() || !details.depends_on.is_empty() {
        let opened = whose.open(context)?;
        let files = details.files.iter().map(|path| match path.as_str() {
            "" => String::new(),
            path => stored_path(context, &opened, path),
        });
        fields = fields.list("files", files.collect());
        if details.depends_on == [""] {
            fields = fields.list("depends_on", details.depends_on);
        } else if !details.depends_on.is_empty() {
            let now = super::to_change(&opened)?;
            let found = details
                .depends_on
                .iter()
                .map(|text| now.find(super::kind("task"), text));
            let found: Vec<Value> = found.collect::<Result<_, _>>()?;
            let ids: Vec<String> = found.iter().map(|item| id_of(item).to_owned()).collect();
            fields = fields.list("depends_on", ids);
        }
    }
    Ok(fields)
}

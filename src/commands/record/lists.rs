//! `todo`, `instruction` and `memory`: plain lines of text.

use clap::Subcommand;

use super::{ItemArgs, ItemFields, ItemListArgs, JsonItems, SessionArg, some_text};
use crate::{
    commands::{Context, error::CommandError},
    model::item::ItemKind,
};

/// Manage reminders
///
/// Reminders are part of the session's record. Changes are recorded immediately and saved with the next checkpoint.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
    git checkpoint todo add 'tell ops about the new port'
    git checkpoint todo done 1
    git checkpoint todo list --open")]
pub(in crate::commands) struct TodoArgs {
    #[command(subcommand)]
    action: Option<TodoAction>,
}

#[derive(Debug, Subcommand)]
enum TodoAction {
    /// Add a reminder
    Add(AddText),
    /// Mark reminders as done
    Done(ItemArgs),
    /// Reopen reminders
    Reopen(ItemArgs),
    /// List reminders with their numbers
    List(ItemListArgs),
    /// Remove reminders from the record
    Remove(ItemArgs),
}

/// Record instructions for resuming
///
/// Instructions are shown by 'resume', in the order in which they were added.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
    git checkpoint instruction add 'run the migration before the tests'
    git checkpoint instruction list")]
pub(in crate::commands) struct InstructionArgs {
    #[command(subcommand)]
    action: Option<LineAction>,
}

/// Record references to external memory
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
    git checkpoint memory add 'notes/auth.md#token-lifetime'
    git checkpoint memory list")]
pub(in crate::commands) struct MemoryArgs {
    #[command(subcommand)]
    action: Option<LineAction>,
}

#[derive(Debug, Subcommand)]
enum LineAction {
    /// Add an item
    Add(AddText),
    /// List the items with their numbers
    List(ItemListArgs),
    /// Remove items from the record
    Remove(ItemArgs),
}

#[derive(Debug, clap::Args)]
struct AddText {
    /// The text
    #[arg(value_name = "TEXT", value_parser = some_text, required_unless_present = "json_input")]
    text: Option<String>,
    #[command(flatten)]
    given: JsonItems,
    #[command(flatten)]
    whose: SessionArg,
}

pub(in crate::commands) fn todo(args: TodoArgs, context: &mut Context) -> Result<(), CommandError> {
    let kind = super::kind("todo");
    let done = |done: bool| ItemFields::default().value("done", Some(done));
    match args.action {
        None => super::list(context, &ItemListArgs::default(), kind),
        Some(TodoAction::List(args)) => super::list(context, &args, kind),
        Some(TodoAction::Add(args)) => add(context, args, kind),
        Some(TodoAction::Done(chosen)) => super::change(context, &chosen, kind, ("done", "Done:"), &done(true), &[]),
        Some(TodoAction::Reopen(chosen)) => {
            super::change(context, &chosen, kind, ("reopened", "Reopened"), &done(false), &[])
        }
        Some(TodoAction::Remove(chosen)) => super::remove(context, &chosen, kind, ("removed", "Removed")),
    }
}

pub(in crate::commands) fn instruction(args: InstructionArgs, context: &mut Context) -> Result<(), CommandError> {
    line(args.action, super::kind("instruction"), context)
}

pub(in crate::commands) fn memory(args: MemoryArgs, context: &mut Context) -> Result<(), CommandError> {
    line(args.action, super::kind("memory"), context)
}

fn line(action: Option<LineAction>, kind: &'static ItemKind, context: &mut Context) -> Result<(), CommandError> {
    match action {
        None => super::list(context, &ItemListArgs::default(), kind),
        Some(LineAction::List(args)) => super::list(context, &args, kind),
        Some(LineAction::Add(args)) => add(context, args, kind),
        Some(LineAction::Remove(chosen)) => super::remove(context, &chosen, kind, ("removed", "Removed")),
    }
}

fn add(context: &mut Context, args: AddText, kind: &'static ItemKind) -> Result<(), CommandError> {
    super::add(
        context,
        &args.whose,
        &args.given,
        kind,
        args.text,
        ItemFields::default(),
        &[],
    )
}

//! `agent`: what the agent of a session is to be, and what agents did, in their own words.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::json;

use super::{ItemArgs, ItemFields, ItemListArgs, JsonItems, some_text};
use crate::{
    commands::{
        Context, context as texts,
        error::CommandError,
        opening::{self, IdentityArgs},
    },
    ops::{chat, draft},
};

/// Describe the session's agent, and record notes of agents
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Give the session the agent's description, the first part of every request:
    git checkpoint agent describe roles/backend.md
  Record an agent's work:
    git checkpoint agent note 'read all callers; none needs the old form' \\
      --agent claude
    git checkpoint agent list")]
pub(in crate::commands) struct Args {
    #[command(subcommand)]
    action: Option<AgentAction>,
}

#[derive(Debug, Subcommand)]
enum AgentAction {
    /// Replace the description with a file; '-' is standard input, and an empty file removes it
    Describe(DescribeArgs),
    /// Record an agent's work
    Note(AgentNoteArgs),
    /// List the notes
    List(ItemListArgs),
    /// Remove a note from the record
    Remove(ItemArgs),
}

#[derive(Debug, clap::Args)]
struct DescribeArgs {
    #[command(flatten)]
    whom: IdentityArgs,
    /// The file, Markdown
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Debug, clap::Args)]
struct AgentNoteArgs {
    /// Work of the agent
    #[arg(value_name = "TEXT", value_parser = some_text, required_unless_present = "json_input")]
    text: Option<String>,
    #[command(flatten)]
    given: JsonItems,
    #[command(flatten)]
    whom: IdentityArgs,
}

pub(in crate::commands) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let kind = super::kind("agent");
    let note = match args.action {
        None => return super::list(context, &ItemListArgs::default(), kind),
        Some(AgentAction::List(args)) => return super::list(context, &args, kind),
        Some(AgentAction::Remove(chosen)) => return super::remove(context, &chosen, kind, ("removed", "Removed")),
        Some(AgentAction::Describe(args)) => {
            return texts::set(&args.whom, &args.file, chat::AGENT, "the agent description", context);
        }
        Some(AgentAction::Note(note)) => note,
    };
    let opened = opening::open(context, &note.whom)?;
    let agent = draft::by(&opened.scene());
    let fields = ItemFields::default().value("agent", Some(json!(agent)));
    let whose = super::SessionArg {
        session: note.whom.session,
    };
    super::add(context, &whose, &note.given, kind, note.text, fields, &[])
}

//! `agent`: what the agent of a session is to be.

use std::path::PathBuf;

use super::{Context, context, error::CommandError, opened::Whom};
use crate::ops::chat;

/// Describe the agent of the session
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Give the session the agent's description, the first part of every request:
    git checkpoint agent describe roles/backend.md")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Replace the description by a file; '-' is standard input, an empty one removes it
    Describe(Describe),
}

#[derive(Debug, clap::Args)]
struct Describe {
    #[command(flatten)]
    whom: Whom,
    /// The file, Markdown
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(super) fn run(args: Args, to: &mut Context) -> Result<(), CommandError> {
    match args.command {
        Command::Describe(args) => context::set(&args.whom, &args.file, chat::AGENT, "the agent description", to),
    }
}

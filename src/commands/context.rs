//! `context`: what the project is about, kept with the session and part of its requests.

use std::path::PathBuf;

use super::{
    Context,
    error::{CommandError, FailureKind},
    message,
    opening::{self, IdentityArgs},
    redactions,
};
use crate::{
    ops::chat::{self, SessionChat},
    render::messages::{SessionText, TextChange},
};

/// Store the project context
///
/// It is saved as 'context.md' next to the record and is part of every request.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Set and show the context:
    git checkpoint context set docs/context.md
    git checkpoint context show")]
pub(super) struct Args {
    #[command(subcommand)]
    command: ContextCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ContextCommand {
    /// Replace the context with a file; '-' is standard input, and an empty file removes it
    Set(ContextSetArgs),
    /// Show the context
    Show(ContextShowArgs),
}

#[derive(Debug, clap::Args)]
struct ContextSetArgs {
    #[command(flatten)]
    whom: IdentityArgs,
    /// The file, Markdown
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

#[derive(Debug, clap::Args)]
struct ContextShowArgs {
    #[command(flatten)]
    whom: IdentityArgs,
}

/// The most bytes of such a text: 1 MiB, more than any model reads.
const LIMIT: u64 = 1 << 20;

impl Args {
    /// Whether the verb only shows something.
    pub(super) fn only_shows(&self) -> bool {
        match self.command {
            ContextCommand::Set(_) => false,
            ContextCommand::Show(_) => true,
        }
    }
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    match args.command {
        ContextCommand::Set(args) => set(&args.whom, &args.file, chat::CONTEXT, "the context", context),
        ContextCommand::Show(args) => show(&args.whom, chat::CONTEXT, context),
    }
}

/// Replaces one of the texts next to the record by a file.
pub(super) fn set(
    whom: &IdentityArgs,
    file: &std::path::Path,
    name: &str,
    what: &str,
    context: &mut Context,
) -> Result<(), CommandError> {
    let opened = opening::open(context, whom)?;
    let bytes = message::input(context, file, what, LIMIT)?;
    let text = String::from_utf8(bytes).map_err(|_| {
        CommandError::new(
            FailureKind::Invalid,
            format!("{what} in '{}' is not UTF-8", file.display()),
        )
    })?;
    let size = text.len();
    let (session, redactions) = chat::set_text(&message::drafting(&opened), name, text)?;
    redactions::warn(context, &redactions);
    context.ui.report(&SessionText {
        session: &session,
        name,
        text: None,
        change: Some(TextChange {
            bytes: size,
            redactions: redactions.len(),
        }),
    })
}

fn show(whom: &IdentityArgs, name: &str, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, whom)?;
    let scene = opened.scene();
    let chat = SessionChat::open_to_read(&scene)?;
    let text = chat.text(&scene, name)?;
    context.ui.show(&SessionText {
        session: &chat.session,
        name,
        text: text.as_deref(),
        change: None,
    })
}

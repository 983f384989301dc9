//! `note`: a line of the session log.

use super::{ChangeNotice, some_text};
use crate::{
    commands::{
        Context,
        error::{CommandError, FailureKind},
        opening::{self, IdentityArgs},
    },
    ops::draft::{self, DraftChange},
    render::{slot::Slot, text::TextLine},
};

/// Add a line to the session log
///
/// 'git checkpoint log --notes' shows the log.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
    git checkpoint note 'switched to the staging database'
    git checkpoint note --level error 'build server does not answer'
    git checkpoint log --notes")]
pub(in crate::commands) struct Args {
    /// Text of the note
    #[arg(value_name = "TEXT", value_parser = some_text)]
    text: String,
    /// How much it matters
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = ["info", "warn", "error"])]
    level: String,
    #[command(flatten)]
    whom: IdentityArgs,
}

pub(in crate::commands) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    if args.text == "list" {
        return Err(
            CommandError::new(FailureKind::Usage, "'list' looks like a command, not a note")
                .hint("see the notes: git checkpoint log --notes"),
        );
    }
    if args.text == "add" {
        return Err(
            CommandError::new(FailureKind::Usage, "'add' looks like a command, not a note")
                .hint("omit 'add': git checkpoint note <text>"),
        );
    }
    let opened = opening::open(context, &args.whom)?;
    let change = DraftChange::Log {
        level: args.level.clone(),
        message: args.text,
    };
    let appended = draft::append(&opened.scene(), vec![change])?;
    let line = appended.operations.iter().find_map(|operation| operation.log.clone());
    let message = line.as_ref().map(|line| line.message.clone()).unwrap_or_default();
    let mut shown = TextLine::new().with(Slot::Good, "Noted");
    if args.level != "info" {
        shown.push(Slot::Caution, format!(" ({})", args.level));
    }
    shown.push(Slot::Plain, format!(": {message}"));
    let mut told = ChangeNotice::line("noted", shown);
    told.detail.note = line;
    super::report(context, &opened, &appended, told, &[])
}

//! `note`: a line of the session log.

use serde_json::json;

use super::{Told, some_text};
use crate::{
    commands::{
        Context,
        error::{CommandError, Kind},
        opened::{self, Whom},
    },
    ops::draft::{self, Change},
    render::{slot::Slot, text::Line},
};

/// Write a line into the session log
///
/// 'git checkpoint log --notes' shows the log.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
    git checkpoint note 'switched to the staging database'
    git checkpoint note --level error 'build server does not answer'
    git checkpoint log --notes")]
pub(in crate::commands) struct Args {
    /// What happened
    #[arg(value_name = "TEXT", value_parser = some_text)]
    text: String,
    /// How much it matters
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = ["info", "warn", "error"])]
    level: String,
    #[command(flatten)]
    whom: Whom,
}

pub(in crate::commands) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    if args.text == "list" {
        return Err(
            CommandError::new(Kind::Usage, "'list' looks like a command and not like a note")
                .hint("see the notes: git checkpoint log --notes"),
        );
    }
    if args.text == "add" {
        return Err(
            CommandError::new(Kind::Usage, "'add' looks like a command and not like a note")
                .hint("give the text alone: git checkpoint note <text>"),
        );
    }
    let opened = opened::open(context, &args.whom)?;
    let change = Change::Log {
        level: args.level.clone(),
        message: args.text,
    };
    let appended = draft::append(&opened.scene(), vec![change])?;
    let line = appended.operations.iter().find_map(|operation| operation.log.clone());
    let message = line.as_ref().map(|line| line.message.clone()).unwrap_or_default();
    let mut shown = Line::new().with(Slot::Good, "Noted");
    if args.level != "info" {
        shown.push(Slot::Caution, format!(" ({})", args.level));
    }
    shown.push(Slot::Plain, format!(": {message}"));
    let mut told = Told::line("noted", shown);
    told.more = Some(("note", json!(line)));
    super::report(context, &opened, &appended, told, &[])
}

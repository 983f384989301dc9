//! `state`: any JSON that the caller wants kept.

use clap::Subcommand;
use serde_json::{Value, json};

use super::{ChangeNotice, SessionArg};
use crate::{
    commands::{
        Context,
        error::{CommandError, FailureKind as Failure},
    },
    model::{json, patch::RecordEditor},
    ops::{
        self,
        draft::{self, DraftChange},
        items,
    },
    render::{record::StateView, slot::Slot, text::TextLine},
};

/// Store arbitrary JSON
///
/// The state is part of the record and carries over to later checkpoints. Parts of it are JSON pointers, such as
/// /queue/0.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
    git checkpoint state set '{\"queue\": [\"a\", \"b\"], \"turn\": 1}'
    git checkpoint state set 2 --at /turn
    git checkpoint state patch '{\"turn\": 3, \"queue\": null}'
    git checkpoint state get /turn
    produce | git checkpoint state set -")]
pub(in crate::commands) struct Args {
    #[command(subcommand)]
    action: StateAction,
}

#[derive(Debug, Subcommand)]
enum StateAction {
    /// Print the state or a part of it; exits with 1 if there is none
    Get(StateGetArgs),
    /// Replace the state or a part of it
    Set(StateSetArgs),
    /// Apply a JSON merge patch: objects merge, null removes
    Patch(Patch),
}

#[derive(Debug, clap::Args)]
struct StateGetArgs {
    /// A place in it
    #[arg(value_name = "POINTER", value_parser = pointer)]
    at: Option<String>,
    #[command(flatten)]
    whose: SessionArg,
}

#[derive(Debug, clap::Args)]
struct StateSetArgs {
    /// JSON; '-' reads it from standard input
    #[arg(value_name = "JSON", allow_negative_numbers = true)]
    value: String,
    /// Set only this part of the state
    #[arg(long, value_name = "POINTER", value_parser = pointer)]
    at: Option<String>,
    #[command(flatten)]
    whose: SessionArg,
}

#[derive(Debug, clap::Args)]
struct Patch {
    /// JSON; '-' reads it from standard input
    #[arg(value_name = "JSON")]
    patch: String,
    #[command(flatten)]
    whose: SessionArg,
}

fn pointer(text: &str) -> Result<String, String> {
    if text.is_empty() || text.starts_with('/') {
        Ok(text.to_owned())
    } else {
        Err("a JSON pointer begins with '/', such as /queue/0".to_owned())
    }
}

pub(in crate::commands) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    match args.action {
        StateAction::Get(args) => get(context, args),
        StateAction::Set(args) => set(context, args),
        StateAction::Patch(args) => {
            let patch = value(context, &args.patch)?;
            if !patch.is_object() {
                return Err(
                    CommandError::new(Failure::Invalid, "a patch of the state must be a JSON object")
                        .hint("replace it: git checkpoint state set"),
                );
            }
            let opened = args.whose.open(context)?;
            let appended = draft::append(&opened.scene(), vec![DraftChange::Record(json!({ "state": patch }))])?;
            let told = ChangeNotice::line(
                "patched",
                TextLine::new()
                    .with(Slot::Good, "Patched")
                    .with(Slot::Plain, " the state"),
            );
            super::report(context, &opened, &appended, told, &[])
        }
    }
}

fn get(context: &mut Context, args: StateGetArgs) -> Result<(), CommandError> {
    let opened = args.whose.open(context)?;
    let now = items::now(&opened.scene())?;
    let at = args.at.unwrap_or_default();
    let found = now.record.state.as_ref().and_then(|state| state.pointer(&at));
    let view = StateView {
        session: &now.session,
        at: &at,
        found: found.is_some(),
        value: found,
    };
    if context.ui.options().json || view.found {
        context.ui.show(&view)?;
    }
    match found {
        Some(_) => Ok(()),
        None if context.ui.options().json => Err(CommandError::silent(Failure::Negative)),
        None if at.is_empty() => {
            let none = format!("Session {} has no state.", now.session);
            context.ui.status(none);
            Err(CommandError::silent(Failure::Negative))
        }
        None => {
            let message = format!("session '{}' has no state at '{at}'", now.session);
            Err(CommandError::new(Failure::Negative, message))
        }
    }
}

fn set(context: &mut Context, args: StateSetArgs) -> Result<(), CommandError> {
    let value = value(context, &args.value)?;
    let opened = args.whose.open(context)?;
    let at = args.at.unwrap_or_default();
    if !at.is_empty() {
        let record = match items::to_change(&opened.scene()) {
            Ok(now) => now.record,
            Err(error) if error.is_without_session() => crate::model::record::Record::default(),
            Err(error) => return Err(error.into()),
        };
        let mut changing = RecordEditor::new(&record);
        if !changing.put(&at, value.clone()) {
            return Err(
                CommandError::new(Failure::NotFound, format!("the state has nothing at '{at}'"))
                    .hint("see it: git checkpoint state get"),
            );
        }
    }
    let appended = draft::append(&opened.scene(), vec![DraftChange::Put { at, value }])?;
    let told = ChangeNotice::line(
        "set",
        TextLine::new().with(Slot::Good, "Set").with(Slot::Plain, " the state"),
    );
    super::report(context, &opened, &appended, told, &[])
}

fn value(context: &Context, text: &str) -> Result<Value, CommandError> {
    let given;
    let bytes = if text == "-" {
        given = context.ui.read_input("the state", json::INPUT_LIMIT as u64)?;
        &given
    } else {
        text.as_bytes()
    };
    json::parse_input(bytes).map_err(|source| {
        let error = ops::Error::Json {
            what: "the state".to_owned(),
            source,
        };
        CommandError::from(error).hint("text must be quoted JSON: '\"some text\"'")
    })
}

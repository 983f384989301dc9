//! `check` and `iteration`: results of lint, tests and the like, and the turn of the work they belong to.

use clap::Subcommand;
use serde_json::{Value, json};

use super::{ChangeNotice, ItemArgs, ItemFields, ItemListArgs, SessionArg, some_text};
use crate::{
    commands::{
        Context,
        error::{CommandError, FailureKind as Failure},
    },
    model::id::Digest,
    ops::{
        draft::{self, DraftChange},
        items,
    },
    render::{draft::DraftDetail, record::IterationView, slot::Slot, text::TextLine},
};

/// Record the result of a check; the latest of each name counts
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_long_help = "\
Examples:
    git checkpoint check tests fail --text '3 of 214 failed'
    git checkpoint check lint pass
    git checkpoint check list"
)]
pub(in crate::commands) struct Args {
    #[command(subcommand)]
    action: Option<CheckAction>,
    /// Its name, such as 'tests'
    #[arg(value_name = "NAME", requires = "status", value_parser = some_text)]
    name: Option<String>,
    /// 'pass', 'fail' or another word
    #[arg(value_name = "STATUS", value_parser = some_text)]
    status: Option<String>,
    /// Details
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    #[command(flatten)]
    whose: SessionArg,
}

#[derive(Debug, Subcommand)]
enum CheckAction {
    /// List the checks
    List(ItemListArgs),
    /// Remove items from the record
    Remove(ItemArgs),
}

/// Show or set the iteration
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
    git checkpoint iteration next
    git checkpoint iteration 4")]
pub(in crate::commands) struct IterationArgs {
    /// A number, or 'next'
    #[arg(value_name = "N")]
    number: Option<String>,
    #[command(flatten)]
    whose: SessionArg,
}

/// The id of an item that is the only one of its name: the same for every author, so that a later one takes its place
/// without the earlier being looked up. Eight hexadecimal digits of the name's SHA-256.
pub(super) fn id_of_name(name: &str) -> String {
    Digest::of(name.as_bytes()).hex()[..8].to_owned()
}

pub(in crate::commands) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let kind = super::kind("check");
    match args.action {
        Some(CheckAction::List(args)) => return super::list(context, &args, kind),
        Some(CheckAction::Remove(chosen)) => return super::remove(context, &chosen, kind, ("removed", "Removed")),
        None => {}
    }
    let (Some(name), Some(status)) = (args.name, args.status) else {
        return super::list(context, &ItemListArgs::all(args.whose), kind);
    };
    let opened = args.whose.open(context)?;
    // A result without details takes those of the one before away.
    let fields = ItemFields::default()
        .value("id", Some(id_of_name(&name)))
        .value("name", Some(name))
        .value("status", Some(status))
        .text("text", Some(args.text.unwrap_or_default()));
    let appended = items::put(&opened.scene(), kind, vec![Value::Object(fields.0)])?;
    let stored = super::stored(&appended, kind, Vec::new());
    let said = |member: &str| {
        stored
            .first()
            .and_then(|item| item[member].as_str())
            .unwrap_or_default()
    };
    let line = TextLine::plain("Check ")
        .with(Slot::Heading, said("name"))
        .with(Slot::Plain, format!(": {}", said("status")));
    let told = ChangeNotice {
        outcome: "checked",
        lines: vec![line],
        items: Some((kind, stored)),
        former: Vec::new(),
        detail: DraftDetail::default(),
    };
    super::report(context, &opened, &appended, told, &[])
}

pub(in crate::commands) fn iteration(args: IterationArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = args.whose.open(context)?;
    let number = match args.number.as_deref() {
        None => {
            let now = items::now(&opened.scene())?;
            return context.ui.show(&IterationView {
                session: &now.session,
                iteration: now.record.iteration,
            });
        }
        Some("next") => match items::to_change(&opened.scene()) {
            Ok(now) => now.record.iteration.unwrap_or(0).saturating_add(1),
            Err(error) if error.is_without_session() => 1,
            Err(error) => return Err(error.into()),
        },
        Some(number) => number.parse::<u64>().map_err(|_| {
            CommandError::new(Failure::Usage, format!("'{number}' is not a number")).hint("use a number or 'next'")
        })?,
    };
    let appended = draft::append(
        &opened.scene(),
        vec![DraftChange::Record(json!({ "iteration": number }))],
    )?;
    let mut told = ChangeNotice::line("set", TextLine::plain(format!("Iteration {number}")));
    told.detail.iteration = Some(number);
    super::report(context, &opened, &appended, told, &[])
}

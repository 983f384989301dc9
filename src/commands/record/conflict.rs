//! `conflict`: contradictions that a merge left in the record, and their resolution.

use clap::Subcommand;
use serde_json::Value;

use super::{ChangeNotice, ItemListArgs, SessionArg, report};
use crate::{
    commands::{
        Context,
        error::{CommandError, FailureKind as Failure},
    },
    ops::conflict::{self, ConflictChoice},
};

/// List and resolve contradictions that a merge left in the record
///
/// Until a conflict is resolved, the record has the value of the session that was merged into. 'resolve' without a
/// choice keeps the current value.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
    git checkpoint conflict
    git checkpoint conflict resolve 1 --theirs
    git checkpoint conflict resolve tasks/ab12cd34/status --value in_progress
    git checkpoint conflict resolve --all --ours")]
pub(in crate::commands) struct Args {
    #[command(subcommand)]
    action: Option<ConflictAction>,
}

#[derive(Debug, Subcommand)]
enum ConflictAction {
    /// List the items with their numbers
    List(ItemListArgs),
    /// Choose a value
    Resolve(ResolveArgs),
}

#[derive(Debug, clap::Args)]
struct ResolveArgs {
    /// The conflicts, by id, number or path
    #[arg(
        id = "item",
        value_name = "ITEM",
        required_unless_present = "all",
        conflicts_with = "all"
    )]
    items: Vec<String>,
    /// All conflicts
    #[arg(long)]
    all: bool,
    /// Use the value of the session that was merged into
    #[arg(long, group = "choice")]
    ours: bool,
    /// Use the value of the session that was merged in
    #[arg(long, group = "choice")]
    theirs: bool,
    /// Use the value of the common checkpoint
    #[arg(long, group = "choice")]
    base: bool,
    /// Use another value: JSON or text
    #[arg(long, value_name = "VALUE", group = "choice", allow_hyphen_values = true)]
    value: Option<String>,
    #[command(flatten)]
    whose: SessionArg,
}

pub(in crate::commands) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let kind = super::kind("conflict");
    let args = match args.action {
        None => return super::list(context, &ItemListArgs::default(), kind),
        Some(ConflictAction::List(args)) => return super::list(context, &args, kind),
        Some(ConflictAction::Resolve(args)) => args,
    };
    let choice = match (&args.value, args.ours, args.theirs, args.base) {
        (Some(text), ..) => {
            let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()));
            ConflictChoice::Value(value)
        }
        (_, true, ..) => ConflictChoice::Ours,
        (_, _, true, _) => ConflictChoice::Theirs,
        (_, _, _, true) => ConflictChoice::Base,
        _ => ConflictChoice::Current,
    };
    let opened = args.whose.open(context)?;
    let now = super::to_change(&opened)?;
    let found: Vec<Value> = if args.all {
        now.items(kind)
    } else {
        let found: Result<Vec<_>, _> = args.items.iter().map(|text| now.find(kind, text)).collect();
        found?
    };
    if found.is_empty() {
        return Err(CommandError::new(
            Failure::NotFound,
            format!("session '{}' has no conflict", now.session),
        ));
    }
    let resolved = conflict::resolve(&opened.scene(), &now, &found, &choice)?;
    report(
        context,
        &opened,
        &resolved,
        ChangeNotice::items("resolved", "Resolved", kind, found),
        &[],
    )
}

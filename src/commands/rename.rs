//! `rename`: another name for a session.

use serde_json::json;

use super::{
    Context,
    error::CommandError,
    failure,
    opening::{self, IdentityArgs},
};
use crate::{
    model::name::ShortName,
    ops::switch,
    render::{slot::Slot, text::TextLine},
    store::checkpoint::oid,
};

/// Give a session another name; its checkpoints stay as they are
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  The current session:
    git checkpoint rename @ token-service
  Any other:
    git checkpoint rename main-2 auth-refactor")]
pub(super) struct Args {
    /// The session
    session: String,
    /// Its new name
    to: ShortName,
    /// Say what would happen, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let renamed = switch::rename(
        &opened.scene(),
        &failure::selector(&args.session)?,
        &args.to,
        args.dry_run,
    )?;
    let (from, tip) = (renamed.from, renamed.tip);
    failure::warn_aftermath(&context.ui, &renamed.aftermath);
    if context.ui.options().json {
        return context.ui.json(&json!({
            "schema": "git-checkpoint.rename/1",
            "session": args.to,
            "before": from,
            "id": oid(tip),
            "dry_run": args.dry_run,
        }));
    }
    let word = if args.dry_run { "Would rename" } else { "Renamed" };
    let line = TextLine::plain(word)
        .with(Slot::Plain, " session ")
        .with(Slot::Session, from.as_str());
    context
        .ui
        .receipt(line.with(Slot::Plain, " to ").with(Slot::Session, args.to.as_str()));
    Ok(())
}

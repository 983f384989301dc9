//! `switch`: another session becomes current.

use serde_json::json;

use super::{
    Context,
    error::CommandError,
    failure,
    opening::{self, IdentityArgs},
};
use crate::{
    ops::switch,
    render::{slot::Slot, text::TextLine},
};

/// Make another session current on this branch; no file changes
///
/// Each branch has its current session: 'git switch' of another branch makes that one's current, and nothing has to be
/// done here.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Work in another session from now on:
    git checkpoint switch ci-speedup
  And back:
    git checkpoint switch -")]
pub(super) struct Args {
    /// The session; '-' is the one before
    session: String,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let (name, document) = switch::switch(&opened.scene(), &failure::selector(&args.session)?, args.dry_run)?;
    if context.ui.options().json {
        return context.ui.json(&json!({
            "schema": "git-checkpoint.switch/1",
            "session": name,
            "session_id": document.session.id,
            "status": document.session.status,
            "dry_run": args.dry_run,
        }));
    }
    let word = if args.dry_run { "Would switch" } else { "Switched" };
    let line = TextLine::plain(word)
        .with(Slot::Plain, " to session ")
        .with(Slot::Session, name.as_str());
    context
        .ui
        .receipt(line.with(Slot::Plain, format!(", {}", document.session.status.word())));
    if args.dry_run {
        return Ok(());
    }
    context.ui.hint("Switch", "see what changed: git checkpoint resume");
    Ok(())
}

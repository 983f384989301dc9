//! `switch`: another session becomes current.

use serde_json::json;

use super::{
    Context,
    error::CommandError,
    failure,
    opened::{self, Whom},
};
use crate::{
    ops::switch,
    render::{slot::Slot, text::Line},
};

/// Make another session the current one; no file changes
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
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opened::open(context, &Whom::default())?;
    let (name, document) = switch::switch(&opened.scene(), &failure::selector(&args.session)?)?;
    if context.ui.options().json {
        return context.ui.json(&json!({
            "schema": "git-checkpoint.switch/1",
            "session": name,
            "session_id": document.session.id,
            "status": document.session.status,
        }));
    }
    let line = Line::plain("Switched to session ").with(Slot::Session, name.as_str());
    context
        .ui
        .receipt(line.with(Slot::Plain, format!(", {}", document.session.status.word())));
    context.ui.hint("Switch", "see where it stands: git checkpoint resume");
    Ok(())
}

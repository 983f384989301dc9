//! `repair`: a damaged session goes on from its latest whole checkpoint.

use serde_json::json;

use super::{
    Context,
    error::{CommandError, FailureKind},
    opening::{self, IdentityArgs},
};
use crate::{
    model::name::ShortName,
    ops::repair::{self, RepairedSession},
    render::{
        slot::Slot,
        text::{Text, TextLine},
    },
    store::checkpoint::oid,
};

/// Recover a damaged session from its latest intact checkpoint
///
/// Where another tool rewrote the history (git filter-repo, git filter-branch, the BFG), checkpoints are anchored to the
/// commits that it made of them. What is damaged is kept: a readable old tip under refs/checkpoints-trash, an unreadable ref's file in the git directory's
/// checkpoint/quarantine. Intact sessions are left alone. Exits with 1 when a session has no intact checkpoint.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  See what would be done:
    git checkpoint repair --dry-run
  One session:
    git checkpoint repair auth-refactor")]
pub(super) struct Args {
    /// The session; every damaged one by default
    session: Option<ShortName>,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let repaired = repair::repair(&opened.scene(), args.session.as_ref(), args.dry_run)?;
    for session in &repaired {
        super::failure::warn_leftovers(&context.ui, &session.leftovers);
    }
    let hopeless = repaired.iter().any(|session| session.to.is_none());
    if context.ui.options().json {
        let sessions: Vec<_> = repaired.iter().map(json_of).collect();
        context.ui.json(&json!({
            "schema": "git-checkpoint.repair/1",
            "dry_run": args.dry_run,
            "sessions": sessions,
        }))?;
    } else if context.ui.options().quiet == 0 {
        context.ui.data(text(&repaired, args.dry_run));
    }
    if hopeless {
        Err(CommandError::silent(FailureKind::Negative))
    } else {
        Ok(())
    }
}

fn json_of(session: &RepairedSession) -> serde_json::Value {
    json!({
        "session": session.session,
        "before": session.from.map(oid),
        "now": session.to.map(oid),
        "kept": session.kept,
        "anchored": session.anchored,
    })
}

fn text(repaired: &[RepairedSession], dry_run: bool) -> Text {
    let mut text = Text::new();
    if repaired.is_empty() {
        text.push(TextLine::plain("No damage found."));
    }
    for session in repaired {
        let Some(to) = session.to else {
            let line = TextLine::new()
                .with(Slot::Bad, "No intact checkpoint of ")
                .with(Slot::Session, &session.session);
            text.push(line.with(Slot::Plain, "; nothing was done. Fetch it from a clone that has it."));
            continue;
        };
        if session.anchored {
            let verb = if dry_run { "Would anchor " } else { "Anchored " };
            let line = TextLine::plain(verb).with(Slot::Session, &session.session);
            text.push(line.with(Slot::Plain, " to the commits that another tool made of it"));
            continue;
        }
        let verb = if dry_run { "Would set " } else { "Set " };
        let mut line = TextLine::plain(verb).with(Slot::Session, &session.session);
        if let Some(from) = session.from {
            line.push(Slot::Plain, " from ");
            line.push(Slot::Id, oid(from).short());
        }
        line.push(Slot::Plain, " to ");
        line.push(Slot::Id, oid(to).short());
        line.push(Slot::Plain, ", its latest intact checkpoint");
        text.push(line);
        if let Some(kept) = &session.kept {
            text.push(TextLine::plain("  what was there is kept as ").with(Slot::Path, kept));
        }
    }
    text
}

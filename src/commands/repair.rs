//! `repair`: a damaged session continues from its latest intact checkpoint.

use super::{
    Context,
    error::{CommandError, FailureKind},
    opening::{self, IdentityArgs},
    session_word::SessionWord,
};
use crate::{
    ops::repair,
    render::session_change::{RepairReceipt, RepairedRow},
    store::checkpoint::oid,
};

/// Recover a damaged session from its latest intact checkpoint
///
/// If another tool rewrote the history (git filter-repo, git filter-branch, the BFG), checkpoints are anchored to the
/// rewritten commits. Damaged data is kept: a readable old tip under refs/checkpoints-trash, the file of an unreadable
/// ref in the git directory's checkpoint/quarantine. Intact sessions are left alone. Exits with 1 when a session has no
/// intact checkpoint.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  See what would be done:
    git checkpoint repair --dry-run
  One session:
    git checkpoint repair auth-refactor")]
pub(super) struct Args {
    /// The session; every damaged one by default
    session: Option<SessionWord>,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let session = args.session.map(|word| word.resolved(&opened.scene())).transpose()?;
    let repaired = repair::repair(&opened.scene(), session.as_ref(), args.dry_run)?;
    for session in &repaired {
        super::failure::warn_leftovers(&context.ui, &session.leftovers);
    }
    let hopeless = repaired.iter().any(|session| session.to.is_none());
    context.ui.report(&RepairReceipt {
        dry_run: args.dry_run,
        sessions: repaired
            .iter()
            .map(|session| RepairedRow {
                session: &session.session,
                before: session.from.map(oid),
                now: session.to.map(oid),
                kept: session.kept.as_deref(),
                anchored: session.anchored,
            })
            .collect(),
    })?;
    if hopeless {
        Err(CommandError::silent(FailureKind::Negative))
    } else {
        Ok(())
    }
}

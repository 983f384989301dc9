//! `switch`: another session becomes current.

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    opening::{self, IdentityArgs, OpenedRepository},
    picker,
};
use crate::{
    model::{document::SessionStatus, name::ShortName, selector::Selector},
    ops::{
        list::{self, SessionFilter, SessionStanding},
        switch,
    },
    render::session_change::SwitchReceipt,
    store::current,
};

/// Make another session current on this branch; no file changes
///
/// Each branch has its current session: after 'git switch' the session of that branch is the current one without
/// further commands.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Work in another session from now on:
    git checkpoint switch ci-speedup
  Switch back:
    git checkpoint switch -")]
pub(super) struct Args {
    /// The session; '-' is the previous one. A terminal asks if it is missing
    session: Option<String>,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// The session that is picked at the terminal, of those that have not ended.
fn picked(context: &Context, opened: &OpenedRepository) -> Result<Selector, CommandError> {
    let scene = opened.scene();
    let mut rows = list::sessions(&scene, &SessionFilter::default())?;
    rows.retain(|row| {
        let is_open =
            |standing: &SessionStanding| !matches!(standing, SessionStanding::Stated(status) if status.is_finished());
        !row.current && row.tip.as_ref().is_ok_and(|(_, standing)| is_open(standing))
    });
    if rows.is_empty() {
        let error = CommandError::new(FailureKind::NotFound, "there is no other session to switch to");
        return Err(error.hint("start one: git checkpoint start"));
    }
    picker::pick(context, &rows, scene.now, "specify it: git checkpoint switch <session>")
}

/// Warns where a session is current in another working tree of this repository as well.
pub(super) fn warn_other_worktrees(context: &Context, opened: &OpenedRepository, name: &ShortName, id: &str) {
    for root in current::other_worktrees(opened.scene().repo, id) {
        context.ui.warning(&format!(
            "session '{name}' is also current in the working tree '{}'; each saves its own files to it",
            root.display()
        ));
    }
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let selector = match &args.session {
        Some(session) => failure::selector(session)?,
        None => picked(context, &opened)?,
    };
    // What cannot be read is replaced.
    let before = current::read(opened.scene().repo)
        .ok()
        .and_then(|before| before.session);
    let (name, document) = switch::switch(&opened.scene(), &selector, args.dry_run)?;
    context.ui.report(&SwitchReceipt {
        session: &name,
        session_id: &document.session.id,
        status: SessionStatus::Active,
        saved_status: document.session.status,
        was_current: before.is_some_and(|before| before.id == document.session.id),
        dry_run: args.dry_run,
    })?;
    warn_other_worktrees(context, &opened, &name, &document.session.id);
    if args.dry_run {
        return Ok(());
    }
    context.ui.hint("Switch", "see what changed: git checkpoint resume");
    Ok(())
}

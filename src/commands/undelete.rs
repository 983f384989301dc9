//! `undelete`: a session back from the trash.

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    opening::{self, IdentityArgs},
    session_word::SessionWord,
};
use crate::{
    model::step::quoted,
    ops::{Error, undelete},
    render::session_change::UndeleteReceipt,
    store::checkpoint::oid,
};

/// Bring a deleted session back from the trash
///
/// A deleted session stays in the trash until 'git checkpoint prune' empties it; 'git checkpoint list --trash' lists
/// it. Its autosaves come back with it. If another session continues it by now, it comes back as a session of its own.
/// An active session of this branch becomes the current one if there is none.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  List deleted sessions, and bring one back:
    git checkpoint list --trash
    git checkpoint undelete try-winnow
  Under another name, because its own is taken:
    git checkpoint undelete try-winnow --name try-winnow-2")]
pub(super) struct Args {
    /// The session, by name or id
    session: String,
    /// The name it gets
    #[arg(long, value_name = "NAME")]
    name: Option<SessionWord>,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let scene = opened.scene();
    let name = args.name.map(|name| name.new_name(&scene)).transpose()?;
    let undeleted = undelete::undelete(&scene, &args.session, name.as_ref(), args.dry_run);
    let undeleted = undeleted.map_err(|error| match error {
        Error::Exists { ref name } => {
            let (session, other) = (quoted(&args.session), name.numbered(2));
            CommandError::of(FailureKind::Refused, &error).hint(format!(
                "bring it back under another name: git checkpoint undelete {session} --name {other}"
            ))
        }
        error => error.into(),
    })?;
    failure::warn_aftermath(&context.ui, &undeleted.aftermath);
    context.ui.report(&UndeleteReceipt {
        session: &undeleted.name,
        id: oid(undeleted.tip),
        current: undeleted.is_current,
        parted_from: undeleted.twin.as_ref(),
        dry_run: args.dry_run,
    })?;
    if !args.dry_run && !undeleted.is_current {
        context.ui.hint(
            "Undelete",
            &format!("to resume it: git checkpoint resume {}", undeleted.name),
        );
    }
    Ok(())
}

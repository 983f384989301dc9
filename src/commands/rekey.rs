//! `rekey`: a session encrypted anew.

use super::{
    Context,
    error::CommandError,
    opening::{self, IdentityArgs},
    session_word::SessionWord,
};
use crate::{ops::rekey, render::rekey::RekeyView, store::checkpoint::oid};

/// Encrypt a session again, to the current recipients
///
/// After a change of checkpoint.encryptTo, this makes a new checkpoint of the session's current content, encrypted to the
/// recipients that the setting names now. Earlier checkpoints stay unchanged: their recipients can still read them.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Let another person read the session:
    git config --add checkpoint.encryptTo 'ssh-ed25519 AAAA...'
    git checkpoint rekey
  See the recipients first:
    git checkpoint rekey --dry-run")]
pub(super) struct Args {
    /// The session; the current one by default
    session: Option<SessionWord>,
    /// Also encrypt a session that somebody else has claimed
    #[arg(long)]
    force: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let session = args.session.map(|word| word.resolved(&opened.scene())).transpose()?;
    let made = rekey::rekey(&opened.scene(), session.as_ref(), args.force, args.dry_run)?;
    let mut trouble = made.trouble;
    if !args.dry_run {
        trouble.extend(super::share::automatic::after_checkpoint(&opened, &made.session));
    }
    for line in trouble {
        context.ui.warning(&line);
    }
    context.ui.report(&RekeyView {
        session: made.session.as_str(),
        id: oid(made.id),
        digest: &made.digest,
        recipients: &made.recipients,
        dry_run: args.dry_run,
    })
}

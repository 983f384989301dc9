//! `rekey`: a session encrypted anew.

use super::{
    Context,
    error::CommandError,
    opening::{self, IdentityArgs},
};
use crate::{model::name::ShortName, ops::rekey, render::rekey::RekeyView, store::checkpoint::oid};

/// Encrypt a session anew, to the recipients in force
///
/// After checkpoint.encryptTo changed, a new checkpoint is made of what carries on, all of it encrypted to the recipients
/// that are named now. Earlier checkpoints stay as they are: who could read them still can.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Let somebody else read the session:
    git config --add checkpoint.encryptTo 'ssh-ed25519 AAAA...'
    git checkpoint rekey
  See to whom it would be encrypted:
    git checkpoint rekey --dry-run")]
pub(super) struct Args {
    /// The session; the current one by default
    session: Option<ShortName>,
    /// Show the recipients and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let made = rekey::rekey(&opened.scene(), args.session.as_ref(), args.dry_run)?;
    let mut trouble = made.trouble;
    if !args.dry_run {
        trouble.extend(super::share::automatic::after_checkpoint(&opened, &made.session));
    }
    for line in trouble {
        context.ui.warning(&line);
    }
    let view = RekeyView {
        schema: "git-checkpoint.rekey/1",
        session: made.session.as_str(),
        id: oid(made.id),
        digest: &made.digest,
        recipients: &made.recipients,
        dry_run: args.dry_run,
    };
    if context.ui.options().json {
        return context.ui.json(&view);
    }
    context.ui.receipt(view.line());
    Ok(())
}

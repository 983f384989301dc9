//! `delete`, `pin` and `unpin`: the end of sessions, and the checkpoints that stay.

use super::{
    Context,
    error::CommandError,
    failure,
    opening::{self, IdentityArgs},
    session_word, share,
};
use crate::{
    ops::{delete, pin, put_aside},
    render::session_change::{DeletedRow, DeletionReceipt, PinReceipt},
    store::{branches, checkpoint::oid, remote},
};

/// Move a session to the trash
///
/// It stays there until 'git checkpoint prune' empties the trash; 'git checkpoint undo' brings it back. Files, commits
/// and branches of the project are not touched. To remove the working tree of a fork, use 'git checkpoint fork --remove',
/// which saves it first. To remove content permanently, see 'git checkpoint purge'.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Delete a session:
    git checkpoint delete try-winnow
  Bring it back:
    git checkpoint undo
  Delete it on a remote:
    git checkpoint delete --remote origin try-winnow")]
pub(super) struct Args {
    /// The sessions, by name or id
    #[arg(value_name = "SESSION", required = true)]
    selectors: Vec<String>,
    /// Delete them on this remote, as last fetched or pushed; local sessions stay
    #[arg(long, value_name = "REMOTE")]
    remote: Option<String>,
    /// Also delete a session that somebody else has claimed, or one whose latest checkpoint is missing; nothing brings that
    /// one back
    #[arg(long)]
    force: bool,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Protect a checkpoint from pruning
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Keep the state of a release:
    git checkpoint pin auth@released")]
pub(super) struct PinArgs {
    /// The checkpoint; the latest of the current session by default
    #[arg(value_name = "CHECKPOINT", default_value = "@", hide_default_value = true)]
    selector: String,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

/// Remove the protection of a checkpoint
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Let it be pruned again:
    git checkpoint unpin auth@released")]
pub(super) struct UnpinArgs {
    /// The checkpoint; the latest of the current session by default
    #[arg(value_name = "CHECKPOINT", default_value = "@", hide_default_value = true)]
    selector: String,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    if let Some(remote) = &args.remote {
        return share::remove::run(remote, &args.selectors, (args.force, args.dry_run), context, &opened);
    }
    let selectors = args
        .selectors
        .iter()
        .map(|selector| failure::selector(selector))
        .collect::<Result<Vec<_>, _>>()?;
    for selector in &selectors {
        session_word::refuse_branch(&opened.scene(), selector, ("delete", true))?;
    }
    let deletion = delete::delete(&opened.scene(), &selectors, args.force, args.dry_run).map_err(|error| {
        let error = CommandError::from(error);
        let remote = args.selectors.iter().find_map(|word| {
            let (remote, session) = word.split_once('/')?;
            remote::find(opened.scene().repo, remote).map(|_| (remote, session))
        });
        match remote {
            Some((remote, session)) => error.hint(format!(
                "to delete it on the remote: git checkpoint delete --remote {remote} {session}"
            )),
            None => error,
        }
    })?;
    failure::warn_aftermath(&context.ui, &deletion.aftermath);
    let branches = deletion.sessions.iter().map(|session| session.branch.as_deref());
    let kept = branches.map(|branch| branch.map(|branch| branches::deletion(opened.scene().repo, branch)));
    let kept: Vec<_> = kept.collect();
    context.ui.report(&DeletionReceipt {
        dry_run: args.dry_run,
        deleted: deletion
            .sessions
            .iter()
            .zip(&kept)
            .map(|(session, kept)| DeletedRow {
                session: &session.name,
                id: oid(session.tip),
                checkpoints: session.checkpoints,
                trash: &session.trash,
                branch: session.branch.as_deref(),
                is_unmerged: kept.is_some_and(|kept| kept.is_refused),
                only_there: kept.map_or(0, |kept| kept.only_there),
            })
            .collect(),
        damaged: deletion.damaged.iter().map(|(name, _)| name.as_str()).collect(),
    })?;
    for (name, kept) in &deletion.damaged {
        if let Some(kept) = kept {
            context
                .ui
                .note(&format!("the file of the ref of '{name}' is kept as {kept}"));
        }
    }
    for session in &deletion.sessions {
        let aside = put_aside::remaining(&opened.scene(), session.tip, session.name.as_str()).unwrap_or_default();
        if let Some(latest) = aside.first() {
            let (id, name) = (latest.id.short(), &session.name);
            context.ui.warning(&format!(
                "session '{name}' has work that is put aside ({id}); emptying the trash removes it"
            ));
        }
    }
    Ok(())
}

pub(super) fn pin(args: PinArgs, context: &mut Context) -> Result<(), CommandError> {
    set(&args.selector, true, args.dry_run, context)
}

pub(super) fn unpin(args: UnpinArgs, context: &mut Context) -> Result<(), CommandError> {
    set(&args.selector, false, args.dry_run, context)
}

fn set(selector: &str, pinned: bool, dry_run: bool, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let found = pin::pin(&opened.scene(), &failure::selector(selector)?, pinned, dry_run)?;
    context.ui.report(&PinReceipt {
        id: oid(found.id),
        digest: &found.digest,
        session: found.session.as_ref(),
        pinned,
        changed: found.changed,
        dry_run,
    })
}

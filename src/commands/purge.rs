//! `purge`: content removed for good.

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    opening::{self, IdentityArgs},
    pathspecs::Pathspecs,
    restore::directory,
};
use crate::{
    model::path::RepoPath,
    ops::purge::{self, PurgeOutcome, PurgeRequest, PurgeScope, PurgeTarget},
    render::purge::{COLLECT, PurgeReceipt, PurgedPath, PurgedRef, RemoteSession},
};

/// Permanently remove files, a checkpoint or a session from all checkpoints
///
/// For a saved password, or a file that is too large. Rewrites the checkpoints that have it, and removes it from
/// autosaves, undo lists, trash and reflogs. There is no undo. The working tree, and the project's own commits, index
/// and stash, are not touched; it is reported if they have it too.
///
/// Files are removed by path from all checkpoints, since later ones may have the same content. Text in a record, a chat
/// or the output of steps carries over, and is removed only with the whole session.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "\
git checkpoint purge [OPTIONS] <CHECKPOINT>
       git checkpoint purge [OPTIONS] -- <PATHSPEC>...",
    after_long_help = "\
Examples:
  A file with a password, from every checkpoint of every session:
    git checkpoint purge -- config/production.env
    git gc --prune=now
  Show what that would change:
    git checkpoint purge --dry-run -- config/production.env
  One checkpoint; those after it stay:
    git checkpoint purge auth~2
  A whole session, from a script:
    git checkpoint purge auth --yes"
)]
pub(super) struct Args {
    /// A session by its name, or a checkpoint
    #[arg(
        value_name = "CHECKPOINT",
        required_unless_present_any = ["pathspecs", "pathspec_from_file"],
        conflicts_with_all = ["pathspecs", "pathspec_from_file"]
    )]
    selector: Option<String>,
    #[command(flatten)]
    pathspecs: Pathspecs,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long, visible_alias = "force")]
    yes: bool,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let what = match &args.selector {
        Some(selector) => PurgeTarget::Selected(failure::selector(selector)?),
        None => PurgeTarget::Paths {
            specs: args.pathspecs.bytes(context)?.into_iter().map(RepoPath::new).collect(),
            directory: directory(context, &opened)?,
        },
    };
    let request = |dry_run| PurgeRequest {
        what: what.clone(),
        dry_run,
    };
    let scene = opened.scene();
    if !args.dry_run && purge::finish(&scene)? {
        context.ui.warning("finished a purge that was interrupted");
        if args.selector.is_some() {
            // What was meant may have been this very one, and now the selector means another.
            context.ui.hint(
                "Purge",
                "check the result, and repeat the command if there is more to purge",
            );
            return Ok(());
        }
    }
    let planned = purge::purge(&scene, &request(true)).map_err(|error| is_a_file(error, &args, context))?;
    if args.dry_run || planned.is_empty() {
        return report(context, &planned);
    }
    if !args.yes && !context.ui.confirm(&view(&planned).question(), "--yes")? {
        return Err(CommandError::new(FailureKind::Negative, "nothing was removed"));
    }
    let purged = {
        let _counting = context.ui.counting("Purging");
        purge::purge(&scene, &request(false))?
    };
    report(context, &purged)
}

/// A selector that names nothing may be a file that was given without `--`.
fn is_a_file(error: crate::ops::Error, args: &Args, context: &Context) -> CommandError {
    let not_found = matches!(
        error,
        crate::ops::Error::NotFound { .. } | crate::ops::Error::Selector(_)
    );
    let out = CommandError::from(error);
    match &args.selector {
        Some(name) if not_found && context.env.cwd.join(name).symlink_metadata().is_ok() => out.hint(format!(
            "to purge the file of this name: git checkpoint purge -- {name}"
        )),
        _ => out,
    }
}

fn report(context: &mut Context, purged: &PurgeOutcome) -> Result<(), CommandError> {
    let receipt = view(purged);
    context.ui.report(&receipt)?;
    if !purged.on_disk.is_empty() && !purged.is_empty() {
        context.ui.hint(
            "Purge",
            "keep files out of checkpoints with .gitignore, or with .checkpointignore",
        );
    }
    Ok(())
}

fn view(purged: &PurgeOutcome) -> PurgeReceipt<'_> {
    let (of, subject) = match &purged.meant {
        PurgeScope::Paths => ("files", None),
        PurgeScope::Checkpoint { id, .. } => ("checkpoint", Some(id.short().to_owned())),
        PurgeScope::Session { name } => ("session", Some(name.to_string())),
    };
    let remote = |on: &purge::OnRemote| {
        let name = format!("refs/checkpoints/{}", on.session);
        if of == "session" {
            format!("git push {} --delete {name}", on.remote)
        } else {
            format!("git push --force {} {name}", on.remote)
        }
    };
    PurgeReceipt {
        outcome: match (purged.is_empty(), purged.dry_run) {
            (true, _) => "nothing",
            (false, true) => "planned",
            (false, false) => "purged",
        },
        of,
        subject,
        paths: purged
            .paths
            .iter()
            .map(|(path, contents)| PurgedPath {
                path,
                contents: contents.iter().collect(),
            })
            .collect(),
        attachments: &purged.attachments,
        alike: &purged.alike,
        carried: purged.carried,
        rewritten: purged.rewritten,
        dropped: purged.dropped,
        refs: purged
            .refs
            .iter()
            .map(|moved| PurgedRef {
                name: &moved.name,
                old: &moved.old,
                new: moved.new.as_ref(),
            })
            .collect(),
        reflogs: &purged.logs,
        undo_forgotten: purged.forgotten,
        remotes: purged
            .remotes
            .iter()
            .map(|on| RemoteSession {
                remote: &on.remote,
                session: &on.session,
                command: remote(on),
            })
            .collect(),
        forks: purged.forks.iter().map(crate::model::name::ShortName::as_str).collect(),
        still_held: &purged.still_held,
        on_disk: &purged.on_disk,
        collect: (!purged.is_empty()).then_some(COLLECT),
    }
}

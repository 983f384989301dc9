//! `purge`: content removed for good.

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    opening::{self, IdentityArgs},
    pathspecs::Pathspecs,
    share,
};
use crate::{
    model::path::RepoPath,
    ops::{
        purge::{self, PurgeOutcome, PurgeRequest, PurgeScope, PurgeTarget},
        share::{
            fetch::{self, FetchRequest},
            push,
        },
    },
    render::purge::{COLLECT, PurgeReceipt, PurgedPath, PurgedRef, RemoteSession},
    store,
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
    /// Remove it on remotes as well, which are asked for their sessions first
    #[arg(long, conflicts_with = "dry_run")]
    remote: bool,
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
            directory: opening::directory(context, &opened)?,
        },
    };
    let request = |dry_run| PurgeRequest {
        what: what.clone(),
        dry_run,
    };
    let scene = opened.scene();
    let mut unasked = Vec::new();
    if args.remote {
        unasked = ask_remotes(context, &opened);
    }
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
    let planned = purge::purge(&scene, &request(true))
        .map_err(|error| is_a_file(args.pathspecs.as_given(error), &args, context))?;
    if args.dry_run || planned.is_empty() {
        report(context, &opened, &planned, &[])?;
        if planned.is_empty() && !args.remote && !store::remote::all(scene.repo).is_empty() {
            let then = "remotes were not asked: git checkpoint purge --remote, with the same arguments";
            context.ui.hint("Purge", then);
        }
        return unasked.into_iter().next().map_or(Ok(()), Err);
    }
    if !args.yes && !context.ui.confirm(&view(&opened, &planned, &[]).question(), "--yes")? {
        return Err(CommandError::new(FailureKind::Negative, "nothing was removed"));
    }
    let purged = {
        let _counting = context.ui.counting("Purging");
        purge::purge(&scene, &request(false))?
    };
    let done = if args.remote {
        at_remotes(context, &opened, &purged)
    } else {
        Vec::new()
    };
    report(context, &opened, &purged, &done)?;
    unasked.into_iter().next().map_or(Ok(()), Err)
}

/// Asks the remotes for their sessions, so that what they have is purged too, whatever was last seen of them. The errors of those that
/// did not answer.
fn ask_remotes(context: &Context, opened: &opening::OpenedRepository) -> Vec<CommandError> {
    let mut unasked = Vec::new();
    for remote in store::remote::all(opened.scene().repo) {
        let request = FetchRequest {
            remote: Some(remote.name.clone()),
            session: None,
            only: None,
            since: None,
            accept: false,
            dry_run: false,
        };
        let asked = share::wired(context, "git checkpoint purge --remote", |wire| {
            fetch::fetch(&opened.scene(), &request, wire)
        });
        if let Err(error) = asked {
            context.ui.warning(&format!(
                "remote '{}' was not asked: {}",
                remote.name.escape_debug(),
                error.message()
            ));
            unasked.push(CommandError::silent(FailureKind::Negative));
        }
    }
    unasked
}

/// Lets the remotes forget what was purged; which of them did.
fn at_remotes(context: &Context, opened: &opening::OpenedRepository, purged: &PurgeOutcome) -> Vec<purge::OnRemote> {
    let mut done = Vec::new();
    for on in &purged.remotes {
        let full = format!("refs/checkpoints-remote/{}/{}", on.remote, on.session);
        let Some(moved) = purged.refs.iter().find(|moved| moved.name == full) else {
            continue;
        };
        let there = push::PurgedAtRemote {
            remote: on.remote.clone(),
            session: on.session.clone(),
            tip: moved.old.clone(),
        };
        let result = share::wired(context, "git checkpoint purge --remote", |wire| {
            push::purge_there(&opened.scene(), &there, wire)
        });
        match result {
            Ok(()) => done.push(on.clone()),
            Err(error) => context.ui.error(&error),
        }
    }
    done
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

fn report(
    context: &mut Context,
    opened: &opening::OpenedRepository,
    purged: &PurgeOutcome,
    done: &[purge::OnRemote],
) -> Result<(), CommandError> {
    let receipt = view(opened, purged, done);
    context.ui.report(&receipt)?;
    if !done.is_empty() {
        context.ui.warning(
            "a server keeps the objects until it collects garbage; hosts do that on request, and clones of others keep what \
             they fetched",
        );
    }
    if !purged.on_disk.is_empty() && !purged.is_empty() {
        context.ui.hint(
            "Purge",
            "keep files out of checkpoints with .gitignore, or with .checkpointignore",
        );
    }
    Ok(())
}

fn view<'p>(
    opened: &opening::OpenedRepository,
    purged: &'p PurgeOutcome,
    done: &[purge::OnRemote],
) -> PurgeReceipt<'p> {
    let (of, subject) = match &purged.meant {
        PurgeScope::Paths => ("files", None),
        PurgeScope::Checkpoint { id, .. } => ("checkpoint", Some(id.short().to_owned())),
        PurgeScope::Session { name } => ("session", Some(name.to_string())),
    };
    let remote = |on: &purge::OnRemote| {
        let (remote, there) = push::place(&opened.scene(), &on.remote, &on.session);
        if of == "session" {
            format!("git push {remote} --delete {there}")
        } else {
            format!("git push --force {remote} refs/checkpoints/{}:{there}", on.session)
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
                removed: done.contains(on),
            })
            .collect(),
        forks: purged.forks.iter().map(crate::model::name::ShortName::as_str).collect(),
        still_held: &purged.still_held,
        on_disk: &purged.on_disk,
        collect: (!purged.is_empty()).then_some(COLLECT),
    }
}

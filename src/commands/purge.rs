//! `purge`: content removed for good.

use std::collections::BTreeMap;

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    opening::{self, IdentityArgs},
    pathspecs::Pathspecs,
    session_word, share,
};
use crate::{
    model::{path::RepoPath, step::quoted},
    ops::{
        purge::{self, PurgeOutcome, PurgeRequest, PurgeScope, PurgeTarget},
        share::{
            fetch::{self, FetchRequest, RemoteChange},
            push::{self, PurgedAtRemote},
        },
    },
    render::{
        count::CountedNoun,
        purge::{COLLECT, PurgeReceipt, PurgedPath, PurgedRef, RemoteSession},
    },
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
    /// Remove it on remotes as well, which are asked for their sessions first; checkpoints of others stay there without it
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
    if let PurgeTarget::Selected(selector) = &what {
        session_word::refuse_branch(&scene, selector, ("purge", false))?;
    }
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
    let beyond = beyond(&opened, &planned)?;
    let mut parts = ReceiptParts {
        opened: &opened,
        again: again(&args, &planned),
        beyond: &beyond,
        done: Vec::new(),
    };
    if args.dry_run || planned.is_empty() {
        report(context, &parts, &planned)?;
        if planned.is_empty() && !args.remote && !store::remote::all(scene.repo).is_empty() {
            let then = "remotes were not asked: git checkpoint purge --remote, with the same arguments";
            context.ui.hint("Purge", then);
        }
        return unasked.into_iter().next().map_or(Ok(()), Err);
    }
    if args.remote {
        refuse_of_others(&opened, &planned, &beyond)?;
    }
    if !args.yes && !context.ui.confirm(&view(&parts, &planned).question(), "--yes")? {
        return Err(CommandError::new(FailureKind::Negative, "nothing was removed"));
    }
    let purged = {
        let _counting = context.ui.counting("Purging");
        purge::purge(&scene, &request(false))?
    };
    if args.remote {
        let failures = at_remotes(context, &opened, &purged, &mut parts.done);
        unasked.extend(failures);
    }
    report(context, &parts, &purged)?;
    unasked.into_iter().next().map_or(Ok(()), Err)
}

/// The same purge of the remotes as well, as it is typed; a checkpoint by its commit, as a step of a session means another
/// one now.
fn again(args: &Args, planned: &PurgeOutcome) -> String {
    match &planned.meant {
        PurgeScope::Checkpoint { id, .. } => format!("git checkpoint purge --remote {id}"),
        _ => format!("git checkpoint purge --remote{}", args.pathspecs.typed()),
    }
}

/// Numbers of checkpoints by the sessions of remotes.
type Beyond = BTreeMap<purge::OnRemote, usize>;

/// Of a purge of a whole session, how many checkpoints each remote has of it that are not here.
fn beyond(opened: &opening::OpenedRepository, planned: &PurgeOutcome) -> Result<Beyond, CommandError> {
    let mut counts = Beyond::new();
    if let PurgeScope::Session { name } = &planned.meant {
        for on in &planned.remotes {
            counts.insert(on.clone(), there(on).only_there(&opened.scene(), name)?);
        }
    }
    Ok(counts)
}

fn there(on: &purge::OnRemote) -> PurgedAtRemote<'_> {
    PurgedAtRemote {
        remote: &on.remote,
        session: &on.session,
        tip: &on.tip,
    }
}

/// Refuses to take from a remote what others have claimed, and a session with checkpoints that are not here: there
/// is no way back.
fn refuse_of_others(
    opened: &opening::OpenedRepository,
    planned: &PurgeOutcome,
    beyond: &Beyond,
) -> Result<(), CommandError> {
    for (on, beyond) in beyond {
        if *beyond > 0 {
            let (remote, _) = push::place(&opened.scene(), &on.remote, &on.session);
            let checkpoints = CountedNoun::new(*beyond, "checkpoint");
            let message = format!(
                "session '{}' has {checkpoints} on remote '{}' that {} not here",
                on.session.escape_debug(),
                remote.escape_debug(),
                if *beyond == 1 { "is" } else { "are" },
            );
            return Err(CommandError::new(FailureKind::Refused, message)
                .hint(format!(
                    "pull them first, and repeat the command: git checkpoint pull {remote} {}",
                    on.session
                ))
                .hint("a file or a single checkpoint is removed there without that"));
        }
    }
    for on in &planned.remotes {
        there(on).refuse_claimed(&opened.scene())?;
    }
    Ok(())
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
        let name = remote.name.escape_debug();
        match asked {
            Ok(fetched) => {
                let refused = fetched
                    .refused
                    .iter()
                    .map(|(session, why)| (session.as_str(), why.as_str()));
                let replaced = fetched
                    .sessions
                    .iter()
                    .filter(|session| !session.taken && session.change == RemoteChange::Rewritten)
                    .map(|session| {
                        (
                            session.name.as_str(),
                            "it was replaced there; see 'git checkpoint fetch'",
                        )
                    });
                for (session, why) in refused.chain(replaced) {
                    context.ui.warning(&format!(
                        "session '{session}' of remote '{name}' was not looked at: {why}"
                    ));
                    unasked.push(CommandError::silent(FailureKind::Negative));
                }
            }
            Err(error) => {
                context
                    .ui
                    .warning(&format!("remote '{name}' was not asked: {}", error.message()));
                unasked.push(CommandError::silent(FailureKind::Negative));
            }
        }
    }
    unasked
}

/// Lets the remotes forget what was purged. Adds to `done` which of them did, and returns a failure for each of the others,
/// whose errors are reported.
fn at_remotes(
    context: &Context,
    opened: &opening::OpenedRepository,
    purged: &PurgeOutcome,
    done: &mut Vec<purge::OnRemote>,
) -> Vec<CommandError> {
    let mut failures = Vec::new();
    for on in &purged.remotes {
        let result = share::wired(context, "git checkpoint purge --remote", |wire| {
            let now = |id| purged.replaced.get(&id).copied();
            push::purge_there(&opened.scene(), there(on), now, wire)
        });
        match result {
            Ok(()) => done.push(on.clone()),
            Err(error) => {
                context.ui.error(&error);
                failures.push(CommandError::silent(FailureKind::Negative));
            }
        }
    }
    failures
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

/// Parts of a receipt besides the outcome.
struct ReceiptParts<'a> {
    opened: &'a opening::OpenedRepository,
    /// The command that purges the remotes as well.
    again: String,
    /// Of a whole session, how many checkpoints each remote has of it that are not here.
    beyond: &'a Beyond,
    /// The remotes that forgot it.
    done: Vec<purge::OnRemote>,
}

fn report(context: &mut Context, parts: &ReceiptParts<'_>, purged: &PurgeOutcome) -> Result<(), CommandError> {
    let receipt = view(parts, purged);
    context.ui.report(&receipt)?;
    if !parts.done.is_empty() {
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

fn view<'p>(parts: &ReceiptParts<'_>, purged: &'p PurgeOutcome) -> PurgeReceipt<'p> {
    let (of, subject) = match &purged.meant {
        PurgeScope::Paths => ("files", None),
        PurgeScope::Checkpoint { id, .. } => ("checkpoint", Some(id.short().to_owned())),
        PurgeScope::Session { name } => ("session", Some(name.to_string())),
    };
    let remote = |on: &purge::OnRemote| {
        let (remote, full) = push::place(&parts.opened.scene(), &on.remote, &on.session);
        let remote = quoted(&remote);
        match parts.beyond.get(on) {
            _ if of != "session" => parts.again.clone(),
            // It deletes only what was seen there.
            Some(0) => format!("git push --force-with-lease={full}:{} {remote} --delete {full}", on.tip),
            _ => format!("git checkpoint pull {remote} {}", on.session),
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
                removed: parts.done.contains(on),
            })
            .collect(),
        forks: purged.forks.iter().map(crate::model::name::ShortName::as_str).collect(),
        still_held: &purged.still_held,
        on_disk: &purged.on_disk,
        collect: (!purged.is_empty()).then_some(COLLECT),
    }
}

//! `restore`, `apply`, `undo` and `redo`.

mod later;
mod parts;
mod path_meant;
mod resolution;

pub(super) use path_meant::path_meant;
pub(super) use resolution::{go_on, not_concluded};

use std::cell::Cell;

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    opening::{self, IdentityArgs, OpenedRepository},
    pathspecs::Pathspecs,
    restore_report::{RestoreView, bringing, report, report_applied},
};
use crate::{
    model::step::quoted,
    ops::{
        Error, apply,
        fork::leftover,
        interrupted,
        parts::ChosenPart,
        record::RecordFate,
        refuse::Refusal,
        restore,
        restore_outcome::RestoreOutcome,
        show,
        undo::{self, Direction},
    },
    render::{age, count::CountedNoun},
    store::{self, checkpoint::oid, merge_state::ConflictCommand},
};

/// Restore files from a checkpoint
///
/// Your current files are saved first, and 'git checkpoint undo' reverts the restore. Newer files are deleted, ignored
/// files are never touched, and HEAD and branches never move. With --index, the staged and unmerged state is restored
/// as well. The record of the session becomes that of the checkpoint, without --files-only and without paths; what was
/// noted and is not saved yet stays, and later checkpoints keep the rest. A restore is refused, with the reason, if it would overwrite
/// work that another session saved later, on a branch that does not descend from the saved commit, and during a merge.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "\
git checkpoint restore [OPTIONS] [CHECKPOINT] [-- <PATHSPEC>...]
       git checkpoint restore [OPTIONS] (--continue | --abort)",
    after_long_help = "\
Examples:
  See what would happen, then do it:
    git checkpoint restore auth~1 --dry-run
    git checkpoint restore auth~1
  Only one directory, and keep newer files:
    git checkpoint restore auth~1 --overlay -- src
  Choose hunks one by one:
    git checkpoint restore auth~1 -p -- src
  Restore the staged state as well:
    git checkpoint restore @ --index
  Finish or abort an interrupted restore:
    git checkpoint restore --continue
    git checkpoint restore --abort"
)]
pub(super) struct Args {
    /// The checkpoint; without one the latest of the current session
    #[arg(value_name = "CHECKPOINT")]
    selector: Option<String>,
    #[command(flatten)]
    pathspecs: Pathspecs,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Execute exactly the plan with this plan_token from '--dry-run --json', or nothing
    #[arg(long, value_name = "TOKEN", conflicts_with_all = ["dry_run", "continued", "abort"])]
    plan: Option<String>,
    /// Restore the index as well: what was staged, unmerged, or added with 'git add -N'
    #[arg(long)]
    index: bool,
    /// Leave the record of the session as it is
    #[arg(long, conflicts_with = "record_only")]
    files_only: bool,
    /// Choose hunks one by one, as 'git restore -p' does
    #[arg(short, long, conflicts_with_all = ["index", "record_only", "plan", "continued", "abort"])]
    patch: bool,
    /// Restore the record of the session alone
    #[arg(long, conflicts_with_all = ["index", "overlay", "plan", "pathspecs", "pathspec_from_file"])]
    record_only: bool,
    /// Keep files that the checkpoint does not have
    #[arg(long)]
    overlay: bool,
    /// Override the safety checks; files in the way are saved first
    #[arg(long)]
    force: bool,
    /// Finish what was interrupted
    #[arg(long = "continue", conflicts_with_all = ["selector", "abort"])]
    continued: bool,
    /// Go back to the state before the interrupted restore
    #[arg(long, conflicts_with = "selector")]
    abort: bool,
    #[command(flatten)]
    whom: IdentityArgs,
}

/// Apply a checkpoint's changes to the working tree
///
/// Each file that the checkpoint changed is merged with the current one. The base of the merge is the commit of the
/// checkpoint, or, for a fork, the common checkpoint. Where both sides changed the same lines, the file gets conflict
/// markers and the path is unmerged in the index, as after 'git merge'. Nothing else is staged without --index, and your
/// current files are saved first.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Apply yesterday's uncommitted work to the current branch:
    git checkpoint apply auth
  Only its tests:
    git checkpoint apply auth -- tests
  Revert one step of an agent, and keep later changes:
    git checkpoint apply --reverse auth~1
  Only some hunks:
    git checkpoint apply auth -p
  After resolving conflicts ('git add'), or to give up:
    git checkpoint apply --continue
    git checkpoint apply --abort
  Undo it:
    git checkpoint undo")]
pub(super) struct ApplyArgs {
    /// The checkpoint; without one the latest of the current session
    #[arg(value_name = "CHECKPOINT")]
    selector: Option<String>,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Choose hunks one by one, as 'git restore -p' does
    #[arg(short, long, conflicts_with_all = ["index", "continued", "abort"])]
    patch: bool,
    /// Stage again what was staged, but for paths in conflict
    #[arg(long)]
    index: bool,
    /// Continue after resolving conflicts, or finish an interrupted apply
    #[arg(long = "continue", conflicts_with_all = ["selector", "abort", "reverse"])]
    continued: bool,
    /// Go back to the state before the apply
    #[arg(long, conflicts_with_all = ["selector", "reverse"])]
    abort: bool,
    /// Revert the changes from the previous checkpoint to this one, and keep later edits
    #[arg(short = 'R', long)]
    reverse: bool,
    /// Override the safety checks; files in the way are saved first. With --continue: take files that are not unmerged any
    /// more as they are, also unedited or with nothing of the checkpoint
    #[arg(long)]
    force: bool,
    /// Without a common checkpoint, apply the commits of its branch as well, since the merge base with HEAD
    #[arg(long, conflicts_with = "reverse")]
    merge_base: bool,
    #[command(flatten)]
    pathspecs: Pathspecs,
    #[command(flatten)]
    whom: IdentityArgs,
}

/// Undo the last command that changed files or sessions
///
/// It reverts restore, apply, rewind, 'pause --clean', 'resume --apply', merge, fork, finish, 'save --amend', rename,
/// delete, undelete, clear, compact, import, prune, pull and unbundle, but not save, start, switch, push and purge, nor changes of the record, whose
/// receipts say what they replaced or how to add it again. Repeat it to go back further; --dry-run shows the next entry.
/// There is one undo list for each working tree, not for each session.
///
/// Where the last command cannot be undone, or changed nothing, a terminal asks before an older one is undone. Without
/// a terminal, undo refuses after a command that cannot be undone, unless --older is given. Later changes are not
/// overwritten: undo stops and gives the reason.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Undo the last restore:
    git checkpoint undo
  Show what would be undone:
    git checkpoint undo --dry-run")]
pub(super) struct UndoArgs {
    #[command(flatten)]
    how: RestoreMethod,
    /// Undo the latest command that can be undone, even if a later one cannot
    #[arg(long)]
    older: bool,
}

/// Redo the last undone operation
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Redo what was undone:
    git checkpoint redo")]
pub(super) struct RedoArgs {
    #[command(flatten)]
    how: RestoreMethod,
}

#[derive(Debug, clap::Args)]
struct RestoreMethod {
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Override the safety checks; changed files are saved first
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &args.whom)?;
    let mut parts = None;
    if args.patch {
        let request = request(&args, context, &opened)?;
        parts::require_person(context)?;
        let is_asked = Cell::new(false);
        let ask = |git| {
            is_asked.set(true);
            parts::ask(context, &opened.scene(), git)
        };
        let chosen =
            restore::choose_parts(&opened.scene(), &request, &ask).map_err(|error| args.pathspecs.as_given(error))?;
        if chosen.is_empty() {
            context.ui.status(parts::nothing(is_asked.get()));
            return Ok(());
        }
        parts = Some(chosen);
    }
    let mut restored = bring_back(&args, context, &opened, false, parts.as_ref()).map_err(|error| {
        let selector = args.selector.as_deref().filter(|_| args.pathspecs.is_empty());
        path_meant(context, &opened, ("restore", selector), error)
    })?;
    // Only committed work is against it: a person may say yes.
    if !args.dry_run
        && let [Refusal::Reverts { paths }] = restored.refusals()
        && context.ui.can_ask()
    {
        for reversal in paths.iter().take(20) {
            let why = reversal
                .commit
                .as_ref()
                .map(|commit| format!("  changed since by {commit}"));
            context.ui.say(&format!(
                "  revert   {}{}",
                reversal.path.quoted(),
                why.unwrap_or_default()
            ));
        }
        let question = format!(
            "Revert what was committed since in {} ('git checkpoint apply' keeps it)?",
            CountedNoun::new(paths.len(), "path")
        );
        if context.ui.confirm(&question, "--force")? {
            restored = bring_back(&args, context, &opened, true, parts.as_ref())?;
        }
    }
    let what = match &args.selector {
        Some(selector) => quoted(selector),
        None if args.abort => "--abort".to_owned(),
        None if args.continued => "--continue".to_owned(),
        None => "@".to_owned(),
    };
    let flags: String = [
        (args.index, " --index"),
        (args.files_only, " --files-only"),
        (args.overlay, " --overlay"),
    ]
    .into_iter()
    .filter_map(|(given, flag)| given.then_some(flag))
    .collect();
    let (paths, session) = (args.pathspecs.typed(), opened.session_option());
    report(
        context,
        &opened,
        &RestoreView {
            restored: Some(&restored),
            paths: &paths,
            force: &format!("git checkpoint restore {what}{session}{flags} --force{paths}"),
            ..RestoreView::default()
        },
    )?;
    if args.record_only && restored.record == RecordFate::Same {
        let unsaved = show::show(&opened.scene(), &failure::selector("@")?)?.draft;
        if unsaved > 0 {
            let stays = if unsaved == 1 { "stays" } else { "stay" };
            context.ui.status(format!(
                "{} not saved yet {stays}: git checkpoint status",
                CountedNoun::new(unsaved, "change")
            ));
        }
    }
    Ok(())
}

/// Restores, or finishes or takes back what was interrupted; `reverts` allows to take back committed work.
fn bring_back(
    args: &Args,
    context: &Context,
    opened: &OpenedRepository,
    reverts: bool,
    parts: Option<&Vec<ChosenPart>>,
) -> Result<RestoreOutcome, CommandError> {
    bringing(context, opened, |progress| {
        let how = interrupted::Resume {
            force: args.force,
            dry_run: args.dry_run,
        };
        if args.continued {
            return Ok(interrupted::resume(&opened.scene(), how, progress)?);
        }
        if args.abort {
            return Ok(interrupted::abort(&opened.scene(), how, progress)?);
        }
        let request = restore::RestoreRequest {
            reverts,
            expected: args.plan.clone(),
            parts: parts.cloned(),
            ..request(args, context, opened)?
        };
        restore::restore(&opened.scene(), &request, progress).map_err(|error| {
            let is_locked = matches!(&error, Error::Store(store::Error::RecordLocked { .. }));
            let error = CommandError::from(args.pathspecs.as_given(error));
            if is_locked {
                error.hint(format!(
                    "or restore the files alone: git checkpoint restore {} --files-only",
                    quoted(args.selector.as_deref().unwrap_or("@"))
                ))
            } else {
                error
            }
        })
    })
}

fn request(args: &Args, context: &Context, opened: &OpenedRepository) -> Result<restore::RestoreRequest, CommandError> {
    Ok(restore::RestoreRequest {
        selector: failure::selector(args.selector.as_deref().unwrap_or("@"))?,
        pathspecs: args.pathspecs.bytes(context)?,
        directory: opening::directory(context, opened)?,
        dry_run: args.dry_run,
        index: args.index,
        files: !args.record_only,
        record: !args.files_only && !args.patch && args.pathspecs.is_empty(),
        overlay: args.overlay,
        force: args.force,
        reverts: false,
        expected: None,
        parts: None,
    })
}

pub(super) fn apply(args: ApplyArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &args.whom)?;
    if args.continued || args.abort {
        return go_on(
            ConflictCommand::Apply,
            (args.abort, args.dry_run, args.force),
            None,
            opened,
            context,
        );
    }
    let selector = args.selector.clone().unwrap_or_else(|| "@".to_owned());
    let mut request = apply::ApplyRequest {
        resumed: false,
        selector: failure::selector(&selector)?,
        reverse: args.reverse,
        merge_base: args.merge_base,
        pathspecs: args.pathspecs.bytes(context)?,
        directory: opening::directory(context, &opened)?,
        dry_run: args.dry_run,
        index: args.index,
        force: args.force,
        parts: None,
    };
    if args.patch {
        parts::require_person(context)?;
        let is_asked = Cell::new(false);
        let ask = |git| {
            is_asked.set(true);
            parts::ask(context, &opened.scene(), git)
        };
        let chosen =
            apply::choose_parts(&opened.scene(), &request, &ask).map_err(|error| args.pathspecs.as_given(error))?;
        if chosen.is_empty() {
            context.ui.status(parts::nothing(is_asked.get()));
            return Ok(());
        }
        request.parts = Some(chosen);
    }
    let applied = bringing(context, &opened, |progress| {
        apply::apply(&opened.scene(), &request, progress).map_err(|error| args.pathspecs.as_given(error).into())
    })
    .map_err(|error| {
        let selector = args.selector.as_deref().filter(|_| args.pathspecs.is_empty());
        path_meant(context, &opened, ("apply", selector), error)
    })?;
    let paths = args.pathspecs.typed();
    let index = if args.index { " --index" } else { "" };
    let (selector, session) = (quoted(&selector), opened.session_option());
    let force = format!("git checkpoint apply {selector}{session}{index} --force{paths}");
    let report = RestoreView {
        restored: Some(&applied.restored),
        paths: &paths,
        conflicts: &applied.conflicts,
        is_reverse: args.reverse,
        force: &force,
        ..RestoreView::default()
    };
    report_applied(context, &opened, &applied, &report)
}

pub(super) fn undo(args: UndoArgs, context: &mut Context) -> Result<(), CommandError> {
    take(args.how, Direction::Undo, (args.older, None), context)
}

pub(super) fn redo(args: RedoArgs, context: &mut Context) -> Result<(), CommandError> {
    take(args.how, Direction::Redo, (false, None), context)
}

/// Undoes or redoes; `abort` is the command whose conflicts are given up, with the number of the merge or apply.
fn take(
    how: RestoreMethod,
    direction: Direction,
    (older, abort): (bool, Option<(ConflictCommand, Option<u64>)>),
    context: &mut Context,
) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let aborts = abort.and_then(|(_, n)| n);
    let mut request = undo::UndoRequest {
        direction,
        dry_run: how.dry_run,
        // What is between the markers by now is saved first, like everything.
        force: how.force || abort.is_some(),
        displaces: how.force,
        older,
        aborts,
    };
    let is_asked = !how.force && !older;
    let subject = match direction {
        Direction::Undo if aborts.is_none() && (!older || how.dry_run) => undo::subject(&opened.scene())?,
        _ => None,
    };
    if let Some(subject) = &subject
        && is_asked
        && (how.dry_run || !context.ui.can_ask())
        && let Some(refusal) = later::refusal(subject, opened.scene().now)
    {
        return Err(refusal);
    }
    if let Some(subject) = &subject
        && is_asked
        && !how.dry_run
        && context.ui.can_ask()
        && let Some(question) = later::question(subject, opened.scene().now)
    {
        request.older = context.ui.confirm(&question, "--older")?;
        if !request.older {
            context.ui.status("nothing was undone");
            return Err(CommandError::silent(FailureKind::Negative));
        }
    } else if let Some(subject) = &subject {
        later::report_idle(context, subject);
    }
    let run = |request| {
        bringing(context, &opened, |progress| {
            match undo::run(&opened.scene(), request, progress) {
                Err(error @ Error::NotLast { .. }) if !how.dry_run && context.ui.can_ask() => Ok(Err(error)),
                taken => Ok(Ok(taken?)),
            }
        })
    };
    let taken = match run(request)? {
        Err(Error::NotLast { command, last, at }) => {
            let age = age::age(at, opened.scene().now);
            let question = format!("'{command}' cannot be undone; undo '{last}' ({age}) instead?");
            request.older = context.ui.confirm(&question, "--older")?;
            if !request.older {
                return Err(Error::NotLast { command, last, at }.into());
            }
            run(request)?
        }
        taken => taken,
    };
    let taken = taken?;
    for passed in &taken.passed {
        let (what, session) = (&passed.what, &passed.session);
        context.ui.warning(&format!(
            "'{what}' cannot be undone and stays: session '{session}' has changed since"
        ));
    }
    for abandoned in &taken.abandoned {
        let (session, id) = (&abandoned.session, oid(abandoned.latest));
        let leaves = if how.dry_run { "would leave" } else { "left" };
        let count = CountedNoun::new(abandoned.count, "checkpoint");
        context.ui.warning(&format!(
            "{count} saved after the merge {leaves} session '{session}', and can still be seen: git checkpoint show {}",
            id.short()
        ));
    }
    for behind in &taken.behind {
        let (session, remote) = (&behind.session, &behind.remote);
        let has = if how.dry_run { "would still have" } else { "still has" };
        context.ui.warning(&format!(
            "remote '{remote}' {has} what was undone in session '{session}', and a save would diverge from it; to get it \
             back: git checkpoint pull {remote} {session}"
        ));
    }
    let force = match abort {
        Some((command, _)) => format!("git checkpoint {command} --abort --force"),
        None => format!("git checkpoint {} --force", direction.word()),
    };
    report(
        context,
        &opened,
        &RestoreView {
            restored: taken.files.as_ref(),
            taken: Some(&taken),
            stays: leftover::look(&opened.scene(), &taken.stays, &taken.refs),
            dry_run: how.dry_run,
            force: &force,
            ..RestoreView::default()
        },
    )?;
    if let Some(subject) = &subject {
        later::report(context, subject, opened.scene().now);
    }
    Ok(())
}

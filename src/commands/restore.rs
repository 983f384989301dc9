//! `restore`, `apply`, `undo` and `redo`: the command lines, and the one way their outcomes are reported.

use std::{path::Path, sync::Mutex};

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    opening::{self, IdentityArgs, OpenedRepository},
    pathspecs::Pathspecs,
};
use crate::{
    model::{path::RepoPath, report::MergeVerdict, step::quoted},
    ops::{
        apply,
        refuse::Refusal,
        restore::{self, RecordFate, RestoreOutcome},
        undo::{self, Direction, UndoOutcome},
    },
    render::{
        age,
        restore::{
            CheckpointOrigin, FailedPath, MergeConflictRow, MovedRef, RefusalRow, RestoreCounts, RestoreReceipt,
            WorktreeRow,
        },
    },
    store::{self, checkpoint::oid},
};

/// Restore files from a checkpoint
///
/// The present is saved first, so nothing is lost and 'git checkpoint undo' takes it back. Files that came later are
/// deleted, ignored files are never touched, and HEAD and branches never move. The index stays as it is, unless --index
/// is given: then what was staged or unmerged is so again. It is refused, with the reason, where it would surprise: over
/// work in the files that another session saved later, on a branch that was not there then, in the middle of a merge.
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
  Only one folder, and keep files that came later:
    git checkpoint restore auth~1 --overlay -- src
  What was staged is staged again as well:
    git checkpoint restore @ --index
  It was interrupted: finish it, or go back:
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
    /// Restore the index as well: what was staged, unmerged, or added with 'git add -N'
    #[arg(long)]
    index: bool,
    /// Leave the record of the session as it is
    #[arg(long, conflicts_with = "record_only")]
    files_only: bool,
    /// Restore the record of the session alone
    #[arg(long, conflicts_with_all = ["index", "overlay", "pathspecs", "pathspec_from_file"])]
    record_only: bool,
    /// Keep files that the checkpoint does not have
    #[arg(long)]
    overlay: bool,
    /// Override the safety checks; what is in the way is saved first
    #[arg(long)]
    force: bool,
    /// Finish what was interrupted
    #[arg(long = "continue", conflicts_with_all = ["selector", "abort"])]
    continued: bool,
    /// Go back to before what was interrupted
    #[arg(long, conflicts_with = "selector")]
    abort: bool,
    #[command(flatten)]
    whom: IdentityArgs,
}

/// Apply a checkpoint's changes to the working tree
///
/// Each file that the checkpoint had changed against its commit is merged with the present one. Where both changed the
/// same lines, both are between markers in the file. Nothing is staged, and the present is saved first.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Bring yesterday's uncommitted work onto the branch as it is now:
    git checkpoint apply auth
  Only its tests:
    git checkpoint apply auth -- tests
  Not what you wanted:
    git checkpoint undo")]
pub(super) struct ApplyArgs {
    /// The checkpoint; without one the latest of the current session
    #[arg(value_name = "CHECKPOINT")]
    selector: Option<String>,
    #[command(flatten)]
    pathspecs: Pathspecs,
    /// Show what would be done
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Stage again what was staged, where it merges without a conflict
    #[arg(long)]
    index: bool,
    /// Override the safety checks; what is in the way is saved first
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    whom: IdentityArgs,
}

/// Undo the last restore, apply, clean, fork, rename, finish or delete
///
/// A prune, an import and a clear are taken back as well; a purge is not, nor is a push. Repeat it to go back further.
/// What was changed since is not overwritten: then the reason is given and nothing is done. There is one list for each
/// working tree, whatever session was current; --dry-run reports the next step.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  The last restore was a mistake:
    git checkpoint undo
  See first what would happen:
    git checkpoint undo --dry-run")]
pub(super) struct UndoArgs {
    #[command(flatten)]
    how: RestoreMethod,
}

/// Redo the last undone operation
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  The undo was a mistake:
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
    let restored = bringing(context, &opened, |progress| {
        let how = restore::Resume {
            force: args.force,
            dry_run: args.dry_run,
        };
        if args.continued {
            return Ok(restore::resume(&opened.scene(), how, progress)?);
        }
        if args.abort {
            return Ok(restore::abort(&opened.scene(), how, progress)?);
        }
        let request = restore::RestoreRequest {
            selector: failure::selector(args.selector.as_deref().unwrap_or("@"))?,
            pathspecs: args.pathspecs.bytes(context)?,
            directory: directory(context, &opened)?,
            dry_run: args.dry_run,
            index: args.index,
            files: !args.record_only,
            record: !args.files_only && args.pathspecs.is_empty(),
            overlay: args.overlay,
            force: args.force,
        };
        Ok(restore::restore(&opened.scene(), &request, progress)?)
    })?;
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
    let paths = args.pathspecs.typed();
    report(
        context,
        &opened,
        &RestoreView {
            restored: Some(&restored),
            paths: &paths,
            force: &format!("git checkpoint restore {what}{flags} --force{paths}"),
            ..RestoreView::default()
        },
    )
}

pub(super) fn apply(args: ApplyArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &args.whom)?;
    let selector = args.selector.clone().unwrap_or_else(|| "@".to_owned());
    let applied = bringing(context, &opened, |progress| {
        let request = apply::ApplyRequest {
            selector: failure::selector(&selector)?,
            pathspecs: args.pathspecs.bytes(context)?,
            directory: directory(context, &opened)?,
            dry_run: args.dry_run,
            index: args.index,
            force: args.force,
        };
        Ok(apply::apply(&opened.scene(), &request, progress)?)
    })?;
    let paths = args.pathspecs.typed();
    let index = if args.index { " --index" } else { "" };
    let force = format!("git checkpoint apply {}{index} --force{paths}", quoted(&selector));
    let report = RestoreView {
        restored: Some(&applied.restored),
        paths: &paths,
        conflicts: &applied.conflicts,
        force: &force,
        ..RestoreView::default()
    };
    report_applied(context, &opened, &applied, &report)
}

/// Reports an apply, and what is to be done about conflicts.
pub(super) fn report_applied(
    context: &mut Context,
    opened: &OpenedRepository,
    applied: &apply::ApplyOutcome,
    report: &RestoreView<'_>,
) -> Result<(), CommandError> {
    let conflicts = &applied.conflicts;
    self::report(context, opened, report)?;
    if conflicts.is_empty() || applied.restored.dry_run {
        return Ok(());
    }
    let has_markers = |verdict: &MergeVerdict| matches!(verdict, MergeVerdict::Content | MergeVerdict::AddAdd);
    if conflicts.iter().any(|(_, verdict)| has_markers(verdict)) {
        context.ui.hint(
            "Conflict",
            "conflict markers were written; edit the files (nothing is staged)",
        );
    }
    // Of one that is deleted on a side, what the other changed is there.
    let is_there = |verdict: &MergeVerdict| has_markers(verdict) || *verdict == MergeVerdict::ModifyDelete;
    let unmarked = conflicts.iter().find(|(_, verdict)| !is_there(verdict));
    if let (Some((path, _)), Some(from)) = (unmarked, &applied.restored.from) {
        let id = oid(from.id);
        context.ui.hint(
            "Conflict",
            &format!(
                "files that take no markers stay as they are; as the checkpoint has it: git show {}^2:{path}",
                id.short()
            ),
        );
    }
    Err(CommandError::silent(FailureKind::Negative))
}

pub(super) fn undo(args: UndoArgs, context: &mut Context) -> Result<(), CommandError> {
    take(args.how, Direction::Undo, context)
}

pub(super) fn redo(args: RedoArgs, context: &mut Context) -> Result<(), CommandError> {
    take(args.how, Direction::Redo, context)
}

fn take(how: RestoreMethod, direction: Direction, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let request = undo::UndoRequest {
        direction,
        dry_run: how.dry_run,
        force: how.force,
    };
    let taken = bringing(context, &opened, |progress| {
        Ok(undo::run(&opened.scene(), request, progress)?)
    })?;
    let force = format!("git checkpoint {} --force", direction.word());
    report(
        context,
        &opened,
        &RestoreView {
            restored: taken.files.as_ref(),
            taken: Some(&taken),
            dry_run: how.dry_run,
            force: &force,
            ..RestoreView::default()
        },
    )
}

/// Changes files. An error that comes when that has begun leaves them between two states: then it says how to go on.
pub(super) fn bringing<T>(
    context: &Context,
    opened: &OpenedRepository,
    run: impl FnOnce(&dyn Fn(usize, usize)) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let unfinished = || restore::interrupted(&opened.scene()).unwrap_or_default();
    let before = unfinished();
    with_progress(context, run).map_err(|error| match unfinished() {
        Some(operation) if before.is_none() => error
            .hint(format!(
                "the {operation} is not finished; finish it: git checkpoint restore --continue"
            ))
            .hint("or go back: git checkpoint restore --abort"),
        _ => error,
    })
}

/// Shows how far it is, if it takes long.
pub(super) fn with_progress<T>(
    context: &Context,
    run: impl FnOnce(&dyn Fn(usize, usize)) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let progress = context.ui.progress("Writing files", None);
    let known = Mutex::new(0);
    run(&|done, all| {
        let mut known = known.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if *known != all {
            *known = all;
            progress.set_total(all as u64);
        }
        progress.update(done as u64);
    })
}

/// The current directory, relative to the root of the working tree; the root if it is outside.
pub(super) fn directory(context: &Context, opened: &OpenedRepository) -> Result<RepoPath, CommandError> {
    let root = store::work_tree(opened.scene().repo)?;
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let cwd = real(&context.env.cwd);
    let below = cwd.strip_prefix(real(root)).unwrap_or(Path::new(""));
    Ok(RepoPath::new(below.as_os_str().as_encoded_bytes()))
}

/// Input of the receipt of a restore.
#[derive(Default)]
pub(super) struct RestoreView<'a> {
    pub(super) restored: Option<&'a RestoreOutcome>,
    pub(super) taken: Option<&'a UndoOutcome>,
    pub(super) conflicts: &'a [(RepoPath, MergeVerdict)],
    /// Of an undo that changes no files.
    pub(super) dry_run: bool,
    /// The pathspecs as they are typed, each word after a space; empty where all paths are meant.
    pub(super) paths: &'a str,
    /// The command that does it all the same.
    pub(super) force: &'a str,
    /// The JSON that the receipt becomes a part of, as `files`.
    pub(super) within: Option<serde_json::Value>,
}

pub(super) fn report(
    context: &mut Context,
    opened: &OpenedRepository,
    report: &RestoreView<'_>,
) -> Result<(), CommandError> {
    let brought = report.restored.and_then(|restored| restored.brought.as_ref());
    let left = brought.map(|brought| brought.left.as_slice()).unwrap_or_default();
    failure::warn_leftovers(&context.ui, left);
    failure::warn_leftovers(
        &context.ui,
        report.taken.map(|taken| taken.left.as_slice()).unwrap_or_default(),
    );
    let receipt = receipt(opened, report);
    let dry_run = report.dry_run || report.restored.is_some_and(|restored| restored.dry_run);
    let mut within = report.within.clone();
    if let Some(view) = &mut within {
        view["files"] = serde_json::to_value(&receipt).unwrap_or_default();
        context.ui.json(view)?;
    }
    if receipt.outcome == "refused" && !dry_run {
        return Err(refusal(&receipt, report));
    }
    if within.is_none() && context.ui.options().json {
        context.ui.json(&receipt)?;
    } else if within.is_none() && context.ui.options().quiet == 0 {
        context.ui.data(receipt.text());
    }
    if receipt.outcome == "nothing" && !report.paths.is_empty() {
        context
            .ui
            .warning("the pathspecs choose no file that differs; 'git checkpoint diff' shows which do");
    }
    match receipt.outcome {
        "refused" => Err(refusal(&receipt, report)),
        "incomplete" => {
            let kind = if receipt.failed.is_empty() && receipt.stopped.is_none() {
                FailureKind::Locked
            } else {
                FailureKind::Fatal
            };
            Err(
                CommandError::new(kind, format!("the {} is not finished", receipt.operation))
                    .hint("finish it: git checkpoint restore --continue")
                    .hint("or go back: git checkpoint restore --abort"),
            )
        }
        "done" if receipt.operation != "undo" => {
            context.ui.hint("Undo", "undo with: git checkpoint undo");
            Ok(())
        }
        "done" => {
            for tree in &receipt.stays {
                let remove = format!("git worktree remove {} && git branch -d {}", tree.path, tree.branch);
                context
                    .ui
                    .hint("WorkTree", &format!("remove it when it is not needed: {remove}"));
            }
            context.ui.hint("Redo", "redo with: git checkpoint redo");
            Ok(())
        }
        _ => Ok(()),
    }
}

fn refusal(receipt: &RestoreReceipt<'_>, report: &RestoreView<'_>) -> CommandError {
    let mut message = format!("refusing to {}", receipt.operation);
    for refused in &receipt.refusals {
        message.push_str(&format!("\n{}", refused.text));
        for (path, why) in refused.paths.iter().take(20) {
            let why = why.as_ref().map(|why| format!("  {why}")).unwrap_or_default();
            message.push_str(&format!("\n  {path}{why}"));
        }
        if refused.paths.len() > 20 {
            message.push_str(&format!("\n  ... and {} more", refused.paths.len() - 20));
        }
    }
    let mut error = CommandError::new(FailureKind::Refused, message);
    let refusals = report.restored.map(RestoreOutcome::refusals).unwrap_or_default();
    let selector = receipt
        .from
        .as_ref()
        .map(|from| from.id.short().to_owned())
        .unwrap_or_default();
    for refusal in refusals {
        match refusal {
            Refusal::OtherHistory { saved, .. } => {
                error = error
                    .hint(format!(
                        "apply its changes instead: git checkpoint apply {selector}{}",
                        report.paths
                    ))
                    .hint(format!(
                        "or open it in its own working tree: git checkpoint fork {selector} --worktree <folder>"
                    ))
                    .hint(format!("or go there first: git switch -c <branch> {}", saved.short()));
            }
            Refusal::OtherWorktree { .. } => {
                error = error.hint(format!(
                    "open it in its own working tree: git checkpoint fork {selector} --worktree <folder>"
                ));
            }
            Refusal::Blocked { .. } if !refusal.yields_to_force() => {
                error = error.hint("move what is in the way elsewhere, or choose other paths: -- <pathspec>");
            }
            _ => {}
        }
    }
    if refusals.iter().all(Refusal::yields_to_force) {
        error = error.hint(format!(
            "to proceed anyway (your files are saved first): {}",
            report.force
        ));
    }
    error
}

/// Staged content of the checkpoint that was not restored, and the option that restores it.
fn unstaged(restored: &RestoreOutcome, paths: &str) -> Option<String> {
    let (left, from) = (restored.unstaged, restored.from.as_ref()?);
    let counts = [(left.staged, "staged"), (left.unmerged, "unmerged")];
    let words: Vec<_> = counts
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{n} {word}"))
        .collect();
    let what = words.join(", ");
    let id = oid(from.id);
    match restored.operation.as_str() {
        _ if words.is_empty() => None,
        "restore" => Some(format!(
            "not restored ({what} in the checkpoint); bring it back too: git checkpoint restore {} --index{paths}",
            id.short()
        )),
        _ => Some(format!("nothing is staged ({what} in the checkpoint)")),
    }
}

fn stays(taken: &UndoOutcome) -> Vec<WorktreeRow<'_>> {
    let stays = taken.stays.iter();
    stays.map(|(path, branch)| WorktreeRow { path, branch }).collect()
}

fn receipt<'a>(opened: &OpenedRepository, report: &'a RestoreView<'a>) -> RestoreReceipt<'a> {
    let restored = report.restored;
    let brought = restored.and_then(|restored| restored.brought.as_ref());
    let refusals = restored.map(RestoreOutcome::refusals).unwrap_or_default();
    let done = brought.map(|brought| &brought.done);
    let dry_run = report.dry_run || restored.is_some_and(|restored| restored.dry_run);
    let record = match restored.map(|restored| &restored.record) {
        _ if report.taken.is_some_and(|taken| taken.record) => "restored",
        None | Some(RecordFate::NotMeant) => "not-meant",
        Some(RecordFate::Restored(_)) => "restored",
        Some(RecordFate::Same) => "same",
        Some(RecordFate::OfAnotherSession) => "of-another-session",
    };
    let refs = report.taken.map(|taken| taken.refs.as_slice()).unwrap_or_default();
    let idle =
        brought.is_none_or(crate::ops::plan_runner::AppliedPlan::is_nothing) && record != "restored" && refs.is_empty();
    // An abort takes the journal away as well, and conflicts are worth a plan.
    let is_plain =
        report.taken.is_none() && report.conflicts.is_empty() && restored.is_some_and(|restored| !restored.aborted);
    let outcome = match () {
        () if !refusals.is_empty() => "refused",
        () if dry_run && !(idle && is_plain) => "planned",
        () if brought.is_some_and(|brought| !brought.is_complete()) => "incomplete",
        () if restored.is_some_and(|restored| restored.aborted) => "aborted",
        () if idle && report.taken.is_none() => "nothing",
        () => "done",
    };
    let now = opened.scene().now;
    RestoreReceipt {
        schema: "git-checkpoint.restore/1",
        operation: match report.taken {
            Some(taken) => taken.direction.word(),
            None => restored.map_or("restore", |restored| &restored.operation),
        },
        outcome,
        from: restored
            .and_then(|restored| restored.from.as_ref())
            .map(|from| CheckpointOrigin {
                id: oid(from.id),
                digest: None,
                session: from.session.as_ref().map(crate::model::name::ShortName::as_str),
                summary: from
                    .document
                    .record
                    .summary
                    .as_deref()
                    .unwrap_or_default()
                    .lines()
                    .next()
                    .unwrap_or_default(),
                age: age::age(from.document.created_at, now),
            }),
        what: report.taken.map(|taken| taken.entry.what.as_str()),
        safety: brought.and_then(|brought| brought.safety).map(|safety| oid(safety.id)),
        plan: brought.map(|brought| brought.lines.as_slice()).unwrap_or_default(),
        refusals: refusals.iter().map(refused).collect(),
        files: done.map_or_else(RestoreCounts::default, |done| RestoreCounts {
            written: done.written,
            deleted: done.deleted,
            modes: done.modes,
            directories: done.directories,
        }),
        index: brought.map_or(0, |brought| brought.index.paths.len()),
        index_lacking: brought
            .map(|brought| brought.index.lacking.as_slice())
            .unwrap_or_default(),
        unstaged: restored.and_then(|restored| unstaged(restored, report.paths)),
        record,
        refs: refs
            .iter()
            .map(|(name, from, to)| MovedRef {
                name: name.clone(),
                from: from.clone(),
                to: to.clone(),
            })
            .collect(),
        stays: report.taken.map(stays).unwrap_or_default(),
        conflicts: report
            .conflicts
            .iter()
            .map(|(path, verdict)| MergeConflictRow {
                path: path.clone(),
                why: verdict.words(),
            })
            .collect(),
        moved: done.map(|done| done.moved.as_slice()).unwrap_or_default(),
        failed: done
            .map(|done| {
                done.failed
                    .iter()
                    .map(|(path, why)| FailedPath {
                        path: path.clone(),
                        why: why.clone(),
                    })
                    .collect()
            })
            .unwrap_or_default(),
        differing: done.map(|done| done.differing.as_slice()).unwrap_or_default(),
        stopped: done.and_then(|done| done.stopped.as_ref()).map(ToString::to_string),
    }
}

fn refused(refusal: &Refusal) -> RefusalRow {
    RefusalRow {
        text: refusal.to_string(),
        paths: refusal
            .paths()
            .into_iter()
            .map(|(path, why)| (path.quoted(), why))
            .collect(),
        yields_to_force: refusal.yields_to_force(),
    }
}

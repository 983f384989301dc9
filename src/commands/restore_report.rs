//! The one way in which commands that change files run and report their outcomes.

mod conflicts;
mod operation;
mod receipt;
mod refusal;

use std::sync::Mutex;

pub(super) use conflicts::{conflicts_error, report_applied};
pub(super) use operation::report_operation;
use receipt::{receipt, warn_oversized, warn_replaced};
use refusal::refusal;

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    opening::OpenedRepository,
};
use crate::{
    model::{path::RepoPath, report::MergeVerdict},
    ops::{
        apply::KeptEdits, fork::leftover::ForkLeftover, plan_runner, restore_outcome::RestoreOutcome, undo::UndoOutcome,
    },
    os,
    render::{restore::FailedPath, text::Text},
    store,
};

/// Changes files. An error that comes when that has begun leaves them between two states: then it says how to go on.
pub(super) fn bringing<T>(
    context: &Context,
    opened: &OpenedRepository,
    run: impl FnOnce(&dyn Fn(usize, usize)) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let unfinished = || plan_runner::interrupted(&opened.scene()).unwrap_or_default();
    let before = unfinished();
    with_progress(context, run).map_err(|error| match unfinished() {
        Some(operation) if before.is_none() => {
            let command = operation.command();
            error
                .hint(format!(
                    "the {operation} is not finished; finish it: git checkpoint {command} --continue"
                ))
                .hint(format!("to give up: git checkpoint {command} --abort"))
        }
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

/// Input of the receipt of a restore.
#[derive(Default)]
pub(super) struct RestoreView<'a> {
    pub(super) restored: Option<&'a RestoreOutcome>,
    pub(super) taken: Option<&'a UndoOutcome>,
    pub(super) conflicts: &'a [(RepoPath, MergeVerdict)],
    /// Whether an apply takes the changes of the checkpoint out of the files.
    pub(super) is_reverse: bool,
    /// Of an apply, the files whose later edits stay in place of what was saved.
    pub(super) kept: Option<&'a KeptEdits>,
    /// Of an undo, the working trees that stay.
    pub(super) stays: Vec<ForkLeftover>,
    /// Of an undo that changes no files.
    pub(super) dry_run: bool,
    /// The pathspecs as they are typed, each word after a space; empty where all paths are meant.
    pub(super) paths: &'a str,
    /// The command that does it even so.
    pub(super) force: &'a str,
    /// The JSON that the receipt becomes a part of, as `files`.
    pub(super) within: Option<serde_json::Value>,
    /// Lines after those of the receipt.
    pub(super) more: Text,
}

/// The directory in which paths could not be written because that is not allowed, and what to do about it.
fn read_only_directory(opened: &OpenedRepository, failed: &[FailedPath]) -> Option<String> {
    let root = store::work_tree(opened.scene().repo).ok()?;
    failed.iter().find_map(|failed| {
        let path = root.join(os::os_string(failed.path.as_bytes()));
        let directory = path.ancestors().skip(1).find(|above| above.is_dir())?;
        let is_closed = !os::is_writable(directory);
        is_closed.then(|| {
            let shown = directory.display().to_string();
            let way = store::way_to_write(directory);
            format!("directory '{}' may not be written; {way}", shown.escape_debug())
        })
    })
}

/// The error for what was refused before anything of it was reported.
pub(super) fn refused(opened: &OpenedRepository, report: &RestoreView<'_>) -> CommandError {
    refusal(&receipt(opened, report), report, opened.scene().now)
}

pub(super) fn report(
    context: &mut Context,
    opened: &OpenedRepository,
    report: &RestoreView<'_>,
) -> Result<(), CommandError> {
    let brought = report.restored.and_then(|restored| restored.brought.as_ref());
    let left = brought.map(|brought| brought.left.as_slice()).unwrap_or_default();
    failure::warn_leftovers(&context.ui, left);
    warn_replaced(context, brought);
    warn_oversized(context, brought);
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
        return Err(refusal(&receipt, report, opened.scene().now));
    }
    let is_selection = receipt.outcome == "nothing" && !report.paths.is_empty();
    // Of a selection the warning says all, unless something staged is left.
    if within.is_none() && (!is_selection || receipt.unstaged.is_some() || context.ui.options().json) {
        context.ui.report(&receipt)?;
    }
    if is_selection {
        context.ui.warning("no selected file differs; see: git checkpoint diff");
    }
    context.ui.detail(1, receipt.ref_lines());
    match receipt.outcome {
        "refused" => Err(refusal(&receipt, report, opened.scene().now)),
        "incomplete" => {
            let kind = if receipt.failed.is_empty() && receipt.stopped.is_none() {
                FailureKind::Locked
            } else {
                FailureKind::Fatal
            };
            let command = report
                .restored
                .map_or("restore", |restored| restored.operation.command());
            let error = CommandError::new(kind, format!("the {} is not finished", receipt.operation));
            // What is in the way comes first: until it is gone, the other commands fail as well.
            let error = match read_only_directory(opened, &receipt.failed) {
                Some(cause) => error.hint(cause),
                None => error,
            };
            Err(error
                .hint(format!("finish it: git checkpoint {command} --continue"))
                .hint(format!("to give up: git checkpoint {command} --abort")))
        }
        "done" if !receipt.conflicts.is_empty() => Ok(()),
        "done" if receipt.operation != "undo" => {
            context.ui.hint("Undo", "to undo: git checkpoint undo");
            Ok(())
        }
        "done" => {
            context.ui.hint("Redo", "to redo: git checkpoint redo");
            Ok(())
        }
        _ => Ok(()),
    }
}

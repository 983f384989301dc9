//! The error for a restore that was refused, with the commands that help.

use super::{
    super::error::{AgainOption, CommandError, FailureKind},
    RestoreView,
};
use crate::{
    model::time::Timestamp,
    ops::{plan_runner::PlanOperation, refuse::Refusal, restore_outcome::RestoreOutcome, undo::Direction},
    render::{age::age, restore::RestoreReceipt},
};

/// The error with the reasons.
pub(super) fn refusal(receipt: &RestoreReceipt<'_>, report: &RestoreView<'_>, now: Timestamp) -> CommandError {
    let mut message = format!("refusing to {}", receipt.operation);
    if let (Some(what), Some(at)) = (receipt.what, receipt.done_at) {
        message.push_str(&format!(" '{what}' ({})", age(at, now)));
    }
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
    let is_cleaning = is_cleaning(receipt);
    let is_in_progress = refusals
        .iter()
        .any(|refusal| matches!(refusal, Refusal::OperationInProgress { .. }));
    for refusal in refusals {
        match refusal {
            // While git is in the midst of something, it goes to no branch and nothing is applied.
            Refusal::OtherHistory { .. } if is_in_progress => {
                error = error.hint(format!(
                    "open it in its own working tree: git checkpoint fork {selector} --worktree <directory>"
                ));
            }
            Refusal::OtherHistory { saved, .. } => {
                error = error
                    .hint(format!(
                        "apply its changes instead: git checkpoint apply {selector}{}",
                        report.paths
                    ))
                    .hint(format!(
                        "or open it in its own working tree: git checkpoint fork {selector} --worktree <directory>"
                    ))
                    .hint(format!("or go there first: git switch -c <branch> {}", saved.short()));
            }
            Refusal::OtherWorktree { .. } => {
                error = error.hint(format!(
                    "open it in its own working tree: git checkpoint fork {selector} --worktree <directory>"
                ));
            }
            Refusal::ChangedSince { .. }
                if report.taken.is_some_and(|taken| {
                    taken.direction == Direction::Undo && taken.entry.operation == PlanOperation::Clean.word()
                }) =>
            {
                error = error.hint("merge the saved changes with what is there: git checkpoint resume --apply");
            }
            Refusal::Reverts { .. } if !is_in_progress => {
                error = error.hint(format!(
                    "keep what was committed since: git checkpoint apply {selector}{}",
                    report.paths
                ));
            }
            Refusal::OperationInProgress { operation } if operation.can_continue() => {
                let word = operation.word();
                error = error.hint(format!(
                    "finish it first: git {word} --continue, or give it up: git {word} --abort"
                ));
            }
            Refusal::NotConcluded { operation, .. } => {
                error = error.hint(format!(
                    "conclude it first: git checkpoint {operation} --continue, or --abort"
                ));
            }
            Refusal::Blocked { .. } if is_cleaning || !refusal.yields_to_force() => {
                error = error.hint(format!(
                    "move these files away first{}",
                    without_blocked(receipt, report)
                ));
            }
            _ => {}
        }
    }
    // A cleaning is never forced.
    if !is_cleaning && refusals.iter().all(Refusal::yields_to_force) {
        error = error.again(
            "to proceed anyway (your files are saved first)",
            report.force,
            AgainOption::Force,
        );
    }
    error
}

fn is_cleaning(receipt: &RestoreReceipt<'_>) -> bool {
    receipt.operation == PlanOperation::Clean.word()
}

/// The other way around files that cannot be saved: the command that leaves them out, where it can.
fn without_blocked(receipt: &RestoreReceipt<'_>, report: &RestoreView<'_>) -> String {
    let is_for_paths = [PlanOperation::Apply, PlanOperation::Restore]
        .map(PlanOperation::word)
        .contains(&receipt.operation);
    if is_cleaning(receipt) {
        ", or save without cleaning: git checkpoint pause".to_owned()
    } else if is_for_paths {
        let command = report
            .force
            .split(" -- ")
            .next()
            .unwrap_or_default()
            .replace(" --force", "");
        format!(", or choose other paths: {command} -- <pathspec>")
    } else {
        String::new()
    }
}

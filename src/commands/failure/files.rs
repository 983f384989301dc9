//! Failures to bring or compare files, and to take that back.

use super::{
    super::error::{AgainOption, CommandError, FailureKind},
    kind_of_io, kind_of_store, kind_of_worktree,
};
use crate::{
    model::step::quoted,
    ops::{Error, RemovalError, RestoreError, bisect::BisectError},
    store::checkpoint::oid,
};

/// Failures to bring or compare files.
pub(super) fn of_files(error: &Error) -> CommandError {
    let of = |kind| CommandError::of(kind, error);
    match *error {
        Error::CommittedElsewhere(ref elsewhere) => of(FailureKind::Refused)
            .hint(format!("to have them here: git merge {}", quoted(&elsewhere.branch)))
            .hint(format!(
                "to apply them here even so: git checkpoint apply {}",
                oid(elsewhere.checkpoint).short()
            )),
        Error::PlanChanged => of(FailureKind::Refused).hint("nothing was changed; make a new plan and look at it"),
        Error::PlanUnknown => of(FailureKind::Refused)
            .hint("nothing was changed; make a new plan and look at it, then repeat all its arguments"),
        Error::NoCommits { .. } | Error::Unrelated { .. } => {
            of(FailureKind::NotFound).hint("compare the checkpoints themselves: git checkpoint compare")
        }
        Error::Restore(ref error) => restore(error),
        Error::NoMatch { ref spec, .. } if spec.as_bytes().starts_with(b"-") => {
            of(FailureKind::NotFound).hint("options come before '--', and what follows it is a path")
        }
        Error::NoMatch { .. } => of(FailureKind::NotFound),
        Error::Removal(ref error) => removal(error),
        Error::MixedParts { .. } => of(FailureKind::Refused).hint("answer a or d for that file"),
        Error::Bisect(BisectError::Bisecting) => of(FailureKind::Refused)
            .hint("continue it: git checkpoint bisect good, bad or skip")
            .hint("or end it: git checkpoint bisect reset"),
        Error::Bisect(BisectError::NotBisecting) => {
            of(FailureKind::NotFound).hint("start one: git checkpoint bisect start")
        }
        Error::Bisect(BisectError::NothingToTest | BisectError::NotInLine { .. }) => {
            of(FailureKind::NotFound).hint("see the checkpoints: git checkpoint log")
        }
        Error::Bisect(BisectError::GoodAfterBad) => of(FailureKind::Invalid)
            .hint("see the verdicts: git checkpoint bisect log")
            .hint("start over: git checkpoint bisect reset"),
        Error::LineRange { .. } => of(FailureKind::Invalid).hint("use a form such as 10,20 or 10,+5"),
        Error::NoCommit => of(FailureKind::Refused).hint("make the first commit, or pause without --clean"),
        Error::Unproved { .. } => of(FailureKind::Fatal).hint("see what is wrong: git checkpoint verify"),
        Error::ChangedMeanwhile { .. } => {
            of(FailureKind::Refused).hint("save and clean again: git checkpoint pause --clean")
        }
        Error::NoFiles {
            before: Some(ref before),
            ..
        } => of(FailureKind::NotFound).hint(format!(
            "the latest one before it that has files: git checkpoint show {}",
            before.short()
        )),
        Error::NoFiles { .. } => of(FailureKind::NotFound).hint("to save files: git checkpoint save"),
        Error::NoOption { in_draft: true, .. } => {
            of(FailureKind::NotFound).hint("it is not saved yet: git checkpoint save")
        }
        Error::NoOption { ref subject, .. } => {
            of(FailureKind::NotFound).hint(format!("see its fork points: git checkpoint show {subject}"))
        }
        // `of_operation` has no others for it.
        _ => of(FailureKind::Fatal),
    }
}

/// Failures of what was interrupted, and of undo and redo.
pub(super) fn of_undo(error: &Error) -> CommandError {
    let of = |kind| CommandError::of(kind, error);
    match *error {
        Error::Journal { .. } => of(FailureKind::Damaged),
        Error::Interrupted { operation } => of(FailureKind::Refused)
            .hint(format!("finish it: git checkpoint {} --continue", operation.command()))
            .hint(format!("to give up: git checkpoint {} --abort", operation.command())),
        Error::NewerWork { .. } => of(FailureKind::Refused)
            .hint("save them first: git checkpoint save")
            .hint("then replace them: git checkpoint restore --continue --force, or --abort --force"),
        Error::NotInterrupted | Error::NothingTo { .. } => of(FailureKind::Negative),
        Error::NotLast { .. } => {
            of(FailureKind::Refused).again("undo that one", "git checkpoint undo --older", AgainOption::Older)
        }
        Error::ChangedSince { ref remedies, .. } => {
            let refused = of(FailureKind::Refused);
            let refused = remedies.hints.iter().fold(refused, CommandError::hint);
            let forced = remedies.forced.iter();
            forced.fold(refused, |refused, command| {
                refused.again("to proceed anyway", command, AgainOption::Force)
            })
        }
        Error::RecordChanged { direction, .. } => of(FailureKind::Refused)
            .hint("keep the record as it is now: git checkpoint save")
            .again(
                "to proceed anyway",
                format!("git checkpoint {direction} --force"),
                AgainOption::Force,
            ),
        // `of_operation` has no others for it.
        _ => of(FailureKind::Fatal),
    }
}

fn restore(error: &RestoreError) -> CommandError {
    let kind = match error {
        _ if error.is_transient() => FailureKind::Locked,
        RestoreError::UnsafePath { .. }
        | RestoreError::Tree { .. }
        | RestoreError::Blob { .. }
        | RestoreError::NotThere { .. } => FailureKind::Damaged,
        RestoreError::Io { source, .. } => kind_of_io(source),
        RestoreError::Rules(error) => kind_of_worktree(error),
        RestoreError::Store(error) => kind_of_store(error),
        _ => FailureKind::Fatal,
    };
    let out = CommandError::of(kind, error);
    match error.hint() {
        Some(hint) => out.hint(hint),
        None => out,
    }
}

/// Why the working tree of a fork was not removed, and what to do.
fn removal(error: &RemovalError) -> CommandError {
    let out = CommandError::of(FailureKind::Refused, error);
    match error {
        RemovalError::OwnWorktree { session, other } => out.hint(format!(
            "git -C {} checkpoint fork --remove {session}",
            quoted(&other.display().to_string())
        )),
        RemovalError::NotAllSaved { session, paths } => {
            let shown = paths.iter().take(10).map(|path| format!("not saved: {path}"));
            let out = shown.fold(out, CommandError::hint);
            out.hint(format!(
                "remove it anyway: git checkpoint fork --remove {session} --force"
            ))
        }
        RemovalError::Written { session, .. } => out.hint(format!(
            "end the program that writes there, then: git checkpoint fork --remove {session}"
        )),
        RemovalError::Kept { session, .. } => out.hint(format!(
            "make it deletable, then: git checkpoint fork --remove {session}"
        )),
        RemovalError::Locked { worktree, .. } => out.hint(format!(
            "to allow it: git worktree unlock {}",
            quoted(&worktree.display().to_string())
        )),
    }
}

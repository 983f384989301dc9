//! The end of an apply or merge with conflicts: an error with what to do next.

use super::{RestoreView, report};
use crate::{
    commands::{
        Context,
        error::{CommandError, FailureKind},
        opening::OpenedRepository,
    },
    model::{path::RepoPath, report::MergeVerdict},
    ops::apply::ApplyOutcome,
    render::count::CountedNoun,
    store::checkpoint::oid,
};

/// How many paths an error lists.
const LISTED: usize = 20;

/// Reports an apply; conflicts are an error.
pub(in crate::commands) fn report_applied(
    context: &mut Context,
    opened: &OpenedRepository,
    applied: &ApplyOutcome,
    view: &RestoreView<'_>,
) -> Result<(), CommandError> {
    let conflicts = &applied.conflicts;
    report(context, opened, view)?;
    if conflicts.is_empty() || applied.restored.dry_run {
        return Ok(());
    }
    let mut error = conflicts_error(context, "apply", (conflicts, &applied.resolved), 0);
    // Of one that is deleted on a side, what the other changed is there.
    let is_there = |verdict: &MergeVerdict| has_markers(*verdict) || *verdict == MergeVerdict::ModifyDelete;
    let unmarked = conflicts.iter().find(|(_, verdict)| !is_there(verdict));
    if let (Some((path, _)), Some(from)) = (unmarked, &applied.restored.from) {
        error = error.hint(format!(
            "files without conflict markers are unchanged; the saved version: git show {}^2:{path}",
            oid(from.id).short()
        ));
    }
    Err(error)
}

fn has_markers(verdict: MergeVerdict) -> bool {
    matches!(verdict, MergeVerdict::Content | MergeVerdict::AddAdd)
}

/// The error for files in conflict, with the commands that continue and go back. The receipt lists the paths; where
/// `--quiet` leaves it out, the error does.
pub(in crate::commands) fn conflicts_error(
    context: &Context,
    command: &str,
    (conflicts, resolved): (&[(RepoPath, MergeVerdict)], &[RepoPath]),
    of_record: usize,
) -> CommandError {
    let mut message = format!(
        "{} to resolve",
        CountedNoun::new(conflicts.len() + of_record, "conflict")
    );
    if of_record > 0 {
        message.push_str(&format!(", {of_record} of them in the record"));
    }
    if context.ui.options().quiet > 0 || context.ui.options().json {
        for (path, verdict) in conflicts.iter().take(LISTED) {
            message.push_str(&format!("\n  {}  {}", path.quoted(), verdict.words()));
        }
        if conflicts.len() > LISTED {
            message.push_str(&format!("\n  ... and {} more", conflicts.len() - LISTED));
        }
    }
    let mut error = CommandError::new(FailureKind::Negative, message);
    let mut open = conflicts.iter().filter(|(path, _)| !resolved.contains(path)).peekable();
    if open.peek().is_some() {
        error = error.hint(if open.any(|(_, verdict)| has_markers(*verdict)) {
            "edit the files between the conflict markers, then: git add <path>"
        } else {
            "edit the files, then: git add <path>"
        });
    }
    if let Some(path) = resolved.first() {
        let more = match resolved.len() {
            1 => String::new(),
            many => format!(" and {} more", many - 1),
        };
        error = error.hint(format!(
            "{}{more}: as you resolved it before (rerere); check it, then: git add <path>",
            path.quoted()
        ));
    }
    error
        .hint(format!("then: git checkpoint {command} --continue"))
        .hint(format!("to give up: git checkpoint {command} --abort"))
}

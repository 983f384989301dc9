//! `--continue` and `--abort` of a merge or apply: after an interruption, and after conflicts.

use serde_json::json;

use super::{RestoreMethod, take};
use crate::{
    commands::{
        Context,
        error::{CommandError, FailureKind},
        opening::OpenedRepository,
        pending_merge,
        restore_report::{RestoreView, bringing, report},
        save,
    },
    model::path::RepoPath,
    ops::{
        Scene,
        apply::{self, ResolutionState},
        interrupted, items, plan_runner,
        undo::{self, Direction},
    },
    render::count::CountedNoun,
    store::merge_state::{ConflictCommand, MergeState},
};

/// Continues or aborts a merge or apply that was interrupted or had conflicts; `summary` is that of the merged session.
pub(in crate::commands) fn go_on(
    command: ConflictCommand,
    (abort, dry_run, force): (bool, bool, bool),
    summary: Option<String>,
    opened: OpenedRepository,
    context: &mut Context,
) -> Result<(), CommandError> {
    if plan_runner::interrupted(&opened.scene())?.is_some() {
        if summary.is_some() {
            let message = format!("the {command} was interrupted, and keeps the summary that it began with");
            return Err(CommandError::new(FailureKind::Usage, message)
                .hint(format!("finish it: git checkpoint {command} --continue"))
                .hint("then change the summary: git checkpoint save --amend -m <text>"));
        }
        let how = interrupted::Resume { force, dry_run };
        let restored = bringing(context, &opened, |progress| {
            Ok(if abort {
                interrupted::abort(&opened.scene(), how, progress)?
            } else {
                interrupted::resume(&opened.scene(), how, progress)?
            })
        })?;
        let view = RestoreView {
            restored: Some(&restored),
            force: &format!("git checkpoint {command} --continue --force"),
            ..RestoreView::default()
        };
        return report(context, &opened, &view);
    }
    let state = apply::in_conflict(&opened.scene())?;
    let is_it = state.as_ref().is_some_and(|state| state.operation == command);
    let unmerged = apply::unmerged_paths(&opened.scene())?;
    // Versions before this one left no note.
    let is_last = || apply::is_last(&opened.scene(), command).unwrap_or(false);
    let is_known = is_it || state.is_none() && !unmerged.is_empty() && is_last();
    if !is_known {
        let error = CommandError::new(FailureKind::Negative, format!("no {command} in progress"));
        return Err(match &state {
            Some(state) => error.hint(format!("continue: git checkpoint {} --continue", state.operation)),
            None if abort && is_last() => error.hint(format!(
                "to undo the last {command}, which is complete: git checkpoint undo"
            )),
            None => error,
        });
    }
    if abort {
        if let Some(state) = &state
            && apply::is_committed(&opened.scene(), state)?
        {
            let error = CommandError::new(
                FailureKind::Negative,
                format!("no {command} in progress: the resolution is committed"),
            );
            return Err(error.hint("undo what it did to the files even so: git checkpoint undo"));
        }
        if let Some(state) = &state
            && unmerged.is_empty()
            && !force
        {
            refuse_saved(opened.scene(), state, command)?;
        }
        let how = RestoreMethod { dry_run, force };
        let n = state.map(|state| state.n);
        return take(how, Direction::Undo, (true, Some((command, n))), context);
    }
    if !unmerged.is_empty() {
        return Err(CommandError::new(FailureKind::Negative, not_resolved(&unmerged))
            .hint("edit them, then: git add <path>")
            .hint(format!("to give up: git checkpoint {command} --abort")));
    }
    let Some(state) = state else { return Ok(()) };
    if !force {
        refuse_unresolved(&state, &opened)?;
    }
    let marked = apply::marked(&opened.scene(), &state)?;
    if !marked.is_empty() {
        context.ui.warning(&format!(
            "conflict markers are left in these files, which are taken as they are{}",
            listed(&marked)
        ));
    }
    conclude(&state, (dry_run, marked.len()), summary, opened, context)
}

/// Refuses to take checkpoints out of a session with a merge of which no path is unmerged: they may be work that came after its
/// resolution, as a commit of git.
fn refuse_saved(scene: Scene<'_>, state: &MergeState, command: ConflictCommand) -> Result<(), CommandError> {
    let count = undo::saved_since(&scene, state.n)?;
    if count == 0 {
        return Ok(());
    }
    let checkpoints = CountedNoun::new(count, "checkpoint");
    let were = if count == 1 { "was" } else { "were" };
    let message = format!("{checkpoints} {were} saved after the {command} of '{}'", state.from);
    let concludes = match apply::resolution(&scene, state)? {
        ResolutionState::Resolved => format!(
            "no path is unmerged any more; the next save concludes the merge, or: git checkpoint {command} --continue"
        ),
        ResolutionState::Discarded(_) => format!(
            "nothing of it is in the files any more; to keep your side of every conflict as the resolution: git checkpoint \
             {command} --continue --force"
        ),
        ResolutionState::Reset(_) => format!(
            "files are as the {command} left them, but no longer unmerged: edit them, then: git checkpoint {command} --continue"
        ),
    };
    Err(CommandError::new(FailureKind::Refused, message)
        .hint(concludes)
        .hint(format!(
            "to go back to before it, which takes what was saved since out of the session: git checkpoint {command} --abort --force"
        )))
}

/// The error for a merge or apply whose conflicts are open, or resolved and not saved.
pub(in crate::commands) fn not_concluded(
    opened: &OpenedRepository,
    state: &MergeState,
) -> Result<CommandError, CommandError> {
    let (command, mut unmerged) = (state.operation, apply::unmerged_paths(&opened.scene())?);
    unmerged.retain(|path| state.paths.contains(path));
    let message = if unmerged.is_empty() {
        format!("the {command} of {} is not concluded", state.from)
    } else {
        not_resolved(&unmerged)
    };
    let error = CommandError::new(FailureKind::Negative, message);
    let error = if unmerged.is_empty() {
        error.hint(format!("save the resolution: git checkpoint {command} --continue"))
    } else {
        error
            .hint("edit them, then: git add <path>")
            .hint(format!("then: git checkpoint {command} --continue"))
    };
    Ok(error.hint(format!("or go back: git checkpoint {command} --abort")))
}

/// Refuses to save a merge that was thrown away, or conflict markers that were not edited, as a resolution.
fn refuse_unresolved(state: &MergeState, opened: &OpenedRepository) -> Result<(), CommandError> {
    let command = state.operation;
    let abort = format!("git checkpoint {command} --abort");
    let force = format!("git checkpoint {command} --continue --force");
    match apply::resolution(&opened.scene(), state)? {
        ResolutionState::Resolved => Ok(()),
        ResolutionState::Discarded(new) => {
            let mut message = format!("nothing of {} is in the files any more", state.from);
            if !new.is_empty() {
                message.push_str(", but for new files");
                message.push_str(&listed(&new));
            }
            Err(CommandError::new(FailureKind::Negative, message)
                .hint(format!("to end the {command}: {abort}"))
                .hint(format!(
                    "to keep your side of every conflict as the resolution: {force}"
                )))
        }
        ResolutionState::Reset(paths) => {
            let message = not_resolved(&paths);
            Err(CommandError::new(FailureKind::Negative, message)
                .hint(format!(
                    "the files are as the {command} left them, but no longer unmerged: edit them"
                ))
                .hint(format!("or save them as they are: {force}"))
                .hint(format!("to give up: {abort}")))
        }
    }
}

/// The message that conflicts are left, with their paths.
fn not_resolved(paths: &[RepoPath]) -> String {
    format!("not every conflict is resolved{}", listed(paths))
}

/// Paths of a message, a line each.
fn listed(paths: &[RepoPath]) -> String {
    let mut lines = String::new();
    for path in paths.iter().take(20) {
        lines.push_str(&format!("\n  {}", path.quoted()));
    }
    if paths.len() > 20 {
        lines.push_str(&format!("\n  ... and {} more", paths.len() - 20));
    }
    lines
}

/// Saves the resolution of a merge. An apply changed no session: it is over.
fn conclude(
    state: &MergeState,
    (dry_run, marked): (bool, usize),
    summary: Option<String>,
    mut opened: OpenedRepository,
    context: &mut Context,
) -> Result<(), CommandError> {
    let Some(mut conclusion) = apply::conclusion(&opened.scene(), state, dry_run)? else {
        if !dry_run {
            apply::concluded(&opened.scene(), state, None)?;
        }
        if context.ui.options().quiet == 0 {
            context.ui.data(if marked == 0 {
                "Every conflict is resolved.".to_owned()
            } else {
                format!(
                    "No path is unmerged any more; {} left with conflict markers.",
                    CountedNoun::new(marked, "file")
                )
            });
        }
        return Ok(());
    };
    opened.use_session(state.session.as_ref());
    // The subject of the checkpoint stays that of the resolution.
    let summary = summary.map(|summary| json!({ "summary": summary }));
    conclusion.request.changes.extend(summary);
    let saved = save::report(context, &opened, conclusion.request);
    let is_saved = match &saved {
        Ok(()) => true,
        Err(error) => error.kind() == FailureKind::Partial,
    };
    if is_saved && !dry_run {
        apply::concluded(&opened.scene(), state, conclusion.resolved.as_ref())?;
        let record = items::now(&opened.scene())?.record;
        pending_merge::warn_of_record(context, record.conflicts.len());
    }
    saved
}

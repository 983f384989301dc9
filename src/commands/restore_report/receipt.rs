//! The receipt of a restore, apply, undo or redo, made from its outcome.

use super::RestoreView;
use crate::{
    commands::{Context, opening::OpenedRepository},
    ops::{
        fork::leftover::ForkLeftover,
        plan_runner::{AppliedPlan, PlanOperation},
        record::RecordFate,
        refuse::Refusal,
        restore_outcome::RestoreOutcome,
        unfinished::OperationFate,
    },
    render::{
        age,
        restore::{
            CheckpointOrigin, ClaimedRecordRow, FailedPath, FilteredFile, MergeConflictRow, MovedRef, OperationRow,
            RefusalRow, ReplacedRow, RestoreCounts, RestoreReceipt, WorktreeRow,
        },
    },
    store::checkpoint::oid,
};

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
    match restored.operation {
        _ if words.is_empty() => None,
        PlanOperation::Restore => Some(format!(
            "not restored ({what} in the checkpoint); bring it back too: git checkpoint restore {} --index{paths}",
            id.short()
        )),
        _ if left.is_partial => Some(format!("not staged because of conflicts: {what} in the checkpoint")),
        _ => Some(format!("nothing is staged ({what} in the checkpoint)")),
    }
}

fn stays(left: &ForkLeftover) -> WorktreeRow<'_> {
    WorktreeRow {
        path: &left.path,
        branch: &left.branch,
        changed: left.is_changed,
        session: left.session.as_deref(),
    }
}

pub(super) fn receipt<'a>(opened: &OpenedRepository, report: &'a RestoreView<'a>) -> RestoreReceipt<'a> {
    let restored = report.restored;
    let brought = restored.and_then(|restored| restored.brought.as_ref());
    let refusals = restored.map(RestoreOutcome::refusals).unwrap_or_default();
    let done = brought.map(|brought| &brought.done);
    let dry_run = report.dry_run || restored.is_some_and(|restored| restored.dry_run);
    let record = match restored.map(|restored| &restored.record) {
        _ if report.taken.is_some_and(|taken| taken.record) => "restored",
        _ if report.taken.is_some_and(|taken| taken.claimed.is_some()) => "claimed",
        None | Some(RecordFate::NotMeant) => "not-meant",
        Some(RecordFate::Restored { .. }) => "restored",
        Some(RecordFate::Same) => "same",
        Some(RecordFate::OfAnotherSession) => "of-another-session",
        Some(RecordFate::Claimed(_)) => "claimed",
    };
    let refs = report.taken.map(|taken| taken.refs.as_slice()).unwrap_or_default();
    let idle = brought.is_none_or(AppliedPlan::is_nothing)
        && record != "restored"
        && refs.is_empty()
        && !restored.is_some_and(|restored| matches!(restored.in_progress, OperationFate::SetUp(_)));
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
        dry_run,
        more: report.more.clone(),
        operation: match report.taken {
            Some(taken) => taken.direction.word(),
            None => restored
                .map_or(PlanOperation::Restore, |restored| restored.operation)
                .word(),
        },
        outcome,
        is_reverse: report.is_reverse,
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
                is_clean: from.document.git.changes().is_empty() && from.document.session.forked_from.is_none(),
                has_files: from.document.snapshot.is_some(),
            }),
        what: report.taken.map(|taken| taken.entry.what.as_str()),
        done_at: report.taken.map(|taken| taken.entry.at),
        done_age: report.taken.map(|taken| age::age(taken.entry.at, now)),
        safety: brought.and_then(|brought| brought.safety).map(|safety| oid(safety.id)),
        plan: brought.map(|brought| brought.lines.as_slice()).unwrap_or_default(),
        plan_token: brought
            .filter(|_| {
                outcome == "planned" && restored.is_some_and(|restored| restored.operation == PlanOperation::Restore)
            })
            .filter(|brought| report.taken.is_none() && !brought.token.is_empty())
            .map(|brought| brought.token.as_str()),
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
        claimed: claimed(report, dry_run),
        record_changes: match restored.map(|restored| &restored.record) {
            Some(RecordFate::Restored { changes, .. }) => changes,
            _ => &[],
        },
        kept: report.kept.map(|kept| kept.paths.as_slice()).unwrap_or_default(),
        can_merge: report.kept.is_some_and(|kept| kept.can_merge),
        in_progress: restored.and_then(|restored| in_progress(&restored.in_progress)),
        refs: refs
            .iter()
            .map(|(name, from, to)| MovedRef {
                name: name.clone(),
                from: from.clone(),
                to: to.clone(),
            })
            .collect(),
        stays: report.stays.iter().map(stays).collect(),
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
        replaced: brought
            .map_or(&[][..], |brought| &brought.replaced)
            .iter()
            .map(|replaced| ReplacedRow {
                paths: &replaced.paths,
                saved: oid(replaced.saved),
            })
            .collect(),
        filtered: brought
            .zip(restored)
            .map(|(brought, restored)| brought.filtered(restored.operation))
            .unwrap_or_default()
            .into_iter()
            .map(|(path, why)| FilteredFile { path, why })
            .collect(),
        differing: done.map(|done| done.differing.as_slice()).unwrap_or_default(),
        stopped: done.and_then(|done| done.stopped.as_ref()).map(ToString::to_string),
    }
}

/// The record that stays under the claim of another one, and how to set it back even so.
fn claimed(report: &RestoreView<'_>, dry_run: bool) -> Option<ClaimedRecordRow> {
    let of_undo = report.taken.and_then(|taken| taken.claimed.as_ref());
    let of_restore = report.restored.and_then(|restored| match &restored.record {
        RecordFate::Claimed(claimed) => Some(claimed),
        _ => None,
    });
    let claimed = of_undo.or(of_restore)?;
    let force = match report.taken {
        Some(taken) if !dry_run => format!(
            "git checkpoint {} && {}",
            taken.direction.opposite().word(),
            report.force
        ),
        _ => report.force.to_owned(),
    };
    Some(ClaimedRecordRow {
        session: claimed.session.clone(),
        by: claimed.by.clone(),
        force,
    })
}

fn in_progress(fate: &OperationFate) -> Option<OperationRow> {
    let (state, operation, left) = match fate {
        OperationFate::NotMeant => return None,
        OperationFate::SetUp(operation) => ("set-up", operation, None),
        OperationFate::Same(operation) => ("same", operation, None),
        OperationFate::Left { operation, why, remedy } => ("left", operation, Some((why.clone(), remedy.clone()))),
    };
    let (why, remedy) = left.unzip();
    let text = operation.describe();
    Some(OperationRow {
        state,
        text,
        why,
        remedy,
    })
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

/// Names the files beyond the size limits that the checkpoint of the files saved first holds.
pub(super) fn warn_oversized(context: &Context, brought: Option<&AppliedPlan>) {
    let Some(brought) = brought else { return };
    let Some(safety) = &brought.safety else { return };
    let id = oid(safety.id);
    for path in &brought.oversized {
        context.ui.warning(&format!(
            "'{}' was in the way, and is in {} although it is beyond the size limits",
            path.quoted(),
            id.short()
        ));
    }
}

/// Names the files that another session wrote meanwhile, each with the checkpoint that has what it was.
pub(super) fn warn_replaced(context: &Context, brought: Option<&AppliedPlan>) {
    for later in brought.iter().flat_map(|brought| &brought.replaced) {
        let id = oid(later.saved);
        for path in &later.paths {
            let path = path.quoted();
            context.ui.warning(&format!(
                "'{path}' was written meanwhile; what it had is in {0}: git checkpoint show {0}:{path}",
                id.short()
            ));
        }
    }
}

//! Files of a session away and back: what `pause --clean` and `resume --apply` have in common with `restore`.

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    opening::{self, OpenedRepository},
    restore_report::{self, RestoreView},
};
use crate::{
    model::{name::ShortName, step::quoted},
    ops::{
        apply::ApplyOutcome,
        clean, plan_runner,
        reapply::{self, Way},
        unfinished::OperationFate,
    },
    store::{self, checkpoint::oid},
};

/// How 'resume' brings files back.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(super) struct WayArgs {
    /// Bring back the saved changes, staged ones staged
    ///
    /// In a clean working tree at the commit of the checkpoint every file and the index become exactly what was saved.
    /// Elsewhere the changes are merged, as 'apply --index' does. Where the latest checkpoint was saved after 'pause
    /// --clean', the work that it removed comes back; of several, the latest.
    #[arg(long, conflicts_with = "restore")]
    apply: bool,
    /// Restore every file as it was saved, and delete later ones, as 'restore' does
    #[arg(long)]
    restore: bool,
    /// Show what would be done; the session is not resumed
    #[arg(short = 'n', long, conflicts_with_all = ["list", "agent", "recover"])]
    pub(super) dry_run: bool,
}

impl WayArgs {
    /// The changes, by merging them.
    pub(super) const APPLY: Self = Self {
        apply: true,
        restore: false,
        dry_run: false,
    };

    /// Whether files are to come back at all.
    pub(super) fn is_any(self) -> bool {
        self.apply || self.restore
    }
}

/// Brings the files of a resumed checkpoint, or of its session, back.
pub(super) fn bring(
    context: &Context,
    opened: &OpenedRepository,
    (selector, is_session): (&str, bool),
    way: WayArgs,
) -> Result<ApplyOutcome, CommandError> {
    restore_report::bringing(context, opened, |progress| {
        let request = reapply::Request {
            selector: failure::selector(selector)?,
            way: if way.restore { Way::Restore } else { Way::Apply },
            directory: opening::directory(context, opened)?,
            is_session,
            dry_run: way.dry_run,
        };
        Ok(reapply::reapply(&opened.scene(), &request, progress)?)
    })
}

/// Reports files that came back; `within` is the JSON that the receipt becomes a part of.
pub(super) fn report(
    context: &mut Context,
    opened: &OpenedRepository,
    selector: &str,
    way: WayArgs,
    applied: &ApplyOutcome,
    within: Option<serde_json::Value>,
) -> Result<(), CommandError> {
    let command = if way.restore { "restore" } else { "apply" };
    // What was put aside may be of an earlier checkpoint than the one that was named.
    let brought = match &applied.restored.from {
        Some(from) => oid(from.id).short().to_owned(),
        None => quoted(selector),
    };
    let force = format!("git checkpoint {command} {brought} --index --force");
    let report = RestoreView {
        restored: Some(&applied.restored),
        conflicts: &applied.conflicts,
        kept: Some(&applied.kept),
        force: &force,
        within,
        ..RestoreView::default()
    };
    restore_report::report_applied(context, opened, applied, &report)?;
    let is_reported = !matches!(applied.restored.in_progress, OperationFate::NotMeant);
    restore_report::report_operation(context, opened, selector, is_reported);
    Ok(())
}

/// Cleans the working tree after it was saved as a checkpoint of a session, and reports it; without one it is only planned.
pub(super) fn clean(
    context: &mut Context,
    opened: &OpenedRepository,
    session: &ShortName,
    saved: Option<store::ObjectId>,
    within: Option<serde_json::Value>,
) -> Result<(), CommandError> {
    let session = session.as_str();
    try_clean(context, opened, saved, within).map_err(|error| {
        if saved.is_none() {
            return error;
        }
        // What was begun has its own commands: until it is finished, no other one changes files.
        if plan_runner::interrupted(&opened.scene()).is_ok_and(|found| found.is_some()) {
            return error.hint(format!(
                "session '{session}' is saved and paused: it has what the files had"
            ));
        }
        // Nothing is lost: the checkpoint has what the files still have.
        error
            .hint(format!(
                "session '{session}' is saved and paused, but the working tree is not cleaned; to try again: git checkpoint pause --clean"
            ))
            .hint(format!("to go on with it: git checkpoint resume {session}"))
    })
}

fn try_clean(
    context: &mut Context,
    opened: &OpenedRepository,
    saved: Option<store::ObjectId>,
    within: Option<serde_json::Value>,
) -> Result<(), CommandError> {
    let restored = restore_report::bringing(context, opened, |progress| {
        Ok(clean::clean(&opened.scene(), saved, progress)?)
    })?;
    let report = RestoreView {
        restored: Some(&restored),
        dry_run: saved.is_none(),
        within,
        ..RestoreView::default()
    };
    restore_report::report(context, opened, &report)
}

/// Refuses to clean the working tree before anything is saved. A dry run shows with its plan what is in the way.
pub(super) fn check_clean(opened: &OpenedRepository, dry_run: bool) -> Result<(), CommandError> {
    let refusals = clean::refusals(&opened.scene())?;
    if let Some(refusal) = refusals.first() {
        return Err(CommandError::new(
            FailureKind::Refused,
            format!("cannot clean the working tree: {refusal}"),
        )
        .hint("finish or abort it first, or save without cleaning: git checkpoint pause"));
    }
    if dry_run {
        return Ok(());
    }
    let planned = clean::clean(&opened.scene(), None, &|_, _| ())?;
    if planned.refusals().is_empty() {
        let index = planned.brought.as_ref().map(|planned| &planned.index);
        if index.is_some_and(|index| !index.paths.is_empty()) {
            clean::check_index(&opened.scene())?;
        }
        return Ok(());
    }
    let report = RestoreView {
        restored: Some(&planned),
        ..RestoreView::default()
    };
    Err(restore_report::refused(opened, &report))
}

//! `delete --remote`: sessions deleted on a remote.

use super::wired;
use crate::{
    commands::{
        Context,
        error::{CommandError, FailureKind},
        opening::OpenedRepository,
    },
    model::name::ShortName,
    ops::share::push,
    render::session_change::{RemovalView, RemovedRow},
    store::checkpoint::oid,
};

/// Deletes sessions on a remote, and prints the receipt.
pub(in crate::commands) fn run(
    remote: &str,
    names: &[String],
    (force, dry_run): (bool, bool),
    context: &mut Context,
    opened: &OpenedRepository,
) -> Result<(), CommandError> {
    let own = format!("{remote}/");
    let names = names
        .iter()
        .map(|name| ShortName::new(name.strip_prefix(&own).unwrap_or(name)))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| CommandError::of(FailureKind::Usage, &error))?;
    let command = format!("git checkpoint delete --remote {remote}");
    let removed = wired(context, &command, |wire| {
        push::remove(&opened.scene(), remote, &names, (force, dry_run), wire)
    })?;
    let view = RemovalView {
        remote,
        dry_run,
        deleted: removed
            .iter()
            .map(|one| RemovedRow {
                session: one.name.as_str(),
                id: oid(one.tip),
                is_here: one.is_here,
                trash: one.trash.as_deref(),
                why: None,
            })
            .collect(),
    };
    context.ui.report(&view)?;
    if let Some(kept) = removed.iter().find(|one| one.trash.is_some()) {
        let hint = format!("bring it back here with: git checkpoint undelete {}", kept.name);
        context.ui.hint("Trash", &hint);
    }
    Ok(())
}

//! `save --amend`: other notes for the latest checkpoint.

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    opening::OpenedRepository,
    redactions,
    summary::SummaryArgs,
};
use crate::{
    ops::amend::{self, AmendRequest},
    render::amend::AmendView,
    store::checkpoint::oid,
};

/// The summary that the arguments give. The editor starts with the current one, and opens if nothing else is given.
pub(super) fn summary(
    context: &Context,
    opened: &OpenedRepository,
    mut given: SummaryArgs,
    is_alone: bool,
) -> Result<Option<String>, CommandError> {
    let is_open = given.messages.is_empty() && given.file.is_none();
    if is_open && !given.edit && is_alone && !context.ui.can_ask() {
        return Err(CommandError::new(FailureKind::Usage, "nothing to amend")
            .hint("change the summary: git checkpoint save --amend -m '...'"));
    }
    given.edit |= is_open && is_alone;
    if is_open && given.edit {
        given.messages.extend(amend::current_summary(&opened.scene())?);
    }
    given.summary(context, opened)
}

/// Amends and prints the receipt.
pub(super) fn amend(
    context: &mut Context,
    opened: &OpenedRepository,
    request: AmendRequest,
) -> Result<(), CommandError> {
    let dry_run = request.dry_run;
    let done = amend::amend(&opened.scene(), request)?;
    redactions::warn(context, &done.redactions);
    failure::warn_aftermath(&context.ui, &done.aftermath);
    if !dry_run {
        for trouble in super::share::automatic::after_checkpoint(opened, &done.session) {
            context.ui.warning(&trouble);
        }
    }
    let view = AmendView {
        session: &done.session,
        before: oid(done.before),
        id: done.id.map(oid),
        digest: &done.digest,
        subject: done.document.subject(),
        dry_run,
    };
    context.ui.report(&view)
}

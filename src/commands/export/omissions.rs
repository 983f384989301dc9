//! Report of what an export omits: a line for each kind.

use super::super::Context;
use crate::{formats::OmittedContent, ops::export::ExportedCheckpoint};

/// Content that our own JSON omits.
pub(super) fn of_ours(exported: &ExportedCheckpoint) -> Vec<OmittedContent> {
    let mut told = Vec::new();
    if exported.before > 0 {
        told.push(OmittedContent::several("", exported.before, "earlier checkpoint"));
    }
    if exported.checkpoint.document.snapshot.is_some() {
        told.push(OmittedContent::several("", 1, "snapshot of the files"));
    }
    told
}

/// Prints it on standard error.
pub(super) fn report_omissions(left_out: &[OmittedContent], format: &str, context: &Context) {
    if context.ui.options().json {
        return;
    }
    for one in left_out {
        context.ui.status(format!("note: not included: {}", one.what));
    }
    let advice = match (left_out.is_empty(), format) {
        (true, _) => return,
        (false, "json") => "note: 'git checkpoint bundle <file>' hands the session over with its files",
        (false, _) => "note: '--format json' holds the whole record",
    };
    context.ui.status(advice);
}

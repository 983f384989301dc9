//! Report of what an export omits: a line for each kind.

use super::super::Context;
use crate::{formats::OmittedContent, ops::export::ExportedCheckpoint, render::text::TextLine};

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

/// Says it on standard error.
pub(super) fn report_omissions(left_out: &[OmittedContent], format: &str, context: &Context) {
    if context.ui.options().json {
        return;
    }
    for one in left_out {
        context
            .ui
            .status(TextLine::plain(format!("note: not in it: {}", one.what)));
    }
    if !left_out.is_empty() && format != "json" {
        context
            .ui
            .status(TextLine::plain("note: '--format json' holds the whole record"));
    }
}

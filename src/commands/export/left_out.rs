//! What an export does not hold, told: a line for each kind.

use super::super::Context;
use crate::{formats::LeftOut, ops::export::Exported, render::text::Line};

/// What our own JSON does not hold.
pub(super) fn of_ours(exported: &Exported) -> Vec<LeftOut> {
    let mut told = Vec::new();
    if exported.before > 0 {
        told.push(LeftOut::several("", exported.before, "earlier checkpoint"));
    }
    if exported.checkpoint.document.snapshot.is_some() {
        told.push(LeftOut::several("", 1, "snapshot of the files"));
    }
    told
}

/// Says it on standard error.
pub(super) fn tell(left_out: &[LeftOut], format: &str, context: &Context) {
    if context.ui.options().json {
        return;
    }
    for one in left_out {
        context.ui.status(Line::plain(format!("note: not in it: {}", one.what)));
    }
    if !left_out.is_empty() && format != "json" {
        context
            .ui
            .status(Line::plain("note: '--format json' holds the whole record"));
    }
}

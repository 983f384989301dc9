//! `export --format html`: the page about a checkpoint.

use crate::{
    model::{outline::Outline, selector::Selector},
    ops::{
        Error, Scene,
        export::{ExportScope, ExportedCheckpoint},
        overview::{self, Overview},
    },
    render::{
        html::{self, HtmlReport, ReportPlace, TimelineEntry},
        report,
    },
    store::checkpoint::oid,
};

/// Columns of the report of changes, which keeps its line breaks.
const COLUMNS: usize = 84;
/// Checkpoints in the time line of the local page.
#[cfg(feature = "serve")]
const PAGE_TIMELINE: usize = 100;

/// The checkpoint and its page.
pub(super) fn page(scene: &Scene<'_>, selector: &Selector) -> Result<(ExportedCheckpoint, Vec<u8>), Error> {
    let found = overview::overview(scene, selector, ExportScope::Note, html::TIMELINE_LIMIT)?;
    let bytes = made(&found, ReportPlace::File).into_bytes();
    Ok((found.exported, bytes))
}

/// The same without a page around it, for the local page.
#[cfg(feature = "serve")]
pub(in crate::commands) fn article(scene: &Scene<'_>, selector: &Selector) -> Result<String, Error> {
    let found = overview::overview(scene, selector, ExportScope::View, PAGE_TIMELINE)?;
    Ok(made(&found, ReportPlace::Page))
}

fn made(found: &Overview, place: ReportPlace) -> String {
    let exported = &found.exported;
    let name = exported.name();
    let messages: Vec<_> = exported
        .messages
        .iter()
        .filter_map(|value| serde_json::from_value(value.clone()).ok())
        .collect();
    let timeline: Vec<TimelineEntry> = found
        .timeline
        .iter()
        .map(|entry| TimelineEntry {
            id: oid(entry.id),
            at: entry.trailers.time.unwrap_or(entry.time),
            by: entry.author.clone(),
            kind: entry.trailers.kind,
            subject: entry.subject.clone(),
        })
        .collect();
    let mut contents = super::contents(exported);
    // The chat has a part of its own.
    contents.messages.clear();
    contents.messages_total = 0;
    let selector = exported.selector();
    let outline = Outline::of(&contents, &selector);
    let changes = found
        .changes
        .as_ref()
        .map(|changes| report::text(changes, &selector, COLUMNS));
    let (files, more_files) = html::files(&found.patch);
    let id = oid(exported.checkpoint.entry.id);
    let digest = exported.checkpoint.digest.to_string();
    let report = HtmlReport {
        place,
        session: name,
        id: id.as_str(),
        digest: &digest,
        document: &exported.checkpoint.document,
        outline: &outline,
        messages: &messages,
        timeline: &timeline,
        has_older: found.has_older,
        changes: changes.as_ref(),
        files: &files,
        more_files,
    };
    match place {
        ReportPlace::File => report.page(),
        ReportPlace::Page => report.article(),
    }
}

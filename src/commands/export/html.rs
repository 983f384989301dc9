//! `export --format html`: the page about a checkpoint.

use crate::{
    model::{outline::Outline, selector::Selector},
    ops::{
        Error, Scene,
        export::ExportedCheckpoint,
        overview::{self, Overview},
    },
    render::{
        html::{self, HtmlReport, TimelineEntry},
        report,
    },
    store::checkpoint::oid,
};

/// Columns of the report of changes, which keeps its line breaks.
const COLUMNS: usize = 100;

/// The checkpoint and its page.
pub(super) fn page(scene: &Scene<'_>, selector: &Selector) -> Result<(ExportedCheckpoint, Vec<u8>), Error> {
    let found = overview::overview(scene, selector, html::TIMELINE_LIMIT)?;
    let bytes = bytes(&found);
    Ok((found.exported, bytes))
}

fn bytes(found: &Overview) -> Vec<u8> {
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
            id: oid(entry.id).short().to_owned(),
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
    let outline = Outline::of(&contents, name);
    let changes = found.changes.as_ref().map(|changes| report::text(changes, COLUMNS));
    let (files, more_files) = html::files(&found.patch);
    let page = HtmlReport {
        session: name,
        id: oid(exported.checkpoint.entry.id).as_str(),
        digest: &exported.checkpoint.digest.to_string(),
        document: &exported.checkpoint.document,
        outline: &outline,
        messages: &messages,
        timeline: &timeline,
        has_older: found.has_older,
        changes: changes.as_ref(),
        files: &files,
        more_files,
    }
    .page();
    page.into_bytes()
}

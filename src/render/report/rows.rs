//! The rows of the report, in the order in which they are read.

use super::{files, history};
use crate::{
    model::{
        facts::GitOperation,
        report::{
            Age, ChangeReport, LocationVerdict, MachineLocation, Operations, PartFailure, ReportPart, ReportVerdict,
            Stash,
        },
    },
    render::{age, count::CountedNoun, slot::Slot, text::TextLine},
};

/// One row.
pub(super) struct ReportRow {
    /// Subject of the row.
    pub(super) label: &'static str,
    /// The evidence in phrases.
    pub(super) pieces: Vec<TextLine>,
    /// Verdict.
    pub(super) verdict: ReportVerdict,
    /// More evidence, a line each.
    pub(super) details: Vec<TextLine>,
    /// How much evidence is left out and the command that shows it, or the purpose of another command.
    pub(super) omitted: Vec<(String, String)>,
}

impl ReportRow {
    pub(super) fn new(label: &'static str, verdict: ReportVerdict, pieces: Vec<TextLine>) -> Self {
        Self {
            label,
            pieces,
            verdict,
            details: Vec::new(),
            omitted: Vec::new(),
        }
    }
}

/// Every row that has something to say about a checkpoint that commands know as `selector`.
pub(super) fn rows(report: &ChangeReport, selector: &str) -> Vec<ReportRow> {
    let now = report.age.now;
    let mut rows = Vec::new();
    rows.extend(age_row(&report.age));
    rows.extend(place(&report.place));
    let is_here = report.commits.is_some();
    rows.extend(report.branch.as_ref().map(|branch| history::branch(branch, is_here)));
    rows.extend(
        report
            .commits
            .as_ref()
            .and_then(|commits| history::commits(commits, report.branch.as_ref().map(|branch| &branch.head), now)),
    );
    // That nothing changed is not known where something could not be read.
    let is_known = report.failed.iter().all(|failure| failure.part != ReportPart::Files);
    let heads = report.branch.as_ref().map(|branch| &branch.head);
    let all = report.files.as_ref().map(|line| files::all(line, heads));
    rows.extend(all.filter(|row| is_known || row.verdict != ReportVerdict::Same));
    rows.extend(
        report
            .saved
            .as_ref()
            .and_then(|saved| files::saved(saved, selector, now)),
    );
    rows.extend(report.worktree.as_ref().map(files::worktree));
    // With another HEAD the index is another as well.
    let same_head = report.branch.as_ref().is_none_or(|branch| branch.head.is_same());
    rows.extend(report.worktree.as_ref().filter(|_| same_head).and_then(files::index));
    rows.extend(report.upstream.as_ref().and_then(history::upstream));
    rows.extend(
        report
            .operation
            .as_ref()
            .and_then(|line| operation(line, report.place.is)),
    );
    rows.extend(report.stash.as_ref().and_then(stash));
    rows.extend(report.failed.iter().map(failure));
    rows
}

fn age_row(line: &Age) -> Option<ReportRow> {
    if line.verdict == ReportVerdict::Same {
        return None;
    }
    let piece = if line.seconds < 0 {
        "the checkpoint is from the future: a clock is wrong".to_owned()
    } else {
        let limit = line.limit.unwrap_or_default();
        format!(
            "saved {}, the limit is {}",
            age::age(line.saved_at, line.now),
            age::duration(limit)
        )
    };
    Some(ReportRow::new("age", line.verdict, vec![TextLine::plain(piece)]))
}

fn place(line: &MachineLocation) -> Option<ReportRow> {
    let pieces = match line.is {
        LocationVerdict::Same => return None,
        LocationVerdict::OtherHost => {
            let here = format!("this is {}", line.host.now);
            vec![
                TextLine::plain(format!("saved on {}", line.host.then)),
                TextLine::plain(here),
            ]
        }
        LocationVerdict::OtherWorktree => {
            // The name of a linked one, without what distinguishes it from the main one in a document.
            let name = |id: &str| id.strip_prefix("linked-").unwrap_or(id).to_owned();
            vec![
                TextLine::plain(format!("saved in working tree {}", name(&line.worktree.then))),
                TextLine::plain(format!("this is {}", name(&line.worktree.now))),
            ]
        }
        LocationVerdict::OtherFolder => vec![TextLine::plain("saved in another directory")],
    };
    let mut row = ReportRow::new("place", line.verdict, pieces);
    if line.is == LocationVerdict::OtherFolder {
        row.details.push(TextLine::new().with(Slot::Path, &line.path.then));
    }
    Some(row)
}

/// Whether a saved operation that is not in progress ended is only known where it was begun; in another place it may
/// never have been.
fn operation(line: &Operations, place: LocationVerdict) -> Option<ReportRow> {
    let words = |operation: &GitOperation, kind: &str| {
        let mut words = kind.to_owned();
        if let Some(branch) = &operation.branch {
            words = format!("{words} of {branch}");
        }
        if let (Some(step), Some(of)) = (operation.step, operation.of) {
            words = format!("{words}, step {step} of {of}");
        }
        words
    };
    let in_progress = |now: &GitOperation, how: &str| format!("{} {how}", words(now, now.kind.word()));
    let saved_during = |then: &GitOperation| format!("saved during {}", words(then, then.kind.with_article()));
    let pieces = match (&line.is.then, &line.is.now) {
        (None, None) => return None,
        (None, Some(now)) => vec![in_progress(now, "in progress")],
        (Some(then), Some(now)) if then.is_same(now) => vec![in_progress(now, "still in progress")],
        (Some(then), Some(now)) => vec![in_progress(now, "in progress"), saved_during(then)],
        (Some(then), None) if place == LocationVerdict::Same => vec![saved_during(then), "which has ended".to_owned()],
        (Some(then), None) => vec![saved_during(then), "none is in progress here".to_owned()],
    };
    let pieces = pieces.into_iter().map(TextLine::plain).collect();
    let mut row = ReportRow::new("operation", line.verdict, pieces);
    if let Some(command) = &line.command {
        row.omitted.push(("to begin it here".to_owned(), command.clone()));
    }
    Some(row)
}

fn stash(line: &Stash) -> Option<ReportRow> {
    if line.count.is_same() {
        return None;
    }
    let entries = CountedNoun::irregular(usize(line.count.now), "entry", "entries");
    let piece = format!("{entries}, {} then", line.count.then);
    Some(ReportRow::new("stash", line.verdict, vec![TextLine::plain(piece)]))
}

fn failure(failure: &PartFailure) -> ReportRow {
    let piece = TextLine::new().with(Slot::Bad, format!("not known: {}", failure.reason));
    ReportRow::new(failure.part.word(), ReportVerdict::Unknown, vec![piece])
}

/// A count as the noun helper takes it.
pub(super) fn usize(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

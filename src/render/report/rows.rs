//! The rows of the report, in the order in which they are read.

use super::{files, history};
use crate::{
    model::{
        facts::Operation,
        report::{Age, ChangeReport, Failure, Operations, Place, PlaceIs, Stash, Verdict},
    },
    render::{age, count::Count, slot::Slot, text::Line},
};

/// One row.
pub(super) struct Row {
    /// What it is about.
    pub(super) label: &'static str,
    /// The evidence in phrases.
    pub(super) pieces: Vec<Line>,
    /// What it comes to.
    pub(super) verdict: Verdict,
    /// More evidence, a line each.
    pub(super) details: Vec<Line>,
}

impl Row {
    pub(super) fn new(label: &'static str, verdict: Verdict, pieces: Vec<Line>) -> Self {
        Self {
            label,
            pieces,
            verdict,
            details: Vec::new(),
        }
    }
}

/// Every row that has something to say.
pub(super) fn rows(report: &ChangeReport) -> Vec<Row> {
    let now = report.age.now;
    let mut rows = Vec::new();
    rows.extend(age_row(&report.age));
    rows.extend(place(&report.place));
    rows.extend(report.branch.as_ref().map(history::branch));
    rows.extend(
        report
            .commits
            .as_ref()
            .and_then(|commits| history::commits(commits, now)),
    );
    rows.extend(report.files.as_ref().map(files::all));
    rows.extend(report.saved.as_ref().and_then(|saved| files::saved(saved, now)));
    rows.extend(report.worktree.as_ref().map(files::worktree));
    rows.extend(report.upstream.as_ref().and_then(history::upstream));
    rows.extend(report.operation.as_ref().and_then(operation));
    rows.extend(report.stash.as_ref().and_then(stash));
    rows.extend(report.failed.iter().map(failure));
    rows
}

fn age_row(line: &Age) -> Option<Row> {
    if line.verdict == Verdict::Same {
        return None;
    }
    let piece = if line.seconds < 0 {
        "the checkpoint lies in the future: a clock is wrong".to_owned()
    } else {
        let limit = line.limit.unwrap_or_default();
        format!(
            "saved {}, the limit is {}",
            age::age(line.saved_at, line.now),
            age::duration(limit)
        )
    };
    Some(Row::new("age", line.verdict, vec![Line::plain(piece)]))
}

fn place(line: &Place) -> Option<Row> {
    let pieces = match line.is {
        PlaceIs::Same => return None,
        PlaceIs::OtherHost => {
            let here = format!("this is {}", line.host.now);
            vec![Line::plain(format!("saved on {}", line.host.then)), Line::plain(here)]
        }
        PlaceIs::OtherWorktree => {
            let then = format!("saved in work tree {}", line.worktree.then);
            vec![Line::plain(then), Line::plain(format!("this is {}", line.worktree.now))]
        }
        PlaceIs::OtherFolder => vec![Line::plain("saved in ").with(Slot::Path, &line.path.then)],
    };
    Some(Row::new("place", line.verdict, pieces))
}

fn operation(line: &Operations) -> Option<Row> {
    let words = |operation: &Operation| {
        let mut words = operation.kind.word().to_owned();
        if let Some(branch) = &operation.branch {
            words = format!("{words} of {branch}");
        }
        if let (Some(step), Some(of)) = (operation.step, operation.of) {
            words = format!("{words}, step {step} of {of}");
        }
        words
    };
    let piece = match (&line.is.then, &line.is.now) {
        (None, None) => return None,
        (Some(then), None) => format!("the {} of then is over", then.kind.word()),
        (Some(then), Some(now)) if then == now => format!("{} still in progress", words(now)),
        (_, Some(now)) => format!("{} in progress", words(now)),
    };
    Some(Row::new("operation", line.verdict, vec![Line::plain(piece)]))
}

fn stash(line: &Stash) -> Option<Row> {
    if line.count.is_same() {
        return None;
    }
    let entries = Count::irregular(usize(line.count.now), "entry", "entries");
    let piece = format!("{entries}, {} then", line.count.then);
    Some(Row::new("stash", line.verdict, vec![Line::plain(piece)]))
}

fn failure(failure: &Failure) -> Row {
    let piece = Line::new().with(Slot::Bad, format!("not known: {}", failure.reason));
    Row::new(failure.part.word(), Verdict::Check, vec![piece])
}

/// A count as the noun helper takes it.
pub(super) fn usize(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

//! The rows on files.

use super::{
    history::by,
    rows::{ReportRow, usize},
    tail,
};
use crate::{
    model::{
        report::{FileReport, MergeVerdict, ReportVerdict, SavedFile, SavedFiles, SavedState, UncommittedChanges},
        time::Timestamp,
    },
    render::{
        count::CountedNoun,
        slot::Slot,
        text::{self, TextLine},
    },
};

/// Files that are named below a row.
const NAMED: usize = 8;
/// Columns of the word for a file's state.
const WORD: usize = 10;
/// Columns of the numbers of lines.
const COUNTS: usize = 9;
/// Columns of a path at most.
const LONGEST_PATH: usize = 44;
/// Paths up to this leave room for the commit on the same line.
const SHORT_PATH: usize = 20;

pub(super) fn all(line: &FileReport) -> ReportRow {
    let mut pieces = Vec::new();
    let mut add = |count: u64, words: &str| {
        if count > 0 {
            pieces.push(TextLine::plain(format!("{count} {words}")));
        }
    };
    match &line.since_saved {
        None => {}
        Some(changes) if changes.is_empty() => add(0, ""),
        Some(changes) => add(
            changes.all.count,
            if changes.all.count == 1 {
                "differs from the saved state"
            } else {
                "differ from the saved state"
            },
        ),
    }
    add(line.committed.all.count, "changed by commits");
    add(line.uncommitted.all.count, "uncommitted");
    add(line.not_compared.count, "skipped, not compared");
    if line.since_saved.is_none() {
        pieces.push(TextLine::plain("none were saved"));
    } else if line.verdict == ReportVerdict::Same {
        pieces.insert(0, TextLine::plain("as saved"));
    }
    ReportRow::new("files", line.verdict, pieces)
}

pub(super) fn saved(line: &SavedFiles, now: Timestamp) -> Option<ReportRow> {
    if line.count == 0 {
        return None;
    }
    let total = CountedNoun::new(usize(line.count), "saved change");
    let mut pieces = Vec::new();
    if line.same == line.count {
        pieces.push(TextLine::plain(format!("{total}, still uncommitted as saved")));
        return Some(ReportRow::new("saved", line.verdict, pieces));
    }
    pieces.push(TextLine::plain(format!("of {total}")));
    let counts = [
        (line.conflict, "in conflict"),
        (line.missing, "missing"),
        (line.changed, "changed since"),
        (line.reverted, "taken back"),
        (line.committed, "committed"),
        (line.included, "included"),
        (line.same, "as saved"),
    ];
    for (count, words) in counts.into_iter().filter(|(count, _)| *count > 0) {
        pieces.push(TextLine::plain(format!("{count} {words}")));
    }
    let mut row = ReportRow::new("saved", line.verdict, pieces);
    let shown: Vec<_> = line
        .first
        .iter()
        .filter(|file| file.state != SavedState::Same)
        .collect();
    let longest = shown
        .iter()
        .take(NAMED)
        .map(|file| text::width(&file.path.quoted()))
        .max()
        .unwrap_or(0);
    let room = longest.min(LONGEST_PATH);
    row.details
        .extend(shown.iter().take(NAMED).flat_map(|file| detail(file, room, now)));
    let more = usize(line.count - line.same).saturating_sub(NAMED);
    if more > 0 {
        row.details
            .push(TextLine::new().with(Slot::Dim, format!("... {more} more")));
    }
    Some(row)
}

/// State, path, lines, commit; below them what else is to be known.
fn detail(file: &SavedFile, room: usize, now: Timestamp) -> Vec<TextLine> {
    let (word, slot) = match file.state {
        SavedState::Conflict => ("conflict", Slot::Bad),
        SavedState::Missing => ("missing", Slot::Bad),
        SavedState::Changed => ("changed", Slot::Caution),
        SavedState::Reverted => ("reverted", Slot::Caution),
        SavedState::Committed => ("committed", Slot::Changed),
        SavedState::Included => ("included", Slot::Changed),
        SavedState::Same => ("same", Slot::Good),
    };
    let mut line = TextLine::new().with(slot, word);
    line.pad_to(WORD);
    line.push(Slot::Path, tail(&file.path.quoted(), room));
    if let Some(lines) = file.lines {
        line.pad_to(WORD + room + 2);
        line.push(Slot::Added, format!("+{}", lines.added));
        line.push(Slot::Removed, format!(" -{}", lines.removed));
    }
    let commit = file.commit.as_ref().map(|commit| {
        let mut line = TextLine::new().with(Slot::Id, commit.id.short()).with(Slot::Plain, " ");
        line.append(&by(commit, now));
        line
    });
    let mut notes = Vec::new();
    if let Some(commit) = commit {
        if room <= SHORT_PATH {
            line.pad_to(WORD + room + 2 + COUNTS);
            line.append(&commit);
        } else {
            notes.push(commit);
        }
    }
    if let Some(moved) = &file.now {
        notes.push(TextLine::plain("now ").with(Slot::Path, moved.quoted()));
    }
    match file.merge {
        None | Some(MergeVerdict::Clean | MergeVerdict::Content) => {}
        Some(MergeVerdict::ModifyDelete) if file.state == SavedState::Missing => {}
        Some(merge) => notes.push(TextLine::new().with(Slot::Dim, merge.words())),
    }
    let mut lines = vec![line];
    for note in notes {
        let mut line = TextLine::plain(" ".repeat(WORD));
        line.append(&note);
        lines.push(line);
    }
    lines
}

pub(super) fn worktree(line: &UncommittedChanges) -> ReportRow {
    let counts = [
        (line.conflicted.count, "unmerged"),
        (line.staged.count, "staged"),
        (line.modified.count, "modified"),
        (line.deleted.count, "deleted"),
        (line.untracked.count, "untracked"),
    ];
    let mut pieces: Vec<_> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| TextLine::plain(format!("{count} {word}")))
        .collect();
    if line.not_in_checkpoint.count > 0 {
        pieces.push(TextLine::plain(format!(
            "{} not in the checkpoint",
            line.not_in_checkpoint.count
        )));
    }
    if pieces.is_empty() {
        pieces.push(TextLine::plain("nothing uncommitted"));
    }
    ReportRow::new("worktree", line.verdict, pieces)
}

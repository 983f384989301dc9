//! The rows on files.

use std::collections::BTreeSet;

use super::{
    history::by,
    rows::{ReportRow, usize},
    tail,
};
use crate::{
    model::{
        change::ChangeKind,
        facts::StagedKind,
        id::Oid,
        path::RepoPath,
        report::{
            FileReport, MergeVerdict, ReportVerdict, SavedAndCurrent, SavedFile, SavedFiles, SavedState,
            UncommittedChanges, UncommittedCounts,
        },
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

/// `heads` are the commits that were checked out, then and now.
pub(super) fn all(line: &FileReport, heads: Option<&SavedAndCurrent<Option<Oid>>>) -> ReportRow {
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
    // On a branch without a commit, all files of the saved one are missing from it, and no commit changed them.
    let is_unborn = heads.is_some_and(|heads| heads.then.is_some() && heads.now.is_none());
    let committed = if is_unborn {
        "committed then, none now"
    } else {
        "changed by commits"
    };
    add(line.committed.all.count, committed);
    add(line.uncommitted.all.count, "uncommitted");
    add(line.not_compared.count, "skipped, not compared");
    if line.since_saved.is_none() {
        pieces.push(TextLine::plain("none were saved"));
    } else if line.verdict == ReportVerdict::Same {
        pieces.insert(0, TextLine::plain("as saved"));
    }
    let mut row = ReportRow::new("files", line.verdict, pieces);
    if is_unborn {
        return row;
    }
    // Files that are as saved may be among them: a comparison with the checkpoint has not all.
    let command = match heads.map(|heads| (&heads.then, &heads.now)) {
        Some((Some(then), Some(now))) => format!("git diff --name-status {} {}", then.short(), now.short()),
        _ => "git ls-tree -r --name-only HEAD".to_owned(),
    };
    name_paths(
        &mut row,
        line.committed.all.count,
        command,
        line.committed.all.first.iter().map(|change| {
            let (word, slot) = match change.kind {
                ChangeKind::Added => ("added", Slot::Added),
                ChangeKind::Deleted => ("deleted", Slot::Removed),
                ChangeKind::Modified => ("modified", Slot::Changed),
                ChangeKind::TypeChanged => ("retyped", Slot::Changed),
                ChangeKind::Renamed => ("renamed", Slot::Changed),
            };
            // What is gone is looked for first.
            NamedPath {
                rank: u8::from(change.kind != ChangeKind::Deleted),
                word,
                slot,
                path: change.path.quoted(),
                place: "by commits",
            }
        }),
    );
    row
}

/// A path below a row.
struct NamedPath {
    /// The least are shown first.
    rank: u8,
    word: &'static str,
    slot: Slot,
    path: String,
    /// Where the change is; empty where the word has it.
    place: &'static str,
}

/// Names paths below a row; so many, then how many more there are.
fn name_paths(row: &mut ReportRow, count: u64, command: String, paths: impl Iterator<Item = NamedPath>) {
    let mut paths: Vec<_> = paths.collect();
    paths.sort_by_key(|path| path.rank);
    let shown = &paths[..paths.len().min(NAMED)];
    let longest = shown.iter().map(|path| text::width(&path.path)).max().unwrap_or(0);
    let room = longest.min(LONGEST_PATH);
    row.details = shown
        .iter()
        .map(|path| {
            let mut line = TextLine::new().with(path.slot, path.word);
            line.pad_to(WORD);
            line.push(Slot::Path, tail(&path.path, room));
            if !path.place.is_empty() {
                line.pad_to(WORD + room + 2);
                line.push(Slot::Dim, path.place);
            }
            line
        })
        .collect();
    let more = usize(count).saturating_sub(shown.len());
    row.omitted.extend(omitted(more, command));
}

/// The count of paths that are not named, with the command that names them.
fn omitted(more: usize, command: String) -> Option<(String, String)> {
    (more > 0).then(|| (format!("{more} more"), command))
}

pub(super) fn saved(line: &SavedFiles, selector: &str, now: Timestamp) -> Option<ReportRow> {
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
        (line.reverted, "reverted"),
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
    // Those that were committed differ from nothing.
    row.omitted
        .extend(omitted(more, format!("git checkpoint show {selector} --all")));
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
        SavedState::Same => ("unchanged", Slot::Good),
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
    if line.submodules.count > 0 {
        let count = usize::try_from(line.submodules.count).unwrap_or(usize::MAX);
        pieces.push(TextLine::plain(
            CountedNoun::new(count, "changed submodule").to_string(),
        ));
    }
    if pieces.is_empty() {
        pieces.push(TextLine::plain("nothing uncommitted"));
        let was = counted(&line.then);
        if !was.is_empty() {
            pieces.push(TextLine::plain(format!("was {}", was.join(", "))));
        }
    }
    let mut row = ReportRow::new("worktree", line.verdict, pieces);
    let lists = [
        ("unmerged", Slot::Bad, &line.conflicted),
        ("deleted", Slot::Removed, &line.deleted),
        ("modified", Slot::Changed, &line.modified),
        ("untracked", Slot::Added, &line.untracked),
        ("staged", Slot::Changed, &line.staged),
    ];
    // A path that is staged and modified is named once.
    let mut seen = BTreeSet::new();
    let paths = lists
        .iter()
        .flat_map(|(word, slot, list)| list.first.iter().map(|path| (*word, *slot, path)));
    let paths: Vec<_> = paths.filter(|(_, _, path)| seen.insert(path.as_bytes())).collect();
    let listed: u64 = lists.iter().map(|(.., list)| list.first.len() as u64).sum();
    let all: u64 = lists.iter().map(|(.., list)| list.count).sum();
    let count = all - listed + paths.len() as u64;
    let named_path = |(word, slot, path): (&'static str, Slot, &RepoPath)| {
        if word != "staged" {
            return NamedPath {
                rank: 0,
                word,
                slot,
                path: path.quoted(),
                place: "",
            };
        }
        let kind = StagedKind::of(path, &line.staged_added, &line.staged_deleted, &line.renamed);
        NamedPath {
            rank: 0,
            word: kind.word(),
            slot: match kind {
                StagedKind::Added => Slot::Added,
                StagedKind::Deleted => Slot::Removed,
                _ => slot,
            },
            path: kind.path(path),
            place: if kind == StagedKind::Unknown { "" } else { "staged" },
        }
    };
    let command = "git status -u".to_owned();
    name_paths(&mut row, count, command, paths.into_iter().map(named_path));
    row
}

/// The index where it is not as saved although HEAD is.
pub(super) fn index(line: &UncommittedChanges) -> Option<ReportRow> {
    if line.index_same != Some(false) {
        return None;
    }
    let side = |staged: u64, unmerged: u64| match (staged, unmerged) {
        (0, 0) => "nothing staged".to_owned(),
        (n, 0) => format!("{n} staged"),
        (0, n) => format!("{n} unmerged"),
        (n, unmerged) => format!("{n} staged and {unmerged} unmerged"),
    };
    let piece = format!(
        "{} now, {} when saved",
        side(line.staged.count, line.conflicted.count),
        side(line.then.staged, line.then.conflicted)
    );
    Some(ReportRow::new(
        "index",
        ReportVerdict::Moved,
        vec![TextLine::plain(piece)],
    ))
}

/// `2 staged`, `1 untracked`.
fn counted(counts: &UncommittedCounts) -> Vec<String> {
    let words = [
        (counts.conflicted, "unmerged"),
        (counts.staged, "staged"),
        (counts.modified, "modified"),
        (counts.deleted, "deleted"),
        (counts.untracked, "untracked"),
    ];
    let found = words.into_iter().filter(|(count, _)| *count > 0);
    found.map(|(count, word)| format!("{count} {word}")).collect()
}

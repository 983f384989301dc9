//! The lines on files: all that differ, those with saved changes, and what is uncommitted now.

use std::collections::{BTreeSet, HashMap};

use super::{CurrentState, RecordedState, ReportLimits, id_of, kept};
use crate::{
    model::{
        change::{ChangeKind, TreeChange, TreeEntryInfo},
        facts::{BoundedList, LISTED},
        path::RepoPath,
        report::{
            CommitInfo, FileReport, MergeVerdict, PartFailure, ReportPart, ReportVerdict, SavedFile, SavedFiles,
            SavedState, UncommittedChanges, UncommittedCounts,
        },
    },
    store::{
        Error, ObjectId, Repository,
        checkpoint::object_id,
        history, lines as line_counts,
        merge::{self, Labels, PathMerge, PathMergeOutcome, Trees},
        tree::{self, Renames, TreeReader},
    },
};

/// The three lines. `new` are the commits since, latest first.
pub(super) fn lines(
    repo: &Repository,
    then: RecordedState<'_>,
    now: CurrentState<'_>,
    limits: ReportLimits,
    new: &[ObjectId],
    failed: &mut Vec<PartFailure>,
) -> (Option<FileReport>, Option<SavedFiles>, Option<UncommittedChanges>) {
    let Some(present) = now.tree else {
        return (None, None, None);
    };
    let sides = Sides {
        old_head: id_of(then.git.head.as_ref()),
        head: id_of(now.git.head.as_ref()),
        saved: then.files.map(|files| object_id(&files.tree)),
        present,
    };
    let unseen = Unseen::of(then.unseen, now.unseen);
    let renames = limits.similarity.map_or(Renames::Exact, Renames::Similar);
    let reader = TreeReader::new(repo);
    let uncommitted = reader.diff(sides.head, Some(present), renames);
    let uncommitted = match uncommitted {
        Ok(mut changes) => {
            changes.retain(|change| !now.exported.contains(&change.path));
            changes
        }
        Err(error) => {
            kept::<(), _>(ReportPart::Files, Err(error), failed);
            return (None, None, None);
        }
    };
    let files = kept(
        ReportPart::Files,
        files(&reader, sides, renames, &unseen, &uncommitted),
        failed,
    );
    let merged = kept(ReportPart::Saved, merged(&reader, sides, limits), failed);
    let worktree = worktree(then, now, &uncommitted, merged.as_deref(), &unseen);
    let spoilt = merged
        .iter()
        .flatten()
        .find_map(|path| Some((path, path.failure.as_ref()?)));
    if let Some((path, failure)) = spoilt {
        failed.push(PartFailure {
            part: ReportPart::Saved,
            reason: format!("'{}': {failure}", path.saved),
        });
    }
    let saved = merged.and_then(|merged| {
        let saved = saved(repo, sides, limits, new, &unseen, &uncommitted, merged);
        kept(ReportPart::Saved, saved, failed)
    });
    (files, saved, Some(worktree))
}

/// The commits and trees that are compared.
#[derive(Clone, Copy)]
struct Sides {
    old_head: Option<ObjectId>,
    head: Option<ObjectId>,
    saved: Option<ObjectId>,
    present: ObjectId,
}

/// Paths that one of the trees does not hold although the files are or were there: skipped is not absent.
struct Unseen(BTreeSet<Vec<u8>>);

impl Unseen {
    fn of(then: &[RepoPath], now: &[RepoPath]) -> Self {
        Self(then.iter().chain(now).map(|path| path.as_bytes().to_vec()).collect())
    }

    /// Whether nothing can be said of a path: it, or a directory it is in, was skipped.
    fn covers(&self, path: &RepoPath) -> bool {
        let path = path.as_bytes();
        let directories = path
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'/')
            .map(|(at, _)| &path[..at]);
        !self.0.is_empty() && directories.chain([path]).any(|path| self.0.contains(path))
    }
}

fn files(
    reader: &TreeReader<'_>,
    sides: Sides,
    renames: Renames,
    unseen: &Unseen,
    uncommitted: &[TreeChange],
) -> Result<FileReport, Error> {
    let committed = reader.diff(sides.old_head, sides.head, renames)?;
    let mut not_compared = BoundedList::default();
    let since_saved = match sides.saved {
        None => None,
        Some(saved) => {
            let (skipped, differing): (Vec<_>, Vec<_>) = reader
                .diff(Some(saved), Some(sides.present), renames)?
                .into_iter()
                .partition(|change| unseen.covers(&change.path) || unseen.covers(change.old_path()));
            not_compared = skipped.into_iter().map(|change| change.path).collect();
            Some(differing.iter().collect::<crate::model::change::ChangeCounts>())
        }
    };
    let same = match &since_saved {
        Some(changes) => changes.is_empty(),
        None => committed.is_empty() && uncommitted.is_empty(),
    };
    Ok(FileReport {
        verdict: if same {
            ReportVerdict::Same
        } else {
            ReportVerdict::Moved
        },
        committed: committed.iter().collect(),
        uncommitted: uncommitted.iter().collect(),
        since_saved,
        not_compared,
    })
}

/// The saved changes merged with the present; nothing when no files were saved.
fn merged(reader: &TreeReader<'_>, sides: Sides, limits: ReportLimits) -> Result<Vec<PathMerge>, Error> {
    let Some(saved) = sides.saved else {
        return Ok(Vec::new());
    };
    let trees = Trees {
        base: sides.old_head,
        ours: Some(sides.present),
        theirs: Some(saved),
    };
    let options = merge::MergeOptions {
        labels: Labels {
            base: "base",
            ours: "current files",
            theirs: "checkpoint",
        },
        drivers: false,
        rename_candidates: limits.rename_candidates,
        overlap: merge::Overlap::Conflict,
    };
    merge::three_way(reader, trees, options)
}

fn saved(
    repo: &Repository,
    sides: Sides,
    limits: ReportLimits,
    new: &[ObjectId],
    unseen: &Unseen,
    uncommitted: &[TreeChange],
    merged: Vec<PathMerge>,
) -> Result<SavedFiles, Error> {
    let dirty: BTreeSet<&RepoPath> = uncommitted
        .iter()
        .flat_map(|change| [&change.path, change.old_path()])
        .collect();
    let mut sum = SavedFiles {
        verdict: ReportVerdict::Same,
        count: 0,
        same: 0,
        committed: 0,
        included: 0,
        reverted: 0,
        changed: 0,
        missing: 0,
        conflict: 0,
        first: Vec::new(),
    };
    let mut files = Vec::new();
    for path in merged
        .into_iter()
        .filter(|path| !unseen.covers(&path.saved) && !unseen.covers(&path.path))
    {
        let committed = !dirty.contains(&path.path) && !dirty.contains(&path.saved);
        let state = match state(&path, committed && sides.head != sides.old_head) {
            SavedState::Conflict => own_edit(repo, sides, &path)?.unwrap_or(SavedState::Conflict),
            state => state,
        };
        *match state {
            SavedState::Same => &mut sum.same,
            SavedState::Committed => &mut sum.committed,
            SavedState::Included => &mut sum.included,
            SavedState::Reverted => &mut sum.reverted,
            SavedState::Changed => &mut sum.changed,
            SavedState::Missing => &mut sum.missing,
            SavedState::Conflict => &mut sum.conflict,
        } += 1;
        sum.count += 1;
        sum.verdict = sum.verdict.max(verdict(state));
        files.push((path, state));
    }
    // What needs attention first; the sort keeps the order of paths among equals.
    let rank = |state: SavedState| match state {
        SavedState::Conflict => 0,
        SavedState::Changed => 1,
        SavedState::Missing => 2,
        SavedState::Reverted => 3,
        SavedState::Same | SavedState::Committed | SavedState::Included => 4,
    };
    files.sort_by_key(|(_, state)| rank(*state));
    files.truncate(LISTED);
    let touched = touched(repo, limits, new, &files)?;
    for (path, state) in files {
        sum.first.push(file(repo, path, state, &touched));
    }
    Ok(sum)
}

/// Whether an apparent conflict is only the user's continued work: HEAD has the path as it was saved, and it was edited
/// on; or no commit touched it, and what was uncommitted was changed further.
fn own_edit(repo: &Repository, sides: Sides, path: &PathMerge) -> Result<Option<SavedState>, Error> {
    if path.path != path.saved || path.from.is_some() {
        return Ok(None);
    }
    let head = match sides.head {
        Some(head) => tree::entry(repo, head, &path.saved)?,
        None => None,
    };
    Ok(match () {
        () if head == path.theirs => Some(SavedState::Included),
        () if head == path.base => Some(SavedState::Changed),
        () => None,
    })
}

/// State of a saved change. `committed`: the path is as in HEAD, and HEAD is not the saved one.
fn state(path: &PathMerge, committed: bool) -> SavedState {
    if path.ours == path.theirs && path.removes.is_none() {
        return if committed {
            SavedState::Committed
        } else {
            SavedState::Same
        };
    }
    if path.ours.is_none() && path.theirs.is_some() {
        return SavedState::Missing;
    }
    if path.verdict == MergeVerdict::Unknown {
        return SavedState::Changed;
    }
    if path.verdict.is_conflict() {
        return SavedState::Conflict;
    }
    if path.ours == path.base {
        return SavedState::Reverted;
    }
    if path.result == PathMergeOutcome::Keep && path.removes.is_none() {
        return SavedState::Included;
    }
    SavedState::Changed
}

fn verdict(state: SavedState) -> ReportVerdict {
    match state {
        SavedState::Same => ReportVerdict::Same,
        SavedState::Committed | SavedState::Included => ReportVerdict::Moved,
        SavedState::Reverted | SavedState::Changed => ReportVerdict::Check,
        SavedState::Missing => ReportVerdict::Missing,
        SavedState::Conflict => ReportVerdict::Conflict,
    }
}

/// The last commit since that touched each of the files that are not as saved.
fn touched(
    repo: &Repository,
    limits: ReportLimits,
    new: &[ObjectId],
    files: &[(PathMerge, SavedState)],
) -> Result<HashMap<RepoPath, CommitInfo>, Error> {
    let wanted: BTreeSet<RepoPath> = files
        .iter()
        .filter(|(_, state)| *state != SavedState::Same)
        .flat_map(|(path, _)| [path.saved.clone(), path.path.clone()])
        .collect();
    let wanted: Vec<_> = wanted.into_iter().collect();
    history::last_touched(repo, new, &wanted, limits.searched)
}

fn file(repo: &Repository, path: PathMerge, state: SavedState, touched: &HashMap<RepoPath, CommitInfo>) -> SavedFile {
    let differs = !matches!(state, SavedState::Same | SavedState::Committed | SavedState::Missing);
    let lines = match (&path.theirs, &path.ours) {
        (Some(_), Some(_)) if differs => {
            let change = TreeChange {
                kind: ChangeKind::Modified,
                path: path.path.clone(),
                from: None,
                similarity: None,
                old: path.theirs.clone(),
                new: path.ours.clone(),
            };
            // Evidence, not the finding: a blob that a partial clone lacks leaves it out.
            let lines = line_counts::count(repo, &change).unwrap_or(None);
            // Permissions alone differ.
            lines.filter(|lines| lines.added + lines.removed > 0)
        }
        _ => None,
    };
    let commit = touched.get(&path.path).or_else(|| touched.get(&path.saved)).cloned();
    let merge: Option<MergeVerdict> =
        (state != SavedState::Same && state != SavedState::Committed).then_some(path.verdict);
    SavedFile {
        verdict: verdict(state),
        state,
        saved_as: saved_as(&path),
        now: (path.path != path.saved && path.ours.is_some()).then_some(path.path),
        path: path.saved,
        merge,
        lines,
        commit,
    }
}

fn saved_as(path: &PathMerge) -> ChangeKind {
    let kind = |entry: &TreeEntryInfo| entry.mode & 0o170_000;
    match (&path.base, &path.theirs) {
        _ if path.from.is_some() => ChangeKind::Renamed,
        (None, _) => ChangeKind::Added,
        (_, None) => ChangeKind::Deleted,
        (Some(base), Some(theirs)) if kind(base) == kind(theirs) => ChangeKind::Modified,
        _ => ChangeKind::TypeChanged,
    }
}

/// Whether a saved change is missing from the working tree.
fn is_absent(path: &PathMerge) -> bool {
    matches!(state(path, false), SavedState::Missing | SavedState::Reverted)
}

fn worktree(
    then: RecordedState<'_>,
    now: CurrentState<'_>,
    uncommitted: &[TreeChange],
    merged: Option<&[PathMerge]>,
    unseen: &Unseen,
) -> UncommittedChanges {
    let known: BTreeSet<&RepoPath> = merged
        .into_iter()
        .flatten()
        .flat_map(|path| [&path.saved, &path.path])
        .collect();
    // A file that was renamed and edited is a rename there, and here a deletion of its old name.
    let renamed: BTreeSet<&RepoPath> = merged
        .into_iter()
        .flatten()
        .filter_map(|path| path.from.as_ref())
        .collect();
    let is_known =
        |change: &&TreeChange| known.contains(&change.path) || change.new.is_none() && renamed.contains(&change.path);
    let not_in_checkpoint: BoundedList<RepoPath> = uncommitted
        .iter()
        .filter(|change| !is_known(change))
        .map(|change| change.path.clone())
        .collect();
    let unmerged = now.git.conflicted.count > 0 && now.git.conflicted != then.git.conflicted;
    let index_same = match (then.files, now.index) {
        (Some(files), Some(index)) => Some(object_id(&files.index) == index),
        _ => None,
    };
    let counts = UncommittedCounts {
        conflicted: then.git.conflicted.count,
        staged: then.git.staged.count,
        modified: then.git.modified.count,
        deleted: then.git.deleted.count,
        untracked: then.git.untracked.count,
    };
    let verdict = match () {
        () if unmerged => ReportVerdict::Conflict,
        () if not_in_checkpoint.count > 0 => ReportVerdict::Kept,
        () if index_same == Some(false) && then.git.head == now.git.head => ReportVerdict::Moved,
        () if now.git.is_clean && !counts.is_empty() => ReportVerdict::Moved,
        // Those that are left may be as they were; that others are gone is a change.
        () if merged
            .into_iter()
            .flatten()
            .any(|path| !unseen.covers(&path.saved) && is_absent(path)) =>
        {
            ReportVerdict::Moved
        }
        () => ReportVerdict::Same,
    };
    UncommittedChanges {
        verdict,
        staged: now.git.staged.clone(),
        staged_added: now.git.staged_added.clone(),
        staged_deleted: now.git.staged_deleted.clone(),
        modified: now.git.modified.clone(),
        deleted: now.git.deleted.clone(),
        untracked: now.git.untracked.clone(),
        conflicted: now.git.conflicted.clone(),
        renamed: now.git.renamed.clone(),
        submodules: now.git.submodules_changed.clone(),
        then: counts,
        not_in_checkpoint,
        index_same,
    }
}

//! The change report: what is not as a checkpoint left it.
//!
//! From two states, then and now, with nothing written. Each part is found out by itself: one that fails is named in
//! the report and the others still come. Everything compared is trees and commits; the files are looked at once, by
//! the caller, who takes the snapshot of the present.

mod files;
mod history;

use std::time::Duration;

use super::{Scene, compose, unfinished};
use crate::{
    model::{
        document::{CheckpointKind, Document, SnapshotRef, WorktreeInfo},
        facts::{BoundedList, GitFacts},
        id::Oid,
        list::{Lists, SkipReason},
        path::RepoPath,
        report::{
            Age, ChangeReport, Drift, History, LocationVerdict, MachineLocation, Operations, PartFailure, ReportPart,
            ReportVerdict, SavedAndCurrent, Stash,
        },
        time::Timestamp,
    },
    os::os_string,
    store::{
        self, ObjectId, Repository,
        checkpoint::{self, Checkpoint, object_id},
        history::RewriteLimits as Walks,
        tree,
    },
};

/// The state that a checkpoint recorded.
#[derive(Clone, Copy, Debug)]
pub struct RecordedState<'a> {
    /// State of the repository at save time.
    pub git: &'a GitFacts,
    /// The trees of files and index, when they were saved.
    pub files: Option<&'a SnapshotRef>,
    /// The working tree.
    pub worktree: &'a WorktreeInfo,
    /// The machine.
    pub host: &'a str,
    /// When.
    pub at: Timestamp,
    /// Paths that the tree of the files does not hold although they were there.
    pub unseen: &'a [RepoPath],
    /// Whether which commit was there is not known, although there was one: another tool reported the state.
    pub untold: bool,
}

/// The state now.
#[derive(Clone, Copy, Debug)]
pub struct CurrentState<'a> {
    /// State of the repository, with the counts of the working tree.
    pub git: &'a GitFacts,
    /// The tree of the files; none without a working tree.
    pub tree: Option<ObjectId>,
    /// The tree of the index.
    pub index: Option<ObjectId>,
    /// The working tree.
    pub worktree: &'a WorktreeInfo,
    /// The machine.
    pub host: &'a str,
    /// When.
    pub at: Timestamp,
    /// Paths that the tree of the files does not hold although they are there.
    pub unseen: &'a [RepoPath],
    /// Paths that this program exported, whose changes are none of the project.
    pub exported: &'a [RepoPath],
}

/// How much work may be done, and what counts as old.
#[derive(Clone, Copy, Debug)]
pub struct ReportLimits {
    /// Walks through the history.
    pub walks: Walks,
    /// Commits that are searched for the last one that touched a file.
    pub searched: usize,
    /// Files read to find the new names of files that were renamed and changed.
    pub rename_candidates: usize,
    /// Count files that are alike to this many per cent as renamed; `None` counts those with unchanged content.
    pub similarity: Option<u8>,
    /// The age beyond which a checkpoint is stale.
    pub max_age: Option<Duration>,
}

impl Default for ReportLimits {
    fn default() -> Self {
        Self {
            walks: Walks::INTERACTIVE,
            searched: 1000,
            rename_candidates: 1000,
            similarity: None,
            max_age: None,
        }
    }
}

/// Compares a saved state with the current one. `repo` must be able to read the current trees; computed objects (merged
/// files) stay in its memory or in that of a copy.
pub fn report(repo: &Repository, then: RecordedState<'_>, now: CurrentState<'_>, limits: ReportLimits) -> ChangeReport {
    let repo = &repo.clone().with_object_memory();
    let mut failed = Vec::new();
    let (branch, commits, new) = history::lines(repo, then, now, limits, &mut failed);
    crate::os::trace::say(1, || format!("compared branch and commits, {} new", new.len()));
    let (files, saved, worktree) = files::lines(repo, then, now, limits, &new, &mut failed);
    // Without a commit there is nothing to compare the files with, unless they were saved.
    let (files, saved) = if then.untold && then.files.is_none() {
        (None, None)
    } else {
        (files, saved)
    };
    crate::os::trace::say(1, || {
        "compared the files, and merged in memory what both changed".to_owned()
    });
    let upstream = kept(
        ReportPart::Upstream,
        history::upstream(repo, then, now, limits),
        &mut failed,
    );
    // Of what the source of an import does not report, nothing is compared.
    let worktree = worktree.filter(|_| then.files.is_some() || then.git.has_status());
    let upstream = upstream.filter(|_| then.git.reports("branch") && then.git.reports("head"));
    let mut report = ChangeReport {
        drift: Drift::default(),
        age: age(then.at, now.at, limits.max_age),
        place: place(then, now),
        branch,
        commits,
        files,
        saved,
        worktree,
        upstream,
        operation: Some(operation(then.git, now.git)),
        stash: Some(stash(then.git, now.git)),
        failed,
    };
    report.drift = drift(&report, then, now);
    report
}

/// Compares a checkpoint with the current state. `overlay` reads the trees of `present`.
pub(super) fn since(
    scene: &Scene<'_>,
    overlay: &Repository,
    saved: &Checkpoint,
    present: &compose::CurrentSnapshot,
    max_age: Option<Duration>,
) -> ChangeReport {
    let document = &saved.document;
    let lists = checkpoint::lists(overlay, saved);
    let then_unseen = lists.as_ref().map(unseen).unwrap_or_default();
    let mut now_unseen = unseen(&present.lists());
    // What this program exported after the checkpoint is no change of the project.
    let exported = compose::exported(scene);
    now_unseen.extend(exported.iter().cloned());
    now_unseen.extend(ignored_since(overlay, document, present));
    let facts = without(&present.facts, &exported);
    let worktree = compose::worktree(scene);
    let snapshot = present.snapshot.as_ref();
    let then = RecordedState {
        git: &document.git,
        files: document.snapshot.as_ref(),
        worktree: &document.worktree,
        host: &document.host,
        at: document.created_at,
        unseen: &then_unseen,
        untold: is_base_unknown(document),
    };
    let now = CurrentState {
        git: &facts,
        tree: snapshot.map(|snapshot| snapshot.tree),
        index: snapshot.map(|snapshot| snapshot.index_tree),
        worktree: &worktree,
        host: scene.host,
        at: scene.now,
        unseen: &now_unseen,
        exported: &exported,
    };
    let limits = ReportLimits {
        max_age,
        ..ReportLimits::default()
    };
    let mut report = report(overlay, then, now, limits);
    begin_operation(&mut report, saved);
    if let Some(files) = &mut report.files {
        drop_paths(&mut files.not_compared, &exported);
    }
    if let Some(reason) = unreadable(&present.lists()) {
        // Whether they are as saved cannot be known.
        report.failed.push(PartFailure {
            part: ReportPart::Files,
            reason,
        });
    }
    if let Err(fault) = lists {
        report.failed.push(PartFailure {
            part: ReportPart::Files,
            reason: fault.to_string(),
        });
    }
    report
}

/// Saved files that no snapshot of the present has although they are on the disk: they are ignored by now.
fn ignored_since(overlay: &Repository, document: &Document, present: &compose::CurrentSnapshot) -> Vec<RepoPath> {
    let (Some(root), Some(saved), Some(now)) = (overlay.workdir(), &document.snapshot, &present.snapshot) else {
        return Vec::new();
    };
    // Damage is reported where the trees are compared.
    let changes = tree::diff(
        overlay,
        Some(object_id(&saved.tree)),
        Some(now.tree),
        tree::Renames::Off,
    );
    let gone = changes.into_iter().flatten().filter(|change| change.new.is_none());
    let is_on_disk = |path: &RepoPath| {
        let there = root.join(os_string(path.as_bytes())).symlink_metadata();
        there.is_ok_and(|there| !there.is_dir())
    };
    gone.map(|change| change.path).filter(is_on_disk).collect()
}

/// The facts without changes of some paths.
fn without(facts: &GitFacts, paths: &[RepoPath]) -> GitFacts {
    let mut facts = facts.clone();
    for list in [&mut facts.untracked, &mut facts.modified] {
        drop_paths(list, paths);
    }
    facts
}

fn drop_paths(list: &mut BoundedList<RepoPath>, paths: &[RepoPath]) {
    let before = list.first.len();
    list.first.retain(|path| !paths.contains(path));
    list.count -= (before - list.first.len()) as u64;
}

/// Report without the files and the index: where the branch and its commits are, and why the rest is unknown.
pub(super) fn without_files(
    scene: &Scene<'_>,
    saved: &Checkpoint,
    error: &super::Error,
    max_age: Option<Duration>,
) -> ChangeReport {
    let document = &saved.document;
    let worktree = compose::worktree(scene);
    let head = store::facts::git_facts(scene.repo, None);
    let known = head.is_ok();
    let git = head.unwrap_or_else(|_| document.git.clone());
    let then = RecordedState {
        git: &document.git,
        files: None,
        worktree: &document.worktree,
        host: &document.host,
        at: document.created_at,
        unseen: &[],
        untold: is_base_unknown(document),
    };
    let now = CurrentState {
        git: &git,
        tree: None,
        index: None,
        worktree: &worktree,
        host: scene.host,
        at: scene.now,
        unseen: &[],
        exported: &[],
    };
    let limits = ReportLimits {
        max_age,
        ..ReportLimits::default()
    };
    let mut out = report(scene.repo, then, now, limits);
    begin_operation(&mut out, saved);
    let mut unknown = vec![ReportPart::Files];
    if !known {
        (out.branch, out.commits, out.upstream, out.operation, out.stash) = (None, None, None, None, None);
        unknown = vec![ReportPart::Branch, ReportPart::Commits, ReportPart::Files];
    }
    out.failed.extend(unknown.into_iter().map(|part| PartFailure {
        part,
        reason: error.to_string(),
    }));
    out.drift = drift(&out, then, now);
    out
}

/// Whether a document has its facts from another tool, and no commit among them that is here.
fn is_base_unknown(document: &Document) -> bool {
    let imported = match document.kind {
        CheckpointKind::Import => true,
        // The first checkpoint of a fork has the text of its source.
        CheckpointKind::Fork => document.session.metadata.contains_key("imported"),
        _ => false,
    };
    imported && document.git.head.is_none()
}

/// The paths that could not be read, in words.
fn unreadable(lists: &Lists) -> Option<String> {
    /// How many are named.
    const NAMED: usize = 5;
    let skipped = lists
        .skipped
        .iter()
        .filter(|skipped| skipped.reason == SkipReason::Unreadable);
    let paths: Vec<String> = skipped.map(|skipped| skipped.path.quoted()).collect();
    if paths.is_empty() {
        return None;
    }
    let more = match paths.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = paths[..paths.len().min(NAMED)].join(", ");
    Some(format!("{} unreadable: {named}{more}", paths.len()))
}

/// Paths that existed and are not in the tree: skipped ones and held files.
fn unseen(lists: &Lists) -> Vec<RepoPath> {
    let skipped = lists.skipped.iter().map(|skipped| skipped.path.clone());
    skipped.chain(lists.held.iter().map(|held| held.path.clone())).collect()
}

/// The value, or a line with the reason why there is none.
fn kept<T, E: std::fmt::Display>(part: ReportPart, found: Result<T, E>, failed: &mut Vec<PartFailure>) -> Option<T> {
    match found {
        Ok(value) => Some(value),
        Err(error) => {
            failed.push(PartFailure {
                part,
                reason: error.to_string(),
            });
            None
        }
    }
}

fn id_of(id: Option<&Oid>) -> Option<ObjectId> {
    id.map(object_id)
}

fn age(saved_at: Timestamp, now: Timestamp, limit: Option<Duration>) -> Age {
    /// Clocks of two machines may differ by this many seconds before that is worth a word.
    const SKEW: i64 = 120;
    let seconds = now.unix() - saved_at.unix();
    let limit = limit.map(|limit| limit.as_secs());
    let stale = limit.is_some_and(|limit| u64::try_from(seconds).is_ok_and(|seconds| seconds > limit));
    Age {
        verdict: if stale || seconds < -SKEW {
            ReportVerdict::Check
        } else {
            ReportVerdict::Same
        },
        saved_at,
        now,
        seconds,
        limit,
    }
}

fn place(then: RecordedState<'_>, now: CurrentState<'_>) -> MachineLocation {
    // An import has no place.
    let then = if then.host.is_empty() {
        RecordedState {
            host: now.host,
            worktree: now.worktree,
            ..then
        }
    } else {
        then
    };
    let pair = |then: &str, now: &str| SavedAndCurrent {
        then: then.to_owned(),
        now: now.to_owned(),
    };
    let host = pair(then.host, now.host);
    let worktree = pair(&then.worktree.id, &now.worktree.id);
    let path = pair(&then.worktree.path, &now.worktree.path);
    let is = match (host.is_same(), worktree.is_same(), path.is_same()) {
        (true, true, true) => LocationVerdict::Same,
        (false, ..) => LocationVerdict::OtherHost,
        (true, false, _) => LocationVerdict::OtherWorktree,
        (true, true, false) => LocationVerdict::OtherFolder,
    };
    MachineLocation {
        verdict: if is == LocationVerdict::Same {
            ReportVerdict::Same
        } else {
            ReportVerdict::Differs
        },
        is,
        host,
        worktree,
        path,
    }
}

fn operation(then: &GitFacts, now: &GitFacts) -> Operations {
    let is = SavedAndCurrent {
        then: then.operation.clone(),
        now: now.operation.clone(),
    };
    let verdict = match (&is.then, &is.now) {
        (None, None) => ReportVerdict::Same,
        (Some(then), Some(now)) if then.is_same(now) => ReportVerdict::Same,
        (Some(_), None) => ReportVerdict::Moved,
        _ => ReportVerdict::Check,
    };
    Operations {
        verdict,
        is,
        command: None,
    }
}

/// Names the command for an operation that the checkpoint recorded in another place and that is not in progress here:
/// whether it ever was is not known.
fn begin_operation(report: &mut ChangeReport, saved: &Checkpoint) {
    let is_elsewhere = report.place.is != LocationVerdict::Same;
    if let Some(line) = &mut report.operation
        && let (Some(recorded), None) = (&line.is.then, &line.is.now)
        && is_elsewhere
    {
        line.command = Some(unfinished::command(recorded, saved));
    }
}

fn stash(then: &GitFacts, now: &GitFacts) -> Stash {
    let count = SavedAndCurrent {
        then: then.stash_count,
        now: now.stash_count,
    };
    let verdict = match count.now.cmp(&count.then) {
        std::cmp::Ordering::Equal => ReportVerdict::Same,
        std::cmp::Ordering::Greater => ReportVerdict::Moved,
        std::cmp::Ordering::Less => ReportVerdict::Check,
    };
    Stash { verdict, count }
}

fn drift(report: &ChangeReport, then: RecordedState<'_>, now: CurrentState<'_>) -> Drift {
    let mut reasons = Vec::new();
    let mut add = |part, yes: bool| {
        if yes {
            reasons.push(part);
        }
    };
    let unknown = |part| report.failed.iter().any(|failure| failure.part == part);
    let same_head = then.git.head == now.git.head;
    let moved = report
        .commits
        .as_ref()
        .is_some_and(|commits| commits.how != History::Same);
    let changed = report
        .files
        .as_ref()
        .is_some_and(|files| files.verdict != ReportVerdict::Same);
    let index = report.worktree.as_ref().and_then(|tree| tree.index_same) == Some(false);
    add(ReportPart::Age, report.age.verdict == ReportVerdict::Check);
    let left = then.git.reports("branch") && then.git.branch != now.git.branch;
    add(ReportPart::Branch, left || unknown(ReportPart::Branch));
    let committed = then.git.reports("head") && (!same_head || moved);
    add(ReportPart::Commits, committed || unknown(ReportPart::Commits));
    add(
        ReportPart::Files,
        changed || unknown(ReportPart::Files) || unknown(ReportPart::Saved),
    );
    add(ReportPart::Index, index && same_head);
    let begun = report
        .operation
        .as_ref()
        .is_some_and(|line| line.verdict != ReportVerdict::Same);
    add(ReportPart::Operation, begun);
    Drift {
        drifted: !reasons.is_empty(),
        reasons,
        attention: report.attention(),
    }
}

//! Conflicts that were saved unresolved: what is brought of them is unmerged here as well.

use crate::{
    model::{
        list::{IndexConflict, Lists},
        path::RepoPath,
        report::MergeVerdict,
    },
    ops::target_state::TargetState,
    store::{
        ObjectId,
        merge::{PathMerge, PathMergeOutcome},
    },
};

/// Turns merged paths into conflicts that theirs had not resolved and that come with their markers.
pub(super) fn mark(theirs: &Lists, merged: &mut [PathMerge]) {
    for path in merged {
        let is_written = path.result != PathMergeOutcome::Keep && path.verdict == MergeVerdict::Clean;
        let stages: Vec<u8> = stages(theirs, &path.saved).map(|conflict| conflict.stage).collect();
        if is_written && !stages.is_empty() {
            path.verdict = verdict(&stages);
        }
    }
}

/// Gives the paths that ours had not changed the very entries that they had in theirs.
pub(super) fn take_entries(
    theirs: &TargetState,
    merged: &[PathMerge],
    conflicts: &mut Vec<IndexConflict>,
    blobs: &mut Vec<ObjectId>,
) {
    for path in merged {
        let is_whole = path.verdict.is_conflict() && path.ours == path.base && path.path == path.saved;
        let entries: Vec<&IndexConflict> = stages(&theirs.lists, &path.saved).collect();
        let of = |entry: &IndexConflict| theirs.conflicts.get(usize::try_from(entry.n).ok()?).copied();
        let Some(ids) = entries.iter().map(|entry| of(entry)).collect::<Option<Vec<_>>>() else {
            continue;
        };
        if !is_whole || entries.is_empty() {
            continue;
        }
        conflicts.retain(|conflict| conflict.path != path.path);
        for (entry, id) in entries.into_iter().zip(ids) {
            conflicts.push(IndexConflict {
                n: u32::try_from(blobs.len()).unwrap_or(u32::MAX),
                ..entry.clone()
            });
            blobs.push(id);
        }
    }
    conflicts.sort_by(|a, b| (&a.path, a.stage).cmp(&(&b.path, b.stage)));
}

/// The unmerged paths of a side, each with the kind of its conflict.
pub(super) fn paths(lists: &Lists) -> Vec<(&RepoPath, MergeVerdict)> {
    let unmerged = lists.conflicts.iter().filter(|conflict| conflict.stage > 0);
    let mut paths: Vec<&RepoPath> = unmerged.map(|conflict| &conflict.path).collect();
    paths.dedup();
    let of = |path| {
        let stages: Vec<u8> = stages(lists, path).map(|conflict| conflict.stage).collect();
        (path, verdict(&stages))
    };
    paths.into_iter().map(of).collect()
}

/// The kind of a conflict, by its stages.
fn verdict(stages: &[u8]) -> MergeVerdict {
    match (stages.contains(&1), stages.len()) {
        (true, 3) => MergeVerdict::Content,
        (false, 2) => MergeVerdict::AddAdd,
        (true, 2) => MergeVerdict::ModifyDelete,
        // One stage alone is of a file that git takes for renamed.
        _ => MergeVerdict::Structure,
    }
}

/// Adds the entries that paths have in theirs.
pub(super) fn add_entries<'p>(
    theirs: &TargetState,
    paths: impl Iterator<Item = &'p RepoPath>,
    (conflicts, blobs): (&mut Vec<IndexConflict>, &mut Vec<ObjectId>),
) {
    for path in paths {
        for entry in stages(&theirs.lists, path) {
            let id = usize::try_from(entry.n).ok().and_then(|n| theirs.conflicts.get(n));
            let Some(id) = id else { continue };
            conflicts.push(IndexConflict {
                n: u32::try_from(blobs.len()).unwrap_or(u32::MAX),
                ..entry.clone()
            });
            blobs.push(*id);
        }
    }
    conflicts.sort_by(|a, b| (&a.path, a.stage).cmp(&(&b.path, b.stage)));
}

/// The unmerged entries of a path.
fn stages<'a>(lists: &'a Lists, path: &'a RepoPath) -> impl Iterator<Item = &'a IndexConflict> {
    let conflicts = lists.conflicts.iter();
    conflicts.filter(move |conflict| conflict.stage > 0 && conflict.path == *path)
}

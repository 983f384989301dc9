//! Paths that a cleaning leaves alone although HEAD has something else there.

use std::collections::BTreeSet;

use super::{Error, TargetState};
use crate::{
    model::{
        list::{IndexFlags, Lists, Origin, SkipReason, Source},
        path::RepoPath,
        plan::{Act, PlanLine, PlanReason},
    },
    os,
    store::{
        self, ObjectId, Repository,
        checkpoint::{Checkpoint, object_id},
        merge, tree,
    },
    worktree::{restore, snapshot::Snapshot},
};

/// Puts the flagged files of the present into a target state: git takes such a file for unchanged, so a clean working
/// tree may have it, and local settings are kept that way. Absent ones stay absent.
pub(super) fn keep_flagged(repo: &Repository, present: &Snapshot, target: &mut TargetState) -> Result<(), Error> {
    if flagged(&present.lists).next().is_none() {
        return Ok(());
    }
    let changes = |from, to| tree::diff(repo, Some(from), Some(to), tree::Renames::Off);
    let is_flagged = |path: &RepoPath| flagged(&present.lists).any(|origin| covers(origin, path));
    let files = changes(target.tree, present.tree)?.into_iter();
    let files: Vec<_> = files
        .filter(|change| is_flagged(&change.path))
        .map(|change| (change.path, change.new))
        .collect();
    // An entry that HEAD does not have has nothing to go back to, and its file would be untracked.
    let staged = changes(target.index, present.index_tree)?.into_iter();
    let staged: Vec<_> = staged
        .filter(|change| change.old.is_none() && is_flagged(&change.path))
        .map(|change| (change.path, change.new))
        .collect();
    target.tree = merge::edited(repo, target.tree, &files)?;
    target.index = merge::edited(repo, target.index, &staged)?;
    let held = present.lists.held.iter();
    target.lists.held = held.filter(|held| is_flagged(&held.path)).cloned().collect();
    target.held.clone_from(&present.held_blobs);
    Ok(())
}

/// The paths that become entries of the index and that the patterns of a sparse checkout leave out of the working tree: as
/// after `git reset --hard`, such an entry has its flag and no file.
pub(super) fn outside(repo: &Repository, present: &Snapshot, head: ObjectId) -> Result<Vec<Origin>, Error> {
    if !restore::is_sparse(repo) {
        return Ok(Vec::new());
    }
    let changes = tree::diff(repo, Some(present.index_tree), Some(head), tree::Renames::Off)?;
    let new = changes.into_iter().filter(|change| change.old.is_none());
    let paths: Vec<RepoPath> = new.map(|change| change.path).collect();
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let input: Vec<u8> = paths
        .iter()
        .flat_map(|path| [path.as_bytes(), b"\0"].concat())
        .collect();
    let git = store::git(repo).args(["sparse-checkout", "check-rules", "-z"]);
    // git before 2.41 does not know it.
    let output = git
        .input(input)
        .accept([1, 128, 129])
        .run()
        .map_err(store::Error::from)?;
    if output.code != 0 {
        return Ok(Vec::new());
    }
    let inside: BTreeSet<&[u8]> = output.stdout.split(|byte| *byte == 0).collect();
    let outside = paths.into_iter().filter(|path| !inside.contains(path.as_bytes()));
    let flags = IndexFlags {
        skip_worktree: true,
        assume_unchanged: false,
    };
    let mut origins: Vec<_> = outside
        .map(|path| Origin {
            path,
            source: Source::Index,
            flags,
        })
        .collect();
    origins.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(origins)
}

/// Whether the flagged files of the present are those that a checkpoint holds.
pub(super) fn is_as_saved(repo: &Repository, checkpoint: &Checkpoint, present: &Snapshot) -> Result<bool, Error> {
    let Some(saved) = &checkpoint.document.snapshot else {
        return Ok(true);
    };
    if flagged(&present.lists).next().is_none() {
        return Ok(true);
    }
    let saved = object_id(&saved.tree);
    let changes = tree::diff(repo, Some(saved), Some(present.tree), tree::Renames::Off)?;
    let is_flagged = |path: &RepoPath| flagged(&present.lists).any(|origin| covers(origin, path));
    Ok(!changes.iter().any(|change| is_flagged(&change.path)))
}

/// The directories that would go away, or that a killed cleaning emptied, with permissions that no checkpoint holds:
/// made again they would have others.
pub(super) fn special_directories(
    repo: &Repository,
    present: &Snapshot,
    target: &TargetState,
) -> Result<Vec<(RepoPath, u32)>, Error> {
    let root = store::work_tree(repo)?;
    let mut candidates: BTreeSet<RepoPath> = present.lists.empty_dirs.iter().cloned().collect();
    for change in tree::diff(repo, Some(target.tree), Some(present.tree), tree::Renames::Off)? {
        if change.new.is_some() {
            candidates.extend(directories_above(&change.path));
        }
    }
    let mut found = Vec::new();
    for directory in candidates {
        if tree::has_directory(repo, target.tree, &directory)? {
            continue;
        }
        let bits = os::directory_bits(root, directory.as_bytes());
        if let Some(bits) = bits.filter(|bits| *bits != 0o777 & !present.umask) {
            found.push((directory, bits));
        }
    }
    Ok(found)
}

/// The plan's lines for what stays although the tree of HEAD, `head`, has something else or nothing there.
pub(super) fn lines(
    repo: &Repository,
    present: &Snapshot,
    target: &TargetState,
    head: ObjectId,
) -> Result<Vec<PlanLine>, Error> {
    let mut lines = Vec::new();
    // Not the index: what was staged of a flagged file stays in the file.
    let changes = tree::diff(repo, Some(head), Some(present.tree), tree::Renames::Off)?;
    for origin in flagged(&present.lists) {
        let is_held = present.lists.held.iter().any(|held| covers(origin, &held.path));
        if is_held || changes.iter().any(|change| covers(origin, &change.path)) {
            lines.push(PlanLine {
                act: Act::Keep,
                path: origin.path.clone(),
                why: PlanReason::Flagged(origin.flags),
            });
        }
    }
    // Also what was not saved.
    for skipped in &present.lists.skipped {
        lines.push(PlanLine {
            act: Act::Keep,
            path: skipped.path.clone(),
            why: match skipped.reason {
                SkipReason::NestedRepository => PlanReason::Repository,
                reason => PlanReason::NotSaved(reason),
            },
        });
    }
    for submodule in present.submodules.iter().filter(|submodule| submodule.known) {
        lines.push(PlanLine {
            act: Act::Keep,
            path: submodule.path.clone(),
            why: PlanReason::Submodule,
        });
    }
    for (path, bits) in special_directories(repo, present, target)? {
        if present.lists.empty_dirs.contains(&path) {
            // It stays in any case.
            continue;
        }
        lines.push(PlanLine {
            act: Act::Keep,
            path,
            why: PlanReason::DirectoryBits(bits),
        });
    }
    Ok(lines)
}

/// The entries with flags whose files the user made what they are; a sparse checkout has its own rules.
fn flagged(lists: &Lists) -> impl Iterator<Item = &Origin> {
    let origins = lists.origin.iter();
    origins.filter(|origin| !origin.flags.is_empty() && origin.source != Source::Index)
}

/// Whether a path is that of an entry, or lies in its directory, in which all are alike.
fn covers(origin: &Origin, path: &RepoPath) -> bool {
    let flagged = origin.path.as_bytes();
    path == &origin.path || flagged.ends_with(b"/") && path.as_bytes().starts_with(flagged)
}

fn directories_above(path: &RepoPath) -> impl Iterator<Item = RepoPath> {
    let path = path.as_bytes();
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes
        .map(|(at, _)| RepoPath::from(&path[..at]))
        .collect::<Vec<_>>()
        .into_iter()
}

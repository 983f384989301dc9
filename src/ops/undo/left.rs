//! Files as an operation left them, and as they are: whether they were changed since, and what has to stay.

use std::collections::{BTreeSet, HashSet};

use super::super::{
    Error, Scene,
    compose::CurrentSnapshot,
    ids::short,
    plan_runner,
    refuse::{LeftPath, Refusal},
    target_state::TargetState,
};
use crate::{
    model::{id::Oid, path::RepoPath, plan::Act},
    store::{
        ObjectId, Repository,
        checkpoint::{self, Checkpoint, object_id},
        merge, refs,
        tree::{self, Renames},
        undo::{PathChange, PathState, UndoEntry},
    },
    worktree::{self, restore::RestorePlan, snapshot::Snapshot},
};

/// The paths that are not as the operation left them, or in a redo not as they were before it, reported by what is on
/// the disk: a snapshot does not show what is ignored, and need not show a filtered file as it was written. With them
/// those that came later in a directory whose place a file takes. `repo` reads the present.
pub(super) fn moved(
    scene: &Scene<'_>,
    is_undo: bool,
    repo: &Repository,
    present: &CurrentSnapshot,
    (changes, later): (&[PathChange], Vec<RepoPath>),
    before: &Oid,
) -> Result<Vec<Refusal>, Error> {
    let Some(snapshot) = &present.snapshot else {
        return Ok(Vec::new());
    };
    let before = object_id(before);
    let before = checkpoint::load(scene.repo, before).map_err(Error::damaged(short(before)))?;
    let before = TargetState::of(scene, &before, "the safety checkpoint")?;
    let mut paths = Vec::new();
    if is_undo {
        let states = worktree::restore::states(scene.repo, changes.iter().map(|(path, _)| path))?;
        for ((path, left), now) in changes.iter().zip(states) {
            if !is_as_left(repo, snapshot, &before, (path, left), now.as_ref())? {
                paths.push(path.clone());
            }
        }
    } else {
        let only = changes.iter().map(|(path, _)| path.clone()).collect();
        paths = plan_runner::unmet(scene, repo, snapshot, (&before, true), Some(&only))?;
    }
    paths.extend(later);
    Ok(changed_since(paths))
}

/// The reason not to replace paths, if there are any.
pub(super) fn changed_since(mut paths: Vec<RepoPath>) -> Vec<Refusal> {
    paths.sort();
    paths.dedup();
    if paths.is_empty() {
        Vec::new()
    } else {
        vec![Refusal::ChangedSince { paths }]
    }
}

/// The changed paths that a plan leaves as they are for a reason, if it changes nothing at all.
pub(super) fn left_alone(plan: &RestorePlan, changes: &[PathChange]) -> Vec<LeftPath> {
    if !plan.is_done() {
        return Vec::new();
    }
    let changed: HashSet<&RepoPath> = changes.iter().map(|(path, _)| path).collect();
    let stays = plan
        .lines
        .iter()
        .filter(|line| matches!(line.act, Act::Keep | Act::Skip));
    stays
        .filter(|line| changed.contains(&line.path))
        .map(|line| LeftPath {
            path: line.path.clone(),
            why: line.why.to_string(),
        })
        .collect()
}

/// Whether a path is on the disk as an operation left it.
fn is_as_left(
    repo: &Repository,
    snapshot: &Snapshot,
    before: &TargetState,
    (path, left): (&RepoPath, &PathState),
    now: Option<&PathState>,
) -> Result<bool, Error> {
    let bits_count = worktree::restore::keeps_bits(repo)?;
    Ok(match (left, now) {
        (PathState::Directory, _) => true,
        // A directory that went away and is there again is in the way of nothing.
        (PathState::Absent, Some(PathState::Directory)) => {
            tree::has_directory(repo, before.tree, path)? || before.lists.empty_dirs.contains(path)
        }
        (
            PathState::File { bits, digest },
            Some(PathState::File {
                bits: now_bits,
                digest: now,
            }),
        ) => digest == now && (!bits_count || bits == now_bits),
        (PathState::Stored { mode, id }, _) => {
            let is_held = snapshot.lists.held.iter().any(|held| held.path == *path);
            let now = tree::entry(repo, snapshot.tree, path)?;
            is_held || now.is_some_and(|now| (now.mode, &now.id) == (*mode, id))
        }
        (left, now) => Some(left) == now,
    })
}

/// The entries of the index that became others after an operation, which an undo of it keeps.
pub(super) struct LaterIndex {
    /// Paths whose files or entries the operation changed. All may be where the index after it is not stored.
    touched: Option<BTreeSet<RepoPath>>,
    /// The tree of HEAD when the state to go back to was saved, and of HEAD now.
    heads: (ObjectId, ObjectId),
}

impl LaterIndex {
    /// `None` for an operation that left the index as it was. `target` has the state to go back to.
    pub(super) fn of(
        scene: &Scene<'_>,
        entry: &UndoEntry,
        target: &Checkpoint,
        changes: &[PathChange],
    ) -> Result<Option<Self>, Error> {
        let Some((before, after)) = entry.index_sides() else {
            return Ok(None);
        };
        let before = object_id(before);
        let before = checkpoint::load(scene.repo, before).map_err(Error::damaged(short(before)))?;
        let before = TargetState::of(scene, &before, "the safety checkpoint")?;
        let staged = tree::diff(scene.repo, Some(before.index), Some(object_id(after)), Renames::Off);
        let conflicts = before.lists.conflicts.into_iter().map(|conflict| conflict.path);
        let files = changes.iter().map(|(path, _)| path.clone());
        let touched = staged.ok().map(|staged| {
            let staged = staged.into_iter().map(|change| change.path);
            staged.chain(conflicts).chain(files).collect()
        });
        let then = target.document.git.head.as_ref().map(object_id);
        let now = tree::tree_of(scene.repo, refs::head(scene.repo)?.id)?;
        // In a clone without all history that commit may be missing.
        let heads = (tree::tree_of(scene.repo, then).unwrap_or(now), now);
        Ok(Some(Self { touched, heads }))
    }

    /// The state to go back to, with what was staged or committed since: other paths keep their entries, and what was as
    /// HEAD had it is as HEAD has it now. So no later commit takes back one that was made since.
    pub(super) fn keep(
        &self,
        repo: &Repository,
        present: &CurrentSnapshot,
        mut goal: TargetState,
    ) -> Result<TargetState, Error> {
        let Some(snapshot) = &present.snapshot else {
            return Ok(goal);
        };
        let (then, now) = self.heads;
        let mut edits = Vec::new();
        for change in tree::diff(repo, Some(goal.index), Some(snapshot.index_tree), Renames::Off)? {
            let path = change.path;
            if self.touched.as_ref().is_some_and(|touched| !touched.contains(&path)) {
                edits.push((path, change.new));
            } else if then != now && change.old == tree::entry(repo, then, &path)? {
                let entry = tree::entry(repo, now, &path)?;
                edits.push((path, entry));
            }
        }
        goal.index = merge::edited(repo, goal.index, &edits)?;
        Ok(goal)
    }
}

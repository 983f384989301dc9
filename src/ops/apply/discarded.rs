//! Whether the conflicts of a merge or apply were resolved, or the whole of it was thrown away.
//!
//! `git reset` and `git checkout HEAD -- .` leave no unmerged entry either. git's record of resolved conflicts in the index
//! does not distinguish them from `git add`, as `git reset` writes it too. So files and index are compared with those from before.

use std::collections::{BTreeSet, HashSet};

use super::super::{Error, Scene, compose, ids::short, plan_runner, target_state::TargetState};
use crate::{
    model::path::RepoPath,
    store::{
        checkpoint::{self, object_id},
        merge_state::MergeState,
        objects::Writer,
        tree,
        undo::{self, PathState},
    },
    worktree::restore,
};

/// State of the paths in conflict, once none of them is unmerged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolutionState {
    /// All of them are resolved.
    Resolved,
    /// These files are as the merge left them and not staged: their entries were reset.
    Reset(Vec<RepoPath>),
    /// Nothing that was merged is in the files or the index any more, but for these new files, which git does not track.
    Discarded(Vec<RepoPath>),
}

/// Judges the paths in conflict. None of them may be unmerged.
pub fn resolution(scene: &Scene<'_>, state: &MergeState) -> Result<ResolutionState, Error> {
    let list = undo::read(scene.repo)?;
    let Some((entry, None)) = list.entry(state.n) else {
        return Ok(ResolutionState::Resolved);
    };
    let Some(before) = entry.files_before().map(object_id) else {
        return Ok(ResolutionState::Resolved);
    };
    let after = entry.index_sides().map(|(_, after)| object_id(after));
    let subject = short(before);
    let before = checkpoint::load(scene.repo, before).map_err(Error::damaged(&*subject))?;
    let head = tree::tree_of(scene.repo, before.document.git.head.as_ref().map(object_id))?;
    let before = TargetState::of(scene, &before, &subject)?;
    let changes = undo::changes(scene.repo, state.n)?;
    let files = changes.iter().filter(|(_, left)| *left != PathState::Directory);
    let paths: BTreeSet<RepoPath> = files.map(|(path, _)| path).chain(&state.paths).cloned().collect();
    let only: HashSet<RepoPath> = paths.iter().cloned().collect();
    let writer = Writer::memory(scene.repo);
    let mut present = compose::snapshot(scene, &writer, &[])?;
    restore::enter(scene.repo, &writer, &mut present, &only)?;
    let repo = writer.overlay(scene.repo);
    let now = |path: &RepoPath| tree::entry(&repo, present.tree, path);
    let staged = |path: &RepoPath| tree::entry(&repo, present.index_tree, path);

    let unlike = plan_runner::unmet(scene, &repo, &present, (&before, true), Some(&only))?;
    let unlike: HashSet<RepoPath> = unlike.into_iter().collect();
    let mut reset = Vec::new();
    let states = restore::states(scene.repo, &state.paths)?;
    for (path, state) in state.paths.iter().zip(states) {
        let is_as_left = match changes.iter().find(|(changed, _)| changed == path) {
            Some((_, left)) => state.as_ref() == Some(left),
            None => !unlike.contains(path),
        };
        if is_as_left && now(path)? != staged(path)? {
            reset.push(path.clone());
        }
    }
    let (mut is_discarded, mut new) = (true, Vec::new());
    for path in &paths {
        let before_it = tree::entry(&repo, head, path)?;
        if !unlike.contains(path) || now(path)? == before_it {
            continue;
        }
        // A reset leaves what is not tracked.
        let is_new = before_it.is_none() && staged(path)?.is_none() && tree::entry(&repo, before.tree, path)?.is_none();
        if is_new && !state.paths.contains(path) {
            new.push(path.clone());
        } else {
            is_discarded = false;
        }
    }
    // A choice that was staged, also that of the own side.
    for path in &state.paths {
        let chosen = staged(path)?;
        is_discarded &= chosen == tree::entry(&repo, before.index, path)? || chosen == tree::entry(&repo, head, path)?;
    }
    // What was merged in the index alone. The index with conflicts of an apply is stored nowhere: then the files decide.
    if let Some(after) = after
        && let Ok(changes) = tree::diff(&repo, Some(before.index), Some(after), tree::Renames::Off)
    {
        for change in changes {
            is_discarded &= only.contains(&change.path) || staged(&change.path)? != change.new;
        }
    }
    Ok(match (is_discarded, reset.is_empty()) {
        (true, _) => ResolutionState::Discarded(new),
        (false, true) => ResolutionState::Resolved,
        (false, false) => ResolutionState::Reset(reset),
    })
}

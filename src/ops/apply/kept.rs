//! Files that an apply leaves as they are: later edits in place of what was saved, work that the checkpoint never had, and
//! purged content.

use super::{
    super::{Error, compose::CurrentSnapshot, omissions::Omission, target_state::TargetState},
    merge_run::{MergeRun, Sides},
};
use crate::{
    model::{
        path::RepoPath,
        plan::{Act, PlanLine, PlanReason},
    },
    store::{
        Repository,
        merge::{self, Overlap, Trees},
        pathspec::PathFilter,
        tree,
    },
};

/// Paths whose later edits stay in place of what was saved, where both changed the same lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptEdits {
    /// The paths.
    pub paths: Vec<RepoPath>,
    /// Whether `apply` merges them.
    pub can_merge: bool,
}

/// The paths that a merge leaves as they are only because its overlap gives the lines to ours. One that has the saved
/// change and more is none of them.
pub(super) fn paths(
    merging: &MergeRun<'_>,
    repo: &Repository,
    present: &CurrentSnapshot,
) -> Result<Vec<RepoPath>, Error> {
    if merging.overlap.overlap != Overlap::Ours {
        return Ok(Vec::new());
    }
    let ours = TargetState::present(present)?;
    let trees = Trees {
        base: merging.sides.base(repo, &ours)?,
        ours: Some(ours.tree),
        theirs: Some(merging.sides.theirs.tree),
    };
    let options = merge::MergeOptions {
        overlap: Overlap::Contained,
        ..merging.options()
    };
    let strict = merge::three_way(&tree::TreeReader::new(repo), trees, options)?;
    let loose = merge::three_way(&tree::TreeReader::new(repo), trees, merging.options())?;
    let mut out = Vec::new();
    for (strict, loose) in strict.iter().zip(&loose) {
        if !strict.verdict.is_conflict() || loose.verdict.is_conflict() {
            continue;
        }
        let is_as_before = match merging.overlap.before {
            Some(before) => strict.ours.is_some() && tree::entry(repo, before, &strict.path)? == strict.ours,
            None => false,
        };
        if !is_as_before {
            out.push(strict.path.clone());
        }
    }
    Ok(out)
}

/// The lines of a plan by which work stays that the checkpoint never had in the files, and by which purged content does not
/// come.
pub(in crate::ops) fn kept_lines(
    repo: &Repository,
    sides: &Sides,
    goal: &TargetState,
    mut paths: Option<PathFilter>,
) -> Result<Vec<PlanLine>, Error> {
    let mut lines = Vec::new();
    let mut is_meant = |path: &RepoPath| paths.as_mut().is_none_or(|paths| paths.keeps(path));
    for path in &sides.returned {
        let theirs = tree::entry(repo, sides.theirs.tree, path)?;
        if theirs.is_some() && is_meant(path) && tree::entry(repo, goal.tree, path)? != theirs {
            lines.push(PlanLine {
                act: Act::Skip,
                path: path.clone(),
                why: PlanReason::Purged,
            });
        }
    }
    for Omission { path, theirs, .. } in &sides.omitted {
        let then = tree::entry(repo, goal.tree, path)?;
        if is_meant(path) && then.is_some() && then != *theirs {
            lines.push(PlanLine {
                act: Act::Keep,
                path: path.clone(),
                why: PlanReason::NeverThere,
            });
        }
    }
    Ok(lines)
}

//! Files whose later edits an apply keeps in place of what was saved.

use super::{
    super::{Error, compose::CurrentSnapshot, target_state::TargetState},
    merge_run::MergeRun,
};
use crate::{
    model::path::RepoPath,
    store::{
        Repository,
        merge::{self, Overlap, Trees},
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

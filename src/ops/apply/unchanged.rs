//! What neither side of a merge changed, although trees or lists show it otherwise.

use std::collections::BTreeSet;

use super::super::{Error, target_state::TargetState};
use crate::{
    model::{
        list::{Lists, Source},
        path::RepoPath,
    },
    store::{
        ObjectId, Repository,
        merge::{self, PathMerge},
        tree,
    },
};

/// The tree that both sides are compared with, without the files that a flag of the index hides from git and that are on
/// neither side's disk: that they are missing is no change, and no file that has their content is a new name of theirs.
pub(super) fn without_hidden(
    repo: &Repository,
    base: Option<ObjectId>,
    (ours, theirs): (&TargetState, &TargetState),
) -> Result<Option<ObjectId>, Error> {
    let Some(base) = base else { return Ok(None) };
    let mut hidden = Vec::new();
    for origin in &theirs.lists.origin {
        let path = &origin.path;
        let is_hidden_here = || {
            let here = ours.lists.origin_of(path.as_bytes());
            here.is_some_and(|here| here.source == Source::Absent)
        };
        if origin.source == Source::Absent
            && is_hidden_here()
            && tree::entry(repo, theirs.tree, path)?.is_none()
            && tree::entry(repo, ours.tree, path)?.is_none()
            && tree::entry(repo, base, path)?.is_some()
        {
            hidden.push((path.clone(), None));
        }
    }
    if hidden.is_empty() {
        return Ok(Some(base));
    }
    Ok(Some(merge::edited(repo, base, &hidden)?))
}

/// Lets files whose blobs are the same on both sides keep their bytes where the checkpoint has those as they are: rules
/// that are brought, as in a `.gitattributes`, held for them at save time too, and had not converted them.
pub(super) fn keep_bytes(
    repo: &Repository,
    (ours, theirs): (ObjectId, &TargetState),
    merged: &[PathMerge],
    lists: &mut Lists,
) -> Result<(), Error> {
    let changed: BTreeSet<&RepoPath> = merged.iter().map(|path| &path.path).collect();
    let known: BTreeSet<RepoPath> = lists.raw.iter().cloned().collect();
    for path in &theirs.lists.raw {
        if changed.contains(path) || known.contains(path) {
            continue;
        }
        let saved = tree::entry(repo, theirs.tree, path)?;
        if saved.is_some() && saved == tree::entry(repo, ours, path)? {
            lists.raw.push(path.clone());
        }
    }
    lists.sort();
    Ok(())
}

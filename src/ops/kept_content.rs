//! Contents of git-lfs that were kept for checkpoints which are gone.

use std::collections::HashSet;

use super::{Error, Scene};
use crate::{
    store::{self, ObjectId},
    worktree::snapshot::KeptContent,
};

/// Removes the contents that no checkpoint points to any more. After a purge, `all`, git-lfs' own name for them goes too
/// unless a commit or the index points to them.
///
/// What a branch or tag points to is left to git-lfs. Where git cannot read everything, nothing is removed.
pub(super) fn forget(scene: &Scene<'_>, all: bool) -> Result<(), Error> {
    let kept = KeptContent::of(scene.repo)?;
    if kept.blobs().next().is_none() {
        return Ok(());
    }
    let of_checkpoints = [
        "--glob=refs/checkpoints*",
        "--reflog",
        "--not",
        "--branches",
        "--tags",
        "--remotes",
    ];
    let Some(needed) = reachable(scene, &of_checkpoints) else {
        return Ok(());
    };
    let unneeded: Vec<_> = kept.blobs().filter(|blob| !needed.contains(blob)).collect();
    let anywhere = if all && !unneeded.is_empty() {
        reachable(scene, &["--all", "--reflog", "--indexed-objects"])
    } else {
        None
    };
    for blob in unneeded {
        let is_gone = anywhere.as_ref().is_some_and(|anywhere| !anywhere.contains(&blob));
        kept.forget(blob, is_gone)?;
    }
    Ok(())
}

fn reachable(scene: &Scene<'_>, from: &[&str]) -> Option<HashSet<ObjectId>> {
    let listed = store::git(scene.repo)
        .args(["rev-list", "--objects", "--no-object-names"])
        .args(from)
        .text()
        .ok()?;
    let ids = listed.lines().map(|line| ObjectId::from_hex(line.trim().as_bytes()));
    ids.collect::<Result<_, _>>().ok()
}

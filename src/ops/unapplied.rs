//! Saved changes of a session's latest checkpoint that are not in the files: a checkpoint that is saved now is without them.
//!
//! Files that were here and are as HEAD has them may be what a person wants. Two facts say that they are not: the
//! checkpoint was never in this working tree, or it was resumed while they were missing, and they did not come back since.
//! What `pause --clean` removed is reported as work that is put aside.

use std::collections::HashSet;

use super::{Error, Scene, put_aside};
use crate::{
    model::{list::SkippedEntry, path::RepoPath},
    store::{
        ObjectId, Repository,
        checkpoint::{Checkpoint, object_id},
        restored, tree,
    },
};

/// The paths, sorted. `now` is the tree of the current files, read by `repo`, and `skipped` is what it is without.
pub(super) fn missing(
    scene: &Scene<'_>,
    repo: &Repository,
    tip: &Checkpoint,
    now: ObjectId,
    skipped: &[SkippedEntry],
) -> Result<Vec<RepoPath>, Error> {
    let snapshot = tip.document.snapshot.as_ref().map(|snapshot| object_id(&snapshot.tree));
    let Some(saved) = snapshot.filter(|saved| *saved != now) else {
        return Ok(Vec::new());
    };
    let is_resumed = restored::read_unapplied(scene.repo)?.as_ref() == Some(&tip.digest);
    if !is_resumed && put_aside::was_here(scene, tip)? || put_aside::digests(scene, tip)?.contains(&tip.digest) {
        return Ok(Vec::new());
    }
    let head = tip.document.git.head.as_ref().map(object_id);
    let mut paths = Vec::new();
    let skipped: HashSet<&RepoPath> = skipped.iter().map(|entry| &entry.path).collect();
    for change in tree::diff(repo, head, Some(saved), tree::Renames::Off)? {
        if !skipped.contains(&change.path) && tree::entry(repo, now, &change.path)? == change.old {
            paths.push(change.path);
        }
    }
    paths.sort();
    Ok(paths)
}

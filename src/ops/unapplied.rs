//! Saved changes of a session's latest checkpoint that are not in the files: a checkpoint that is saved now is without them.
//!
//! Files that were here and are as HEAD has them may be what a person wants. Two facts say that they are not: the
//! checkpoint was never in this working tree, or it was resumed while they were missing, and they did not come back since.
//! A file that is edited counts as well where the saved change is not in it. What `pause --clean` removed is reported as
//! work that is put aside.

use std::collections::HashSet;

use super::{Error, Scene, compose::CurrentSnapshot, lacking, omissions, put_aside, returned};
use crate::{
    model::{name::ShortName, path::RepoPath},
    store::{
        ObjectId, Repository,
        checkpoint::{self, Checkpoint, object_id},
        merge::Trees,
        objects::Writer,
        restored, tree,
    },
};

/// A path with a saved change that is not in the files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnappliedPath {
    /// The path.
    pub path: RepoPath,
    /// Whether the checkpoint has deleted it: to bring the change deletes it here as well.
    pub is_deletion: bool,
}

/// The paths, sorted. `writer` has the current files.
pub(super) fn missing(
    scene: &Scene<'_>,
    writer: &Writer,
    name: &ShortName,
    tip: &Checkpoint,
    present: &CurrentSnapshot,
) -> Result<Vec<UnappliedPath>, Error> {
    let saved = tip.document.snapshot.as_ref().map(|snapshot| object_id(&snapshot.tree));
    let (Some(saved), Some(snapshot)) = (saved, &present.snapshot) else {
        return Ok(Vec::new());
    };
    let repo = &writer.overlay(scene.repo);
    let now = snapshot.tree;
    if saved == now {
        return Ok(Vec::new());
    }
    let is_resumed = restored::read_unapplied(scene.repo)?.as_ref() == Some(&tip.digest);
    if !is_resumed && put_aside::was_here(scene, tip)? || put_aside::digests(scene, tip)?.contains(&tip.digest) {
        return Ok(Vec::new());
    }
    let base = tip.document.git.head.as_ref().map(object_id);
    let head = tree::tree_of(scene.repo, present.facts.head.as_ref().map(object_id))?;
    let (mut paths, mut edited) = (Vec::new(), Vec::new());
    let skipped: HashSet<&RepoPath> = snapshot.lists.skipped.iter().map(|skipped| &skipped.path).collect();
    for change in tree::diff(repo, base, Some(saved), tree::Renames::Off)? {
        let current = tree::entry(repo, now, &change.path)?;
        if skipped.contains(&change.path) || current == change.new {
            continue;
        }
        if current == change.old {
            paths.push(change.path);
        } else if tree::entry(repo, head, &change.path)? != change.new {
            edited.push(change.path);
        }
    }
    // After a pull the files are made from what was saved here before it.
    let own = lacking::pulled_over(scene, name, tip).pop();
    let own_files = own.as_ref().and_then(|before| before.document.snapshot.as_ref());
    let own_files = own_files.map(|snapshot| object_id(&snapshot.tree));
    let trees = Trees {
        base: own_files.or(base),
        ours: Some(now),
        theirs: Some(saved),
    };
    paths.extend(lacking::among(scene.repo, writer, trees, &edited)?);
    if let (Some(own), Some(files)) = (own, own_files) {
        paths.extend(removed(scene, repo, &own, files, tip, now)?);
    }
    paths.sort();
    paths.dedup();
    if !paths.is_empty() {
        // What was purged is not missed.
        let purged = returned::purged(scene, tip.entry.id)?;
        paths.retain(|path| !purged.contains(path));
    }
    let with_kind = |path: RepoPath| {
        Ok(UnappliedPath {
            is_deletion: tree::entry(repo, saved, &path)?.is_none(),
            path,
        })
    };
    paths.into_iter().map(with_kind).collect()
}

/// Files that were saved here uncommitted, are here as they were, and that who saved the checkpoint had and removed.
fn removed(
    scene: &Scene<'_>,
    repo: &Repository,
    own: &Checkpoint,
    files: ObjectId,
    tip: &Checkpoint,
    now: ObjectId,
) -> Result<Vec<RepoPath>, Error> {
    let saved = tip.document.snapshot.as_ref().map(|snapshot| object_id(&snapshot.tree));
    let mut paths = Vec::new();
    for change in tree::diff(scene.repo, Some(files), saved, tree::Renames::Off)? {
        if change.new.is_none() && change.old.is_some() && tree::entry(repo, now, &change.path)? == change.old {
            paths.push(change.path);
        }
    }
    if paths.is_empty() {
        return Ok(paths);
    }
    let lists = checkpoint::lists(scene.repo, tip).map_err(Error::damaged(tip.digest.as_str()))?;
    let omitted = omissions::of(scene, own, tip, &lists)?;
    let is_skipped = |path: &RepoPath| lists.skipped.iter().any(|skipped| skipped.path == *path);
    paths.retain(|path| !is_skipped(path) && omitted.iter().all(|omission| omission.path != *path));
    Ok(paths)
}

//! Uncommitted work that a later checkpoint is without, although it was not removed: who saved that one never had the work
//! in the files. A pull moves a session and leaves the files as they are.

use std::collections::HashMap;

use super::{Error, Scene, ids::short, put_aside::LOOKED_THROUGH};
use crate::{
    model::{
        change::TreeEntryInfo,
        document::{CheckpointKind, Document},
        list::Lists,
        path::RepoPath,
    },
    store::{
        ObjectId,
        ancestry::{self, MergeEdges},
        checkpoint::{self, Checkpoint, object_id},
        tree,
    },
};

/// A path with uncommitted work that a later checkpoint is without.
#[derive(Clone, Debug)]
pub(super) struct Omission {
    pub(super) path: RepoPath,
    /// Entry of the commit below the work: the base of a merge with the later checkpoint.
    pub(super) committed: Option<TreeEntryInfo>,
    /// Entry of the later checkpoint.
    pub(super) theirs: Option<TreeEntryInfo>,
}

/// Knowledge of a path while the chain is followed back from the later checkpoint.
#[derive(Clone, Copy, Default)]
struct Trail {
    /// The checkpoint that was the first without the work, by its place among those that were passed.
    first_without: usize,
    /// Whether a checkpoint that has the work was passed.
    is_reached: bool,
    /// The work; `None` where that is a deletion.
    work: Option<ObjectId>,
}

/// The uncommitted work of `earlier` that `later` is without, as nothing shows that its working tree ever had it. What was
/// in a checkpoint of that working tree, was restored there as a whole, or was given to it with a fork, was removed there.
/// `lists` are those of `later`.
pub(super) fn of(
    scene: &Scene<'_>,
    earlier: &Checkpoint,
    later: &Checkpoint,
    lists: &Lists,
) -> Result<Vec<Omission>, Error> {
    let mut waiting = candidates(scene, earlier, later)?;
    // What was not saved, or purged, is nothing that the checkpoint has otherwise.
    waiting.retain(|omission| lists.skipped.iter().all(|skipped| skipped.path != omission.path));
    let mut omitted = Vec::new();
    let mut trails: HashMap<RepoPath, Trail> = HashMap::new();
    let mut passed: Vec<Document> = Vec::new();
    let mut at = Some(later.entry.id);
    let mut is_met = false;
    for _ in 0..LOOKED_THROUGH {
        // One that was pruned there still came before.
        let Some(id) = at
            .or((!is_met).then_some(earlier.entry.id))
            .filter(|_| !waiting.is_empty())
        else {
            break;
        };
        let checkpoint = checkpoint::load(scene.repo, id).map_err(Error::damaged(short(id)))?;
        is_met |= checkpoint.digest == earlier.digest;
        if at.is_some() {
            let before = ancestry::parents(scene.repo, &checkpoint.entry, MergeEdges::All);
            at = before.map_err(Error::damaged(short(id)))?.first().copied();
        }
        let Some(files) = tree_of(&checkpoint) else { continue };
        let digest = checkpoint.digest;
        passed.push(checkpoint.document);
        let document = &passed[passed.len() - 1];
        let mut undecided = Vec::new();
        for omission in waiting {
            let entry = tree::entry(scene.repo, files, &omission.path)?;
            let trail = trails.entry(omission.path.clone()).or_default();
            if !trail.is_reached && entry == omission.theirs {
                trail.first_without = passed.len() - 1;
                undecided.push(omission);
                continue;
            }
            let content = entry.map(|entry| object_id(&entry.id));
            if !trail.is_reached {
                (trail.is_reached, trail.work) = (true, content);
            }
            let without = &passed[trail.first_without];
            let is_restored = without.restored_from.as_ref() == Some(&digest) && !without.restored_part;
            match is_restored || was_in(without, document) {
                true if trail.work == content => {}
                true => omitted.push(omission),
                false => undecided.push(omission),
            }
        }
        waiting = undecided;
    }
    omitted.extend(waiting);
    omitted.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(omitted)
}

/// The paths that a later checkpoint has as its commit does, where the earlier one had something uncommitted.
fn candidates(scene: &Scene<'_>, earlier: &Checkpoint, later: &Checkpoint) -> Result<Vec<Omission>, Error> {
    let (Some(old), Some(new)) = (tree_of(earlier), tree_of(later)) else {
        return Ok(Vec::new());
    };
    let [below, above] = [earlier, later].map(|of| commit_tree(scene, &of.document));
    let committed = |root: Option<ObjectId>, path: &RepoPath| match root {
        Some(root) => tree::entry(scene.repo, root, path),
        None => Ok(None),
    };
    let mut out = Vec::new();
    for change in tree::diff(scene.repo, Some(old), Some(new), tree::Renames::Off)? {
        let before = committed(below, &change.path)?;
        if change.old != before && change.new == committed(above, &change.path)? {
            out.push(Omission {
                path: change.path,
                committed: before,
                theirs: change.new,
            });
        }
    }
    Ok(out)
}

/// Whether the files of a checkpoint were in the working tree of another one, which was saved after it. Those of a fork are
/// given to the working tree that is made for it; one that is made in place names that where it was made, and leaves its
/// files.
fn was_in(saved: &Document, earlier: &Document) -> bool {
    let is_same = (&saved.host, &saved.worktree) == (&earlier.host, &earlier.worktree);
    if earlier.kind == CheckpointKind::Fork {
        let is_linked = saved.host == earlier.host && saved.worktree.id != "main";
        return is_linked && !is_same && saved.session.id == earlier.session.id;
    }
    is_same
}

fn tree_of(checkpoint: &Checkpoint) -> Option<ObjectId> {
    Some(object_id(&checkpoint.document.snapshot.as_ref()?.tree))
}

/// The files of the commit of a checkpoint; `None` where it has none, or that is not in this clone.
fn commit_tree(scene: &Scene<'_>, document: &Document) -> Option<ObjectId> {
    let head = object_id(document.git.head.as_ref()?);
    checkpoint::tree_of(scene.repo, head).ok()
}

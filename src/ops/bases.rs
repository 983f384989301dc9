//! Common ancestors of two checkpoints or commits: the base of comparisons and merges.

use super::{Error, Scene, ids::short};
use crate::{
    model::id::Oid,
    store::{
        self, ObjectId,
        ancestry::{self, MergeEdges},
        checkpoint::{self, object_id},
    },
};

/// The latest checkpoint that both come from, and how many checkpoints each side has since.
pub(super) fn nearest(
    scene: &Scene<'_>,
    a: ObjectId,
    b: ObjectId,
    edges: MergeEdges,
) -> Result<Option<(ObjectId, [usize; 2])>, Error> {
    let relation = ancestry::relation(scene.repo, a, b, edges)?;
    let steps = [relation.ahead, relation.behind];
    Ok(relation.bases.first().map(|id| (*id, steps)))
}

/// The best common ancestor of two commits, as git chooses it.
pub(super) fn merge_base(scene: &Scene<'_>, one: &Oid, other: &Oid) -> Result<Option<Oid>, Error> {
    let git = store::git(scene.repo).accept([1]);
    let found = git.args(["merge-base", one.as_str(), other.as_str()]).text();
    Ok(Oid::new(found.map_err(store::Error::from)?.trim()).ok())
}

/// The tree of a commit.
pub(super) fn tree_of_commit(scene: &Scene<'_>, commit: &Oid) -> Result<ObjectId, Error> {
    let id = object_id(commit);
    checkpoint::tree_of(scene.repo, id).map_err(Error::damaged(short(id)))
}

//! Files that a checkpoint does not have although it comes from them: merges took over the record of their checkpoints alone.

use super::{Error, Scene, ids::short};
use crate::{
    model::{id::Oid, name::ShortName, outline::UnmergedFiles},
    store::{
        ObjectId,
        ancestry::{self, MergeEdges},
        checkpoint::{self, Checkpoint, object_id, oid},
        current, tree,
    },
};

/// How many of the latest checkpoints are looked at.
const MOST: usize = 500;

/// The latest checkpoints whose files one lacks, latest first, each with the command that merges them. Of what cannot be read
/// nothing is listed: `verify` names it.
pub(super) fn listed(scene: &Scene<'_>, checkpoint: &Checkpoint, session: &ShortName) -> Vec<UnmergedFiles> {
    let Ok(found) = ancestry::without_files(scene.repo, checkpoint.entry.id, MOST) else {
        return Vec::new();
    };
    let current = current::read(scene.repo).ok().and_then(|current| current.session);
    let is_here = current.is_some_and(|current| current.id == checkpoint.document.session.id);
    let rows = found.iter().filter_map(|theirs| {
        let paths = missing_paths(scene, checkpoint, theirs)
            .ok()
            .filter(|paths| *paths > 0)?;
        let document = &theirs.document;
        let id: Oid = oid(theirs.entry.id);
        let merge = format!("git checkpoint merge {}", id.short());
        Some(UnmergedFiles {
            saved_at: document.created_at,
            by: theirs.entry.author.clone(),
            subject: document.subject().to_owned(),
            paths: paths as u64,
            command: if is_here {
                merge
            } else {
                format!("git checkpoint resume {session} && {merge}")
            },
            id,
        })
    });
    rows.collect()
}

/// How many paths of one checkpoint's changes another one does not have. None where both were saved in one working tree:
/// there the later files came from the earlier ones.
fn missing_paths(scene: &Scene<'_>, ours: &Checkpoint, theirs: &Checkpoint) -> Result<usize, Error> {
    let place = |checkpoint: &Checkpoint| (checkpoint.document.worktree.clone(), checkpoint.document.host.clone());
    let tree_of = |checkpoint: &Checkpoint| Some(object_id(&checkpoint.document.snapshot.as_ref()?.tree));
    let (Some(has), Some(tree)) = (tree_of(ours), tree_of(theirs)) else {
        return Ok(0);
    };
    if place(ours) == place(theirs) {
        return Ok(0);
    }
    let relation = ancestry::relation(scene.repo, ours.entry.id, theirs.entry.id, MergeEdges::Files)?;
    let load = |id: &ObjectId| checkpoint::load(scene.repo, *id).map_err(Error::damaged(short(*id)));
    let base = relation.bases.first().map(load).transpose()?;
    let base = base.as_ref().and_then(tree_of);
    let mut missing = 0;
    for change in tree::diff(scene.repo, base, Some(tree), tree::Renames::Off)? {
        missing += usize::from(tree::entry(scene.repo, has, &change.path)? != change.new);
    }
    Ok(missing)
}

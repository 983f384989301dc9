//! Work that `pause --clean` removed from the working tree and that was not brought back since.
//!
//! The undo list knows both, and what of it is in force: a file that is absent because it was cleaned away is no deletion.

use super::{Error, Scene, restore::short};
use crate::store::{
    ObjectId,
    ancestry::{self, MergeEdges},
    checkpoint::{self, Checkpoint, object_id},
    undo,
};

/// The checkpoints of a session's chain whose work is put aside in this working tree, oldest first.
pub(super) fn checkpoints(scene: &Scene<'_>, tip: &Checkpoint) -> Result<Vec<Checkpoint>, Error> {
    let list = undo::read(scene.repo)?;
    let mut aside: Vec<&undo::CheckpointFiles> = Vec::new();
    for (entry, _) in list.entries().filter(|(_, in_force)| *in_force) {
        let Some(files) = &entry.files else { continue };
        aside.retain(|other| other.digest != files.digest);
        if entry.operation == super::clean::OPERATION {
            aside.push(files);
        }
    }
    let mut out = Vec::new();
    for files in aside {
        // What was pruned or purged since is nothing that could be brought.
        if let Some(id) = ancestry::find(scene.repo, tip.entry.id, &files.digest).map_err(super::compare::damaged)? {
            out.push(checkpoint::load(scene.repo, id).map_err(Error::damaged(short(id)))?);
        }
    }
    Ok(out)
}

/// Work that is put aside, and the files of the checkpoints that were saved after it.
pub(in crate::ops) struct CleanedFiles {
    /// The files that were cleaned away.
    pub(super) files: ObjectId,
    /// The commit whose state they got.
    pub(super) head: Option<ObjectId>,
    /// The files of each checkpoint since.
    pub(super) since: Vec<ObjectId>,
}

/// The work that is put aside in this working tree, latest first.
pub(in crate::ops) fn cleaned(scene: &Scene<'_>, tip: &Checkpoint) -> Result<Vec<CleanedFiles>, Error> {
    let mut out = Vec::new();
    for aside in checkpoints(scene, tip)?.iter().rev() {
        let Some(snapshot) = &aside.document.snapshot else {
            continue;
        };
        let mut since = Vec::new();
        let mut at = Some(tip.entry.id).filter(|id| *id != aside.entry.id);
        while let Some(id) = at {
            let later = checkpoint::load(scene.repo, id).map_err(Error::damaged(short(id)))?;
            since.extend(
                later
                    .document
                    .snapshot
                    .as_ref()
                    .map(|snapshot| object_id(&snapshot.tree)),
            );
            let before = ancestry::parents(scene.repo, &later.entry, MergeEdges::All);
            at = before.map_err(Error::damaged(short(id)))?.first().copied();
            at = at.filter(|id| *id != aside.entry.id);
        }
        out.push(CleanedFiles {
            files: object_id(&snapshot.tree),
            head: aside.document.git.head.as_ref().map(object_id),
            since,
        });
    }
    Ok(out)
}

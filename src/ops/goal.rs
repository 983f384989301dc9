//! What files are to become: the state that a checkpoint holds, or one made from it.

use super::{Error, Scene};
use crate::{
    model::list::Lists,
    store::{
        ObjectId, Repository,
        checkpoint::{self, Checkpoint, object_id},
    },
    worktree::{
        restore::{Files, index::Staged},
        snapshot::Snapshot,
    },
};

/// A state of files and index.
#[derive(Clone, Debug)]
pub(super) struct Goal {
    /// The tree of the files.
    pub(super) tree: ObjectId,
    /// The tree of the index.
    pub(super) index: ObjectId,
    /// What the trees do not say.
    pub(super) lists: Lists,
    /// The blobs that `lists.held` numbers.
    pub(super) held: Vec<ObjectId>,
    /// The blobs that `lists.conflicts` numbers.
    pub(super) conflicts: Vec<ObjectId>,
    /// The creation mask that `lists.modes` is relative to.
    pub(super) umask: u32,
}

impl Goal {
    /// The state that a checkpoint holds.
    pub(super) fn of(scene: &Scene<'_>, checkpoint: &Checkpoint, subject: &str) -> Result<Self, Error> {
        let Some(snapshot) = &checkpoint.document.snapshot else {
            return Err(Error::NoFiles {
                subject: subject.to_owned(),
            });
        };
        let repo = scene.repo;
        Ok(Self {
            tree: object_id(&snapshot.tree),
            index: object_id(&snapshot.index),
            lists: checkpoint::lists(repo, checkpoint).map_err(Error::damaged(subject))?,
            held: numbered(repo, checkpoint, "held", subject)?,
            conflicts: numbered(repo, checkpoint, "conflicts", subject)?,
            umask: u32::from_str_radix(&snapshot.umask, 8).unwrap_or(0o022),
        })
    }

    pub(super) fn files(&self) -> Files<'_> {
        Files {
            tree: self.tree,
            lists: &self.lists,
            held: &self.held,
            umask: self.umask,
        }
    }

    pub(super) fn staged(&self) -> Staged<'_> {
        Staged {
            tree: self.index,
            lists: &self.lists,
            blobs: &self.conflicts,
        }
    }
}

/// The blobs of a folder whose names are numbers, by their numbers.
fn numbered(repo: &Repository, checkpoint: &Checkpoint, name: &str, subject: &str) -> Result<Vec<ObjectId>, Error> {
    let Some(id) = checkpoint.document.trees.get(name) else {
        return Ok(Vec::new());
    };
    let entries = checkpoint::folder(repo, object_id(id), name).map_err(Error::damaged(subject))?;
    let mut blobs: Vec<(usize, ObjectId)> = entries
        .into_iter()
        .filter_map(|(name, _, id)| Some((name.parse().ok()?, id)))
        .collect();
    blobs.sort_unstable();
    // A gap would shift all that follows; whoever looks for the missing one is told that it is not there.
    let whole = blobs
        .iter()
        .enumerate()
        .take_while(|(at, (n, _))| at == n)
        .map(|(_, (_, id))| *id);
    Ok(whole.collect())
}

/// The files of a snapshot that was just taken.
pub(super) fn files(snapshot: &Snapshot) -> Files<'_> {
    Files {
        tree: snapshot.tree,
        lists: &snapshot.lists,
        held: &snapshot.held_blobs,
        umask: snapshot.umask,
    }
}

/// The index of a snapshot that was just taken.
pub(super) fn staged(snapshot: &Snapshot) -> Staged<'_> {
    Staged {
        tree: snapshot.index_tree,
        lists: &snapshot.lists,
        blobs: &snapshot.conflict_blobs,
    }
}

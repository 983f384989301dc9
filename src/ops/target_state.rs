//! Target state of files: that of a checkpoint, or one derived from it.

use std::collections::HashSet;

use super::{Error, Scene, compose::CurrentSnapshot, ids::short};
use crate::{
    model::{list::Lists, path::RepoPath},
    store::{
        ObjectId, Repository,
        checkpoint::{self, Checkpoint, object_id, oid},
        merge,
        pathspec::PathFilter,
        session, tree,
    },
    worktree::{
        restore::{SideFiles, index::IndexState},
        snapshot::Snapshot,
    },
};

/// How many checkpoints are searched for one with files.
const SEARCHED: usize = 1000;

/// The error for a checkpoint without files, with the latest one before it that has some.
pub(super) fn no_files(scene: &Scene<'_>, checkpoint: &Checkpoint) -> Error {
    let chain = session::chain(scene.repo, checkpoint.entry.id).map_while(Result::ok);
    let before = chain.take(SEARCHED).find(|entry| entry.snapshot_commit().is_some());
    Error::NoFiles {
        // Not what was typed: that may be the name of a session, whose latest checkpoint has files.
        subject: short(checkpoint.entry.id),
        before: before.map(|entry| oid(entry.id)),
    }
}

/// A state of files and index.
#[derive(Clone, Debug)]
pub(super) struct TargetState {
    /// The tree of the files.
    pub(super) tree: ObjectId,
    /// The tree of the index.
    pub(super) index: ObjectId,
    /// Lists of what trees cannot represent.
    pub(super) lists: Lists,
    /// The blobs that `lists.held` numbers.
    pub(super) held: Vec<ObjectId>,
    /// The blobs that `lists.conflicts` numbers.
    pub(super) conflicts: Vec<ObjectId>,
    /// The creation mask that `lists.modes` is relative to.
    pub(super) umask: u32,
}

impl TargetState {
    /// A state without files, and with an empty index.
    pub(super) fn empty(repo: &Repository, umask: u32) -> Self {
        let tree = ObjectId::empty_tree(repo.object_hash());
        Self {
            tree,
            index: tree,
            lists: Lists::default(),
            held: Vec::new(),
            conflicts: Vec::new(),
            umask,
        }
    }

    /// The state that a checkpoint holds.
    pub(super) fn of(scene: &Scene<'_>, checkpoint: &Checkpoint, subject: &str) -> Result<Self, Error> {
        let Some(snapshot) = &checkpoint.document.snapshot else {
            return Err(no_files(scene, checkpoint));
        };
        let repo = scene.repo;
        Ok(Self {
            tree: object_id(&snapshot.tree),
            index: object_id(&snapshot.index),
            lists: checkpoint::lists(repo, checkpoint).map_err(Error::damaged(subject))?,
            held: numbered(repo, checkpoint, "held", subject)?,
            conflicts: numbered(repo, checkpoint, "conflicts", subject)?,
            // A mask takes nothing from the owner.
            umask: u32::from_str_radix(&snapshot.umask, 8).unwrap_or(0o022) & 0o077,
        })
    }

    /// The current files.
    pub(super) fn present(present: &CurrentSnapshot) -> Result<Self, Error> {
        let Some(snapshot) = &present.snapshot else {
            return Err(Error::NoFiles {
                subject: "the current files".to_owned(),
                before: None,
            });
        };
        Ok(Self {
            tree: snapshot.tree,
            index: snapshot.index_tree,
            lists: snapshot.lists.clone(),
            held: snapshot.held_blobs.clone(),
            conflicts: snapshot.conflict_blobs.clone(),
            umask: snapshot.umask,
        })
    }

    pub(super) fn files(&self) -> SideFiles<'_> {
        SideFiles {
            tree: self.tree,
            lists: &self.lists,
            held: &self.held,
            umask: self.umask,
        }
    }

    pub(super) fn staged(&self) -> IndexState<'_> {
        IndexState {
            tree: self.index,
            lists: &self.lists,
            blobs: &self.conflicts,
            is_exact: false,
        }
    }
}

/// A tree in which purged paths are as in another one: so no change of them is known. Written to the repository or its
/// memory.
pub(super) fn with_purged<'p>(
    repo: &Repository,
    tree: ObjectId,
    purged: impl Iterator<Item = &'p RepoPath>,
    other: Option<ObjectId>,
) -> Result<ObjectId, Error> {
    let mut edits = Vec::new();
    for path in purged {
        let entry = other.map(|other| tree::entry(repo, other, path)).transpose()?.flatten();
        if tree::entry(repo, tree, path)?.is_some() || entry.is_some() && tree::is_free(repo, tree, path)? {
            edits.push((path.clone(), entry));
        }
    }
    Ok(merge::edited(repo, tree, &edits)?)
}

/// Parts of the saved index that are not in the current one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnstagedChanges {
    /// Paths that were staged, or added with `git add -N`.
    pub staged: usize,
    /// Paths that were unmerged.
    pub unmerged: usize,
    /// Whether the rest is staged again.
    pub is_partial: bool,
}

/// How much was staged or unmerged at a checkpoint that is not so in the present, of the paths that are meant.
pub(super) fn unstaged(
    repo: &Repository,
    checkpoint: &Checkpoint,
    goal: &TargetState,
    present: &Snapshot,
    mut paths: Option<PathFilter>,
) -> Result<UnstagedChanges, Error> {
    let mut is_meant = |path: &RepoPath| paths.as_mut().is_none_or(|paths| paths.keeps(path));
    let mut unmerged: Vec<_> = goal.lists.conflicts.iter().map(|conflict| &conflict.path).collect();
    unmerged.dedup();
    let mut out = UnstagedChanges::default();
    let head = checkpoint.document.git.head.as_ref().map(object_id);
    // The commit may be missing in a clone without all history; then this is not known.
    let staged = match head {
        Some(head) if checkpoint::commit_parts(repo, head).is_err() => Vec::new(),
        // A rename is one change, as in the receipt.
        head => tree::diff(repo, head, Some(goal.index), tree::Renames::Exact)?,
    };
    let purged: HashSet<_> = goal.lists.purged().collect();
    for change in &staged {
        for path in std::iter::once(&change.path).chain(&change.from) {
            let is_there = || -> Result<bool, Error> {
                Ok(tree::entry(repo, goal.index, path)? == tree::entry(repo, present.index_tree, path)?)
            };
            if !purged.contains(path) && !unmerged.contains(&path) && is_meant(path) && !is_there()? {
                out.staged += 1;
                break;
            }
        }
    }
    let intended = goal.lists.intent_to_add.iter();
    let there: HashSet<_> = present.lists.intent_to_add.iter().collect();
    let lacking = intended.filter(|path| !there.contains(path));
    out.staged += lacking.filter(|path| is_meant(path)).count();
    let is_unmerged = |path: &RepoPath| present.lists.conflicts.iter().any(|conflict| conflict.path == *path);
    let lacking = unmerged.into_iter().filter(|path| !is_unmerged(path));
    out.unmerged = lacking.filter(|path| is_meant(path)).count();
    Ok(out)
}

/// The blobs of a directory whose names are numbers, by their numbers.
pub(super) fn numbered(
    repo: &Repository,
    checkpoint: &Checkpoint,
    name: &str,
    subject: &str,
) -> Result<Vec<ObjectId>, Error> {
    let Some(id) = checkpoint.document.trees.get(name) else {
        return Ok(Vec::new());
    };
    let entries = checkpoint::directory(repo, object_id(id), name).map_err(Error::damaged(subject))?;
    let mut blobs: Vec<(usize, ObjectId)> = entries
        .into_iter()
        .filter_map(|(name, _, id)| Some((name.parse().ok()?, id)))
        .collect();
    blobs.sort_unstable();
    // A gap would shift all that follows; a lookup of the missing one reports that it does not exist.
    let whole = blobs
        .iter()
        .enumerate()
        .take_while(|(at, (n, _))| at == n)
        .map(|(_, (_, id))| *id);
    Ok(whole.collect())
}

/// The files of a snapshot that was just taken.
pub(super) fn files(snapshot: &Snapshot) -> SideFiles<'_> {
    SideFiles {
        tree: snapshot.tree,
        lists: &snapshot.lists,
        held: &snapshot.held_blobs,
        umask: snapshot.umask,
    }
}

/// The index of a snapshot that was just taken.
pub(super) fn staged(snapshot: &Snapshot) -> IndexState<'_> {
    IndexState {
        tree: snapshot.index_tree,
        lists: &snapshot.lists,
        blobs: &snapshot.conflict_blobs,
        is_exact: false,
    }
}

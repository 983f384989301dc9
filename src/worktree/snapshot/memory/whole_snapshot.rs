//! Cached result of the last snapshot, reused when nothing changed.
//!
//! Kept only of a snapshot that nothing but files, directories, the index and the settings decided: without unmerged paths,
//! repositories in the working tree, files that could not be read, or files that are not to be believed for another reason.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice;
use gix::objs::TreeRefIter;

use super::{if_any, put_if_any, stat_encoding};
use crate::model::list::Lists;
use crate::model::path::RepoPath;
use crate::store::objects::Writer;
use crate::store::{ObjectId, Repository};
use crate::worktree::snapshot::cache::{self, ByteReader, put_u32};
use crate::worktree::snapshot::content::{Read, ReadOutcome};
use crate::worktree::snapshot::index;
use crate::worktree::snapshot::status::{IndexStatus, PathSummary};
use crate::worktree::snapshot::walk::{ScannedDirectory, WalkContext, WalkMode, WalkResult};
use crate::worktree::snapshot::{Extent, Snapshot, SnapshotRules};

/// Up to so many objects are asked for one by one; of more it is noted in which packs they are.
const FEW: usize = 64;

/// Everything besides the files and the content of the index that decides a snapshot.
#[derive(Hash)]
pub(in crate::worktree::snapshot) struct SnapshotKey<'a> {
    /// The version of this program.
    pub version: &'static str,
    /// Digest of git's settings and of the working tree's place.
    pub config: u64,
    pub rules: &'a SnapshotRules<'a>,
    /// Digest of the ignore rules outside of the working tree.
    pub ignore: u64,
    /// Digest of `checkpoint.exclude` and `.checkpointignore`.
    pub exclude: u64,
    /// Digest of the attributes outside of the working tree.
    pub attributes: u64,
    /// Device and number of the repository's own directories.
    pub own: &'a [(u64, u64)],
    /// How the names of temporary files of an interrupted restore begin.
    pub leftovers: Option<&'a [u8]>,
    /// The path of the index.
    pub index: PathBuf,
}

/// Inputs of a snapshot besides the files: the index, and a digest of everything else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::worktree::snapshot) struct SnapshotInputs {
    /// The digest of a [`SnapshotKey`].
    pub digest: u64,
    /// A digest of the stat data of the index, or that there is none; `None` if that would not show a change.
    pub index: Option<u64>,
}

/// A snapshot that may be had again.
#[derive(Debug, Clone)]
pub(in crate::worktree::snapshot) struct CachedSnapshot {
    tree: ObjectId,
    index_tree: ObjectId,
    /// The tree of HEAD.
    head: Option<ObjectId>,
    /// Objects of the trees that HEAD's tree does not have at the same path, if they are few.
    objects: Vec<ObjectId>,
    /// Otherwise the marks of the packs in which all of them are.
    packs: Vec<u64>,
    status: IndexStatus,
    lists: Lists,
}

impl SnapshotInputs {
    /// The current inputs.
    pub(in crate::worktree::snapshot) fn of(key: &SnapshotKey<'_>, next: &cache::CacheBuilder) -> Self {
        Self {
            digest: cache::digest(key),
            index: of_index(&key.index, next),
        }
    }

    /// Whether the index is still that one, once it was read.
    pub(in crate::worktree::snapshot) fn has_index(
        &self,
        repo: &Repository,
        rules: &SnapshotRules<'_>,
        next: &cache::CacheBuilder,
    ) -> bool {
        of_index(&index::place(repo, rules.index_path), next) == self.index
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        put_if_any(self.index, out);
        out.extend_from_slice(&self.digest.to_le_bytes());
    }

    pub(super) fn read(at: &mut ByteReader<'_>) -> Option<Self> {
        let index = if_any(at.u64()?);
        let digest = at.u64()?;
        Some(Self { digest, index })
    }
}

fn of_index(path: &Path, next: &cache::CacheBuilder) -> Option<u64> {
    match std::fs::File::open(path).and_then(|file| crate::os::dir::file_meta(&file)) {
        Ok(meta) if next.may_keep(&meta) => {
            let mut told = Vec::new();
            stat_encoding::put(&meta, &mut told);
            Some(cache::digest((meta.dev, told)))
        }
        Ok(_) => None,
        Err(error) => (error.kind() == std::io::ErrorKind::NotFound).then(|| cache::digest("none")),
    }
}

impl CachedSnapshot {
    /// Cache record of a snapshot that refs hold already; `None` if the next one could differ although nothing changed.
    pub(in crate::worktree::snapshot) fn of(
        repo: &Repository,
        ground: &WalkContext<'_>,
        found: &WalkResult,
        reads: &[Read],
        (head, held): (Option<ObjectId>, &[ObjectId]),
        made: &Snapshot,
    ) -> Option<Self> {
        let trusted = ground.trusted.as_ref()?;
        if !held.contains(&made.tree) || !held.contains(&made.index_tree) {
            return None;
        }
        let lists = &made.lists;
        let is_plain = lists.conflicts.is_empty()
            && lists.held.is_empty()
            && lists.intent_to_add.is_empty()
            && made.submodules.is_empty()
            && found.elsewhere == 0
            && !lists.skipped.iter().any(|skipped| skipped.reason.is_failure());
        // The other file of an index that git has split is not looked at.
        if !is_plain || ground.index.state().link().is_some() {
            return None;
        }
        let sure = |directory: &ScannedDirectory| {
            directory.mode == WalkMode::Absent || directory.seen.as_ref().is_some_and(super::CachedDirectory::is_sure)
        };
        if !found.directories.iter().all(sure) {
            return None;
        }
        for read in reads {
            // A pointer of git-lfs is good only as long as the content is there.
            read.note.as_ref().filter(|note| !note.pointer)?;
            if !matches!(read.outcome, ReadOutcome::Put(_) | ReadOutcome::Same { .. }) {
                return None;
            }
        }
        let mut objects = Vec::new();
        for tree in [made.tree, made.index_tree] {
            beside(repo, tree, head, &mut objects)?;
        }
        objects.sort_unstable();
        objects.dedup();
        let mut packs = Vec::new();
        if objects.len() > FEW {
            packs = trusted.writer.in_packs(&[], || Some(std::mem::take(&mut objects)))?;
            // A writer that stores nothing knows of no packs.
            (!packs.is_empty()).then_some(())?;
        }
        Some(Self {
            tree: made.tree,
            index_tree: made.index_tree,
            head,
            objects,
            packs,
            status: made.status.clone(),
            lists: lists.clone(),
        })
    }

    /// Whether it can be had again if the files are as they were: refs must hold its trees, and all that they name must
    /// be stored soundly.
    pub(in crate::worktree::snapshot) fn stands(
        &self,
        repo: &Repository,
        head: Option<ObjectId>,
        held: &[ObjectId],
        writer: &Writer,
    ) -> bool {
        if self.head != head || !held.contains(&self.tree) || !held.contains(&self.index_tree) {
            return false;
        }
        let objects = [self.tree, self.index_tree]
            .into_iter()
            .chain(self.objects.iter().copied());
        writer.trust(objects.clone());
        (self.packs.is_empty() || writer.in_packs(&self.packs, || None).is_some())
            && objects.into_iter().all(|id| writer.has(repo, &id))
    }

    /// The snapshot, found in `extent`.
    pub(in crate::worktree::snapshot) fn snapshot(&self, umask: u32, extent: Extent) -> Snapshot {
        Snapshot {
            tree: self.tree,
            index_tree: self.index_tree,
            lists: self.lists.clone(),
            conflict_blobs: Vec::new(),
            held_blobs: Vec::new(),
            umask,
            status: self.status.clone(),
            submodules: Vec::new(),
            extent,
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::try_from(self.tree.as_bytes().len()).expect("an id is short"));
        out.push(u8::from(self.head.is_some()));
        put_u32(out, self.objects.len());
        let ids = [&self.tree, &self.index_tree].into_iter().chain(&self.head);
        for id in ids.chain(&self.objects) {
            out.extend_from_slice(id.as_bytes());
        }
        put_u32(out, self.packs.len());
        for mark in &self.packs {
            out.extend_from_slice(&mark.to_le_bytes());
        }
        let status = &self.status;
        for summary in [&status.modified, &status.deleted, &status.untracked, &status.conflicted] {
            put_u32(out, summary.count);
            put_u32(out, summary.first.len());
            for path in &summary.first {
                put(out, path.as_bytes());
            }
        }
        let lists = self.lists.encode();
        put_u32(out, lists.len());
        for (name, bytes) in lists {
            put(out, name.as_bytes());
            put(out, &bytes);
        }
    }

    pub(super) fn read(at: &mut ByteReader<'_>) -> Option<Self> {
        let len = usize::from(at.take(1)?[0]);
        let has_head = at.take(1)? != [0];
        let count = at.u32()?;
        let mut id = || ObjectId::try_from(at.take(len)?).ok();
        let (tree, index_tree) = (id()?, id()?);
        let head = if has_head { Some(id()?) } else { None };
        let objects = (0..count).map(|_| id()).collect::<Option<_>>()?;
        let packs = (0..at.u32()?).map(|_| at.u64()).collect::<Option<_>>()?;
        let mut summary = || {
            let count = at.u32()? as usize;
            let first = (0..at.u32()?)
                .map(|_| Some(RepoPath::from(bytes(at)?)))
                .collect::<Option<_>>()?;
            Some(PathSummary { count, first })
        };
        let status = IndexStatus {
            modified: summary()?,
            deleted: summary()?,
            untracked: summary()?,
            conflicted: summary()?,
        };
        let mut lists = Lists::default();
        for _ in 0..at.u32()? {
            let name = bytes(at)?.to_str().ok()?;
            lists.decode(name, bytes(at)?).ok()?;
        }
        Some(Self {
            tree,
            index_tree,
            head,
            objects,
            packs,
            status,
            lists,
        })
    }
}

/// Adds the trees and blobs of a tree that another one has not at the same place, itself among them. `None` if one of the
/// trees cannot be read.
fn beside(repo: &Repository, tree: ObjectId, other: Option<ObjectId>, out: &mut Vec<ObjectId>) -> Option<()> {
    if other == Some(tree) {
        return Some(());
    }
    out.push(tree);
    let read = |id: ObjectId| Some(repo.try_find_object(id).ok()??.detach().data);
    let (data, old) = (read(tree)?, other.map_or_else(|| Some(Vec::new()), read)?);
    let old: HashMap<_, _> = TreeRefIter::from_bytes(&old, repo.object_hash())
        .filter_map(Result::ok)
        .map(|entry| (entry.filename, (entry.mode.is_tree(), entry.oid.to_owned())))
        .collect();
    for entry in TreeRefIter::from_bytes(&data, repo.object_hash()) {
        let entry = entry.ok()?;
        let (id, was) = (entry.oid.to_owned(), old.get(entry.filename));
        if entry.mode.is_tree() {
            let was = was.filter(|(is_tree, _)| *is_tree).map(|(_, id)| *id);
            beside(repo, id, was, out)?;
        } else if !entry.mode.is_commit() && was.is_none_or(|(_, was)| *was != id) {
            out.push(id);
        }
    }
    Some(())
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u32(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn bytes<'a>(at: &mut ByteReader<'a>) -> Option<&'a [u8]> {
    let len = at.u32()? as usize;
    at.take(len)
}

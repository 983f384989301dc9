//! What the last snapshot was, for when everything is as it was then.
//!
//! Kept only of a snapshot that nothing but files, folders, the index and the settings decided: without unmerged paths,
//! repositories in the work tree, files that could not be read, or files that are not to be believed for another reason.

use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice;

use super::{if_any, put_if_any};
use crate::model::list::Lists;
use crate::model::path::RepoPath;
use crate::os::dir::Meta;
use crate::store::objects::Writer;
use crate::store::{ObjectId, Repository};
use crate::worktree::snapshot::cache::{self, Reading, put_u32};
use crate::worktree::snapshot::content::{Outcome, Read};
use crate::worktree::snapshot::index::Index;
use crate::worktree::snapshot::status::{PathSummary, Status};
use crate::worktree::snapshot::walk::{Folder, Found, Mode};
use crate::worktree::snapshot::{Extent, Options, Snapshot};

/// Up to so many blobs are asked for one by one; of more it is noted in which packs they are.
const FEW: usize = 64;

/// What decides a snapshot beside the files: the index, and a digest of everything else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::worktree::snapshot) struct Around {
    /// Settings, rules and options.
    pub digest: u64,
    /// A digest of what the system says of the index, or that there is none; `None` if that would not show a change.
    pub index: Option<u64>,
}

/// A snapshot that may be had again.
#[derive(Debug, Clone)]
pub(in crate::worktree::snapshot) struct Whole {
    tree: ObjectId,
    index_tree: ObjectId,
    /// Blobs that the index does not have.
    blobs: Vec<ObjectId>,
    /// The marks of packs in which further such blobs are.
    packs: Vec<u64>,
    status: Status,
    lists: Lists,
}

impl Around {
    /// As it is now. `digest` is of all settings and rules.
    pub(in crate::worktree::snapshot) fn of(
        repo: &Repository,
        options: &Options<'_>,
        next: &cache::Next,
        digest: u64,
    ) -> Self {
        let path = index_path(repo, options);
        let index = of_index(&path, next);
        let limits = (options.max_file_size, options.max_total_size, options.umask);
        let version = env!("CARGO_PKG_VERSION");
        let digest = cache::digest((digest, path, limits, options.exclude, version));
        Self { digest, index }
    }

    /// Whether the index is still that one, once it was read.
    pub(in crate::worktree::snapshot) fn has_index(
        &self,
        repo: &Repository,
        options: &Options<'_>,
        next: &cache::Next,
    ) -> bool {
        of_index(&index_path(repo, options), next) == self.index
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        put_if_any(self.index, out);
        out.extend_from_slice(&self.digest.to_le_bytes());
    }

    pub(super) fn read(at: &mut Reading<'_>) -> Option<Self> {
        let index = if_any(at.u64()?);
        let digest = at.u64()?;
        Some(Self { digest, index })
    }
}

fn index_path(repo: &Repository, options: &Options<'_>) -> PathBuf {
    options.index_path.map_or_else(|| repo.index_path(), ToOwned::to_owned)
}

fn of_index(path: &Path, next: &cache::Next) -> Option<u64> {
    match std::fs::File::open(path).and_then(|file| crate::os::dir::file_meta(&file)) {
        Ok(meta) if next.may_keep(&meta) => Some(cache::digest(told(&meta))),
        Ok(_) => None,
        Err(error) => (error.kind() == std::io::ErrorKind::NotFound).then(|| cache::digest("none")),
    }
}

/// What shows that a file was replaced or changed.
fn told(meta: &Meta) -> [u64; 8] {
    let seconds = |time: crate::os::dir::FileTime| time.seconds.cast_unsigned();
    [
        meta.dev,
        meta.ino,
        meta.size,
        seconds(meta.mtime),
        u64::from(meta.mtime.nanos),
        seconds(meta.ctime),
        u64::from(meta.ctime.nanos),
        u64::from(meta.mode),
    ]
}

impl Whole {
    /// What may be kept of a snapshot; `None` if the next one could differ though all is as it was.
    pub(in crate::worktree::snapshot) fn of(
        index: &Index,
        found: &Found,
        reads: &[Read],
        writer: &Writer,
        made: &Snapshot,
    ) -> Option<Self> {
        let lists = &made.lists;
        let is_plain = lists.conflicts.is_empty()
            && lists.held.is_empty()
            && lists.intent_to_add.is_empty()
            && made.submodules.is_empty()
            && found.elsewhere == 0
            && !lists.skipped.iter().any(|skipped| skipped.reason.is_failure());
        // The other file of an index that git has split is not looked at.
        if !is_plain || index.state().link().is_some() {
            return None;
        }
        let sure =
            |folder: &Folder| folder.mode == Mode::Absent || folder.seen.as_ref().is_some_and(super::Folder::is_sure);
        if !found.folders.iter().all(sure) {
            return None;
        }
        let mut blobs = Vec::new();
        for read in reads {
            // A pointer of git-lfs is good only as long as the content is there.
            read.note.as_ref().filter(|note| !note.pointer)?;
            match &read.outcome {
                Outcome::Put(put) => blobs.push(put.id),
                Outcome::Same { .. } => {}
                Outcome::Held { .. } | Outcome::Gone | Outcome::Skipped(_) => return None,
            }
        }
        let mut packs = Vec::new();
        for taken in found.folders.iter().filter_map(|folder| folder.taken.as_ref()) {
            if taken.tree.is_some() {
                packs.extend((!taken.packs.is_empty()).then_some(&taken.packs)?);
            }
        }
        if blobs.len() > FEW {
            let marks = writer.in_packs(&[], || Some(std::mem::take(&mut blobs)))?;
            packs.extend((!marks.is_empty()).then_some(marks)?);
        }
        packs.sort_unstable();
        packs.dedup();
        Some(Self {
            tree: made.tree,
            index_tree: made.index_tree,
            blobs,
            packs,
            status: made.status.clone(),
            lists: lists.clone(),
        })
    }

    /// Whether it can be had again if the files are as they were: refs must hold its trees, and all that they name must
    /// be stored soundly.
    pub(in crate::worktree::snapshot) fn stands(&self, repo: &Repository, held: &[ObjectId], writer: &Writer) -> bool {
        if !held.contains(&self.tree) || !held.contains(&self.index_tree) {
            return false;
        }
        let objects = [self.tree, self.index_tree]
            .into_iter()
            .chain(self.blobs.iter().copied());
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
        put_u32(out, self.blobs.len());
        for id in [&self.tree, &self.index_tree].into_iter().chain(&self.blobs) {
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

    pub(super) fn read(at: &mut Reading<'_>) -> Option<Self> {
        let len = usize::from(at.take(1)?[0]);
        let count = at.u32()?;
        let mut id = || ObjectId::try_from(at.take(len)?).ok();
        let (tree, index_tree) = (id()?, id()?);
        let blobs = (0..count).map(|_| id()).collect::<Option<_>>()?;
        let packs = (0..at.u32()?).map(|_| at.u64()).collect::<Option<_>>()?;
        let mut summary = || {
            let count = at.u32()? as usize;
            let first = (0..at.u32()?)
                .map(|_| Some(RepoPath::from(bytes(at)?)))
                .collect::<Option<_>>()?;
            Some(PathSummary { count, first })
        };
        let status = Status {
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
            blobs,
            packs,
            status,
            lists,
        })
    }
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u32(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn bytes<'a>(at: &mut Reading<'a>) -> Option<&'a [u8]> {
    let len = at.u32()? as usize;
    at.take(len)
}

//! Directories without index entries in which every file is taken: compared by one digest for all of them, and taken as
//! their cached tree when it is equal.
//!
//! Each file is still looked at, since an edit leaves no trace in its directory. What is saved is everything after
//! that: matching the names with rules, finding each record and each object, and building the tree. The tree counts
//! only if a ref holds it at this path, it is stored soundly, and each blob in it is in a pack: once they were found,
//! as long as those packs are there. A loose object may be lost or emptied by a power cut, so that such files are taken
//! one by one.

use std::hash::{DefaultHasher, Hasher};

use gix::bstr::ByteSlice;
use gix::objs::TreeRefIter;

use super::Visit;
use crate::os::dir::{Dir, DirNames, FileKind, Meta};
use crate::store::ObjectId;
use crate::worktree::snapshot::entries::DIRECTORY;
use crate::worktree::snapshot::reachable::TreeLookup;
use crate::worktree::snapshot::walk::{PathState, ReadReason, UntrackedTree, WalkChange, WalkMode};

impl Visit<'_, '_> {
    /// Takes all files of the directory if they are as the cache knows them, and returns whether it did.
    pub(super) fn as_untracked_directory(
        &mut self,
        dir: &Dir,
        names: &DirNames,
        reachable: &mut TreeLookup<'_>,
    ) -> bool {
        let ground = self.ground;
        let (Some(trusted), true) = (&ground.trusted, self.is_cacheable()) else {
            return false;
        };
        let Some(known) = ground.cache.known(&self.path) else {
            return false;
        };
        let is_leftover = |at| ground.leftovers.is_some_and(|start| names.name(at).starts_with(start));
        for at in 0..names.len() {
            match names.kind(at) {
                FileKind::Directory => {}
                kind @ (FileKind::File | FileKind::Link) if !is_leftover(at) => match self.stat(dir, names, at) {
                    Ok(meta) if meta.kind == kind => self.found.elsewhere += usize::from(meta.links > 1),
                    _ => return false,
                },
                _ => return false,
            }
        }
        let files = (0..)
            .zip(&self.metas)
            .filter(|(at, _)| names.kind(*at) != FileKind::Directory)
            .filter_map(|(at, meta)| Some((names.name(at), meta.as_ref()?)));
        let (fingerprint, size) = self.digest(files);
        if fingerprint != known.fingerprint {
            return false;
        }
        let path = self.path.strip_suffix(b"/").unwrap_or(&self.path);
        if !reachable.trees(path).contains(&known.tree) {
            return false;
        }
        trusted.writer.trust([known.tree]);
        if !trusted.writer.has(self.repo, &known.tree) {
            return false;
        }
        let Some(packs) = trusted.writer.in_packs(&known.packs, || self.blobs_of(known.tree)) else {
            return false;
        };
        if self.has_directories {
            // With directories in it the tree has to be built again: one of them may have changed.
            match self.files_of(known.tree) {
                Some(files) if files.len() == self.files => self.changes = files,
                _ => return false,
            }
        } else {
            let (mode, id) = (DIRECTORY, known.tree);
            self.change(b"", PathState::Put { mode, id });
        }
        let mut path = self.path.clone();
        for at in 0..names.len() {
            if names.kind(at) == FileKind::Directory {
                self.untracked(dir, names, at);
                continue;
            }
            path.truncate(self.path.len());
            path.extend_from_slice(names.name(at));
            self.found.tally.untracked.add(&path);
        }
        self.taken = Some(UntrackedTree {
            fingerprint,
            count: self.files,
            size,
            tree: Some(known.tree),
            packs,
        });
        true
    }

    /// Cache record of the directory once its candidates are read, if all its files are among them.
    pub(super) fn all_taken(&self) -> Option<UntrackedTree> {
        let all = self.is_cacheable()
            && !self.denied
            && self.candidates.len() == self.files
            && self
                .candidates
                .iter()
                .all(|candidate| candidate.why == ReadReason::Untracked);
        if !all {
            return None;
        }
        let files = self
            .candidates
            .iter()
            .map(|candidate| (candidate.parts().1, &candidate.meta));
        let (fingerprint, size) = self.digest(files);
        Some(UntrackedTree {
            fingerprint,
            count: self.files,
            size,
            tree: None,
            packs: Vec::new(),
        })
    }

    fn is_cacheable(&self) -> bool {
        let task = self.task;
        self.ground.trusted.is_some()
            && !self.ground.rules.tracked_only
            && self.files > 0
            && !self.path.is_empty()
            && task.entries.is_empty()
            && task.mode == WalkMode::Whole
            && !task.excluded
    }

    /// A digest of everything that decides what these files are stored as, and how many bytes they have.
    fn digest<'c>(&self, files: impl Iterator<Item = (&'c [u8], &'c Meta)>) -> (u64, u64) {
        let ground = self.ground;
        let mut hasher = DefaultHasher::new();
        for number in [
            ground.ignore.digest(&self.ignore),
            ground.exclude.digest(&None),
            self.attributes.digest(),
            ground.rules_digest,
            // Without directories in it the tree is taken as it is, and then it must have none.
            u64::from(self.has_directories),
        ] {
            hasher.write_u64(number);
        }
        let (mut total, mut one) = (0_u64, Vec::new());
        for (name, meta) in files {
            one.clear();
            one.extend_from_slice(name);
            one.push(0);
            one.push(u8::from(meta.kind == FileKind::Link));
            for time in [meta.mtime, meta.ctime] {
                one.extend_from_slice(&time.seconds.to_le_bytes());
                one.extend_from_slice(&time.nanos.to_le_bytes());
            }
            for number in [meta.size, meta.dev, meta.ino] {
                one.extend_from_slice(&number.to_le_bytes());
            }
            for number in [meta.mode, meta.uid, meta.gid] {
                one.extend_from_slice(&number.to_le_bytes());
            }
            hasher.write(&one);
            total = total.saturating_add(meta.size);
        }
        (hasher.finish(), total)
    }

    fn blobs_of(&self, tree: ObjectId) -> Option<Vec<ObjectId>> {
        let blob = |change: WalkChange| match change.what {
            PathState::Put { id, .. } => Some(id),
            PathState::Gone => None,
        };
        Some(self.files_of(tree)?.into_iter().filter_map(blob).collect())
    }

    /// Files of a tree; `None` if it cannot be read.
    fn files_of(&self, tree: ObjectId) -> Option<Vec<WalkChange>> {
        let object = self.repo.try_find_object(tree).ok()??;
        let mut files = Vec::new();
        for entry in TreeRefIter::from_bytes(&object.data, self.repo.object_hash()) {
            let entry = entry.ok()?;
            let (mode, id) = (entry.mode.value(), entry.oid.to_owned());
            if mode != DIRECTORY {
                let name = entry.filename.as_bytes().into();
                let what = PathState::Put { mode, id };
                files.push(WalkChange { name, what });
            }
        }
        Some(files)
    }
}

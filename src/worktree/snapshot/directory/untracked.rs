//! Names in a directory that the index does not have: taken, ignored, or skipped with a reason.

use std::io;

use super::Visit;
use crate::model::list::SkipReason;
use crate::os::dir::{Dir, DirNames, FileKind, Meta};
use crate::worktree::snapshot::names;
use crate::worktree::snapshot::nested::{self, Nested};
use crate::worktree::snapshot::walk::{ReadReason, WalkMode};

impl Visit<'_, '_> {
    /// A name that only the disk has.
    pub(super) fn untracked(&mut self, dir: &Dir, names: &DirNames, at: usize) {
        if names.name(at) == b".git" && self.path.is_empty() {
            return;
        }
        if self
            .ground
            .leftovers
            .is_some_and(|start| names.name(at).starts_with(start))
        {
            return;
        }
        let path = self.full_path(names.name(at));
        let kind = match names.kind(at) {
            FileKind::Unknown => match self.stat(dir, names, at) {
                Ok(meta) => meta.kind,
                Err(error) => return self.vanished(&path, &error),
            },
            kind => kind,
        };
        if self.is_ignored(&path, kind == FileKind::Directory) {
            return;
        }
        match kind {
            FileKind::Directory => self.untracked_directory(&path),
            FileKind::Special => self.found.skip(&path, SkipReason::Special),
            _ => match self.stat(dir, names, at) {
                // It became a directory meanwhile.
                Ok(meta) if meta.kind == FileKind::Directory => self.untracked_directory(&path),
                Ok(meta) => self.untracked_file(path, &meta),
                Err(error) => self.vanished(&path, &error),
            },
        }
    }

    pub(super) fn vanished(&mut self, path: &[u8], error: &io::Error) {
        match error.kind() {
            io::ErrorKind::NotFound => {}
            io::ErrorKind::PermissionDenied => self.denied = true,
            _ => self.found.skip(path, SkipReason::Unreadable),
        }
    }

    /// A directory with no index entries below it that is not ignored.
    pub(super) fn untracked_directory(&mut self, path: &[u8]) {
        let name = &path[self.path.len()..];
        if !names::is_storable(name, false) {
            return self.found.skip(path, SkipReason::Name);
        }
        if self.ground.rules.tracked_only {
            self.found.tally.untracked.add(path);
            return self.found.skip(path, SkipReason::Untracked);
        }
        if self.is_excluded(path, true) {
            self.found.tally.untracked.add(path);
            return self.found.skip(path, SkipReason::Excluded);
        }
        self.descend(name, 0..0, WalkMode::Whole, false);
    }

    /// A file or link without an index entry that is not ignored.
    pub(super) fn untracked_file(&mut self, path: Vec<u8>, meta: &Meta) {
        if meta.kind == FileKind::Special {
            return self.found.skip(&path, SkipReason::Special);
        }
        if !names::is_storable(&path[self.path.len()..], meta.kind == FileKind::File) {
            return self.found.skip(&path, SkipReason::Name);
        }
        if self.ground.rules.tracked_only {
            self.found.tally.untracked.add(&path);
            return self.found.skip(&path, SkipReason::Untracked);
        }
        self.found.elsewhere += usize::from(meta.links > 1);
        self.found.tally.untracked.add(&path);
        if self.is_excluded(&path, false) {
            return self.found.skip_sized(&path, SkipReason::Excluded, meta.size);
        }
        if self.ground.rules.is_too_large(meta.size) {
            return self.found.skip_sized(&path, SkipReason::TooLarge, meta.size);
        }
        self.candidate(path, None, *meta, ReadReason::Untracked);
    }

    /// A directory without index entries that is a repository of its own, or this repository.
    pub(super) fn is_foreign(&mut self, dir: &Dir, names: &DirNames) -> bool {
        let path = self.path.strip_suffix(b"/").unwrap_or(&self.path).to_vec();
        if !self.ground.own.is_empty()
            && dir
                .meta()
                .is_ok_and(|meta| self.ground.own.contains(&(meta.dev, meta.ino)))
        {
            self.found.elsewhere += 1;
            self.found.skip(&path, SkipReason::NestedRepository);
            return true;
        }
        if names.find(b".git").is_none() {
            return false;
        }
        // A `.git` that is no repository may become one by what is done elsewhere.
        self.found.elsewhere += 1;
        if let Nested::No { .. } = nested::inside(self.repo, dir, &path, self.ground) {
            return false;
        }
        // No gitlink, as `git add` would make one: nothing of the repository is saved, and where it is not, as in a
        // fork's working tree, nothing is missing.
        self.found.tally.untracked.add(&path);
        self.found.skip(&path, SkipReason::NestedRepository);
        true
    }
}

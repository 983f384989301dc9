//! Names of the index in a directory: as the index has them, changed, replaced by something else, or not there.

use std::io;
use std::ops::Range;

use gix::index::Entry;
use gix::index::entry::Stage;

use super::{UnchangedFile, Visit};
use crate::model::list::SkipReason;
use crate::os::dir::{Dir, FileKind, Meta};
use crate::worktree::snapshot::entries::GITLINK;
use crate::worktree::snapshot::index::{EntryExt, Group};
use crate::worktree::snapshot::nested::{self, Nested};
use crate::worktree::snapshot::origin;
use crate::worktree::snapshot::stat::{self, StatVerdict};
use crate::worktree::snapshot::walk::{PathState, ReadReason, WalkMode};

impl<'a> Visit<'a, '_> {
    /// A directory that is not there: all is deleted but what is not checked out anyway.
    pub(super) fn absent(&mut self) {
        for group in self.groups() {
            self.missing(&group);
        }
    }

    /// An index name that is not on disk.
    pub(super) fn missing(&mut self, group: &Group<'_>) {
        if !group.files.is_empty() && !self.entry(group).is_skip_worktree() {
            self.deleted(group.files.clone());
            self.change(group.name, PathState::Gone);
        }
        if group.below.is_empty() {
            return;
        }
        let entries = &self.ground.index.state().entries()[group.below.clone()];
        let kept = entries.iter().filter(|entry| entry.is_skip_worktree()).count();
        if kept == 0 {
            self.deleted(group.below.clone());
            self.change(group.name, PathState::Gone);
        } else if kept < entries.len() {
            self.descend(group.name, group.below.clone(), WalkMode::Absent, false);
        }
    }

    pub(super) fn deleted(&mut self, entries: Range<usize>) {
        for at in entries {
            if self.ground.index.entry(at).stage() == Stage::Unconflicted {
                self.found.tally.deleted.add(self.ground.index.path(at));
            }
        }
    }

    /// The entry that a file is compared with: of an unmerged path our side.
    pub(super) fn entry_at(&self, group: &Group<'_>) -> usize {
        let ours = |at: &usize| self.ground.index.entry(*at).stage() == Stage::Ours;
        group.files.clone().find(ours).unwrap_or(group.files.start)
    }

    pub(super) fn entry(&self, group: &Group<'_>) -> &'a Entry {
        self.ground.index.entry(self.entry_at(group))
    }

    /// A tracked name whose stat data cannot be had.
    pub(super) fn unseen(&mut self, group: &Group<'_>, error: &io::Error) {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => self.missing(group),
            io::ErrorKind::PermissionDenied => self.denied = true,
            _ => {
                let path = self.full_path(group.name);
                self.found.skip(&path, SkipReason::Unreadable);
            }
        }
    }

    /// A directory below which the index has entries.
    pub(super) fn directory(&mut self, group: &Group<'_>, path: &[u8]) {
        let mode = if self.is_ignored(path, true) {
            WalkMode::TrackedOnly
        } else {
            WalkMode::Whole
        };
        let excluded = self.is_excluded(path, true);
        self.descend(group.name, group.below.clone(), mode, excluded);
    }

    /// A name that both have.
    pub(super) fn tracked(&mut self, dir: &Dir, group: &Group<'_>, meta: &Meta) {
        if !group.files.is_empty() && matches!(meta.kind, FileKind::File | FileKind::Link) {
            return self.tracked_file(group, meta);
        }
        let path = self.full_path(group.name);
        if meta.kind == FileKind::Directory {
            if !group.files.is_empty() {
                let entry = self.entry(group);
                if entry.is_gitlink() {
                    return self.submodule(dir, group, &path);
                }
                if entry.is_directory() {
                    // It came after the index was read, which has the directory as one entry.
                    return self.found.skip(&path, SkipReason::Unstable);
                }
                self.deleted(group.files.clone());
                // With entries below, which an unmerged index may also have, the directory represents the name anyway.
                if group.below.is_empty() {
                    self.change(group.name, PathState::Gone);
                    if !self.is_ignored(&path, true) {
                        self.untracked_directory(&path);
                    }
                    return;
                }
            }
            return self.directory(group, &path);
        }
        if group.files.is_empty() {
            // A file where the index has a directory.
            if meta.kind == FileKind::Special {
                return self.found.skip(&path, SkipReason::Special);
            }
            self.deleted(group.below.clone());
            self.change(group.name, PathState::Gone);
            if !self.is_ignored(&path, false) {
                self.untracked_file(path, meta);
            }
            return;
        }
        self.found.skip(&path, SkipReason::Special);
    }

    /// A file or link that the index has as one.
    fn tracked_file(&mut self, group: &Group<'_>, meta: &Meta) {
        let at = self.entry_at(group);
        self.found.elsewhere += usize::from(meta.links > 1);
        let entry = self.ground.index.entry(at);
        let path = self.ground.index.path(at);
        self.note_flags(at);
        self.found.note_mode(self.ground, path, meta, Some(entry));
        if !group.below.is_empty() {
            // An unmerged index may have both. Put there whatever it is, or what is below would represent the name.
            self.deleted(group.below.clone());
            return self.candidate(path.to_vec(), None, *meta, ReadReason::Changed);
        }
        match stat::compare(entry, meta, self.ground) {
            // What no server would take must not get into the tree. Links are what they are.
            StatVerdict::Clean if self.ground.left_out.binary_search(&at).is_ok() => {
                self.candidate(path.to_vec(), Some(at), *meta, ReadReason::Clean);
            }
            StatVerdict::Clean if meta.kind == FileKind::File => self.clean.push(UnchangedFile { at, meta: *meta }),
            StatVerdict::Clean => {}
            StatVerdict::Unknown => self.candidate(path.to_vec(), Some(at), *meta, ReadReason::Changed),
        }
    }

    /// Notes that an entry at which git would not look is on disk.
    fn note_flags(&mut self, at: usize) {
        if !origin::flags(self.ground.index.entry(at)).is_empty() {
            self.found.flagged.push(at);
        }
    }

    /// A gitlink of the index with a directory on disk.
    pub(super) fn submodule(&mut self, dir: &Dir, group: &Group<'_>, path: &[u8]) {
        self.found.elsewhere += 1;
        self.unsure = true;
        self.note_flags(self.entry_at(group));
        match nested::look(self.repo, dir, group.name, path, self.ground) {
            Nested::At(id) => {
                self.found.submodules.push(path.into());
                let entry = self.entry(group);
                if id != entry.id {
                    self.found.tally.modified.add(path);
                }
                if id != entry.id || entry.is_pending() {
                    self.change(group.name, PathState::Put { mode: GITLINK, id });
                }
            }
            Nested::No { empty: true } => {}
            // The gitlink stays as it is, and git looks at nothing in the directory either.
            Nested::Without | Nested::Unknown | Nested::No { empty: false } => {
                self.found.skip(path, SkipReason::NestedRepository);
            }
        }
    }
}

//! After all paths were seen: room for what is written, empty directories, and remarks about paths that do not change.

use std::collections::HashSet;

use super::{Planner, not_held};
use crate::model::list::SkipReason;
use crate::model::path::RepoPath;
use crate::model::plan::{Act, BlockReason, PlanReason};
use crate::os::dir::FileKind;
use crate::worktree::restore::Error;
use crate::worktree::restore::disk::{DirectoryObstacle, DiskEntry, directories_above};
use crate::worktree::restore::plan::RestoreStep;
use crate::worktree::restore::side::SideEntry;
use crate::worktree::restore::walk::PairWalk;
use crate::worktree::snapshot::nested::{self, Nested};

impl Planner<'_, '_> {
    /// Files that were not meant themselves go if a directory has to be where they are.
    pub(super) fn make_room(&mut self) {
        let needed: HashSet<Vec<u8>> = self
            .plan
            .steps
            .iter()
            .filter(|step| matches!(step, RestoreStep::Write { .. }))
            .flat_map(|step| directories_above(step.path()).map(<[u8]>::to_vec))
            .collect();
        let in_the_way = std::mem::take(&mut self.in_the_way);
        for (path, was) in in_the_way {
            if needed.contains(&path) {
                self.remove_content(&path, was, PlanReason::InTheWay);
            }
        }
        let written = self
            .plan
            .steps
            .iter()
            .filter(|step| matches!(step, RestoreStep::Write { .. }));
        let keys: Vec<Vec<u8>> = written.map(|step| self.system.key(step.path())).collect();
        for key in keys {
            if let Some((path, was)) = self.aliased.remove(&key).filter(|_| !self.removed.contains(&key)) {
                self.remove_content(&path, was, PlanReason::InTheWay);
            }
        }
    }

    /// Directories that the file system finds by the names that they are to have get those names. Not where only a part is
    /// meant: what else is in them keeps its path.
    pub(super) fn rename_directories(&mut self) -> Result<(), Error> {
        if !self.system.folds || self.options.overlay || self.options.paths.is_some() {
            return Ok(());
        }
        let mut renamed = Vec::new();
        for directory in self.plan.filled() {
            let failed = self.io(&directory);
            if let Some(from) = self.disk.other_name(&directory, self.system).map_err(failed)? {
                renamed.push(RestoreStep::RenameDirectory { from, path: directory });
            }
        }
        self.plan.steps.extend(renamed);
        Ok(())
    }

    /// A directory in the way of a file must hold nothing but what goes away anyway.
    pub(super) fn check_replaced(&mut self, walk: &PairWalk<'_>) -> Result<(), Error> {
        for directory in std::mem::take(&mut self.replaced) {
            for inside in self.disk.inside(&directory).map_err(self.io(&directory))? {
                match inside {
                    DirectoryObstacle::File(path) if self.removed.contains(&self.system.key(&path)) => {}
                    DirectoryObstacle::File(path) => {
                        let mut above = std::iter::once(&path[..]).chain(directories_above(&path));
                        let left_out = above.find_map(|path| walk.present.skipped(path));
                        let why = left_out.map_or(BlockReason::Ignored, BlockReason::NotHeld);
                        self.plan.block(&path, why);
                    }
                    DirectoryObstacle::Special(path) => {
                        self.plan.block(&path, BlockReason::NotHeld(SkipReason::Special));
                    }
                    DirectoryObstacle::Repository(path) => self.plan.block(&path, BlockReason::Repository),
                    DirectoryObstacle::Directory(path) => self.plan.steps.push(RestoreStep::RemoveDirectory { path }),
                }
            }
        }
        Ok(())
    }

    /// Checks obstacles at paths that are to be written.
    pub(super) fn check_room(&mut self) -> Result<(), Error> {
        for path in std::mem::take(&mut self.occupied) {
            if self.removed.contains(&self.system.key(&path)) {
                continue;
            }
            let why = match self.disk.at(&path).map_err(self.io(&path))? {
                DiskEntry::Something(meta) if meta.kind == FileKind::Special => {
                    BlockReason::NotHeld(SkipReason::Special)
                }
                _ => BlockReason::Ignored,
            };
            self.plan.block(&path, why);
        }
        Ok(())
    }

    pub(super) fn empty_directories(&mut self, walk: &PairWalk<'_>) -> Result<(), Error> {
        for directory in &walk.target.lists().empty_dirs {
            let path = directory.as_bytes();
            if !self.is_selected(path) {
                continue;
            }
            if self.is_in_repository(walk, path)? {
                self.plan.line(Act::Skip, path, PlanReason::Repository);
                continue;
            }
            match self.disk.at(path).map_err(self.io(path))? {
                DiskEntry::Something(meta) if meta.kind == FileKind::Directory => continue,
                DiskEntry::Something(_) => self.occupied.push(path.to_vec()),
                DiskEntry::Blocked(length) => self.occupied.push(path[..length].to_vec()),
                DiskEntry::Nothing => {}
            }
            self.plan.line(Act::Write, path, PlanReason::EmptyDirectory);
            self.plan.steps.push(RestoreStep::MakeDirectory { path: path.to_vec() });
        }
        if self.options.overlay {
            return Ok(());
        }
        let saved: HashSet<_> = walk.target.lists().empty_dirs.iter().collect();
        let gone: HashSet<Vec<u8>> = self
            .plan
            .steps
            .iter()
            .filter(|step| matches!(step, RestoreStep::RemoveDirectory { .. }))
            .map(|step| step.path().to_vec())
            .collect();
        for directory in &walk.present.lists().empty_dirs {
            let path = directory.as_bytes();
            let settled = saved.contains(directory) || gone.contains(path) || is_under_skipped(walk, path);
            if settled || !self.is_selected(path) || walk.target.node(walk.repo, path)?.is_some() {
                continue;
            }
            if self
                .options
                .cwd
                .as_ref()
                .is_some_and(|cwd| is_at_or_above(path, cwd.as_bytes()))
            {
                self.plan.line(Act::Keep, path, PlanReason::CurrentFolder);
                continue;
            }
            if self.options.keep_ignored && walk.ignores_directory(path, &self.converter)? {
                // An empty directory that is ignored is in no list.
                self.plan.line(Act::Keep, path, PlanReason::IgnoredThen);
                continue;
            }
            self.plan.line(Act::Delete, path, PlanReason::EmptyNotInCheckpoint);
            self.plan
                .steps
                .push(RestoreStep::RemoveDirectory { path: path.to_vec() });
        }
        Ok(())
    }

    /// Whether a path is that of another repository of the present, or in one.
    fn is_in_repository(&mut self, walk: &PairWalk<'_>, path: &[u8]) -> Result<bool, Error> {
        for path in std::iter::once(path).chain(directories_above(path)) {
            let node = walk.present.node(walk.repo, path)?;
            let is_skipped = walk.present.skipped(path) == Some(SkipReason::NestedRepository);
            if is_skipped || matches!(node, Some(SideEntry::Repository(_))) {
                return Ok(true);
            }
            if !matches!(node, Some(SideEntry::Directory(_))) && self.is_unlisted_repository(walk, path)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a directory of which the present has nothing is a repository: one that is ignored is in no list. A `.git`
    /// that is none, as git sees it, makes no repository.
    pub(super) fn is_unlisted_repository(&mut self, walk: &PairWalk<'_>, path: &[u8]) -> Result<bool, Error> {
        let is_entered = |entered: &HashSet<RepoPath>| entered.contains(&RepoPath::from(path));
        if self.options.entered.is_some_and(is_entered) {
            return Ok(false);
        }
        let dot_git = [path, b"/.git"].concat();
        let there = self.disk.at(&dot_git).map_err(self.io(path))?;
        Ok(matches!(there, DiskEntry::Something(_))
            && !matches!(nested::below(walk.repo, self.root, path), Nested::No { .. }))
    }

    /// Reports files that existed at save time and are missing now.
    pub(super) fn not_saved(&mut self, walk: &PairWalk<'_>) -> Result<(), Error> {
        for skipped in &walk.target.lists().skipped {
            let path = skipped.path.as_bytes();
            if self.system.check(path, true).is_err() || !self.is_selected(path) {
                continue;
            }
            if matches!(
                self.disk.at(path).map_err(self.io(path))?,
                DiskEntry::Nothing | DiskEntry::Blocked(_)
            ) {
                self.plan.line(Act::Skip, path, PlanReason::NotSaved(skipped.reason));
            }
        }
        Ok(())
    }

    /// Reports newer files that are kept because no checkpoint can hold them.
    pub(super) fn not_held(&mut self, walk: &PairWalk<'_>) -> Result<(), Error> {
        if self.options.overlay {
            return Ok(());
        }
        for skipped in &walk.present.lists().skipped {
            let path = skipped.path.as_bytes();
            let told = is_under_skipped(walk, path) || !self.is_selected(path);
            if !told && self.system.check(path, true).is_ok() && walk.target.node(walk.repo, path)?.is_none() {
                self.plan.line(Act::Keep, path, not_held(skipped.reason));
            }
        }
        Ok(())
    }

    pub(super) fn kept_directories(&self, walk: &PairWalk<'_>) -> HashSet<Vec<u8>> {
        let mut keep = HashSet::new();
        let mut add = |path: &[u8]| {
            keep.insert(self.system.key(path));
            keep.extend(directories_above(path).map(|directory| self.system.key(directory)));
        };
        for directory in &walk.target.lists().empty_dirs {
            add(directory.as_bytes());
        }
        if let Some(cwd) = &self.options.cwd {
            add(cwd.as_bytes());
        }
        keep
    }
}

/// Whether `path` is `other` or a directory above it.
fn is_at_or_above(path: &[u8], other: &[u8]) -> bool {
    other
        .strip_prefix(path)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// Whether the target did not save what was at a path or above it.
fn is_under_skipped(walk: &PairWalk<'_>, path: &[u8]) -> bool {
    std::iter::once(path)
        .chain(directories_above(path))
        .any(|path| walk.target.skipped(path).is_some())
}

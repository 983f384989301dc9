//! After all paths were seen: room for what is written, empty folders, and what is told although nothing happens to it.

use std::collections::HashSet;

use super::{Planner, not_held};
use crate::model::list::SkipReason;
use crate::model::path::RepoPath;
use crate::model::plan::{Act, Block, Why};
use crate::os::dir::Kind;
use crate::worktree::restore::Error;
use crate::worktree::restore::disk::{Inside, There, folders_above};
use crate::worktree::restore::plan::Step;
use crate::worktree::restore::side::Node;
use crate::worktree::restore::walk::Walk;

impl Planner<'_, '_> {
    /// Files that were not meant themselves go if a folder has to be where they are.
    pub(super) fn make_room(&mut self) {
        let needed: HashSet<Vec<u8>> = self
            .plan
            .steps
            .iter()
            .filter(|step| matches!(step, Step::Write { .. }))
            .flat_map(|step| folders_above(step.path()).map(<[u8]>::to_vec))
            .collect();
        let in_the_way = std::mem::take(&mut self.in_the_way);
        for (path, was) in in_the_way {
            if needed.contains(&path) {
                self.remove_content(&path, was, Why::InTheWay);
            }
        }
    }

    /// A folder in the way of a file must hold nothing but what goes away anyway.
    pub(super) fn check_replaced(&mut self) -> Result<(), Error> {
        for folder in std::mem::take(&mut self.replaced) {
            for inside in self.disk.inside(&folder).map_err(self.io(&folder))? {
                match inside {
                    Inside::File(path) if self.removed.contains(&self.system.key(&path)) => {}
                    Inside::File(path) => self.plan.block(&path, Block::Ignored),
                    Inside::Special(path) => self.plan.block(&path, Block::NotHeld(SkipReason::Special)),
                    Inside::Repository(path) => self.plan.block(&path, Block::Repository),
                    Inside::Folder(path) => self.plan.steps.push(Step::RemoveFolder { path }),
                }
            }
        }
        Ok(())
    }

    /// What lies where something is to be written must go away anyway.
    pub(super) fn check_room(&mut self) -> Result<(), Error> {
        for path in std::mem::take(&mut self.occupied) {
            if self.removed.contains(&self.system.key(&path)) {
                continue;
            }
            let why = match self.disk.at(&path).map_err(self.io(&path))? {
                There::Something(meta) if meta.kind == Kind::Special => Block::NotHeld(SkipReason::Special),
                _ => Block::Ignored,
            };
            self.plan.block(&path, why);
        }
        Ok(())
    }

    pub(super) fn empty_folders(&mut self, walk: &Walk<'_>) -> Result<(), Error> {
        for folder in &walk.target.lists().empty_dirs {
            let path = folder.as_bytes();
            if !self.is_meant(path) {
                continue;
            }
            if self.is_in_repository(walk, path)? {
                self.plan.line(Act::Skip, path, Why::Repository);
                continue;
            }
            match self.disk.at(path).map_err(self.io(path))? {
                There::Something(meta) if meta.kind == Kind::Folder => continue,
                There::Something(_) => self.occupied.push(path.to_vec()),
                There::Blocked(length) => self.occupied.push(path[..length].to_vec()),
                There::Nothing => {}
            }
            self.plan.line(Act::Write, path, Why::EmptyFolder);
            self.plan.steps.push(Step::MakeFolder { path: path.to_vec() });
        }
        if self.options.overlay {
            return Ok(());
        }
        let saved: HashSet<_> = walk.target.lists().empty_dirs.iter().collect();
        let gone: HashSet<Vec<u8>> = self
            .plan
            .steps
            .iter()
            .filter(|step| matches!(step, Step::RemoveFolder { .. }))
            .map(|step| step.path().to_vec())
            .collect();
        for folder in &walk.present.lists().empty_dirs {
            let path = folder.as_bytes();
            let settled = saved.contains(folder) || gone.contains(path) || is_under_skipped(walk, path);
            if settled || !self.is_meant(path) || walk.target.node(path)?.is_some() {
                continue;
            }
            if self
                .options
                .cwd
                .as_ref()
                .is_some_and(|cwd| is_at_or_above(path, cwd.as_bytes()))
            {
                self.plan.line(Act::Keep, path, Why::CurrentFolder);
                continue;
            }
            self.plan.line(Act::Delete, path, Why::EmptyNotInCheckpoint);
            self.plan.steps.push(Step::RemoveFolder { path: path.to_vec() });
        }
        Ok(())
    }

    /// Whether a path is that of another repository of the present, or in one.
    fn is_in_repository(&mut self, walk: &Walk<'_>, path: &[u8]) -> Result<bool, Error> {
        for path in std::iter::once(path).chain(folders_above(path)) {
            let node = walk.present.node(path)?;
            let is_skipped = walk.present.skipped(path) == Some(SkipReason::NestedRepository);
            if is_skipped || matches!(node, Some(Node::Repository(_))) {
                return Ok(true);
            }
            let is_entered = |entered: &HashSet<RepoPath>| entered.contains(&RepoPath::from(path));
            if matches!(node, Some(Node::Folder(_))) || self.options.entered.is_some_and(is_entered) {
                continue;
            }
            // One that is ignored is in no list.
            let dot_git = [path, b"/.git"].concat();
            if matches!(self.disk.at(&dot_git).map_err(self.io(path))?, There::Something(_)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Tells of what was there when the checkpoint was saved and is gone now.
    pub(super) fn not_saved(&mut self, walk: &Walk<'_>) -> Result<(), Error> {
        for skipped in &walk.target.lists().skipped {
            let path = skipped.path.as_bytes();
            if self.system.check(path, true).is_err() || !self.is_meant(path) {
                continue;
            }
            if matches!(
                self.disk.at(path).map_err(self.io(path))?,
                There::Nothing | There::Blocked(_)
            ) {
                self.plan.line(Act::Skip, path, Why::NotSaved(skipped.reason));
            }
        }
        Ok(())
    }

    /// Tells of what came since and stays because no checkpoint can hold it.
    pub(super) fn not_held(&mut self, walk: &Walk<'_>) -> Result<(), Error> {
        if self.options.overlay {
            return Ok(());
        }
        for skipped in &walk.present.lists().skipped {
            let path = skipped.path.as_bytes();
            let told = is_under_skipped(walk, path) || !self.is_meant(path);
            if !told && self.system.check(path, true).is_ok() && walk.target.node(path)?.is_none() {
                self.plan.line(Act::Keep, path, not_held(skipped.reason));
            }
        }
        Ok(())
    }

    pub(super) fn kept_folders(&self, walk: &Walk<'_>) -> HashSet<Vec<u8>> {
        let mut keep = HashSet::new();
        let mut add = |path: &[u8]| {
            keep.insert(path.to_vec());
            keep.extend(folders_above(path).map(<[u8]>::to_vec));
        };
        for folder in &walk.target.lists().empty_dirs {
            add(folder.as_bytes());
        }
        if let Some(cwd) = &self.options.cwd {
            add(cwd.as_bytes());
        }
        keep
    }
}

/// Whether `path` is `other` or a folder above it.
fn is_at_or_above(path: &[u8], other: &[u8]) -> bool {
    other
        .strip_prefix(path)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// Whether the target did not save what was at a path or above it.
fn is_under_skipped(walk: &Walk<'_>, path: &[u8]) -> bool {
    std::iter::once(path)
        .chain(folders_above(path))
        .any(|path| walk.target.skipped(path).is_some())
}

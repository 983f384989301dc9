//! One path on which both sides differ: written, removed, or given other permission bits.

use std::sync::Arc;

use super::Planner;
use crate::model::path::RepoPath;
use crate::model::plan::{Act, BlockReason, PlanReason};
use crate::os::dir::FileKind;
use crate::store::tree;
use crate::worktree::restore::Error;
use crate::worktree::restore::content::{TargetContent, Thing};
use crate::worktree::restore::disk::{DiskEntry, directories_above};
use crate::worktree::restore::paths::{FileSystem, PathProblem};
use crate::worktree::restore::plan::RestoreStep;
use crate::worktree::restore::proof::Equality;
use crate::worktree::restore::side::{SideEntry, TreeSide};
use crate::worktree::restore::sparse;
use crate::worktree::restore::walk::{DirectoryRules, PairWalk, PathPair};
use crate::worktree::snapshot::attributes::Attributes;

/// Bits that let a program run with the rights of another user.
const SPECIAL: u32 = 0o7000;

impl Planner<'_, '_> {
    /// The target's content with the permission bits that it gets on disk.
    pub(super) fn wanted(
        &self,
        walk: &PairWalk<'_>,
        path: &[u8],
        node: Option<SideEntry>,
        rules: &DirectoryRules,
    ) -> Option<TargetContent> {
        let mut content = content(walk.target, path, node, &rules.target)?;
        if let Thing::File { mode, executable } = &mut content.thing {
            let (bits, listed) = walk.target.mode(path, *executable);
            // A mode that was not chosen is as git would make it now, and never wider than it was.
            *mode = if listed {
                bits & !SPECIAL
            } else {
                bits & !self.options.umask
            };
        }
        Some(content)
    }

    /// Both have a file or link there.
    pub(super) fn change(&mut self, walk: &PairWalk<'_>, pair: &PathPair<'_>) -> Result<(), Error> {
        let path = pair.path;
        let (Some(was), Some(is)) = (
            content(walk.present, path, pair.present, &pair.rules.present),
            self.wanted(walk, path, pair.target, pair.rules),
        ) else {
            return Ok(());
        };
        let (Thing::File { mode: from, .. }, Thing::File { mode: to, executable }) = (was.thing, is.thing) else {
            let same = was.thing == is.thing && self.converter.same_bytes(path, &was, &is)?;
            return if same { Ok(()) } else { self.write(walk, pair) };
        };
        // What is wanted byte for byte may be there already, stored as a filter gives it.
        let is_same =
            self.converter.same_bytes(path, &was, &is)? || is.raw && !was.raw && self.is_there_already(path, &is)?;
        if !is_same {
            return self.write(walk, pair);
        }
        let (exact, _) = walk.target.mode(path, executable);
        if from == exact {
            return Ok(());
        }
        if exact & SPECIAL != 0 {
            self.plan.line(Act::Skip, path, PlanReason::SpecialBits);
        }
        if from == to || !matches!(self.disk.at(path).map_err(self.io(path))?, DiskEntry::Something(_)) {
            return Ok(());
        }
        self.plan.line(Act::Mode, path, PlanReason::Bits { from, to });
        self.plan.steps.push(RestoreStep::Mode {
            path: path.to_vec(),
            was,
            mode: to,
        });
        Ok(())
    }

    /// The target's file or link is written, over what the present has there or where nothing is.
    pub(super) fn write(&mut self, walk: &PairWalk<'_>, pair: &PathPair<'_>) -> Result<(), Error> {
        let path = pair.path;
        let Some(is) = self.wanted(walk, path, pair.target, pair.rules) else {
            return Ok(());
        };
        let was = content(walk.present, path, pair.present, &pair.rules.present);
        let there = self.disk.at(path).map_err(self.io(path))?;
        let is_there = matches!(there, DiskEntry::Something(_));
        let is_linked = is_there && self.disk.links > 1;
        let is_own = self.options.own.is_some_and(|own| own.contains(&RepoPath::from(path)));
        let is_outside = self.options.leaves_out && walk.target.is_left_out(path);
        if !is_there && !is_own && (is_outside || was.is_some() && self.is_left_out(walk, path)?) {
            self.plan.line(Act::Skip, path, PlanReason::NotCheckedOut);
            return Ok(());
        }
        let was = was.filter(|_| is_there);
        if let Some(program) = self.unasked_program(path, &is, pair.rules) {
            self.plan.block(path, BlockReason::Filter(program));
            return Ok(());
        }
        // On the user's word an ignored file with other permission bits is saved and written; else it stays.
        let has_bits = match &there {
            DiskEntry::Something(meta) => !self.options.trusted || is.has_bits(meta.mode, true),
            _ => true,
        };
        if was.is_none()
            && is_there
            && has_bits
            && self.is_there_already(path, &is)?
            && self.disk.is_exact(path).unwrap_or(true)
        {
            return Ok(());
        }
        match there {
            DiskEntry::Blocked(length) => self.occupied.push(path[..length].to_vec()),
            DiskEntry::Something(meta) if meta.kind == FileKind::Directory => {
                self.replaced.insert(path.to_vec());
            }
            DiskEntry::Something(_) if was.is_none() => self.occupied.push(path.to_vec()),
            _ => {}
        }
        if is.thing == Thing::Link && !self.options.trusted {
            let target = self.converter.source.read(path, is.id)?;
            if leads_into_repository(&target) {
                self.plan.block(path, BlockReason::LinkIntoRepository);
                return Ok(());
            }
        }
        let why = if self.converter.lacks_content(path, &is)? {
            PlanReason::Pointer
        } else if pair.present.is_some() && was.is_none() && is_there {
            PlanReason::OtherKind
        } else {
            match &was {
                None => PlanReason::Absent,
                Some(was) if matches!(was.thing, Thing::Link) != matches!(is.thing, Thing::Link) => {
                    PlanReason::OtherKind
                }
                Some(was) if matches!(was.thing, Thing::File { .. }) && is_linked => PlanReason::DiffersFromLinks,
                Some(_) => PlanReason::Differs,
            }
        };
        self.plan.line(Act::Write, path, why);
        if let Thing::File { executable, .. } = is.thing
            && walk.target.mode(path, executable).0 & SPECIAL != 0
        {
            self.plan.line(Act::Skip, path, PlanReason::SpecialBits);
        }
        self.plan.steps.push(RestoreStep::Write {
            path: path.to_vec(),
            was,
            is,
        });
        Ok(())
    }

    /// The filter that the target would run on a file although the present rules do not ask for it.
    pub(super) fn unasked_program(
        &mut self,
        path: &[u8],
        is: &TargetContent,
        rules: &DirectoryRules,
    ) -> Option<String> {
        if self.options.trusted {
            return None;
        }
        let program = self.converter.program(path, is)?;
        let now = TargetContent {
            attributes: Arc::clone(&rules.present),
            ..is.clone()
        };
        (self.converter.program(path, &now).as_ref() != Some(&program)).then_some(program)
    }

    /// Whether a path that the present tree does not have is on disk as the target wants it: ignored now, say.
    pub(super) fn is_there_already(&mut self, path: &[u8], is: &TargetContent) -> Result<bool, Error> {
        let failed = self.io(path);
        let Some((directory, name)) = self.disk.directory_of(path).map_err(failed)? else {
            return Ok(false);
        };
        // What cannot be read is in the way.
        Ok(matches!(
            self.converter.is_on_disk(directory, name, path, is, Equality::Stored),
            Ok(Some(_))
        ))
    }

    pub(super) fn remove(&mut self, walk: &PairWalk<'_>, pair: &PathPair<'_>, why: PlanReason) -> Result<(), Error> {
        let path = pair.path;
        let was_ignored =
            self.options.keep_ignored && pair.target.is_none() && walk.was_ignored(pair.rules, path, false);
        if was_ignored && !self.was_tracked(walk, path)? {
            // What was saved just because it is in the way need not stay.
            let path_is = RepoPath::from(path);
            let is_included = self
                .options
                .included
                .is_some_and(|included| included.contains(&path_is));
            if !pair.rules.replaced {
                self.plan.line(Act::Keep, path, PlanReason::IgnoredThen);
                return Ok(());
            }
            if !is_included {
                self.plan.block(path, BlockReason::Kept);
                return Ok(());
            }
        }
        let Some(was) = content(walk.present, path, pair.present, &pair.rules.present) else {
            return Ok(());
        };
        if !matches!(self.disk.at(path).map_err(self.io(path))?, DiskEntry::Something(_)) {
            // Left out by sparse checkout, or gone by itself.
            return Ok(());
        }
        self.remove_content(path, was, why);
        Ok(())
    }

    /// Whether the target's index had a file there: then it is known to have been gone.
    fn was_tracked(&self, walk: &PairWalk<'_>, path: &[u8]) -> Result<bool, Error> {
        let Some(index) = self.options.tracked else {
            return Ok(false);
        };
        Ok(tree::entry(walk.repo, index, &RepoPath::from(path))?.is_some())
    }

    pub(super) fn remove_content(&mut self, path: &[u8], was: TargetContent, why: PlanReason) {
        self.removed.insert(self.system.key(path));
        self.plan.line(Act::Delete, path, why);
        self.plan.steps.push(RestoreStep::Remove {
            path: path.to_vec(),
            was,
        });
    }

    pub(super) fn is_left_out(&mut self, walk: &PairWalk<'_>, path: &[u8]) -> Result<bool, Error> {
        let left_out = match &mut self.sparse {
            Some(known) => known,
            none => none.insert(sparse::left_out(walk.repo, self.options.index)?),
        };
        Ok(left_out.contains(path)
            || directories_above(path).any(|directory| left_out.contains(&[directory, b"/"].concat())))
    }
}

/// Whether the text of a link has a name in it that represents a repository's own directory.
fn leads_into_repository(target: &[u8]) -> bool {
    let system = FileSystem::default();
    target
        .split(|byte| *byte == b'/')
        .filter(|name| !matches!(*name, b"" | b"." | b".."))
        .any(|name| matches!(system.check_name(name, true), Err(PathProblem::Git)))
}

/// Content of a side at a path, if it is a file or a symlink.
pub(super) fn content(
    side: &TreeSide<'_>,
    path: &[u8],
    node: Option<SideEntry>,
    attributes: &Arc<Attributes>,
) -> Option<TargetContent> {
    let (thing, id) = match node? {
        SideEntry::File { executable, id } => {
            let (mode, _) = side.mode(path, executable);
            (Thing::File { mode, executable }, id)
        }
        SideEntry::Link(id) => (Thing::Link, id),
        SideEntry::Directory(_) | SideEntry::Repository(_) => return None,
    };
    Some(TargetContent {
        thing,
        id,
        raw: side.is_raw(path),
        attributes: Arc::clone(attributes),
    })
}

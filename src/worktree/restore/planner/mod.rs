//! Making the plan: what happens to each path on which present and target differ.
//!
//! A path is deleted or overwritten only if the present tree, which the safety checkpoint holds, has it. What it does
//! not hold (ignored, too large, unreadable, another repository) stays, and stops the restore where it is in the way.
//! What the target did not save is not absent from it, and stays as well.

mod obstacles;
mod write;

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::Path;

use super::content::{Converter, TargetContent};
use super::disk::{DirectoryObstacle, Disk, DiskEntry};
use super::paths::FileSystem;
use super::plan::{RestorePlan, RestoreStep};
use super::side::SideEntry;
use super::walk::{PairWalk, PathPair, WalkDecision};
use super::{Error, RestoreOptions};
use crate::model::list::SkipReason;
use crate::model::path::RepoPath;
use crate::model::plan::{Act, BlockReason, PlanReason};
use crate::os::dir::FileKind;
use crate::store::ObjectId;
use crate::worktree::journal::is_temporary;
use crate::worktree::snapshot::attributes::Attributes;
use crate::worktree::snapshot::nested::{self, Nested};
use crate::worktree::snapshot::settings::SnapshotSettings;

/// State of the planning.
pub(super) struct Planner<'a, 'o> {
    pub options: &'a mut RestoreOptions<'o>,
    pub settings: &'a SnapshotSettings,
    pub converter: Converter<'a>,
    pub system: FileSystem,
    pub root: &'a Path,
    pub disk: Disk,
    pub plan: RestorePlan,
    /// Files that go away, by their keys.
    pub removed: HashSet<Vec<u8>>,
    /// Directories on disk whose place a file takes.
    pub replaced: HashSet<Vec<u8>>,
    /// Files on disk where something is written although the present tree has nothing there, or a directory above it.
    pub occupied: Vec<Vec<u8>>,
    /// Files that have to make room for a directory if something is written in it: not meant by themselves.
    pub in_the_way: HashMap<Vec<u8>, TargetContent>,
    /// Files of the present that the file system takes for one of the target with another name, by their keys: they make
    /// room if that is written.
    pub aliased: HashMap<Vec<u8>, (Vec<u8>, TargetContent)>,
    pub sparse: Option<HashSet<Vec<u8>>>,
}

impl Planner<'_, '_> {
    pub(super) fn run(&mut self, walk: &mut PairWalk<'_>, attributes: Attributes) -> Result<(), Error> {
        // The planner answers the walk, so reading files of rules has a converter of its own.
        let reader = Converter::new(walk.repo, self.settings)?;
        walk.run(attributes, &reader, |walk, pair| self.decide(walk, &pair))?;
        self.make_room();
        self.check_replaced(walk)?;
        self.empty_directories(walk)?;
        self.check_room()?;
        self.not_saved(walk)?;
        self.not_held(walk)?;
        self.rename_directories()?;
        let keep = self.kept_directories(walk);
        self.plan.settle(&keep, self.options.only, self.system);
        Ok(())
    }

    fn is_selected(&mut self, path: &[u8]) -> bool {
        let path = RepoPath::from(path);
        let chosen = self.options.only.is_none_or(|only| only.contains(&path));
        chosen && self.options.paths.as_mut().is_none_or(|paths| paths.keeps(&path))
    }

    fn io(&self, path: &[u8]) -> impl FnOnce(io::Error) -> Error + use<> {
        let relative = String::from_utf8_lossy(path).into_owned();
        let path = gix::path::from_byte_slice(path).map_or_else(|_| self.root.join(relative), |p| self.root.join(p));
        Error::io("look at", path)
    }

    fn decide(&mut self, walk: &PairWalk<'_>, pair: &PathPair<'_>) -> Result<WalkDecision, Error> {
        let path = pair.path;
        let (now, then) = (pair.present, pair.target);
        if is_temporary(path) {
            // Of a restore that was killed. The safety checkpoint holds it now, whatever it is.
            if let Some(was) = write::content(walk.present, path, now, &pair.rules.present) {
                self.remove_content(path, was, PlanReason::Leftover);
            }
            return Ok(WalkDecision::Done);
        }
        if let Some(reason) = pair.rules.not_saved.or_else(|| walk.target.skipped(path)) {
            return Ok(self.not_known(path, now, then, PlanReason::NotSaved(reason)));
        }
        let is_included = self
            .options
            .included
            .is_some_and(|included| included.contains(&RepoPath::from(path)));
        if let Some(reason) = pair.rules.not_held.or_else(|| walk.present.skipped(path))
            && !is_included
        {
            // The present tree then only says what the index has; a FIFO is no file in any case.
            if now == then && reason != SkipReason::Special {
                if self.is_selected(path) && !matches!(now, Some(SideEntry::Repository(_))) {
                    self.plan.line(Act::Keep, path, not_held(reason));
                }
                return Ok(WalkDecision::Done);
            }
            if then.is_none() {
                // A tracked file that cannot be read, or a repository: nothing is lost by leaving it.
                if now.is_some() && self.is_selected(path) && !self.options.overlay {
                    self.plan.line(Act::Keep, path, not_held(reason));
                }
                return Ok(WalkDecision::Done);
            }
            if let Some(SideEntry::Repository(commit)) = then
                && self.is_at(walk, path, commit)?
            {
                // A submodule that the index of now does not have: that is the index's to say.
                return Ok(WalkDecision::Done);
            }
            let both_directories = matches!(
                (now, then),
                (Some(SideEntry::Directory(_)), Some(SideEntry::Directory(_)))
            );
            let there = self.disk.at(path).map_err(self.io(path))?;
            if !both_directories && !matches!(there, DiskEntry::Nothing) {
                let is = self.wanted(walk, path, then, pair.rules);
                let same = is
                    .map(|is| self.is_there_already(path, &is))
                    .transpose()?
                    .unwrap_or(false);
                if !same && self.is_selected_below(path, then) {
                    let file = if let DiskEntry::Blocked(length) = there {
                        &path[..length]
                    } else {
                        path
                    };
                    let why = BlockReason::NotHeld(reason);
                    // A whole directory is not taken into the safety checkpoint, whatever was said.
                    let is_directory = matches!(there, DiskEntry::Something(meta) if meta.kind == FileKind::Directory);
                    let why = if is_directory && why.yields_to_force() {
                        BlockReason::Kept
                    } else {
                        why
                    };
                    self.plan.block(file, why);
                }
                return Ok(WalkDecision::Done);
            }
        }
        if walk.is_left_out(path) && !matches!(then, Some(SideEntry::Directory(_))) {
            if matches!(now, Some(SideEntry::Directory(_))) {
                return Ok(WalkDecision::Enter);
            }
            // In the working tree only because of the operation that is taken back.
            if self.is_selected(path)
                && let Some(was) = write::content(walk.present, path, now, &pair.rules.present)
                && matches!(self.disk.at(path).map_err(self.io(path))?, DiskEntry::Something(_))
            {
                self.remove_content(path, was, PlanReason::NotCheckedOut);
            }
            return Ok(WalkDecision::Done);
        }
        if pair.is_aliased
            && let Some(was) = write::content(walk.present, path, now, &pair.rules.present)
        {
            self.aliased.insert(self.system.key(path), (path.to_vec(), was));
        }
        match (now, then) {
            (Some(SideEntry::Repository(now)), Some(SideEntry::Repository(then))) => {
                if now != then && self.is_selected(path) {
                    self.plan.line(Act::Skip, path, PlanReason::Submodule);
                }
                Ok(WalkDecision::Done)
            }
            (Some(SideEntry::Repository(_)), None) => {
                if !self.options.overlay && self.is_selected(path) {
                    self.leave_repository(path)?;
                }
                Ok(WalkDecision::Done)
            }
            (_, Some(SideEntry::Repository(_))) => {
                if self.is_selected(path) {
                    self.make_room_for_repository(path, now.is_none())?;
                }
                Ok(WalkDecision::Done)
            }
            (Some(SideEntry::Repository(_)), Some(_)) if self.is_repository_there(path)? => {
                if self.is_selected_below(path, then) {
                    self.plan.block(path, BlockReason::Repository);
                }
                Ok(WalkDecision::Done)
            }
            (None, Some(SideEntry::Directory(_))) if self.is_unlisted_repository(walk, path)? => {
                if self.is_selected_below(path, then) {
                    self.plan.block(path, BlockReason::Repository);
                }
                Ok(WalkDecision::Done)
            }
            (Some(SideEntry::Directory(_)), Some(SideEntry::Directory(_)) | None)
            | (None | Some(SideEntry::Repository(_)), Some(SideEntry::Directory(_))) => Ok(WalkDecision::Enter),
            (Some(SideEntry::Directory(_)), Some(_)) => {
                if !self.is_selected(path) {
                    // What is in the directory may be meant even so.
                    return Ok(WalkDecision::Enter);
                }
                self.write(walk, pair)?;
                Ok(WalkDecision::Replace)
            }
            (Some(_), Some(SideEntry::Directory(_))) => {
                let was = write::content(walk.present, path, now, &pair.rules.present);
                if self.is_selected(path) && !self.options.overlay {
                    self.remove(walk, pair, PlanReason::InTheWay)?;
                } else if let Some(was) = was {
                    self.in_the_way.insert(path.to_vec(), was);
                }
                Ok(WalkDecision::Enter)
            }
            (Some(_), Some(_)) => {
                if self.is_selected(path) {
                    self.change(walk, pair)?;
                }
                Ok(WalkDecision::Done)
            }
            (None, Some(_)) => {
                if self.is_selected(path) {
                    self.write(walk, pair)?;
                }
                Ok(WalkDecision::Done)
            }
            (Some(_), None) => {
                if pair.rules.replaced {
                    self.remove(walk, pair, PlanReason::InTheWay)?;
                } else if !self.options.overlay && self.is_selected(path) {
                    self.remove(walk, pair, PlanReason::NotInCheckpoint)?;
                }
                Ok(WalkDecision::Done)
            }
            (None, None) => Ok(WalkDecision::Done),
        }
    }

    /// A path of which the target does not know what was there.
    fn not_known(
        &mut self,
        path: &[u8],
        now: Option<SideEntry>,
        then: Option<SideEntry>,
        why: PlanReason,
    ) -> WalkDecision {
        // Tracked content that was not what it is in the tree is reported with the other skipped paths.
        if now.is_some() && now != then && self.is_selected(path) {
            self.plan.line(Act::Keep, path, why);
        }
        WalkDecision::Done
    }

    /// Whether a path of the target, or if it is a directory anything in it, may be meant.
    fn is_selected_below(&mut self, path: &[u8], node: Option<SideEntry>) -> bool {
        let only = self.options.only;
        let is_above = |only: &HashSet<RepoPath>| {
            let inside = |one: &RepoPath| {
                one.as_bytes()
                    .strip_prefix(path)
                    .is_some_and(|rest| rest.starts_with(b"/"))
            };
            only.iter().any(inside)
        };
        self.is_selected(path) || matches!(node, Some(SideEntry::Directory(_))) && only.is_none_or(is_above)
    }

    /// The directory of a submodule that the target does not have: it goes away only where nothing is in it.
    fn leave_repository(&mut self, path: &[u8]) -> Result<(), Error> {
        let is_directory = matches!(
            self.disk.at(path).map_err(self.io(path))?,
            DiskEntry::Something(meta) if meta.kind == FileKind::Directory
        );
        if is_directory && !self.is_repository_there(path)? {
            self.plan.line(Act::Delete, path, PlanReason::EmptyNotInCheckpoint);
            let path = path.to_vec();
            self.plan.steps.push(RestoreStep::RemoveDirectory { path });
        } else {
            self.plan.line(Act::Keep, path, PlanReason::Repository);
        }
        Ok(())
    }

    /// The directory of a submodule, which git takes for deleted where it is missing. What belongs into it is left to
    /// `git submodule update`.
    fn make_room_for_repository(&mut self, path: &[u8], is_absent: bool) -> Result<(), Error> {
        if is_absent && matches!(self.disk.at(path).map_err(self.io(path))?, DiskEntry::Nothing) {
            self.plan.line(Act::Write, path, PlanReason::EmptyDirectory);
            let path = path.to_vec();
            self.plan.steps.push(RestoreStep::MakeDirectory { path });
        } else {
            self.plan.line(Act::Skip, path, PlanReason::Submodule);
        }
        Ok(())
    }

    /// Whether a repository of its own lies at a path, where the target has one at a commit. That it is at another one is
    /// said.
    fn is_at(&mut self, walk: &PairWalk<'_>, path: &[u8], commit: ObjectId) -> Result<bool, Error> {
        if !self.is_unlisted_repository(walk, path)? {
            return Ok(false);
        }
        if nested::below(walk.repo, self.root, path) != Nested::At(commit) && self.is_selected(path) {
            self.plan.line(Act::Skip, path, PlanReason::Submodule);
        }
        Ok(true)
    }

    fn is_repository_there(&mut self, path: &[u8]) -> Result<bool, Error> {
        match self.disk.at(path).map_err(self.io(path))? {
            DiskEntry::Something(meta) if meta.kind == FileKind::Directory => {
                let inside = self.disk.inside(path).map_err(self.io(path))?;
                Ok(!matches!(inside.as_slice(), [DirectoryObstacle::Directory(_)]))
            }
            DiskEntry::Something(_) => Ok(true),
            DiskEntry::Nothing | DiskEntry::Blocked(_) => Ok(false),
        }
    }
}

/// Why something stays that no checkpoint holds.
fn not_held(reason: SkipReason) -> PlanReason {
    match reason {
        SkipReason::NestedRepository => PlanReason::Repository,
        reason => PlanReason::NotHeld(reason),
    }
}

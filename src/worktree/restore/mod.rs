//! Bringing files back: a plan from two complete trees, and its execution.
//!
//! The plan that is shown is the plan that is executed. Nothing here moves a ref or HEAD; the index only when asked. A
//! path is overwritten or deleted only if its bytes on disk are, at that moment, those that the present tree holds, and
//! the caller sees to it that a ref holds that tree. Not `read-tree -u` or gix's checkout: both write through directories
//! that become links meanwhile, overwrite ignored files, and delete what a checkpoint did not save.

mod alike;
mod check;
mod content;
mod disk;
mod error;
mod execute;
mod flags;
mod include;
pub mod index;
mod parallel;
mod paths;
mod plan;
mod planner;
mod proof;
mod side;
mod source;
mod sparse;
mod state;
mod walk;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

pub use alike::alike;
pub use check::ByteDifferences;
pub use error::Error;
pub use execute::{ChangedPath, Execution, ExecutionOutcome, WrittenFile, execute};
pub use include::{Entered, UnsavedFile, enter, include, look_at};
pub use paths::PathProblem;
pub use plan::RestorePlan;
pub use side::SideFiles;
pub use sparse::is_sparse;
pub use state::states;

use crate::model::path::RepoPath;
use crate::store::pathspec::PathFilter;
use crate::store::{ObjectId, Repository};
use crate::worktree::snapshot::attributes::Attributes;
use crate::worktree::snapshot::ignore::GlobalPatterns;
use crate::worktree::snapshot::settings::SnapshotSettings;
use content::Converter;
use disk::Disk;
use paths::FileSystem;
use planner::Planner;
use side::TreeSide;
use walk::PairWalk;

/// How a restore is planned.
#[derive(Clone, Default)]
pub struct RestoreOptions<'a> {
    /// Whether files that the target does not have stay.
    pub overlay: bool,
    /// The paths that are meant; all without.
    pub paths: Option<PathFilter>,
    /// Further restricts the paths that are meant.
    pub only: Option<&'a HashSet<RepoPath>>,
    /// Whether files stay that the target's own ignore rules would have kept out of it. No for a target that was made
    /// from the present.
    pub keep_ignored: bool,
    /// Whether the target is the user's own beyond doubt, or the user said so: it may then have filters run that the
    /// present files do not ask for, and hold links into the repository's directory.
    pub trusted: bool,
    /// The directory that the command was started in, relative to the root of the working tree: it is not removed.
    pub cwd: Option<RepoPath>,
    /// The creation mask of the process.
    pub umask: u32,
    /// Paths that the present tree holds as they are although a list of it says that it skipped them, or a directory above.
    pub included: Option<&'a HashSet<RepoPath>>,
    /// Directories of which both sides say all that is meant in them, even where they are repositories: see [`enter`].
    pub entered: Option<&'a HashSet<RepoPath>>,
    /// Paths that the operation at hand changed before, and is to change again: sparse checkout does not leave them out.
    pub own: Option<&'a HashSet<RepoPath>>,
    /// Whether the target is an earlier state of this working tree, to which the operation at hand goes back: of the paths
    /// in `own`, those that sparse checkout left out then are not on the disk afterwards.
    pub is_earlier: bool,
    /// Whether what the target left out of the working tree is not written where nothing is.
    pub leaves_out: bool,
    /// The tree of the target's index: what it tracked was not ignored, whatever its rules say.
    pub tracked: Option<ObjectId>,
    /// The index, if it is not the repository's own: it shows what sparse checkout leaves out.
    pub index: Option<&'a Path>,
}

/// Plans to make the working tree, whose files are `present`, those of `target`.
///
/// Reads trees, the rules for content in them, and looks at the paths on disk that differ. Changes nothing. Fails if a
/// tree cannot be read or the target has a path that must not be written.
pub fn plan(
    repo: &Repository,
    present: SideFiles<'_>,
    target: SideFiles<'_>,
    mut options: RestoreOptions<'_>,
) -> Result<RestorePlan, Error> {
    let root = repo.workdir().ok_or_else(|| Error::Bare {
        path: repo.git_dir().to_owned(),
    })?;
    let settings = SnapshotSettings::of(repo)?;
    let system = FileSystem::of(settings.ignore_case);
    let present = TreeSide::new(present, system, options.entered)?;
    let target = TreeSide::new(target, system, options.entered)?;
    let globals = GlobalPatterns::read(repo, settings.case())?;
    let own = options.own.filter(|_| options.is_earlier);
    let left_out: BTreeSet<&[u8]> = own
        .into_iter()
        .flatten()
        .map(RepoPath::as_bytes)
        .filter(|path| target.is_left_out(path))
        .collect();
    let mut walk = PairWalk::new(repo, &present, &target, globals, left_out);
    let mut planner = Planner {
        options: &mut options,
        settings: &settings,
        converter: Converter::new(repo, &settings)?,
        system,
        root,
        disk: Disk::open(root, system)?,
        plan: RestorePlan::new(settings.clone()),
        removed: HashSet::new(),
        replaced: HashSet::new(),
        occupied: Vec::new(),
        in_the_way: HashMap::new(),
        aliased: HashMap::new(),
        sparse: None,
    };
    planner.run(&mut walk, Attributes::read(repo)?)?;
    let mut plan = planner.plan;
    plan.umask = options.umask;
    Ok(plan)
}

/// Whether the settings name a program that may be between a file and its blob. That of git-lfs is never run.
pub fn has_filter_programs(repo: &Repository) -> Result<bool, Error> {
    let settings = SnapshotSettings::of(repo)?;
    Ok(settings.drivers.iter().any(|driver| driver.name != "lfs"))
}

/// Whether the file system keeps the permission bits that files are given.
pub fn keeps_bits(repo: &Repository) -> Result<bool, Error> {
    Ok(SnapshotSettings::of(repo)?.file_mode)
}

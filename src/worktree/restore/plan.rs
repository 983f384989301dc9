//! The plan of a restore: lines for people, steps for the execution, and what stops it all.

use std::collections::HashSet;
use std::ops::Range;

use super::content::TargetContent;
use super::disk::{directories_above, split};
use super::paths::FileSystem;
use crate::model::path::RepoPath;
use crate::model::plan::{Act, BlockReason, BlockedPath, PlanLine, PlanReason};
use crate::worktree::journal::is_temporary;
use crate::worktree::snapshot::settings::SnapshotSettings;

/// Plan of a restore. Made by [`plan()`](super::plan()), executed by [`execute()`](super::execute()).
pub struct RestorePlan {
    /// Actions with reasons, sorted by path.
    pub lines: Vec<PlanLine>,
    /// Obstacles, sorted by path. A plan with any of them is not executed.
    pub blocked: Vec<BlockedPath>,
    /// In the order in which they are executed.
    pub(super) steps: Vec<RestoreStep>,
    /// Directories that go if the restore leaves them empty, inner ones first.
    pub(super) tidy: Vec<Vec<u8>>,
    pub(super) settings: SnapshotSettings,
    pub(super) umask: u32,
}

/// One change of the disk.
#[derive(Clone)]
pub(super) enum RestoreStep {
    Remove {
        path: Vec<u8>,
        was: TargetContent,
    },
    RemoveDirectory {
        path: Vec<u8>,
    },
    /// A directory gets a name that the file system takes for the one that it has.
    RenameDirectory {
        from: Vec<u8>,
        path: Vec<u8>,
    },
    MakeDirectory {
        path: Vec<u8>,
    },
    Write {
        path: Vec<u8>,
        was: Option<TargetContent>,
        is: TargetContent,
    },
    Mode {
        path: Vec<u8>,
        was: TargetContent,
        mode: u32,
    },
}

impl RestoreStep {
    pub(super) fn path(&self) -> &[u8] {
        match self {
            Self::Remove { path, .. }
            | Self::RemoveDirectory { path }
            | Self::RenameDirectory { path, .. }
            | Self::MakeDirectory { path }
            | Self::Write { path, .. }
            | Self::Mode { path, .. } => path,
        }
    }
}

impl RestoreStep {
    /// Steps of a later phase may rely on those of an earlier one, steps of one phase not on each other; but inner
    /// directories are removed before outer ones.
    fn phase(&self) -> u8 {
        match self {
            Self::Remove { .. } => 0,
            Self::RemoveDirectory { .. } => 1,
            Self::RenameDirectory { .. } => 2,
            Self::Write { .. } | Self::MakeDirectory { .. } => 3,
            Self::Mode { .. } => 4,
        }
    }
}

impl RestorePlan {
    pub(super) fn new(settings: SnapshotSettings) -> Self {
        Self {
            lines: Vec::new(),
            blocked: Vec::new(),
            steps: Vec::new(),
            tidy: Vec::new(),
            settings,
            umask: 0,
        }
    }

    /// Whether nothing has to be done.
    pub fn is_done(&self) -> bool {
        self.steps.is_empty() && self.blocked.is_empty()
    }

    /// Drops the files and links that are to be left as they are.
    pub fn leave(&mut self, is_left: &dyn Fn(&RepoPath) -> bool) {
        let is_file = |step: &RestoreStep| {
            matches!(
                step,
                RestoreStep::Remove { .. } | RestoreStep::Write { .. } | RestoreStep::Mode { .. }
            )
        };
        self.steps
            .retain(|step| !is_file(step) || !is_left(&RepoPath::from(step.path())));
        self.blocked.retain(|blocked| !is_left(&blocked.path));
    }

    /// How many files and links are deleted.
    pub fn deletions(&self) -> usize {
        self.steps
            .iter()
            .filter(|step| matches!(step, RestoreStep::Remove { .. }))
            .count()
    }

    /// The files, symlinks and empty directories outside of `own` that go although only `own` is meant: they are in a
    /// directory whose place a file or symlink takes.
    pub fn displaced(&self, own: &HashSet<RepoPath>) -> Vec<RepoPath> {
        let files = self.steps.iter().filter_map(|step| match step {
            RestoreStep::Remove { path, .. } => Some(RepoPath::from(&path[..])),
            _ => None,
        });
        // What is in the way in a directory is reported itself.
        let is_below = |path: &RepoPath, directory: &RepoPath| {
            let rest = path.as_bytes().strip_prefix(directory.as_bytes());
            rest.is_some_and(|rest| rest.starts_with(b"/"))
        };
        let mut empty = self.empty_directories();
        empty.retain(|directory| !self.blocked.iter().any(|blocked| is_below(&blocked.path, directory)));
        let gone = files.chain(empty);
        gone.filter(|path| !own.contains(path) && !is_temporary(path.as_bytes()))
            .collect()
    }

    /// Every path that is created, changed or deleted, in the order of execution.
    pub fn touched(&self) -> impl Iterator<Item = RepoPath> {
        self.steps.iter().map(|step| RepoPath::from(step.path()))
    }

    /// The same with the directories that go because they are left empty, and those that are made for what is in them.
    pub fn changed(&self) -> impl Iterator<Item = RepoPath> {
        let made = self
            .steps
            .iter()
            .filter(|step| matches!(step, RestoreStep::Write { .. } | RestoreStep::MakeDirectory { .. }));
        let above = made.flat_map(|step| directories_above(step.path()));
        let directories: HashSet<&[u8]> = above.chain(self.tidy.iter().map(Vec::as_slice)).collect();
        let renamed = self.steps.iter().filter_map(|step| match step {
            RestoreStep::RenameDirectory { from, .. } => Some(RepoPath::from(&from[..])),
            _ => None,
        });
        self.touched()
            .chain(renamed)
            .chain(directories.into_iter().map(RepoPath::from))
    }

    /// The directories with nothing in them that go because something takes their place, or because they came later.
    pub fn empty_directories(&self) -> Vec<RepoPath> {
        let gone =
            |step: &RestoreStep| matches!(step, RestoreStep::Remove { .. } | RestoreStep::RemoveDirectory { .. });
        // A file system that folds names has the directory by either name.
        let system = FileSystem::of(self.settings.ignore_case);
        let inside: HashSet<Vec<u8>> = self
            .steps
            .iter()
            .filter(|step| gone(step))
            .map(|step| system.key(split(step.path()).0))
            .collect();
        let directories = self
            .steps
            .iter()
            .filter(|step| matches!(step, RestoreStep::RemoveDirectory { .. }));
        directories
            .filter(|step| !inside.contains(&system.key(step.path())))
            .map(|step| RepoPath::from(step.path()))
            .collect()
    }

    /// The steps of each phase that has any.
    pub(super) fn phases(&self) -> Vec<Range<usize>> {
        let mut phases = Vec::new();
        let mut start = 0;
        while start < self.steps.len() {
            let phase = self.steps[start].phase();
            let end = start + self.steps[start..].partition_point(|step| step.phase() == phase);
            phases.push(start..end);
            start = end;
        }
        phases
    }

    /// The directories in which something is written, at any depth.
    pub(super) fn filled(&self) -> HashSet<Vec<u8>> {
        let made = self.steps.iter().filter(|step| step.phase() == 3);
        made.flat_map(|step| directories_above(step.path()))
            .map(<[u8]>::to_vec)
            .collect()
    }

    /// The directories in which something is created, changed or deleted, without a slash at the end.
    pub fn directories(&self) -> HashSet<&[u8]> {
        self.steps.iter().map(|step| split(step.path()).0).collect()
    }

    pub(super) fn line(&mut self, act: Act, path: &[u8], why: PlanReason) {
        self.lines.push(PlanLine {
            act,
            path: RepoPath::from(path),
            why,
        });
    }

    pub(super) fn block(&mut self, path: &[u8], why: BlockReason) {
        self.blocked.push(BlockedPath {
            path: RepoPath::from(path),
            why,
        });
    }

    /// Puts lines and steps into their order. `keep` are directories that stay even when they become empty; `only` are those
    /// that may go.
    pub(super) fn settle(&mut self, keep: &HashSet<Vec<u8>>, only: Option<&HashSet<RepoPath>>, system: FileSystem) {
        let may_go = |directory: &[u8]| {
            !keep.contains(&system.key(directory)) && only.is_none_or(|only| only.contains(&RepoPath::from(directory)))
        };
        self.lines.sort_by(|a, b| (&a.path, a.act).cmp(&(&b.path, b.act)));
        self.lines.dedup();
        self.blocked.sort_by(|a, b| a.path.cmp(&b.path));
        self.blocked.dedup();
        self.steps.sort_by(|a, b| {
            a.phase().cmp(&b.phase()).then_with(|| match a {
                // Inner directories first.
                RestoreStep::RemoveDirectory { .. } => b.path().cmp(a.path()),
                _ => in_directories(a.path()).cmp(&in_directories(b.path())),
            })
        });
        let mut tidy = HashSet::new();
        for step in &self.steps {
            if matches!(step, RestoreStep::Remove { .. } | RestoreStep::RemoveDirectory { .. }) {
                let directories = directories_above(step.path()).filter(|directory| may_go(directory));
                tidy.extend(directories.map(<[u8]>::to_vec));
            }
        }
        self.tidy = tidy.into_iter().collect();
        self.tidy.sort_by(|a, b| b.cmp(a));
    }
}

/// A key that keeps the files of one directory together, so that it is opened once.
fn in_directories(path: &[u8]) -> (&[u8], &[u8]) {
    split(path)
}

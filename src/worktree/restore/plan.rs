//! The plan of a restore: lines for people, steps for the execution, and what stops it all.

use std::collections::HashSet;
use std::ops::Range;

use super::content::Content;
use super::disk::{folders_above, split};
use crate::model::path::RepoPath;
use crate::model::plan::{Act, Block, Blocked, Line, Why};
use crate::worktree::snapshot::settings::Settings;

/// What a restore does. Made by [`plan()`](super::plan()), executed by [`execute()`](super::execute()).
pub struct Plan {
    /// What happens to which path and why, sorted by path.
    pub lines: Vec<Line>,
    /// What must be out of the way first, sorted by path. With any of these a plan is not executed.
    pub blocked: Vec<Blocked>,
    /// In the order in which they are executed.
    pub(super) steps: Vec<Step>,
    /// Folders that go if the restore leaves them empty, inner ones first.
    pub(super) tidy: Vec<Vec<u8>>,
    pub(super) settings: Settings,
    pub(super) umask: u32,
    /// Whether some path may be stored in another form than the one it is written from: rules that change with it,
    /// conversions, permissions that the system does not keep.
    pub(super) reshapes: bool,
}

/// One change of the disk.
#[derive(Clone)]
pub(super) enum Step {
    Remove {
        path: Vec<u8>,
        was: Content,
    },
    RemoveFolder {
        path: Vec<u8>,
    },
    MakeFolder {
        path: Vec<u8>,
    },
    Write {
        path: Vec<u8>,
        was: Option<Content>,
        is: Content,
    },
    Mode {
        path: Vec<u8>,
        was: Content,
        mode: u32,
    },
}

impl Step {
    pub(super) fn path(&self) -> &[u8] {
        match self {
            Self::Remove { path, .. }
            | Self::RemoveFolder { path }
            | Self::MakeFolder { path }
            | Self::Write { path, .. }
            | Self::Mode { path, .. } => path,
        }
    }
}

impl Step {
    /// Steps of a later phase may rely on those of an earlier one, steps of one phase not on each other; but inner
    /// folders are removed before outer ones.
    fn phase(&self) -> u8 {
        match self {
            Self::Remove { .. } => 0,
            Self::RemoveFolder { .. } => 1,
            Self::Write { .. } | Self::MakeFolder { .. } => 2,
            Self::Mode { .. } => 3,
        }
    }
}

impl Plan {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            lines: Vec::new(),
            blocked: Vec::new(),
            steps: Vec::new(),
            tidy: Vec::new(),
            settings,
            umask: 0,
            reshapes: false,
        }
    }

    /// Whether nothing has to be done.
    pub fn is_done(&self) -> bool {
        self.steps.is_empty() && self.blocked.is_empty()
    }

    /// Whether a snapshot afterwards says of each path that is written just what it was written from.
    pub fn is_plain(&self) -> bool {
        !self.reshapes
    }

    /// How many files and links are deleted.
    pub fn deletions(&self) -> usize {
        self.steps
            .iter()
            .filter(|step| matches!(step, Step::Remove { .. }))
            .count()
    }

    /// Every path that is created, changed or deleted, in the order of execution.
    pub fn touched(&self) -> impl Iterator<Item = RepoPath> {
        self.steps.iter().map(|step| RepoPath::from(step.path()))
    }

    /// The folders with nothing in them that go because something takes their place, or because they came later.
    pub fn empty_folders(&self) -> Vec<RepoPath> {
        let gone = |step: &Step| matches!(step, Step::Remove { .. } | Step::RemoveFolder { .. });
        let inside: HashSet<&[u8]> = self
            .steps
            .iter()
            .filter(|step| gone(step))
            .map(|step| split(step.path()).0)
            .collect();
        let folders = self
            .steps
            .iter()
            .filter(|step| matches!(step, Step::RemoveFolder { .. }));
        folders
            .filter(|step| !inside.contains(step.path()))
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

    /// The folders in which something is created, changed or deleted, without a slash at the end.
    pub(super) fn folders(&self) -> HashSet<&[u8]> {
        self.steps.iter().map(|step| split(step.path()).0).collect()
    }

    pub(super) fn line(&mut self, act: Act, path: &[u8], why: Why) {
        self.lines.push(Line {
            act,
            path: RepoPath::from(path),
            why,
        });
    }

    pub(super) fn block(&mut self, path: &[u8], why: Block) {
        self.blocked.push(Blocked {
            path: RepoPath::from(path),
            why,
        });
    }

    /// Puts lines and steps into their order. `keep` are folders that stay even when they become empty; `only` are those
    /// that may go.
    pub(super) fn settle(&mut self, keep: &HashSet<Vec<u8>>, only: Option<&HashSet<RepoPath>>) {
        let may_go =
            |folder: &[u8]| !keep.contains(folder) && only.is_none_or(|only| only.contains(&RepoPath::from(folder)));
        self.lines.sort_by(|a, b| (&a.path, a.act).cmp(&(&b.path, b.act)));
        self.lines.dedup();
        self.blocked.sort_by(|a, b| a.path.cmp(&b.path));
        self.blocked.dedup();
        self.steps.sort_by(|a, b| {
            a.phase().cmp(&b.phase()).then_with(|| match a {
                // Inner folders first.
                Step::RemoveFolder { .. } => b.path().cmp(a.path()),
                _ => in_folders(a.path()).cmp(&in_folders(b.path())),
            })
        });
        let mut tidy = HashSet::new();
        for step in &self.steps {
            if matches!(step, Step::Remove { .. } | Step::RemoveFolder { .. }) {
                let folders = folders_above(step.path()).filter(|folder| may_go(folder));
                tidy.extend(folders.map(<[u8]>::to_vec));
            }
        }
        self.tidy = tidy.into_iter().collect();
        self.tidy.sort_by(|a, b| b.cmp(a));
    }
}

/// A key that keeps the files of one folder together, so that it is opened once.
fn in_folders(path: &[u8]) -> (&[u8], &[u8]) {
    split(path)
}

//! The paths of a plan, and those that changed meanwhile.

use std::collections::HashSet;

use super::super::{Error, compose::CurrentSnapshot, refuse::Refusal};
use crate::{
    model::path::RepoPath,
    store::{ObjectId, Repository, pathspec::PathFilter},
    worktree::restore::RestorePlan,
};

/// Which paths are meant, and what may be done to them.
#[derive(Clone, Default)]
pub(in crate::ops) struct PathScope {
    /// Only paths that these choose.
    pub(in crate::ops) paths: Option<PathFilter>,
    /// Only these paths.
    pub(in crate::ops) only: Option<HashSet<RepoPath>>,
    /// These paths were changed by the operation that is taken back or done again: also those that are ignored now, or in
    /// a directory that is a repository now.
    pub(in crate::ops) enters: bool,
    /// Later files stay.
    pub(in crate::ops) overlay: bool,
    /// Files that the goal's own rules ignore stay.
    pub(in crate::ops) keep_ignored: bool,
    /// The goal is the user's own beyond doubt, or the user said so.
    pub(in crate::ops) trusted: bool,
    /// Whether obstacles are saved into the safety checkpoint as well.
    pub(in crate::ops) include: bool,
    /// The index becomes the goal's as well.
    pub(in crate::ops) index: bool,
    /// The directory that the command was started in.
    pub(in crate::ops) cwd: Option<RepoPath>,
}

/// Files that changed after the present was saved, and the later safety checkpoint that has what they were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplacedFiles {
    /// The files.
    pub paths: Vec<RepoPath>,
    /// The commit of that checkpoint.
    pub saved: ObjectId,
}

/// Called with the number of steps done and of all steps.
pub type ProgressCallback<'a> = &'a dyn Fn(usize, usize);

/// Finds the reasons not to carry a plan out; what it is given first reads the present.
pub(in crate::ops) type RefusalCheck<'a> =
    dyn Fn(&Repository, &CurrentSnapshot, &RestorePlan) -> Result<Vec<Refusal>, Error> + 'a;

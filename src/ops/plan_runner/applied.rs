//! Result of a plan.

use super::{
    super::{
        refuse::{Refusal, Reversal},
        safety::Safety,
    },
    PlanOperation, ReplacedFiles,
};
use crate::{
    model::{
        path::RepoPath,
        plan::{Act, PlanLine, PlanReason},
    },
    os,
    store::{
        ObjectId,
        checkpoint::oid,
        undo::{Effect, PathChange},
    },
    worktree::restore::{ExecutionOutcome, index::IndexChange},
};

/// Result of a plan, or of its dry run.
#[derive(Debug)]
pub struct AppliedPlan {
    /// The plan: what happens to which path and why.
    pub lines: Vec<PlanLine>,
    /// Why it was not done.
    pub refusals: Vec<Refusal>,
    /// Fingerprint of the plan and of the current files it was made from; empty without a plan.
    pub token: String,
    /// The safety checkpoint; `None` if nothing had to be done, or nothing was.
    pub safety: Option<Safety>,
    /// Changes of files.
    pub done: ExecutionOutcome,
    /// Changes of the index.
    pub index: IndexChange,
    /// Files of ours that could not be removed.
    pub left: Vec<os::CleanupFailure>,
    /// The tree of the index afterwards, if it was changed.
    pub(in crate::ops) index_after: Option<ObjectId>,
    /// Change of each path.
    pub(in crate::ops) changes: Vec<PathChange>,
    /// Files that another program changed meanwhile and that were replaced all the same.
    pub replaced: Vec<ReplacedFiles>,
    /// Files that go away, or come back, with less than they had: their filter program does not give their bytes back.
    pub lossy: Vec<RepoPath>,
    /// Files beyond the size limits that were in the way, and are in the safety checkpoint.
    pub oversized: Vec<RepoPath>,
    /// Files that came with less than they were saved from, and the checkpoint that has all of their bytes.
    pub partial: Vec<(RepoPath, ObjectId)>,
}

impl AppliedPlan {
    /// Nothing was to be done.
    pub(in crate::ops) fn nothing() -> Self {
        Self {
            lines: Vec::new(),
            refusals: Vec::new(),
            token: String::new(),
            safety: None,
            done: ExecutionOutcome::default(),
            index: IndexChange::default(),
            left: Vec::new(),
            index_after: None,
            changes: Vec::new(),
            replaced: Vec::new(),
            lossy: Vec::new(),
            oversized: Vec::new(),
            partial: Vec::new(),
        }
    }

    /// Whether there was nothing to do.
    pub fn is_nothing(&self) -> bool {
        self.lines.iter().all(|line| !line.act.changes()) && self.index.paths.is_empty()
    }

    /// Lets the plan say that what commits changed in a path is taken back.
    pub(in crate::ops) fn revert(&mut self, reversal: &Reversal) {
        let lines = self.lines.iter_mut().filter(|line| line.path == reversal.path);
        for line in lines.filter(|line| line.act.changes()) {
            line.act = Act::Revert;
            line.why = PlanReason::CommittedSince(reversal.commit.clone());
        }
    }

    /// Whether what was asked for is done, all of it.
    pub fn is_done(&self) -> bool {
        self.is_complete() && self.refusals.is_empty()
    }

    /// Whether all that was planned was done.
    pub fn is_complete(&self) -> bool {
        self.done.is_complete()
    }

    /// The files that are not what they were, or were saved as, because of their filter program, each with what that means.
    pub fn filtered(&self, operation: PlanOperation) -> Vec<(&RepoPath, String)> {
        let why = match operation {
            PlanOperation::Clean => Some("its filter stores a part of it; the whole is in the files saved first"),
            // What they bring back is known to come back as it was.
            PlanOperation::Undo | PlanOperation::Redo => None,
            _ => Some("comes back as its filter gives it, without what the filter left out"),
        };
        let is_partial = |path: &RepoPath| self.partial.iter().any(|(partial, _)| partial == path);
        let lossy = self
            .lossy
            .iter()
            .filter(|path| self.is_meant(path, operation) && !is_partial(path));
        let lossy = lossy.filter_map(|path| Some((path, why?.to_owned())));
        let partial = self.partial.iter().map(|(path, saved)| {
            let saved = oid(*saved);
            let why = format!(
                "comes without what its filter left out; the whole is in {}",
                saved.short()
            );
            (path, why)
        });
        let unstable = self.done.unstable.iter();
        let unstable = unstable.map(|path| {
            (
                path,
                "its filter gives content that a save would not store as it was".to_owned(),
            )
        });
        unstable.chain(lossy).chain(partial).collect()
    }

    /// Whether what becomes of a file is for that file: what is deleted is not to come back, but for a cleaning.
    fn is_meant(&self, path: &RepoPath, operation: PlanOperation) -> bool {
        let is_deleted = |line: &PlanLine| line.path == *path && line.act == Act::Delete;
        operation == PlanOperation::Clean || !self.lines.iter().any(is_deleted)
    }

    /// Effects that undo reverts.
    pub(in crate::ops) fn effects(&self) -> Vec<Effect> {
        let Some(safety) = &self.safety else { return Vec::new() };
        let before = oid(safety.id);
        let mut effects = vec![Effect::Files { before: before.clone() }];
        if let Some(after) = self.index_after {
            effects.push(Effect::Index {
                before,
                after: oid(after),
            });
        }
        effects
    }
}

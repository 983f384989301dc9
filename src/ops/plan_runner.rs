//! Changing files, the way all commands do it that change any: safety checkpoint, plan, journal, execution.
//!
//! The order is what makes it safe. Before the first change the present is on a ref and the journal on the disk; from
//! then on a kill at any point leaves something that `--continue` finishes and `--abort` takes back. Changes during the
//! execution are saved and planned again, a few times, and then reported.

mod applied;
mod fingerprint;
mod index_change;
mod journal;
mod preparation;
mod scope;
mod unmet;

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

pub use applied::AppliedPlan;
pub(super) use fingerprint::PlanExpectation;
pub(super) use journal::{
    OperationLocks, OperationWait, Plain, PlanJournal, begin, interruption, note_record, operation_lock, refuse_pending,
};
pub use journal::{PlanOperation, interrupted, running};
use preparation::PreparedPlan;
pub(super) use scope::{PathScope, RefusalCheck};
pub use scope::{ProgressCallback, ReplacedFiles};
pub(super) use unmet::{displaced, unmet};

use super::{
    Error, Scene, changes_since,
    compose::{self, CurrentSnapshot},
    ids::short,
    refuse::Refusal,
    safety::{self, Safety},
    target_state::TargetState,
};
use crate::{
    model::{path::RepoPath, tree_mode},
    os,
    store::{
        self, Kind, Repository,
        checkpoint::{self, object_id, oid},
        objects::{self, Writer},
        tree,
        undo::{self, PathState},
    },
    worktree::{
        journal::{self as restore_journal, Journal},
        restore::{
            self, Execution, RestorePlan, WrittenFile,
            index::{self, IndexChange, IndexLock},
        },
    },
};

/// How often it is planned again because files changed meanwhile.
const ROUNDS: usize = 3;
/// How often it is tried again because a collection of garbage took objects.
const TRIES: usize = 5;

/// Treatment of a file that another program writes after the present was read and before its turn comes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MeanwhilePolicy {
    /// It stays as it is, and is reported.
    Keep,
    /// It is saved, then replaced.
    Replace,
    /// The target state is computed again from what is there now.
    Merge,
}

/// Job of the plan runner.
pub(super) struct PlanJob<'a> {
    /// The command.
    pub(super) operation: PlanOperation,
    /// The summary of the safety checkpoint.
    pub(super) summary: String,
    /// Which paths are meant, and how.
    pub(super) scope: PathScope,
    /// Computes the target state from the current files. Objects that it makes stay in memory.
    pub(super) goal: &'a dyn Fn(&Repository, &CurrentSnapshot) -> Result<TargetState, Error>,
    /// Reasons not to do it.
    pub(super) refuse: &'a RefusalCheck<'a>,
    /// Treatment of files that change meanwhile.
    pub(super) meanwhile: MeanwhilePolicy,
    /// Note in the journal, for the command that continues.
    pub(super) note: Value,
    /// The restore that this continues or takes back.
    pub(super) journal: Option<Journal>,
    /// Whether nothing is changed.
    pub(super) dry_run: bool,
    /// The plan that the caller has seen and wants, if it names one.
    pub(super) expectation: PlanExpectation<'a>,
    /// Called with the number of steps done and of all steps.
    pub(super) progress: ProgressCallback<'a>,
}

/// Does it. The caller holds the lock of the working tree and has recovered refs.
pub(super) fn apply_plan(scene: &Scene<'_>, job: &PlanJob<'_>) -> Result<AppliedPlan, Error> {
    let mut rewriting = false;
    for _ in 0..TRIES {
        match PlanRunner::new(scene, job, rewriting)?.run() {
            Err(Error::Store(store::Error::Vanished { .. })) => rewriting = true,
            result => return result,
        }
    }
    Err(Error::ConcurrentModification)
}

struct PlanRunner<'a> {
    scene: &'a Scene<'a>,
    job: &'a PlanJob<'a>,
    rewriting: bool,
    token: String,
    /// The first safety checkpoint of this job, perhaps of an earlier process.
    first: Option<Safety>,
    brought: AppliedPlan,
    /// The same present as a save would have it.
    plain: Option<Plain>,
    changes: BTreeMap<RepoPath, PathState>,
    /// The files that were written.
    written: BTreeMap<RepoPath, WrittenFile>,
    /// Paths that were not, in the last round, what the snapshot said: their bytes are read again.
    moved: Vec<RepoPath>,
    /// Paths that this operation changed before, or that of which it is the way back.
    own: Option<HashSet<RepoPath>>,
    /// As it was written last.
    journal: Option<Journal>,
    index_written: bool,
    /// Whether any plan was executed.
    begun: bool,
}

impl<'a> PlanRunner<'a> {
    fn new(scene: &'a Scene<'a>, job: &'a PlanJob<'a>, rewriting: bool) -> Result<Self, Error> {
        let token = match &job.journal {
            Some(journal) => journal.token.clone(),
            None => os::random_token().map_err(Error::Random)?,
        };
        let first = job.journal.as_ref().map(|journal| {
            PlanJournal::of(journal).map(|noted| Safety {
                n: noted.n,
                id: object_id(&noted.safety),
            })
        });
        let earlier = job.journal.as_ref().and_then(|journal| journal.paths.as_ref());
        let only = job.scope.only.as_ref().filter(|_| job.scope.enters);
        let own = (earlier.is_some() || only.is_some())
            .then(|| earlier.into_iter().flatten().chain(only.into_iter().flatten()).cloned());
        Ok(Self {
            scene,
            job,
            rewriting,
            token,
            first: first.transpose()?,
            brought: AppliedPlan::nothing(),
            plain: None,
            changes: BTreeMap::new(),
            written: BTreeMap::new(),
            moved: Vec::new(),
            own: own.map(Iterator::collect),
            journal: None,
            index_written: false,
            begun: false,
        })
    }

    fn run(mut self) -> Result<AppliedPlan, Error> {
        for round in 1..=ROUNDS {
            let executed = self.round()?;
            if !executed || self.brought.done.moved.is_empty() || round == ROUNDS {
                break;
            }
        }
        self.brought.safety = self.first;
        self.look_back()?;
        self.brought.changes = self.changes.into_iter().collect();
        Ok(self.brought)
    }

    /// Saves, plans and executes once. Returns whether anything was executed.
    fn round(&mut self) -> Result<bool, Error> {
        let job = self.job;
        let PreparedPlan {
            mut present,
            repo,
            goal,
            plan,
            plain,
            refusals,
            fingerprint,
            sealed,
            lossy,
            oversized,
        } = self.prepare()?;
        let index = index_change::plan(self.scene, &job.scope, self.own.as_ref(), &repo, (&present, &goal))?;
        if self.begun && !plan.blocked.is_empty() {
            // Nothing was refused: the other paths are done.
            let blocked = plan.blocked.into_iter();
            let why = "what is in its place now has to stay";
            let failed = blocked.map(|blocked| (blocked.path, why.to_owned()));
            self.brought.done.failed.extend(failed);
            return Ok(false);
        }
        self.brought.refusals = refusals;
        if !plan.blocked.is_empty() {
            self.brought.refusals.push(Refusal::Blocked {
                paths: plan.blocked.clone(),
            });
        }
        // A later round only does again what moved; its lines are already there.
        if self.brought.lines.is_empty() {
            self.brought.lines.clone_from(&plan.lines);
            self.brought.index.clone_from(&index);
            self.brought.lossy = lossy;
        }
        self.brought.done.moved.clear();
        if !self.begun && self.brought.token.is_empty() {
            self.brought.token = fingerprint;
            job.expectation.check(&self.brought.token)?;
        }
        let idle = plan.is_done() && index.paths.is_empty();
        if job.dry_run || idle || !self.brought.refusals.is_empty() {
            return Ok(false);
        }
        if let Some(snapshot) = &mut present.snapshot {
            // Those that are ignored are in no snapshot, and an undo is to bring them back.
            snapshot.lists.empty_dirs.extend(plan.empty_directories());
            snapshot.lists.sort();
            snapshot.lists.empty_dirs.dedup();
        }
        if os::is_cancelled() {
            return Err(super::WorktreeError::Cancelled.into());
        }
        // From the safety checkpoint on it is safer to finish than to stop between two states.
        os::complete_this();
        self.save(&present, sealed)?;
        self.brought.oversized.extend(oversized);
        if self.plain.is_none() {
            self.plain = plain;
        }
        let lock = self.execute(&repo, &plan, &index)?;
        let again = plan.changed().filter(|path| self.moved.contains(path));
        let paths: Vec<_> = again.filter(|path| !self.brought.done.moved.contains(path)).collect();
        if let (Some(safety), false) = (self.brought.safety, paths.is_empty()) {
            self.brought.replaced.push(ReplacedFiles {
                paths,
                saved: safety.id,
            });
        }
        if job.meanwhile == MeanwhilePolicy::Keep {
            let kept = std::mem::take(&mut self.brought.done.moved);
            self.brought.done.differing.extend(kept);
        }
        self.moved.clone_from(&self.brought.done.moved);
        if self.brought.done.is_complete() {
            self.write_index(&repo, &goal, index, lock)?;
            self.settle_lengths(&goal)?;
        }
        Ok(true)
    }

    /// Puts the present on a ref of the undo list.
    fn save(&mut self, present: &CurrentSnapshot, mut sealed: Vec<objects::SealedObjects>) -> Result<(), Error> {
        let scene = self.scene;
        let writer = if self.rewriting {
            Writer::rewriting(scene.repo)?
        } else {
            Writer::durable(scene.repo)?
        };
        let people = compose::people(scene);
        let written = safety::write(scene, &writer, present, &self.job.summary, &people)?;
        sealed.push(writer.finish()?);
        let (safety, left) = safety::put(scene, undo::next(scene.repo)?, &written, sealed)?;
        self.brought.left.extend(left);
        self.first.get_or_insert(safety);
        self.brought.safety = Some(safety);
        Ok(())
    }

    /// Executes the plan. Where the index is going to change, git's lock on it is taken first and returned: if
    /// another process holds it, this operation fails before it begins, not halfway.
    fn execute(
        &mut self,
        repo: &Repository,
        plan: &RestorePlan,
        index: &IndexChange,
    ) -> Result<Option<IndexLock>, Error> {
        let (scene, job) = (self.scene, self.job);
        let Some(first) = self.first else {
            return Err(Error::ConcurrentModification);
        };
        let noted = || PlanJournal {
            operation: job.operation,
            n: first.n,
            safety: oid(first.id),
            plain: self.plain.clone(),
            index: job.scope.index,
            record: None,
            note: job.note.clone(),
        };
        // Finishing it or taking it back leaves it what it was, should that be interrupted as well.
        let what = job.journal.as_ref().map_or_else(
            || serde_json::to_value(noted()).unwrap_or_default(),
            |earlier| earlier.what.clone(),
        );
        let mut journal = Journal::new(
            self.token.clone(),
            scene.now,
            plan.directories().into_iter().map(RepoPath::from).collect(),
            plan.changed().collect(),
            what,
        );
        if let Some(earlier) = self.journal.as_ref().or(job.journal.as_ref()) {
            journal.add(earlier);
        }
        restore_journal::write(scene.repo, &journal)?;
        self.journal = Some(journal);
        // Names of its own for each execution: what an earlier one left is in the way of nothing.
        let token = format!("{}-{}", self.token, os::random_token().map_err(Error::Random)?);
        let mut execution = Execution {
            token: &token,
            progress: &mut |done, all| (job.progress)(done, all),
        };
        let lock = || index::lock(scene.repo, scene.index, &self.token, scene.wait);
        let lock = (!index.paths.is_empty()).then(lock).transpose();
        let (done, lock) = match lock.and_then(|lock| Ok((restore::execute(repo, plan, &mut execution)?, lock))) {
            Ok(executed) => executed,
            Err(error) => {
                // Nothing was changed: then it is not interrupted either, and the next one may begin.
                if job.journal.is_none() && !self.begun {
                    restore_journal::remove(scene.repo)?;
                }
                return Err(error.into());
            }
        };
        self.begun = true;
        for change in done.changes {
            match change.file {
                Some(file) => self.written.insert(change.path.clone(), file),
                None => self.written.remove(&change.path),
            };
            self.changes.insert(change.path, change.state);
        }
        let sum = &mut self.brought.done;
        sum.written += done.written;
        sum.deleted += done.deleted;
        sum.modes += done.modes;
        sum.directories += done.directories;
        sum.moved = done.moved;
        sum.failed.extend(done.failed);
        sum.differing.extend(done.differing);
        sum.unstable.extend(done.unstable);
        sum.stopped = done.stopped;
        Ok(lock)
    }

    /// Adds what an earlier process did, which only the disk remembers, and what became of the index.
    fn look_back(&mut self) -> Result<(), Error> {
        let scene = self.scene;
        let earlier = self.job.journal.as_ref().filter(|_| !self.job.dry_run);
        if earlier.is_none() && !self.index_written {
            return Ok(());
        }
        let writer = Writer::memory(scene.repo);
        let snapshot = compose::snapshot(scene, &writer, &[])?;
        if let (Some(journal), Some(first)) = (earlier, self.first) {
            let subject = short(first.id);
            let before = checkpoint::load(scene.repo, first.id).map_err(Error::damaged(&*subject))?;
            let before = TargetState::of(scene, &before, &subject)?;
            let paths = match &journal.paths {
                Some(paths) => paths.clone(),
                None => changes_since::changes(&writer.overlay(scene.repo), &before, &snapshot)?,
            };
            let paths: Vec<_> = paths
                .into_iter()
                .filter(|path| !self.changes.contains_key(path))
                .collect();
            let states = restore::states(scene.repo, &paths)?;
            let known = paths.into_iter().zip(states);
            self.changes
                .extend(known.filter_map(|(path, state)| Some((path, state?))));
            if PlanJournal::of(journal)?.index {
                let lists = &snapshot.lists;
                let staged = (snapshot.index_tree, &lists.conflicts, &lists.intent_to_add);
                self.index_written |= staged != (before.index, &before.lists.conflicts, &before.lists.intent_to_add);
            }
        }
        if self.index_written {
            self.brought.index_after = Some(snapshot.index_tree);
        }
        Ok(())
    }

    /// Lets `git status` see that written files are as in the index.
    fn settle_lengths(&self, goal: &TargetState) -> Result<(), Error> {
        let (token, wait) = (&self.token, self.scene.wait);
        Ok(index::settle_lengths(
            self.scene.repo,
            self.scene.index,
            (&self.written, &goal.lists.raw),
            token,
            wait,
        )?)
    }

    fn write_index(
        &mut self,
        repo: &Repository,
        goal: &TargetState,
        mut changed: IndexChange,
        lock: Option<IndexLock>,
    ) -> Result<(), Error> {
        if let Some(lock) = lock {
            store_staged(self.scene.repo, repo, goal, &changed.paths)?;
            let then = goal.staged().exact(self.job.scope.enters);
            index::write(repo, &lock, then, &mut changed)?;
            self.index_written = true;
            self.brought.index = changed;
        }
        Ok(())
    }
}

/// Writes the blobs of index entries that are in the memory of `merged` alone, such as that of a file that is renamed on one
/// side, changed on both, and in conflict with another one: an entry without its blob breaks git itself.
fn store_staged(repo: &Repository, merged: &Repository, goal: &TargetState, paths: &[RepoPath]) -> Result<(), Error> {
    let changed: HashSet<&RepoPath> = paths.iter().collect();
    let conflicts = goal.lists.conflicts.iter();
    let stages = conflicts.filter(|conflict| changed.contains(&conflict.path) && conflict.mode != tree_mode::GITLINK);
    let mut needed: Vec<_> = stages
        .filter_map(|conflict| goal.conflicts.get(conflict.n as usize).copied())
        .collect();
    for path in paths {
        let entry = tree::entry(merged, goal.index, path)?;
        let entry = entry.filter(|entry| entry.mode != tree_mode::GITLINK && entry.mode != tree_mode::DIRECTORY);
        needed.extend(entry.map(|entry| object_id(&entry.id)));
    }
    needed.retain(|id| !repo.has_object(*id) && merged.has_object(*id));
    if needed.is_empty() {
        return Ok(());
    }
    let writer = Writer::durable(repo)?;
    for id in needed {
        let blob = checkpoint::read(merged, id, Kind::Blob, "blob").map_err(Error::damaged(short(id)))?;
        writer.write(Kind::Blob, &blob)?;
    }
    writer.finish()?.release();
    Ok(())
}

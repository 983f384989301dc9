//! The present and the plan for a round: nothing is changed here but for objects that are written.

use std::collections::HashSet;

use super::{MeanwhilePolicy, Plain, PlanOperation, PlanRunner, fingerprint};
use crate::{
    model::{list::SkipReason, path::RepoPath, plan::BlockReason},
    ops::{
        Error,
        compose::{self, CurrentSnapshot},
        refuse::Refusal,
        target_state::{self, TargetState},
    },
    store::{
        self, Repository,
        checkpoint::oid,
        objects::{self, Writer},
    },
    worktree::{
        journal as restore_journal,
        restore::{self, ByteDifferences, RestoreOptions, RestorePlan},
    },
};

/// The present and a plan from it.
pub(super) struct PreparedPlan {
    pub(super) present: CurrentSnapshot,
    /// Reads all of it.
    pub(super) repo: Repository,
    pub(super) goal: TargetState,
    pub(super) plan: RestorePlan,
    pub(super) plain: Option<Plain>,
    /// The reasons against it, judged by the present as a save would have it.
    pub(super) refusals: Vec<Refusal>,
    /// Of the plan and the present, before what only a real run adds to it.
    pub(super) fingerprint: String,
    pub(super) sealed: Vec<objects::SealedObjects>,
    pub(super) lossy: Vec<RepoPath>,
    /// Files beyond the size limits that are saved because they are in the way.
    pub(super) oversized: Vec<RepoPath>,
}

impl PlanRunner<'_> {
    /// Reads the present and plans.
    pub(super) fn prepare(&self) -> Result<PreparedPlan, Error> {
        let (scene, job) = (self.scene, self.job);
        let memory = job.dry_run.then(|| Writer::memory(scene.repo));
        let mut sealed = Vec::new();
        let mut write = |with: &mut dyn FnMut(&Writer) -> Result<(), Error>| {
            if let Some(writer) = &memory {
                return with(writer);
            }
            let writer = if self.rewriting {
                Writer::rewriting(scene.repo)?
            } else {
                Writer::durable(scene.repo)?
            };
            with(&writer)?;
            sealed.push(writer.finish()?);
            Ok(())
        };
        let mut found = None;
        let mut included = HashSet::new();
        let mut directories = None;
        write(&mut |writer| {
            let mut present = compose::present(scene, writer, true, &[])?;
            if let (Some(journal), Some(snapshot)) = (&job.journal, &mut present.snapshot) {
                // Leftovers that are ignored are not in the snapshot by themselves.
                let leftovers = restore_journal::leftovers(scene.repo, journal)?;
                restore::include(scene.repo, writer, snapshot, &leftovers)?;
                included.extend(leftovers);
            }
            if let (Some(snapshot), Some(own)) = (&mut present.snapshot, &self.own) {
                let entered = restore::enter(scene.repo, writer, snapshot, own)?;
                included.extend(entered.included);
                directories = Some(entered.directories);
            }
            found = Some(present);
            Ok(())
        })?;
        let Some(mut present) = found else {
            return Err(Error::ConcurrentModification);
        };
        let readable = || match &memory {
            Some(writer) => writer.overlay(scene.repo),
            None => store::with_memory(scene.repo),
        };
        let mut repo = readable();
        let mut goal = (job.goal)(&repo, &present)?;
        let mut plan = self.plan(&repo, &present, &goal, (&included, directories.as_ref()))?;
        let oversized = self.judge_obstacles(&mut plan)?;
        let yields = plan.blocked.iter().all(|blocked| blocked.why.yields_to_force());
        if job.scope.include && yields && !plan.blocked.is_empty() {
            let blocked: Vec<_> = plan.blocked.iter().map(|blocked| blocked.path.clone()).collect();
            write(&mut |writer| {
                if let Some(snapshot) = &mut present.snapshot {
                    restore::include(scene.repo, writer, snapshot, &blocked)?;
                }
                Ok(())
            })?;
            included.extend(blocked);
            repo = readable();
            goal = (job.goal)(&repo, &present)?;
            plan = self.plan(&repo, &present, &goal, (&included, directories.as_ref()))?;
        }
        // Once it is begun, to refuse would be no longer true.
        let refusals = if self.begun {
            Vec::new()
        } else {
            (job.refuse)(&repo, &present, &plan)?
        };
        let fingerprint = fingerprint::of(job, &present, &plan, &refusals);
        let mut plain = None;
        let mut lossy = Vec::new();
        if job.dry_run {
            if plan.has_filtered(&repo)? {
                lossy = plan.unlike(&repo)?.lossy;
            }
        } else if let Some(snapshot) = &mut present.snapshot {
            let ByteDifferences {
                as_stored,
                mut unlike,
                lossy: found,
            } = plan.unlike(&repo)?;
            lossy = found;
            let touched: HashSet<RepoPath> = plan.touched().collect();
            unlike.extend(self.moved.iter().filter(|path| touched.contains(path)).cloned());
            let tree = oid(snapshot.tree);
            let known: HashSet<RepoPath> = snapshot.lists.raw.iter().cloned().collect();
            let kept = as_stored.iter().chain(&unlike).filter(|path| !known.contains(path));
            plain = Some(Plain {
                tree,
                kept: kept.cloned().collect(),
            });
            snapshot.lists.raw.extend(as_stored);
            snapshot.lists.sort();
            snapshot.lists.raw.dedup();
            if !unlike.is_empty() {
                write(&mut |writer| Ok(restore::include(scene.repo, writer, snapshot, &unlike)?))?;
                // The goal was made from the present as a save would have it, and stays that; its objects are in this memory.
                plan = self.plan(&repo, &present, &goal, (&included, directories.as_ref()))?;
            }
        }
        Ok(PreparedPlan {
            present,
            repo,
            goal,
            plan,
            plain,
            refusals,
            fingerprint,
            sealed,
            lossy,
            oversized,
        })
    }

    /// Lets files that are secrets stay in the way, as a save leaves them out too, and gives those beyond the size limits.
    fn judge_obstacles(&self, plan: &mut RestorePlan) -> Result<Vec<RepoPath>, Error> {
        let settings = self.scene.settings;
        let (mut oversized, mut total) = (Vec::new(), 0);
        for blocked in &mut plan.blocked {
            if !matches!(blocked.why, BlockReason::Ignored | BlockReason::NotHeld(_)) || !blocked.why.yields_to_force()
            {
                continue;
            }
            let file = match restore::look_at(self.scene.repo, &blocked.path) {
                // Where it stays anyway, it need not be read.
                Err(_) if !self.job.scope.include => continue,
                file => file?,
            };
            let Some(file) = file else { continue };
            if file.is_secret && !settings.save_secrets {
                blocked.why = BlockReason::NotHeld(SkipReason::Secret);
                continue;
            }
            total += file.size;
            if !self.job.scope.include {
                continue;
            }
            if file.size > settings.max_file_size || total > settings.max_total_size {
                oversized.push(blocked.path.clone());
            }
        }
        Ok(oversized)
    }

    fn plan(
        &self,
        repo: &Repository,
        present: &CurrentSnapshot,
        goal: &TargetState,
        (included, entered): (&HashSet<RepoPath>, Option<&HashSet<RepoPath>>),
    ) -> Result<RestorePlan, Error> {
        let scope = &self.job.scope;
        let Some(snapshot) = &present.snapshot else {
            return Err(Error::NoFiles {
                subject: "the current files".to_owned(),
                before: None,
            });
        };
        // git writes a file in conflict also where sparse checkout leaves it out.
        let unmerged = goal.lists.conflicts.iter().map(|conflict| conflict.path.clone());
        let mut own: HashSet<RepoPath> = unmerged.collect();
        own.extend(self.own.iter().flatten().cloned());
        let options = RestoreOptions {
            overlay: scope.overlay,
            paths: scope.paths.clone(),
            only: scope.only.as_ref(),
            keep_ignored: scope.keep_ignored,
            trusted: scope.trusted,
            cwd: scope.cwd.clone(),
            umask: snapshot.umask,
            index: self.scene.index,
            included: Some(included),
            entered,
            own: Some(&own).filter(|own| !own.is_empty()),
            is_earlier: scope.enters,
            leaves_out: self.job.operation == PlanOperation::Clean,
            tracked: Some(goal.index),
        };
        let mut plan = restore::plan(repo, target_state::files(snapshot), goal.files(), options)?;
        if self.begun && self.job.meanwhile != MeanwhilePolicy::Merge {
            // What was done in an earlier round and is different again was edited meanwhile.
            plan.leave(&|path| self.changes.contains_key(path) && !self.moved.contains(path));
        }
        Ok(plan)
    }
}

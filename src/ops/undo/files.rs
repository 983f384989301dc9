//! The files of an undo or redo, and those that came later and had to make room.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashSet},
};

use super::{
    super::{
        Error,
        ids::short,
        plan_runner::{self, AppliedPlan, MeanwhilePolicy, PathScope, PlanJob},
        refuse::Refusal,
        target_state::TargetState,
    },
    UndoJournal, UndoRun, left,
};
use crate::{
    model::{id::Oid, path::RepoPath, tree_mode},
    store::{
        checkpoint::{self, object_id, oid},
        tree,
        undo::{self, PathState},
    },
    worktree::{self, journal::Journal},
};

/// Paths that came later and have to make room, with what is there.
pub(super) type DisplacedPaths = BTreeMap<RepoPath, PathState>;

impl UndoRun<'_> {
    /// Changes the files. `displaced` gets those that a forced run takes with it.
    pub(super) fn files(
        &self,
        journal: Option<Journal>,
        displaced: &RefCell<DisplacedPaths>,
    ) -> Result<Option<AppliedPlan>, Error> {
        let scene = self.scene;
        let Some(before) = self.entry.files_before().cloned() else {
            return Ok(None);
        };
        let target = if self.is_undo() {
            Some(before.clone())
        } else {
            self.kept.cloned()
        };
        let Some(target) = target.map(|id| object_id(&id)) else {
            return Ok(None);
        };
        let subject = short(target);
        let target = checkpoint::load(scene.repo, target).map_err(Error::damaged(&*subject))?;
        let goal = TargetState::of(scene, &target, &subject)?;
        let changes = undo::changes(scene.repo, self.entry.n)?;
        let own: HashSet<RepoPath> = changes.iter().map(|(path, _)| path.clone()).collect();
        let later = left::LaterIndex::of(scene, self.entry, &target, &changes)?;
        let continued = journal.is_some();
        let operation = self.request.direction.operation();
        let job = PlanJob {
            operation,
            summary: format!("before {operation} of '{}'", self.entry.what),
            scope: PathScope {
                only: Some(own.clone()),
                enters: true,
                trusted: true,
                // What is ignored and came later is in no checkpoint, unless that is asked for.
                include: self.request.displaces,
                index: later.is_some(),
                ..PathScope::default()
            },
            goal: &|repo, present| match &later {
                Some(later) => later.keep(repo, present, goal.clone()),
                None => Ok(goal.clone()),
            },
            refuse: &|repo, present, plan| {
                let left = left::left_alone(plan, &changes);
                if !left.is_empty() {
                    return Ok(vec![Refusal::LeftAlone { paths: left }]);
                }
                let later = plan.displaced(&own);
                if self.request.displaces || continued {
                    let states = worktree::restore::states(scene.repo, &later)?;
                    let states = later.into_iter().zip(states);
                    *displaced.borrow_mut() = states.filter_map(|(path, state)| Some((path, state?))).collect();
                    return Ok(Vec::new());
                }
                if self.request.force {
                    return Ok(left::changed_since(later));
                }
                left::moved(scene, self.is_undo(), repo, present, (&changes, later), &before)
            },
            meanwhile: if self.request.force {
                MeanwhilePolicy::Replace
            } else {
                MeanwhilePolicy::Keep
            },
            note: serde_json::to_value(UndoJournal {
                n: self.entry.n,
                force: self.request.force,
                target: Some(oid(target.entry.id)),
                left: self.left,
                aborts: self.request.aborts.is_some(),
                without_record: self.without_record,
            })
            .unwrap_or_default(),
            journal,
            dry_run: self.request.dry_run,
            expectation: plan_runner::PlanExpectation::default(),
            progress: self.progress,
        };
        Ok(Some(plan_runner::apply_plan(scene, &job)?))
    }

    /// Lets the entry change the paths as well that had to make room, so that the way back brings them.
    pub(super) fn note_displaced(&self, brought: &AppliedPlan, displaced: &DisplacedPaths) -> Result<(), Error> {
        let (scene, n) = (self.scene, self.entry.n);
        let Some(safety) = brought.safety.filter(|_| self.is_forced) else {
            return Ok(());
        };
        let mut changes = undo::changes(scene.repo, n)?;
        let own: HashSet<RepoPath> = changes.iter().map(|(path, _)| path.clone()).collect();
        let subject = short(safety.id);
        let before = checkpoint::load(scene.repo, safety.id).map_err(Error::damaged(&*subject))?;
        let before = TargetState::of(scene, &before, &subject)?;
        let count = changes.len();
        for (path, after) in &brought.changes {
            if own.contains(path) {
                continue;
            }
            // After a kill the checkpoint alone remembers what was there.
            let known = displaced.get(path).cloned();
            let Some(was) = known.map_or_else(|| saved_state(self, &before, path), |known| Ok(Some(known)))? else {
                continue;
            };
            // An entry says how its action left a path, which an undo takes back.
            let left = if self.is_undo() { was } else { after.clone() };
            changes.push((path.clone(), left));
        }
        if changes.len() > count {
            changes.sort_by(|a, b| a.0.cmp(&b.0));
            undo::write_changes(scene.repo, n, &changes)?;
        }
        Ok(())
    }
}

/// A path as a safety checkpoint has it; `None` for what it lacks and for a directory that has anything in it.
fn saved_state(run: &UndoRun<'_>, before: &TargetState, path: &RepoPath) -> Result<Option<PathState>, Error> {
    if before.lists.empty_dirs.contains(path) {
        return Ok(Some(PathState::Directory));
    }
    let held = before.lists.held.iter().find(|held| held.path == *path);
    if let Some(blob) = held.and_then(|held| before.held.get(held.n as usize)) {
        return Ok(Some(PathState::Stored {
            mode: tree_mode::FILE,
            id: oid(*blob),
        }));
    }
    let entry = tree::entry(run.scene.repo, before.tree, path)?;
    let entry = entry.filter(|entry| entry.mode != tree_mode::DIRECTORY);
    Ok(entry.map(|entry| PathState::Stored {
        mode: entry.mode,
        id: Oid::clone(&entry.id),
    }))
}

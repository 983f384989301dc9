//! `pause --clean`: the working tree as HEAD has it, after everything in it was saved.
//!
//! Exactly what the checkpoint holds is removed or reset. Ignored files, other repositories and what the checkpoint left
//! out stay. It is carried out as a restore is, with a safety checkpoint and a journal, so it can be continued after a
//! kill, and undone.

mod kept;

use std::{cell::RefCell, collections::BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    Error, Scene,
    compose::{self, CurrentSnapshot},
    ids::short,
    plan_runner::{
        self, MeanwhilePolicy, OperationLocks, OperationWait, PathScope, PlanJob, PlanJournal, PlanOperation,
        ProgressCallback,
    },
    record::RecordFate,
    refuse::{self, Refusal},
    restore_outcome::{self, RestoreOutcome},
    target_state::TargetState,
    verify,
};
use crate::{
    model::{
        facts::{GitFacts, OperationKind},
        id::Oid,
        list::Lists,
        path::RepoPath,
        plan::PlanReason,
    },
    os,
    store::{
        ObjectId, Repository,
        checkpoint::{self, Checkpoint, object_id, oid},
        facts, merge_state,
        objects::Writer,
        restored, tree,
    },
    worktree::{
        journal::{self, Journal},
        restore::index,
    },
};

#[derive(Debug, Serialize, Deserialize)]
struct Note {
    /// The checkpoint that holds what is cleaned away.
    saved: Oid,
    /// The commit whose state the files get.
    head: Oid,
}

/// Reasons not to clean the working tree, looked for before anything is saved.
pub fn refusals(scene: &Scene<'_>) -> Result<Vec<Refusal>, Error> {
    crate::store::require_own_directory(scene.repo, "the index cannot be cleaned")?;
    let facts: GitFacts = facts::git_facts(scene.repo, None)?;
    if facts.head.is_none() {
        return Err(Error::NoCommit);
    }
    // What a merge of sessions joins is not in the checkpoint that would be saved: it could not be concluded later.
    let merge = merge_state::read(scene.repo)?.filter(|state| state.session.is_some());
    let kind = facts.operation.map(|operation| operation.kind);
    let in_progress = kind
        .or(merge.map(|_| OperationKind::Merge))
        .map(|operation| Refusal::OperationInProgress { operation });
    Ok(in_progress.into_iter().collect())
}

/// Gives the files and the index the state of HEAD. All of them must be as the checkpoint holds them; in a dry run there
/// is none yet.
pub fn clean(
    scene: &Scene<'_>,
    saved: Option<ObjectId>,
    progress: ProgressCallback<'_>,
) -> Result<RestoreOutcome, Error> {
    let _locks = OperationLocks::take(scene, OperationWait::Patient, saved.is_none())?;
    plan_runner::begin(scene, saved.is_none())?;
    let saved = match saved {
        Some(id) if !verify::is_intact(scene, id) => return Err(Error::Unproved { id: oid(id) }),
        Some(id) => Some(checkpoint::load(scene.repo, id).map_err(Error::damaged(short(id)))?),
        None => None,
    };
    let facts: GitFacts = facts::git_facts(scene.repo, None)?;
    let head = facts.head.ok_or(Error::NoCommit)?;
    let cleaned = run(scene, saved.as_ref(), &head, None, saved.is_none(), progress)?;
    if saved.is_some() {
        // The conflicts of a merge or apply went with the files.
        merge_state::remove(scene.repo)?;
    }
    Ok(cleaned)
}

/// Fails if the index cannot be changed now, for up to the time that is waited for it: it is locked, or nothing can be
/// written next to it.
pub fn check_index(scene: &Scene<'_>) -> Result<(), Error> {
    let token = os::random_token().map_err(Error::Random)?;
    drop(index::lock(scene.repo, scene.index, &token, scene.wait)?);
    Ok(())
}

/// Finishes what was interrupted.
pub(super) fn resume(
    scene: &Scene<'_>,
    journal: Journal,
    noted: &PlanJournal,
    dry_run: bool,
    progress: ProgressCallback<'_>,
) -> Result<RestoreOutcome, Error> {
    let note = note(noted)?;
    let id = object_id(&note.saved);
    let saved = checkpoint::load(scene.repo, id).map_err(Error::damaged(short(id)))?;
    run(scene, Some(&saved), &note.head, Some(journal), dry_run, progress)
}

/// Target state of an interrupted cleaning.
pub(super) fn interrupted_target(
    noted: &PlanJournal,
    repo: &Repository,
    present: &CurrentSnapshot,
) -> Result<TargetState, Error> {
    let note = note(noted)?;
    let (tree, _) = checkpoint::commit_parts(repo, object_id(&note.head)).map_err(Error::damaged("HEAD"))?;
    let id = object_id(&note.saved);
    let saved = checkpoint::load(repo, id).map_err(Error::damaged(short(id)))?;
    of_head(repo, present, tree, Some(&empty_directories(repo, &saved)?))
}

/// The empty directories that were there when cleaning began: a kill may have emptied more.
fn empty_directories(repo: &Repository, saved: &Checkpoint) -> Result<Vec<RepoPath>, Error> {
    let lists = checkpoint::lists(repo, saved).map_err(Error::damaged(short(saved.entry.id)))?;
    Ok(lists.empty_dirs)
}

fn note(noted: &PlanJournal) -> Result<Note, Error> {
    crate::model::json::from_value(noted.note.clone()).map_err(|error| Error::Journal { why: error.to_string() })
}

fn run(
    scene: &Scene<'_>,
    saved: Option<&Checkpoint>,
    head: &Oid,
    journal: Option<Journal>,
    dry_run: bool,
    progress: ProgressCallback<'_>,
) -> Result<RestoreOutcome, Error> {
    let continued = journal.is_some();
    // What came since the interruption is none of its.
    let only = journal
        .as_ref()
        .and_then(|journal| Some(journal.paths.clone()?.into_iter().collect()));
    let (tree, _) = checkpoint::commit_parts(scene.repo, object_id(head)).map_err(Error::damaged("HEAD"))?;
    let note = saved.map(|saved| Note {
        saved: oid(saved.entry.id),
        head: head.clone(),
    });
    let empty = saved.map(|saved| empty_directories(scene.repo, saved)).transpose()?;
    let untouched = RefCell::new(Vec::new());
    let goal = |repo: &Repository, present: &CurrentSnapshot| {
        let target = of_head(repo, present, tree, empty.as_deref())?;
        if let Some(snapshot) = &present.snapshot {
            *untouched.borrow_mut() = kept::lines(repo, snapshot, &target, tree)?;
        }
        Ok(target)
    };
    let job = PlanJob {
        operation: PlanOperation::Clean,
        summary: "before the working tree was cleaned".to_owned(),
        scope: PathScope {
            only,
            // As 'git checkout' does: HEAD was checked out here before.
            trusted: true,
            index: true,
            ..PathScope::default()
        },
        goal: &goal,
        refuse: &|repo, present, _| {
            if continued {
                return Ok(Vec::new());
            }
            if let Some(saved) = saved.filter(|saved| !is_saved(scene, repo, saved, present)) {
                return Err(Error::ChangedMeanwhile {
                    id: oid(saved.entry.id),
                });
            }
            Ok(refuse::in_progress(present).into_iter().collect())
        },
        meanwhile: MeanwhilePolicy::Keep,
        note: serde_json::to_value(&note).unwrap_or_default(),
        journal,
        dry_run,
        expectation: plan_runner::PlanExpectation::default(),
        progress,
    };
    let mut brought = plan_runner::apply_plan(scene, &job)?;
    // Everything was saved: what goes is what HEAD lacks.
    for line in &mut brought.lines {
        if line.why == PlanReason::NotInCheckpoint {
            line.why = PlanReason::NotInHead;
        }
    }
    let untouched = untouched.take().into_iter();
    let known: BTreeSet<RepoPath> = brought.lines.iter().map(|line| line.path.clone()).collect();
    brought
        .lines
        .extend(untouched.filter(|line| !known.contains(&line.path)));
    if brought.is_complete() && brought.refusals.is_empty() && !dry_run {
        let what = match saved {
            Some(saved) => format!("cleaned the working tree, saved as {}", short(saved.entry.id)),
            None => "cleaned the working tree".to_owned(),
        };
        restore_outcome::note_done(scene, PlanOperation::Clean, what, Some(&brought), Vec::new(), saved)?;
        restored::write(scene.repo, None)?;
        journal::remove(scene.repo)?;
    }
    Ok(RestoreOutcome {
        operation: PlanOperation::Clean,
        from: None,
        brought: Some(brought),
        unstaged: super::target_state::UnstagedChanges::default(),
        record: RecordFate::NotMeant,
        in_progress: super::unfinished::OperationFate::NotMeant,
        dry_run,
        aborted: false,
    })
}

/// Whether the files and the index are exactly what a checkpoint holds.
pub(super) fn is_saved(scene: &Scene<'_>, repo: &Repository, saved: &Checkpoint, present: &CurrentSnapshot) -> bool {
    let (Some(now), Some(then)) = (&present.snapshot, &saved.document.snapshot) else {
        return false;
    };
    let tree = object_id(&then.tree);
    // What this program exported after the checkpoint is no work.
    let is_tree = tree == now.tree || compose::differ_in_exports(scene, repo, [tree, now.tree]).unwrap_or(false);
    let is_same = is_tree && object_id(&then.index) == now.index_tree;
    is_same
        && checkpoint::lists(scene.repo, saved)
            .is_ok_and(|lists| without_left_out(&lists) == without_left_out(&now.lists))
}

/// The lists of what a checkpoint holds: what it left out stays as it is.
fn without_left_out(lists: &Lists) -> Lists {
    Lists {
        skipped: Vec::new(),
        ..lists.clone()
    }
}

/// The files as HEAD has them, and next to them what no checkpoint holds and what did not change. `empty` are the empty
/// directories that stay; all of the present without it.
fn of_head(
    repo: &Repository,
    present: &CurrentSnapshot,
    head: ObjectId,
    empty: Option<&[RepoPath]>,
) -> Result<TargetState, Error> {
    let Some(snapshot) = &present.snapshot else {
        return Err(Error::NoFiles {
            subject: "the working tree".to_owned(),
            before: None,
        });
    };
    let now = &snapshot.lists;
    let mut target = TargetState {
        tree: head,
        index: head,
        lists: Lists::default(),
        held: Vec::new(),
        conflicts: Vec::new(),
        umask: snapshot.umask,
    };
    kept::keep_flagged(repo, snapshot, &mut target)?;
    let mut lists = Lists {
        held: std::mem::take(&mut target.lists.held),
        skipped: now.skipped.clone(),
        empty_dirs: empty.unwrap_or(&now.empty_dirs).to_vec(),
        origin: kept::outside(repo, snapshot, target.index)?,
        ..Lists::default()
    };
    // A file that is as HEAD has it keeps its bytes and its permission bits.
    let is_unchanged = |path: &RepoPath| -> Result<bool, Error> {
        let here = tree::entry(repo, snapshot.tree, path)?;
        Ok(here.is_some() && here == tree::entry(repo, target.tree, path)?)
    };
    for path in &now.raw {
        if is_unchanged(path)? {
            lists.raw.push(path.clone());
        }
    }
    for (path, bits) in &now.modes {
        if is_unchanged(path)? {
            lists.modes.push((path.clone(), *bits));
        }
    }
    target.lists = lists;
    for (directory, _) in kept::special_directories(repo, snapshot, &target)? {
        if !target.lists.empty_dirs.contains(&directory) {
            target.lists.empty_dirs.push(directory);
        }
    }
    Ok(target)
}

/// Whether the working tree and the index are exactly as HEAD has them, which is the commit that a checkpoint was saved
/// at: then everything that it holds comes back as it was.
pub(super) fn is_clean_at(scene: &Scene<'_>, checkpoint: &Checkpoint) -> Result<bool, Error> {
    let writer = Writer::memory(scene.repo);
    let present = compose::present(scene, &writer, true, &[])?;
    let (Some(head), Some(snapshot)) = (&present.facts.head, &present.snapshot) else {
        return Ok(false);
    };
    if checkpoint.document.git.head.as_ref() != Some(head) || present.facts.operation.is_some() {
        return Ok(false);
    }
    let (tree, _) = checkpoint::commit_parts(scene.repo, object_id(head)).map_err(Error::damaged("HEAD"))?;
    let lists = &snapshot.lists;
    let is_plain = lists.conflicts.is_empty() && lists.intent_to_add.is_empty();
    // The trees of the present are nowhere else.
    let overlay = writer.overlay(scene.repo);
    let target = of_head(&overlay, &present, tree, None)?;
    let is_clean = is_plain && snapshot.tree == target.tree && snapshot.index_tree == target.index;
    // What flags hide may have changed since, and then is not to be overwritten.
    Ok(is_clean && lists.held == target.lists.held && kept::is_as_saved(&overlay, checkpoint, snapshot)?)
}

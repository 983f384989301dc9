//! `apply`: the changes of a checkpoint brought onto the present by a three-way merge, conflicts marked in the files.
//!
//! What the checkpoint's files had changed is what is brought: against the checkpoint that it and the present both come
//! from, where it is of a fork, else against the commit that it was saved at. Nothing is staged; conflicts are unmerged
//! entries of the index, so that git and its tools know them.

mod discarded;
mod kept;
mod merge_run;
mod merged_lists;
mod resolution;
mod unchanged;
mod unresolved;

pub use discarded::{ResolutionState, resolution};
pub use kept::KeptEdits;
pub(super) use kept::kept_lines;
pub(super) use merge_run::{Base, MergeRun, OverlapRule, Sides};
pub use resolution::{
    MergeConclusion, concludable, conclude_with_save, concluded, conclusion, in_conflict, is_committed, is_last,
    marked, unmerged_paths,
};
pub(super) use resolution::{not_concluded, note_conflicts, pending};

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::{
    Error, Scene, bases,
    compose::CurrentSnapshot,
    ids::short,
    parts::{self, ChosenPart, PartsChooser},
    pathspecs,
    plan_runner::{
        self, MeanwhilePolicy, OperationLocks, OperationWait, PathScope, PlanJob, PlanJournal, PlanOperation,
        ProgressCallback,
    },
    put_aside::{self, CheckpointPresence, WholeFiles},
    record::RecordFate,
    refuse::{self, Refusal},
    rerere,
    restore_outcome::{self, RestoreOutcome, RestoreSource},
    select::{self, SelectedCheckpoint},
    session_choice,
    target_state::{self, TargetState, UnstagedChanges},
    unfinished::{self, OperationFate},
};
use crate::{
    model::{id::Oid, list::Lists, name::ShortName, path::RepoPath, report::MergeVerdict, selector::Selector},
    store::{
        self, Repository,
        ancestry::MergeEdges,
        checkpoint::{self, Checkpoint, object_id, oid},
        merge::Overlap,
        merge_state::ConflictCommand,
        pathspec::PathFilter,
        refs, tree,
    },
    worktree::{
        journal::{self, Journal},
        snapshot::Snapshot,
    },
};

/// Request of an apply.
#[derive(Clone, Debug)]
pub struct ApplyRequest {
    /// The checkpoint.
    pub selector: Selector,
    /// Which paths are meant; all without any. As they are typed in `folder`.
    pub pathspecs: Vec<Vec<u8>>,
    /// The directory the command was started in, relative to the root of the working tree; empty for the root.
    pub directory: RepoPath,
    /// Whether nothing is changed.
    pub dry_run: bool,
    /// Whether what was staged is staged again, where it merges without a conflict.
    pub index: bool,
    /// Whether it is done although there are reasons not to.
    pub force: bool,
    /// Whether the step from the checkpoint before to this one is taken back, instead of its changes brought.
    pub reverse: bool,
    /// Whether its commits that are not in the history of HEAD are brought as well, where there is no common checkpoint.
    pub merge_base: bool,
    /// The parts that were chosen; all without a choice.
    pub parts: Option<Vec<ChosenPart>>,
    /// Whether a session is resumed: what was saved in this working tree is in it, unless it was put aside.
    pub resumed: bool,
}

/// Result of an apply, or of its dry run.
#[derive(Debug)]
pub struct ApplyOutcome {
    /// Result for the files.
    pub restored: RestoreOutcome,
    /// The paths on which both sides do not fit together, and how.
    pub conflicts: Vec<(RepoPath, MergeVerdict)>,
    /// Of a resumed session, the paths whose later edits stay in place of what was saved.
    pub kept: KeptEdits,
    /// Those of them that have a recorded resolution in the file by now.
    pub resolved: Vec<RepoPath>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ApplyJournal {
    target: Oid,
    session: Option<ShortName>,
    pathspecs: Vec<RepoPath>,
    #[serde(rename = "folder")]
    directory: RepoPath,
    #[serde(default)]
    index: bool,
    force: bool,
    #[serde(default)]
    reverse: bool,
    /// The checkpoint that this one and the present both come from.
    #[serde(default)]
    common: Option<Oid>,
    /// The commit that its changes are compared with, in place of the one that it was saved at.
    #[serde(default)]
    base: Option<Oid>,
    /// The parts that were chosen.
    #[serde(default)]
    parts: Option<Vec<ChosenPart>>,
    #[serde(default)]
    resumed: bool,
}

/// Applies a checkpoint's changes to the present.
pub fn apply(scene: &Scene<'_>, request: &ApplyRequest, progress: ProgressCallback<'_>) -> Result<ApplyOutcome, Error> {
    refuse::too_broad(scene)?;
    if request.index {
        store::require_own_directory(scene.repo, "the index stays as it is; the files alone can be written")?;
    }
    let _locks = OperationLocks::take(scene, OperationWait::AtOnce, request.dry_run)?;
    plan_runner::begin(scene, request.dry_run)?;
    let SelectedCheckpoint {
        session, checkpoint, ..
    } = select::checkpoint(scene, &request.selector)?;
    let note = journal_note(scene, request, &checkpoint, session)?;
    run(scene, &note, &checkpoint, request.dry_run, None, progress)
}

/// Parts of what an apply would change, chosen by a person. Changes nothing.
pub fn choose_parts(
    scene: &Scene<'_>,
    request: &ApplyRequest,
    chooser: PartsChooser<'_>,
) -> Result<Vec<ChosenPart>, Error> {
    let SelectedCheckpoint {
        session, checkpoint, ..
    } = select::checkpoint(scene, &request.selector)?;
    let note = journal_note(scene, request, &checkpoint, session)?;
    let mut sides = Sides::of(scene, &note, &checkpoint)?;
    sides.whole = WholeFiles::default();
    let merging = MergeRun {
        sides: &sides,
        before: None,
        paths: filter(scene, &note)?,
        index: false,
        label: &format!("checkpoint {}", short(checkpoint.entry.id)),
        overlap: overlap(scene, &note, &checkpoint)?,
        stages_unwritten: false,
    };
    parts::choose(scene, chooser, &|repo, present| Ok(merging.merge(repo, present)?.0))
}

fn journal_note(
    scene: &Scene<'_>,
    request: &ApplyRequest,
    checkpoint: &Checkpoint,
    session: Option<ShortName>,
) -> Result<ApplyJournal, Error> {
    let common = common(scene, checkpoint).filter(|_| !request.reverse);
    let base = match (&checkpoint.document.git.head, refs::head(scene.repo)?.id) {
        (Some(saved), Some(head)) if request.merge_base && common.is_none() => {
            bases::merge_base(scene, saved, &oid(head))?
        }
        _ => None,
    };
    Ok(ApplyJournal {
        target: oid(checkpoint.entry.id),
        session,
        pathspecs: request
            .pathspecs
            .iter()
            .map(|spec| RepoPath::new(spec.clone()))
            .collect(),
        directory: request.directory.clone(),
        index: request.index,
        force: request.force,
        reverse: request.reverse,
        common,
        base,
        parts: request.parts.clone(),
        resumed: request.resumed,
    })
}

/// The checkpoint that a checkpoint of a fork and the current session both come from, if both went on from there or the
/// fork alone did. `None` where the one comes before the other by its own chain: what it had changed is what is brought.
fn common(scene: &Scene<'_>, checkpoint: &Checkpoint) -> Option<Oid> {
    // Damage in a session or a chain is reported where it is needed.
    let chosen = session_choice::session_for_command(scene).ok().flatten()?;
    let nearest = bases::nearest(scene, chosen.tip.entry.id, checkpoint.entry.id, MergeEdges::Files);
    let (id, [ahead, steps]) = nearest.ok().flatten()?;
    let is_own_chain = chosen.tip.document.session.id == checkpoint.document.session.id && ahead == 0;
    let has_files = checkpoint::load(scene.repo, id).is_ok_and(|common| common.document.snapshot.is_some());
    (steps > 0 && has_files && !is_own_chain).then(|| oid(id))
}

/// Treatment of lines that the checkpoint and the current files both changed. A checkpoint of the own chain may have been
/// in the working tree before; what was edited since is not put back.
fn overlap(scene: &Scene<'_>, note: &ApplyJournal, checkpoint: &Checkpoint) -> Result<OverlapRule, Error> {
    if note.reverse || note.common.is_some() {
        return Ok(OverlapRule::default());
    }
    Ok(match CheckpointPresence::of(scene, checkpoint)? {
        CheckpointPresence::Brought(before) => OverlapRule {
            overlap: Overlap::Ours,
            before,
        },
        // A file that is as HEAD has it is no edit of what was saved.
        CheckpointPresence::Saved if note.resumed => OverlapRule {
            overlap: Overlap::Ours,
            before: Some(tree::tree_of(scene.repo, refs::head(scene.repo)?.id)?),
        },
        _ => Overlap::Contained.into(),
    })
}

/// Finishes an apply that was interrupted: merges again what it would have merged then.
pub(super) fn resume(
    scene: &Scene<'_>,
    journal: Journal,
    noted: &PlanJournal,
    dry_run: bool,
    progress: ProgressCallback<'_>,
) -> Result<RestoreOutcome, Error> {
    let note: ApplyJournal = noted.parsed_note()?;
    let target = object_id(&note.target);
    let checkpoint = checkpoint::load(scene.repo, target).map_err(Error::damaged(short(target)))?;
    let before = noted.start_state(scene)?;
    Ok(run(scene, &note, &checkpoint, dry_run, Some((journal, before)), progress)?.restored)
}

/// Target state of an interrupted apply.
pub(super) fn interrupted_target(
    scene: &Scene<'_>,
    noted: &PlanJournal,
    repo: &Repository,
) -> Result<TargetState, Error> {
    let note: ApplyJournal = noted.parsed_note()?;
    let target = object_id(&note.target);
    let checkpoint = checkpoint::load(scene.repo, target).map_err(Error::damaged(short(target)))?;
    let sides = Sides::of(scene, &note, &checkpoint)?;
    let before = noted.start_state(scene)?;
    let merging = MergeRun {
        sides: &sides,
        before: Some(&before),
        paths: filter(scene, &note)?,
        index: note.index,
        label: &format!("checkpoint {}", short(checkpoint.entry.id)),
        overlap: overlap(scene, &note, &checkpoint)?,
        stages_unwritten: false,
    };
    let goal = merging.merge_into(repo, before.clone())?.0;
    match &note.parts {
        Some(parts) => parts::target(repo, before, &goal, parts),
        None => Ok(goal),
    }
}

fn run(
    scene: &Scene<'_>,
    note: &ApplyJournal,
    checkpoint: &Checkpoint,
    dry_run: bool,
    interrupted: Option<(Journal, TargetState)>,
    progress: ProgressCallback<'_>,
) -> Result<ApplyOutcome, Error> {
    let sides = Sides::of(scene, note, checkpoint)?;
    let (journal, before) = interrupted.unzip();
    // What came since the interruption is none of its.
    let only = journal.as_ref().and_then(|journal: &Journal| journal.paths.clone());
    let continued = journal.is_some();
    let label = format!("checkpoint {}", short(checkpoint.entry.id));
    let merging = MergeRun {
        sides: &sides,
        before: before.as_ref(),
        paths: filter(scene, note)?,
        index: note.index,
        label: &label,
        overlap: overlap(scene, note, checkpoint)?,
        stages_unwritten: false,
    };
    let job = PlanJob {
        operation: PlanOperation::Apply,
        summary: format!("before applying {}", short(checkpoint.entry.id)),
        scope: PathScope {
            only: only.map(|paths| paths.into_iter().collect()),
            trusted: note.force || put_aside::was_put_aside(scene, checkpoint)?,
            include: note.force,
            // Conflicts are in it as unmerged entries.
            index: true,
            cwd: (!note.directory.as_bytes().is_empty()).then(|| note.directory.clone()),
            ..PathScope::default()
        },
        goal: &|repo, present| Ok(merging.merge(repo, present)?.0),
        refuse: &|repo, present, _| {
            if note.force || continued {
                return Ok(Vec::new());
            }
            let open = not_concluded(scene, repo, present)?;
            Ok(refuse::in_progress(present).into_iter().chain(open).collect())
        },
        meanwhile: MeanwhilePolicy::Merge,
        note: serde_json::to_value(note).unwrap_or_default(),
        journal,
        dry_run,
        expectation: plan_runner::PlanExpectation::default(),
        progress,
    };
    let conflicts = RefCell::new(Vec::new());
    let unstaged = Cell::new(UnstagedChanges::default());
    let unresolved = Cell::new(0);
    let kept_edits = RefCell::new(Vec::new());
    let partial = RefCell::new(Vec::new());
    let kept_lines = RefCell::new(Vec::new());
    let goal = |repo: &Repository, present: &CurrentSnapshot| {
        let (mut goal, mut found, lacking) = merging.merge(repo, present)?;
        *partial.borrow_mut() = lacking;
        if let Some(parts) = &note.parts {
            goal = parts::target(repo, parts::start(merging.before, present)?, &goal, parts)?;
            let unmerged = |path: &RepoPath| goal.lists.conflicts.iter().any(|conflict| conflict.path == *path);
            found.retain(|(path, _)| unmerged(path));
        }
        *conflicts.borrow_mut() = found;
        if note.parts.is_none() {
            *kept_lines.borrow_mut() = kept::kept_lines(repo, &sides, &goal, merging.paths.clone())?;
        }
        if note.resumed && note.parts.is_none() {
            *kept_edits.borrow_mut() = kept::paths(&merging, repo, present)?;
        }
        if let Some(present) = &present.snapshot {
            let paths = merging.paths.clone();
            if !note.reverse {
                let saved = &sides.theirs;
                let mut left = target_state::unstaged(repo, checkpoint, saved, present, paths)?;
                if note.index {
                    left.staged = not_staged(repo, (checkpoint, saved), &goal, (present, merging.paths.clone()))?;
                    left.is_partial = true;
                }
                unresolved.set(unresolved_paths(saved, &goal, present));
                unstaged.set(left);
            }
        }
        Ok(goal)
    };
    let job = PlanJob { goal: &goal, ..job };
    let mut brought = plan_runner::apply_plan(scene, &job)?;
    brought.lines.extend(kept_lines.take());
    let whole = brought.is_complete() && brought.refusals.is_empty();
    if whole {
        let root = store::work_tree(scene.repo)?;
        brought.partial = sides.whole.lacking(scene, root, partial.take())?;
    }
    if brought.is_nothing() {
        // A change of nothing cannot conflict.
        let is_of_git = |refusal: &Refusal| matches!(refusal, Refusal::OperationInProgress { .. });
        brought.refusals.retain(|refusal| !is_of_git(refusal));
    }
    // What is unmerged here as it was there is not left behind.
    let mut left = unstaged.get();
    left.unmerged = left.unmerged.saturating_sub(unresolved.get());
    let (in_progress, effect) = if whole && note.index && !note.reverse && note.pathspecs.is_empty() {
        unfinished::set_up(scene, checkpoint, left, (brought.safety, dry_run))?
    } else {
        (OperationFate::NotMeant, None)
    };
    let kept = KeptEdits {
        can_merge: note.resumed && matches!(CheckpointPresence::of(scene, checkpoint)?, CheckpointPresence::Saved),
        paths: kept_edits.take(),
    };
    let mut resolved = Vec::new();
    if whole && !dry_run {
        let paths: Vec<_> = conflicts.borrow().iter().map(|(path, _)| path.clone()).collect();
        resolved = rerere::run(scene, &mut brought, &paths)?;
    }
    if whole && !dry_run {
        let word = if note.reverse { "reverted" } else { "applied" };
        let what = format!("{word} {}", short(checkpoint.entry.id));
        let is_whole = !note.reverse && note.pathspecs.is_empty() && note.parts.is_none();
        let files = Some(checkpoint).filter(|_| is_whole);
        restore_outcome::note_done(
            scene,
            PlanOperation::Apply,
            what,
            Some(&brought),
            effect.into_iter().collect(),
            files,
        )?;
        let paths = conflicts
            .borrow()
            .iter()
            .map(|(path, _)| path.clone())
            .collect::<Vec<_>>();
        note_conflicts(
            scene,
            ConflictCommand::Apply,
            (None, label.clone()),
            &brought,
            paths.into_iter(),
        )?;
        journal::remove(scene.repo)?;
    }
    Ok(ApplyOutcome {
        restored: RestoreOutcome {
            operation: PlanOperation::Apply,
            from: Some(RestoreSource {
                id: checkpoint.entry.id,
                session: note.session.clone(),
                document: Box::new(checkpoint.document.clone()),
            }),
            brought: Some(brought),
            unstaged: left,
            record: RecordFate::NotMeant,
            in_progress,
            dry_run,
            aborted: false,
        },
        conflicts: conflicts.into_inner(),
        kept,
        resolved,
    })
}

/// How many paths that were unmerged at a checkpoint, and are not here, become so.
fn unresolved_paths(saved: &TargetState, goal: &TargetState, present: &Snapshot) -> usize {
    let is_in = |lists: &Lists, path: &RepoPath| lists.conflicts.iter().any(|conflict| conflict.path == *path);
    let mut paths: Vec<_> = saved.lists.conflicts.iter().map(|conflict| &conflict.path).collect();
    paths.dedup();
    let brought = paths.into_iter().filter(|path| is_in(&goal.lists, path));
    brought.filter(|path| !is_in(&present.lists, path)).count()
}

/// How many paths that were staged at a checkpoint stay as they are in the index, where it has them otherwise.
fn not_staged(
    repo: &Repository,
    (checkpoint, saved): (&Checkpoint, &TargetState),
    goal: &TargetState,
    (present, mut paths): (&Snapshot, Option<PathFilter>),
) -> Result<usize, Error> {
    let head = checkpoint.document.git.head.as_ref().map(object_id);
    // The commit may be missing in a clone without all history; then this is not known.
    let staged = match head {
        Some(head) if checkpoint::commit_parts(repo, head).is_err() => Vec::new(),
        head => tree::diff(repo, head, Some(saved.index), tree::Renames::Off)?,
    };
    let mut is_meant = |path: &RepoPath| paths.as_mut().is_none_or(|paths| paths.keeps(path));
    let mut count = 0;
    let purged: HashSet<_> = saved.lists.purged().collect();
    let staged = staged.iter().map(|change| &change.path);
    for path in staged.filter(|path| !purged.contains(path)) {
        let then = tree::entry(repo, goal.index, path)?;
        let is_left =
            then != tree::entry(repo, saved.index, path)? && then == tree::entry(repo, present.index_tree, path)?;
        let is_unmerged = goal.lists.conflicts.iter().any(|conflict| conflict.path == *path);
        count += usize::from(is_meant(path) && (is_left || is_unmerged));
    }
    let intended = saved.lists.intent_to_add.iter();
    Ok(count
        + intended
            .filter(|path| is_meant(path) && !goal.lists.intent_to_add.contains(path))
            .count())
}

fn filter(scene: &Scene<'_>, note: &ApplyJournal) -> Result<Option<PathFilter>, Error> {
    pathspecs::filter(scene, &note.pathspecs, &note.directory)
}

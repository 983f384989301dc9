//! The files of a merge: the working tree with their changes since the common checkpoint merged in.

use super::{
    super::{
        Error, Scene,
        apply::{Base, MergeRun, OverlapRule, Sides, kept_lines, not_concluded, note_conflicts},
        bases,
        compose::{self, CurrentSnapshot},
        current_session, omissions,
        plan_runner::{
            self, AppliedPlan, MeanwhilePolicy, PathScope, PlanJob, PlanJournal, PlanOperation, ProgressCallback,
        },
        put_aside::WholeFiles,
        record::RecordFate,
        refuse, rerere,
        restore_outcome::{RestoreOutcome, RestoreSource},
        session_choice, suggestions,
        target_state::{TargetState, UnstagedChanges},
        unfinished,
    },
    MergeJournal, MergeMethod, MergeOutcome, MergeTips, WithoutFiles, latest_base, losers, outcome, publish,
};
use crate::{
    model::name::ShortName,
    store::{
        self, ObjectId, Repository,
        ancestry::MergeEdges,
        checkpoint::{Checkpoint, object_id},
        current,
        merge_state::ConflictCommand,
        objects::Writer,
        refs::{self, ExpectedValue, RefUpdate},
        session, tree,
    },
    worktree::journal::{self, Journal},
};
use std::cell::RefCell;

/// Whether files are merged: `None` for yes, else why not.
pub(super) fn choice(
    scene: &Scene<'_>,
    sides: &MergeTips,
    how: &MergeMethod,
    is_here: bool,
) -> Result<Option<WithoutFiles>, Error> {
    let (ours, theirs) = (&sides.ours.document, &sides.theirs.document);
    let refused = if theirs.snapshot.is_none() {
        WithoutFiles::NotSaved
    } else if !is_here {
        WithoutFiles::OtherSession
    } else if sides.relation(scene, MergeEdges::Files)?.bases.is_empty() {
        WithoutFiles::Unrelated
    } else if (&ours.worktree, &ours.host) == (&theirs.worktree, &theirs.host)
        && !same_worktree(scene, sides)?.is_missing
    {
        WithoutFiles::SameWorktree
    } else {
        return Ok((how.files == Some(false)).then_some(WithoutFiles::NotSaved));
    };
    match how.files {
        Some(true) if refused == WithoutFiles::NotSaved => Err(Error::NoFiles {
            subject: sides.from.to_string(),
            before: None,
        }),
        Some(true) => Ok(None),
        _ => Ok(Some(refused)),
    }
}

/// The tree of a checkpoint's files.
fn tree_of(checkpoint: &Checkpoint) -> Option<ObjectId> {
    let snapshot = checkpoint.document.snapshot.as_ref()?;
    Some(object_id(&snapshot.tree))
}

/// The changes of a session that was saved in this working tree as well, against the current files.
#[derive(Default)]
pub(super) struct SameWorktree {
    /// Whether some are not in them at all: the files were restored since.
    is_missing: bool,
    /// How many paths are otherwise. They may be what became of them.
    pub(super) differ: usize,
}

pub(super) fn same_worktree(scene: &Scene<'_>, sides: &MergeTips) -> Result<SameWorktree, Error> {
    let mut out = SameWorktree::default();
    let base = latest_base(scene, &sides.relation(scene, MergeEdges::Files)?.bases)?;
    let (Some(base), Some(theirs)) = (base.as_ref().and_then(tree_of), tree_of(&sides.theirs)) else {
        return Ok(out);
    };
    let writer = Writer::memory(scene.repo);
    let now = compose::snapshot(scene, &writer, &[])?.tree;
    let repo = writer.overlay(scene.repo);
    for change in tree::diff(&repo, Some(base), Some(theirs), tree::Renames::Off)? {
        let current = tree::entry(&repo, now, &change.path)?;
        if current != change.new {
            out.differ += 1;
            out.is_missing |= current == change.old;
        }
    }
    Ok(out)
}

/// Finishes a merge that was interrupted.
pub(in crate::ops) fn resume(
    scene: &Scene<'_>,
    journal: Journal,
    noted: &PlanJournal,
    dry_run: bool,
    progress: ProgressCallback<'_>,
) -> Result<RestoreOutcome, Error> {
    let note: MergeJournal = noted.parsed_note()?;
    let before = noted.start_state(scene)?;
    let sides = noted_sides(scene, &note)?;
    let how = MergeMethod { dry_run, ..note.how };
    let base = note.base.as_ref().map(object_id);
    let merged = run(scene, &sides, &how, None, Some((journal, before, base)), progress)?;
    merged.files.ok_or(Error::NotInterrupted)
}

/// Target state of the files of an interrupted merge.
pub(in crate::ops) fn interrupted_target(
    scene: &Scene<'_>,
    noted: &PlanJournal,
    repo: &Repository,
) -> Result<TargetState, Error> {
    let note: MergeJournal = noted.parsed_note()?;
    let before = noted.start_state(scene)?;
    let sides = noted_sides(scene, &note)?;
    let merged = merged_sides(scene, &sides, note.base.as_ref().map(object_id))?;
    let merging = MergeRun {
        sides: &merged,
        before: Some(&before),
        paths: None,
        index: note.how.index,
        label: &sides.label_with_id(),
        overlap: OverlapRule::default(),
        stages_unwritten: true,
    };
    Ok(merging.merge_into(repo, before.clone())?.0)
}

/// Moves the session back, if an interrupted merge that is taken back had moved it already.
pub(in crate::ops) fn forget(scene: &Scene<'_>, noted: &PlanJournal) -> Result<(), Error> {
    let note: MergeJournal = noted.parsed_note()?;
    let theirs = session_choice::load(scene, note.from.as_str(), object_id(&note.theirs))?;
    let Some(chosen) = session_choice::named(scene, &note.session)? else {
        return Ok(());
    };
    let mut edits = Vec::new();
    // One without files was made before.
    let merged = chosen.tip.document.merged.as_ref().filter(|merged| merged.files);
    let back = if note.continues_theirs {
        chosen.tip.merged()
    } else {
        chosen.tip.previous()
    };
    let other = if note.continues_theirs {
        chosen.tip.previous()
    } else {
        chosen.tip.merged()
    };
    let mut current = None;
    if let (Some(_), Some(back)) = (merged.filter(|_| other == Some(theirs.entry.id)), back) {
        let move_back = |name: &ShortName, expected: ExpectedValue, new: ObjectId| RefUpdate {
            name: session::ref_name(name),
            expected,
            new: Some(new),
            message: "checkpoint: merge aborted".to_owned(),
        };
        let is_now = ExpectedValue::Is(chosen.tip.entry.id);
        match &note.aside {
            Some(aside) => {
                edits.push(move_back(&note.session, is_now, theirs.entry.id));
                edits.push(move_back(aside, ExpectedValue::Absent, back));
                let ours = session_choice::load(scene, aside.as_str(), back)?.document.session;
                current = Some((chosen.tip.document.session.id, ours.id, aside));
            }
            None => edits.push(move_back(&note.session, is_now, back)),
        }
        edits.extend(losers::back(scene, &theirs)?);
    }
    if !edits.is_empty() {
        let committer = compose::people(scene).committer;
        refs::update(scene.repo, &edits, &committer, scene.wait)?;
    }
    if let Some((merged, ours, name)) = current {
        let (before, after) = current_session::follow(scene, &merged, &ours, name)?;
        if before != after {
            current::write(scene.repo, &after)?;
        }
    }
    Ok(())
}

fn noted_sides(scene: &Scene<'_>, note: &MergeJournal) -> Result<MergeTips, Error> {
    // One that was put aside is gone once the merge is on its session.
    let chosen = match &note.aside {
        Some(aside) => session_choice::named(scene, aside)?,
        None => None,
    };
    let chosen = match chosen {
        Some(chosen) => Some(chosen),
        None => session_choice::named(scene, &note.session)?,
    };
    Ok(MergeTips {
        session: note.session.clone(),
        ours: chosen.ok_or_else(|| suggestions::absent(scene, &note.session))?.tip,
        from: note.from.clone(),
        remote: note.remote.clone(),
        theirs: session_choice::load(scene, note.from.as_str(), object_id(&note.theirs))?,
        continues_theirs: note.continues_theirs,
        aside: note.aside.clone(),
    })
}

/// Sides of the merge of files; without a common checkpoint the merge base of their commits is the base, and without that the
/// commit that theirs was saved at.
fn merged_sides(scene: &Scene<'_>, sides: &MergeTips, base: Option<ObjectId>) -> Result<Sides, Error> {
    let theirs = TargetState::of(scene, &sides.theirs, sides.from.as_str())?;
    let mut omitted = Vec::new();
    let base = match latest_base(scene, base.as_slice())? {
        Some(common) if common.document.snapshot.is_some() => {
            let ours = match before_merge(sides).filter(|_| is_made(sides, true)) {
                Some(id) => &session_choice::load(scene, sides.session.as_str(), id)?,
                None => &sides.ours,
            };
            omitted = omissions::of(scene, &common, &sides.theirs, &theirs.lists)?;
            Base::common(scene, &common, ours)?
        }
        _ => Base::Tree(match (&sides.ours.document.git.head, &sides.theirs.document.git.head) {
            (Some(ours), Some(theirs)) => {
                let base = bases::merge_base(scene, ours, theirs)?;
                Some(object_id(base.as_ref().unwrap_or(theirs)))
            }
            (_, theirs) => theirs.as_ref().map(object_id),
        }),
    };
    Ok(Sides {
        whole: WholeFiles::of(scene, scene.repo, &sides.theirs, &theirs)?,
        purged: theirs.lists.purged().cloned().collect(),
        theirs,
        base,
        omitted,
        returned: Vec::new(),
    })
}

/// Merges: first the files, where they are meant, then the rest as one checkpoint. The caller holds the lock of the working
/// tree.
pub(super) fn run(
    scene: &Scene<'_>,
    sides: &MergeTips,
    how: &MergeMethod,
    without: Option<WithoutFiles>,
    interrupted: Option<(Journal, TargetState, Option<ObjectId>)>,
    progress: ProgressCallback<'_>,
) -> Result<MergeOutcome, Error> {
    let mut out = outcome(sides);
    out.note_files_left(scene, sides, how, without)?;
    let mut brought = None;
    if without.is_none() {
        let (mut plan, conflicts) = merge_files(scene, sides, how, interrupted, progress)?;
        if plan.is_done() && !how.dry_run {
            let paths: Vec<_> = conflicts.iter().map(|(path, _)| path.clone()).collect();
            out.resolved = rerere::run(scene, &mut plan, &paths)?;
        }
        out.file_conflicts = conflicts;
        brought = Some(plan);
    }
    let is_done = brought.as_ref().is_none_or(AppliedPlan::is_done);
    if is_done {
        publish::publish(scene, sides, how, brought.as_ref(), &mut out)?;
        if let Some(brought) = brought.as_ref().filter(|_| !how.dry_run) {
            let paths = out.file_conflicts.iter().map(|(path, _)| path.clone());
            let sessions = (Some(&sides.session), sides.label_of_theirs());
            note_conflicts(scene, ConflictCommand::Merge, sessions, brought, paths)?;
            journal::remove(scene.repo)?;
        }
    }
    out.files = brought.map(|brought| RestoreOutcome {
        operation: PlanOperation::Merge,
        from: Some(RestoreSource {
            id: sides.theirs.entry.id,
            session: Some(sides.from.clone()),
            document: Box::new(sides.theirs.document.clone()),
        }),
        brought: Some(brought),
        unstaged: UnstagedChanges::default(),
        record: RecordFate::NotMeant,
        in_progress: unfinished::OperationFate::NotMeant,
        dry_run: how.dry_run,
        aborted: false,
    });
    Ok(out)
}

type FileConflicts = Vec<(crate::model::path::RepoPath, crate::model::report::MergeVerdict)>;

fn merge_files(
    scene: &Scene<'_>,
    sides: &MergeTips,
    how: &MergeMethod,
    interrupted: Option<(Journal, TargetState, Option<ObjectId>)>,
    progress: ProgressCallback<'_>,
) -> Result<(AppliedPlan, FileConflicts), Error> {
    let base = match &interrupted {
        Some((_, _, base)) => *base,
        None => sides.relation(scene, MergeEdges::Files)?.bases.first().copied(),
    };
    let (journal, before) = interrupted.map(|(journal, before, _)| (journal, before)).unzip();
    let continued = journal.is_some();
    // What came since the interruption is none of its.
    let only = journal.as_ref().and_then(|journal: &Journal| journal.paths.clone());
    let merged = merged_sides(scene, sides, base)?;
    let label = sides.label_with_id();
    let merging = MergeRun {
        sides: &merged,
        before: before.as_ref(),
        paths: None,
        index: how.index,
        label: &label,
        overlap: OverlapRule::default(),
        stages_unwritten: true,
    };
    let conflicts = RefCell::new(Vec::new());
    let partial = RefCell::new(Vec::new());
    let stays = RefCell::new(Vec::new());
    let note = MergeJournal::new(sides, base, how);
    let job = PlanJob {
        operation: PlanOperation::Merge,
        summary: format!("before merging {}", sides.from),
        scope: PathScope {
            only: only.map(|paths| paths.into_iter().collect()),
            trusted: how.force,
            include: how.force,
            // Conflicts are in it as unmerged entries.
            index: true,
            ..PathScope::default()
        },
        goal: &|repo: &Repository, present: &CurrentSnapshot| {
            let (goal, found, lacking) = merging.merge(repo, present)?;
            *conflicts.borrow_mut() = found;
            *partial.borrow_mut() = lacking;
            *stays.borrow_mut() = kept_lines(repo, &merged, &goal, None)?;
            Ok(goal)
        },
        refuse: &|repo, present, _| {
            if how.force || continued {
                return Ok(Vec::new());
            }
            let open = not_concluded(scene, repo, present)?;
            Ok(refuse::in_progress(present).into_iter().chain(open).collect())
        },
        meanwhile: MeanwhilePolicy::Merge,
        note: serde_json::to_value(&note).unwrap_or_default(),
        journal,
        dry_run: how.dry_run,
        expectation: plan_runner::PlanExpectation::default(),
        progress,
    };
    let mut brought = plan_runner::apply_plan(scene, &job)?;
    brought.lines.extend(stays.take());
    if brought.is_done() {
        let root = store::work_tree(scene.repo)?;
        brought.partial = merged.whole.lacking(scene, root, partial.take())?;
    }
    Ok((brought, conflicts.into_inner()))
}

/// Whether the latest checkpoint of a session is the merge already, as a killed call left it. One without files is another
/// merge than one with files.
pub(super) fn is_made(sides: &MergeTips, has_files: bool) -> bool {
    let tip = &sides.ours;
    let other = if sides.continues_theirs {
        tip.previous()
    } else {
        tip.merged()
    };
    let is_like = tip
        .document
        .merged
        .as_ref()
        .is_some_and(|merged| merged.files == has_files);
    is_like && other == Some(sides.theirs.entry.id)
}

/// The checkpoint before a merge that was made already.
pub(super) fn before_merge(sides: &MergeTips) -> Option<ObjectId> {
    if sides.continues_theirs {
        sides.ours.merged()
    } else {
        sides.ours.previous()
    }
}

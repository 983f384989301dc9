//! After an apply or merge with conflicts: what is left to resolve, its conclusion, and whether there is a way back.

use std::collections::BTreeSet;

use super::super::{
    Error, Scene, chat,
    compose::{self, CurrentSnapshot},
    ids::short,
    markers,
    plan_runner::AppliedPlan,
    refuse::Refusal,
    rerere,
    save::{OverClaim, SaveRequest},
    session_choice, suggestions,
    target_state::{self, TargetState},
};
use super::discarded::{ResolutionState, resolution};
use crate::{
    model::{document::CheckpointKind, id::Oid, list::Source, name::ShortName, operation::Operation, path::RepoPath},
    os,
    store::{
        ObjectId, Repository,
        checkpoint::{self, object_id, oid},
        draft, facts, lock,
        merge_state::{self, ConflictCommand, MergeState},
        objects::Writer,
        session, steps, tree,
        undo::{self, Effect, UndoEntry},
    },
    worktree::restore::{
        self,
        index::{self, IndexChange, IndexState},
    },
};

/// Whether this command is what undo comes to.
pub fn is_last(scene: &Scene<'_>, command: ConflictCommand) -> Result<bool, Error> {
    let list = undo::read(scene.repo)?;
    Ok(list.undoable().is_some_and(|entry| entry.operation == command.word()))
}

/// The unmerged paths of the index.
pub fn unmerged_paths(scene: &Scene<'_>) -> Result<Vec<RepoPath>, Error> {
    let snapshot = compose::snapshot(scene, &Writer::memory(scene.repo), &[])?;
    Ok(snapshot.lists.unmerged().cloned().collect())
}

/// The paths of a merge or apply in which conflict markers are left.
pub fn marked(scene: &Scene<'_>, state: &MergeState) -> Result<Vec<RepoPath>, Error> {
    Ok(markers::marked(scene, &state.paths)?)
}

/// The merge or apply whose conflicts are being resolved in this working tree.
pub fn in_conflict(scene: &Scene<'_>) -> Result<Option<MergeState>, Error> {
    Ok(merge_state::read(scene.repo)?)
}

/// The same, unless git has ended it: the paths of an apply are committed, or reset to HEAD. A merge is not over before
/// its session has a checkpoint with the resolution. `repo` reads the present.
pub(in crate::ops) fn pending(
    scene: &Scene<'_>,
    repo: &Repository,
    present: &CurrentSnapshot,
) -> Result<Option<MergeState>, Error> {
    let (Some(state), Some(snapshot)) = (in_conflict(scene)?, &present.snapshot) else {
        return Ok(None);
    };
    let is_unmerged = snapshot.lists.unmerged().any(|path| state.paths.contains(path));
    if state.session.is_some() || is_unmerged {
        return Ok(Some(state));
    }
    if present.facts.head != head_before(scene, &state)? {
        return Ok(None);
    }
    let head = tree::tree_of(repo, present.facts.head.as_ref().map(object_id))?;
    for path in &state.paths {
        if tree::entry(repo, snapshot.index_tree, path)? != tree::entry(repo, head, path)? {
            return Ok(Some(state));
        }
    }
    Ok(None)
}

/// The reason not to bring more changes while the conflicts of a merge or apply are open: there is one way back.
pub(in crate::ops) fn not_concluded(
    scene: &Scene<'_>,
    repo: &Repository,
    present: &CurrentSnapshot,
) -> Result<Option<Refusal>, Error> {
    let state = pending(scene, repo, present)?;
    Ok(state.map(|state| Refusal::NotConcluded {
        operation: state.operation,
        from: state.from,
    }))
}

/// Whether the paths of an apply with conflicts were committed since, so that nothing is left to go back from.
pub fn is_committed(scene: &Scene<'_>, state: &MergeState) -> Result<bool, Error> {
    if state.session.is_some() || facts::git_facts(scene.repo, None)?.head == head_before(scene, state)? {
        return Ok(false);
    }
    let unmerged = unmerged_paths(scene)?;
    Ok(!unmerged.iter().any(|path| state.paths.contains(path)))
}

/// HEAD when a merge or apply began. Without its safety checkpoint nothing can be gone back from any more.
fn head_before(scene: &Scene<'_>, state: &MergeState) -> Result<Option<Oid>, Error> {
    let before = files_before(scene, state)?;
    let before = before.and_then(|before| checkpoint::load(scene.repo, before).ok());
    Ok(before.and_then(|before| before.document.git.head))
}

/// The safety checkpoint of the files as they were before a merge or apply.
fn files_before(scene: &Scene<'_>, state: &MergeState) -> Result<Option<ObjectId>, Error> {
    let list = undo::read(scene.repo)?;
    let before = list.entry(state.n).and_then(|(entry, _)| entry.files_before());
    Ok(before.map(object_id))
}

/// Notes that a merge or apply has conflicts. It is on the undo list by now.
pub(in crate::ops) fn note_conflicts(
    scene: &Scene<'_>,
    operation: ConflictCommand,
    (session, from): (Option<&ShortName>, String),
    brought: &AppliedPlan,
    paths: impl Iterator<Item = RepoPath>,
) -> Result<(), Error> {
    let paths: BTreeSet<RepoPath> = paths.collect();
    let (Some(safety), false) = (brought.safety, paths.is_empty()) else {
        return Ok(());
    };
    let state = MergeState {
        operation,
        n: safety.n,
        session: session.cloned(),
        from,
        paths: paths.into_iter().collect(),
        token: os::random_token().map_err(Error::Random)?,
    };
    Ok(merge_state::write(scene.repo, &state)?)
}

/// End of a merge of which every conflict is resolved.
pub struct MergeConclusion {
    /// The checkpoint with the resolution.
    pub request: SaveRequest,
    /// The draft and its last operation, where the draft has nothing but resolutions of conflicts of the record.
    pub resolved: Option<(String, u64)>,
}

/// The checkpoint that concludes a merge of which every conflict is resolved: it has the resolution. Entries of the index
/// that were flagged before the merge are flagged again.
pub fn conclusion(scene: &Scene<'_>, state: &MergeState, dry_run: bool) -> Result<Option<MergeConclusion>, Error> {
    if !dry_run {
        flag_again(scene, state)?;
    }
    let Some(name) = &state.session else {
        return Ok(None);
    };
    let chosen = session_choice::named(scene, name)?.ok_or_else(|| suggestions::absent(scene, name))?;
    let document = &chosen.tip.document;
    let waiting = draft::read(scene.repo, &document.session.id)?;
    let resolves = |(_, operation): &(u64, Operation)| operation.resolves.is_some() || !operation.says_something();
    let is_resolution = waiting.after(&document.folded).all(resolves);
    let last = waiting.last();
    let mut subject = session_choice::carried(&chosen.tip, name);
    session_choice::with_draft(scene, &chosen.tip, &mut subject)?;
    // Those of the record are resolved one by one, and may be left.
    let which = if subject.record.conflicts.is_empty() {
        "the conflicts"
    } else {
        "the conflicts in files"
    };
    Ok(Some(MergeConclusion {
        request: SaveRequest {
            status: document.session.status,
            trigger: Some(merge_state::CONCLUSION.to_owned()),
            summary: Some(format!("resolved {which} of merging {}", state.from)),
            start: false,
            claim: OverClaim::Forced,
            dry_run,
            ..SaveRequest::new(CheckpointKind::Event)
        },
        resolved: waiting.id.zip(last).filter(|_| is_resolution),
    }))
}

/// The merge that a checkpoint of its session may conclude: every conflict is resolved, in the files or by a commit of git.
/// The other half is why it is not, where it is none.
pub fn concludable(scene: &Scene<'_>, session: &ShortName) -> Result<Option<(MergeState, ResolutionState)>, Error> {
    let state = in_conflict(scene)?.filter(|state| state.session.as_ref() == Some(session));
    let Some(state) = state else { return Ok(None) };
    let unmerged = unmerged_paths(scene)?;
    if unmerged.iter().any(|path| state.paths.contains(path)) {
        return Ok(None);
    }
    let resolution = resolution(scene, &state)?;
    Ok(Some((state, resolution)))
}

/// Concludes a merge with a checkpoint of its session that has the resolution, and more that it may have.
pub fn conclude_with_save(scene: &Scene<'_>, state: &MergeState) -> Result<(), Error> {
    flag_again(scene, state)?;
    concluded(scene, state, None)
}

/// Forgets a merge or apply that is concluded. Its entry of the undo list gets the resolution: an undo takes back both.
/// A merge is noted again in any case: what was saved before its conclusion is no later command.
pub fn concluded(scene: &Scene<'_>, state: &MergeState, resolved: Option<&(String, u64)>) -> Result<(), Error> {
    let _worktree = lock::worktree(scene.repo, scene.wait)?;
    rerere::learn(scene);
    let list = undo::read(scene.repo)?;
    if let Some((entry, None)) = list.entry(state.n) {
        let mut entry = entry.clone();
        note_resolved_files(scene, state)?;
        if note_resolution(scene, (state, resolved), &mut entry)? || state.session.is_some() {
            undo::note(scene.repo, entry)?;
        }
    }
    Ok(merge_state::remove(scene.repo)?)
}

/// Notes for undo what the resolved files are, so that they do not count as changed since.
fn note_resolved_files(scene: &Scene<'_>, state: &MergeState) -> Result<(), Error> {
    let mut changes = undo::changes(scene.repo, state.n)?;
    let states = restore::states(scene.repo, &state.paths)?;
    for (path, now) in state.paths.iter().zip(states) {
        let Some(now) = now else { continue };
        match changes.iter_mut().find(|(changed, _)| changed == path) {
            Some((_, known)) => *known = now,
            // The merge left the file as it was; its resolution may not have.
            None => changes.push((path.clone(), now)),
        }
    }
    Ok(undo::write_changes(scene.repo, state.n, &changes)?)
}

/// Lets the entry of a merge end at the checkpoint with the resolution, if that has nothing else that is new.
fn note_resolution(
    scene: &Scene<'_>,
    (state, resolved): (&MergeState, Option<&(String, u64)>),
    entry: &mut UndoEntry,
) -> Result<bool, Error> {
    let Some(name) = &state.session else {
        return Ok(false);
    };
    let Some(chosen) = session_choice::named(scene, name)? else {
        return Ok(false);
    };
    let tip = &chosen.tip;
    let Some(merged) = tip.previous() else {
        return Ok(false);
    };
    let merge = session_choice::load(scene, name.as_str(), merged)?;
    let full = session::ref_name(name);
    let (new, old) = (&tip.document, &merge.document);
    let is_same = |kept: &&str| new.trees.get(*kept) == old.trees.get(*kept);
    // Resolutions of the record belong to it as those of files do.
    let is_resolved = resolved.is_some_and(|(draft, last)| new.folded.get(draft) == Some(last));
    let is_only_files = new.trigger.as_deref() == Some(merge_state::CONCLUSION)
        && (is_resolved || new.record == old.record && new.session == old.session && is_same(&steps::DIRECTORY))
        && chat::SIBLINGS.iter().all(is_same);
    for effect in &mut entry.effects {
        if let Effect::Ref { name, new, .. } = effect
            && *name == full
            && *new == Some(oid(merged))
            && is_only_files
        {
            *new = Some(oid(tip.entry.id));
            return Ok(true);
        }
    }
    Ok(false)
}

/// Sets the flags that entries had before they were unmerged. Those of a sparse checkout follow from its patterns.
fn flag_again(scene: &Scene<'_>, state: &MergeState) -> Result<(), Error> {
    let Some(before) = files_before(scene, state)? else {
        return Ok(());
    };
    let subject = short(before);
    let before = checkpoint::load(scene.repo, before).map_err(Error::damaged(&*subject))?;
    let before = TargetState::of(scene, &before, &subject)?;
    let is_flagged = |path: &&RepoPath| {
        let origin = before.lists.origin_of(path.as_bytes());
        origin.is_some_and(|origin| origin.source != Source::Index && !origin.flags.is_empty())
    };
    let mut paths: Vec<RepoPath> = state.paths.iter().filter(is_flagged).cloned().collect();
    if paths.is_empty() {
        return Ok(());
    }
    let _worktree = lock::worktree(scene.repo, scene.wait)?;
    // What a conclusion that was killed left.
    index::unlock(scene.repo, scene.index, &state.token)?;
    let writer = Writer::memory(scene.repo);
    let snapshot = compose::snapshot(scene, &writer, &[])?;
    let repo = writer.overlay(scene.repo);
    paths.retain(|path| tree::entry(&repo, snapshot.index_tree, path).is_ok_and(|entry| entry.is_some()));
    let mut lists = snapshot.lists.clone();
    lists.origin.clone_from(&before.lists.origin);
    let then = IndexState {
        lists: &lists,
        ..target_state::staged(&snapshot)
    };
    let mut change = IndexChange {
        paths,
        ..IndexChange::default()
    };
    let lock = index::lock(scene.repo, scene.index, &state.token, scene.wait)?;
    Ok(index::write(&repo, &lock, then, &mut change)?)
}

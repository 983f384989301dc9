//! `delete`: a session to the trash, from which `undo` brings it back until a prune empties it.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Error, Scene, compose,
    ref_transaction::{Aftermath, UndoableRefTransaction},
    refuse, select, session_choice, trash,
};
use crate::{
    model::{document::Document, name::ShortName, selector::Selector},
    store::{
        ObjectId, autosave, branches, checkpoint,
        current::{self, SessionRef},
        lock, quarantine,
        refs::{self, ExpectedValue, RefUpdate},
        session,
    },
};

/// A session that was deleted.
#[derive(Debug)]
pub struct DeletedSession {
    /// Its name.
    pub name: ShortName,
    /// Its latest checkpoint.
    pub tip: ObjectId,
    /// How many checkpoints it had, those of its source not counted; `None` if they cannot all be read.
    pub checkpoints: Option<usize>,
    /// The ref that keeps it.
    pub trash: String,
    /// The branch that was made for it, where it is a fork and the branch is there and not checked out.
    pub branch: Option<String>,
}

/// Sessions that were deleted together, so that one undo brings all of them back.
#[derive(Debug)]
pub struct Deletion {
    /// The sessions, each once.
    pub sessions: Vec<DeletedSession>,
    /// Damaged sessions that are gone, which nothing brings back: the name, and where the file of an unreadable ref is kept.
    pub damaged: Vec<(String, Option<String>)>,
    /// Warnings and clean-ups after the change.
    pub aftermath: Aftermath,
}

/// Deletes a session whose ref cannot be read or names a checkpoint that is missing. There is nothing that the trash could
/// hold: the file of an unreadable ref goes to quarantine. Another copy of the checkpoint can be imported or fetched.
fn delete_damaged(scene: &Scene<'_>, name: &str, dry_run: bool) -> Result<Option<(String, Option<String>)>, Error> {
    let full = format!("{}{name}", session::PREFIX);
    let refs = refs::list(scene.repo, session::PREFIX)?;
    if !refs.iter().any(|(other, target)| *other == full && target.is_err()) {
        return Ok(None);
    }
    if dry_run {
        return Ok(Some((name.to_owned(), None)));
    }
    let kept = quarantine::keep_ref(scene.repo, &full)?.map(|path| path.display().to_string());
    let message = format!("checkpoint: delete {name}");
    let gone = edit(&full, ExpectedValue::Unreadable, None, &message);
    refs::update(scene.repo, &[gone], &compose::people(scene).committer, scene.wait)?;
    let now = current::read_to_replace(scene.repo)?;
    if let Some(session) = now.session.clone().filter(|session| session.name.as_str() == name) {
        current::write(scene.repo, &now.left(&session.id))?;
    }
    Ok(Some((name.to_owned(), kept)))
}

/// Deletes sessions, all of them or none, or in a dry run only finds out what that would take. With `force` damaged ones
/// as well, each on its own, and those that another agent or person has claimed.
pub fn delete(scene: &Scene<'_>, selectors: &[Selector], force: bool, dry_run: bool) -> Result<Deletion, Error> {
    let mut _worktree = None;
    if !dry_run {
        _worktree = Some(lock::worktree(scene.repo, scene.wait)?);
    }
    refs::recover(scene.repo, scene.wait)?;
    let mut found = BTreeMap::new();
    let mut order = Vec::new();
    let mut damaged = Vec::new();
    for selector in selectors {
        if force && let Some(gone) = delete_damaged(scene, &selector.to_string(), dry_run)? {
            damaged.push(gone);
            continue;
        }
        let (name, tip) = select::session(scene, selector)?;
        let checkpoint = checkpoint::load(scene.repo, tip).map_err(Error::damaged(name.as_str()))?;
        if !force {
            refuse::claimed(scene, &name, &checkpoint.document.session)?;
        }
        let branch = own_branch(scene, &checkpoint.document);
        let id = checkpoint.document.session.id;
        // A session may be meant twice, by its name and by another word.
        if found.insert((id.clone(), name.clone()), (tip, branch)).is_none() {
            order.push((id, name));
        }
    }
    // In the order of their identities, in which every command takes several.
    let ids: BTreeSet<&str> = found.keys().map(|(id, _)| id.as_str()).collect();
    let mut locks = Vec::new();
    for id in &ids {
        locks.push(lock::session(scene.repo, id, scene.wait)?);
    }
    let mut there = session_choice::identified(scene, |id| ids.contains(id))?;
    let before = current::read_to_replace(scene.repo)?;
    let mut after = before.clone();
    let (mut sessions, mut edits) = (Vec::new(), Vec::new());
    for (id, name) in &order {
        let (tip, branch) = &found[&(id.clone(), name.clone())];
        // Those that were deleted before this one are gone by now.
        there.retain(|(_, other, _)| other != name);
        let twins = there.iter().filter(|(other, ..)| other == id);
        let twins: Vec<_> = twins.map(|(_, name, tip)| (name, *tip)).collect();
        let moves = to_trash(scene, id, (name, *tip), &twins, &edits)?;
        let is_other = |current: &SessionRef| twins.iter().any(|(twin, _)| **twin == current.name);
        if !before.session.as_ref().is_some_and(is_other) {
            after = after.left(id);
        }
        let own = session::chain(scene.repo, *tip)
            .map(Result::ok)
            .collect::<Option<Vec<_>>>();
        sessions.push(DeletedSession {
            name: name.clone(),
            tip: *tip,
            checkpoints: own.map(|own| own.len()),
            trash: moves[0].name.clone(),
            branch: branch.clone(),
        });
        edits.extend(moves);
    }
    let mut deletion = Deletion {
        sessions,
        damaged,
        aftermath: Aftermath::default(),
    };
    if dry_run || edits.is_empty() {
        return Ok(deletion);
    }
    let names: Vec<_> = deletion.sessions.iter().map(|session| session.name.as_str()).collect();
    let word = if names.len() == 1 { "session" } else { "sessions" };
    deletion.aftermath = UndoableRefTransaction {
        operation: "delete",
        what: format!("deleted {word} {}", names.join(", ")),
        edits: &edits,
        current: Some((before, after)),
        remedy: "a missing session counts as none".to_owned(),
        ..UndoableRefTransaction::default()
    }
    .run(scene)?;
    Ok(deletion)
}

/// Begin of the names of the branches that are made for forks.
const OF_FORKS: &str = "checkpoint/";

/// The branch that was made for the session of a fork, unless it is gone or checked out here.
fn own_branch(scene: &Scene<'_>, document: &Document) -> Option<String> {
    let branch = document.git.branch.as_ref()?;
    let is_own = document.session.forked_from.is_some() && branch.starts_with(OF_FORKS);
    let here = branches::active(scene.repo).unwrap_or_default();
    let is_there = || {
        matches!(
            branches::resolve(scene.repo, &format!("refs/heads/{branch}")),
            Ok(Some(_))
        )
    };
    (is_own && here.as_ref() != Some(branch) && is_there()).then(|| branch.clone())
}

/// The moves of a session's refs to the trash, that of the session first, after other `edits`. Where `twins` have the same
/// identity, the autosaves that are not based on this latest checkpoint alone stay theirs.
fn to_trash(
    scene: &Scene<'_>,
    id: &str,
    (name, tip): (&ShortName, ObjectId),
    twins: &[(&ShortName, ObjectId)],
    edits: &[RefUpdate],
) -> Result<Vec<RefUpdate>, Error> {
    let message = trash::deletion(name.as_str());
    let prefix = format!("{}{id}/", trash::TRASH);
    let taken = edits.iter().filter(|edit| edit.name.starts_with(&prefix)).count();
    let mut n = refs::next_number(scene.repo, &prefix)? + taken as u64;
    let mut chains = twins.iter().flat_map(|(_, twin)| session::chain(scene.repo, *twin));
    let is_shared = chains.any(|entry| entry.is_ok_and(|entry| entry.id == tip));
    let mut gone = vec![(session::ref_name(name), tip)];
    for (autosave, target) in autosave::refs_of(scene.repo, id)? {
        // A damaged one is nothing to keep; repair looks at it.
        let Ok(target) = target else { continue };
        let is_own = || {
            let found = checkpoint::load(scene.repo, target);
            !is_shared && found.is_ok_and(|found| found.previous() == Some(tip))
        };
        let is_moved = edits.iter().any(|edit| edit.name == autosave);
        if !is_moved && (twins.is_empty() || is_own()) {
            gone.push((autosave, target));
        }
    }
    let mut edits = Vec::new();
    for (full, target) in gone {
        let trash = format!("{prefix}{n}");
        n += 1;
        edits.push(edit(&trash, ExpectedValue::Absent, Some(target), &message));
        edits.push(edit(&full, ExpectedValue::Is(target), None, &message));
    }
    Ok(edits)
}

fn edit(name: &str, expected: ExpectedValue, new: Option<ObjectId>, message: &str) -> RefUpdate {
    RefUpdate {
        name: name.to_owned(),
        expected,
        new,
        message: message.to_owned(),
    }
}

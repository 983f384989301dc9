//! The forks of a repository with their working trees and changes, and the removal of a working tree after everything in it
//! is saved.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use super::super::{
    Error, Scene, compose, plan_runner,
    receipt::CheckpointOutcome,
    save,
    save::{OverClaim, SaveRequest},
    session_choice, suggestions, verify,
};
use crate::{
    model::{
        document::{CheckpointKind, SessionStatus},
        name::ShortName,
        path::RepoPath,
    },
    os,
    store::{
        self, ObjectId,
        checkpoint::{self, object_id, oid},
        current,
        objects::Writer,
        session,
        tree::{self, Renames},
    },
};

/// A session that was forked from another one.
#[derive(Debug)]
pub struct ForkSummary {
    /// Its name.
    pub session: ShortName,
    /// The session it was forked from, by its name at that time.
    pub source: ShortName,
    /// The option of a fork point that it explores.
    pub option: Option<String>,
    /// Its status.
    pub status: SessionStatus,
    /// Its latest checkpoint.
    pub id: ObjectId,
    /// Its subject.
    pub subject: String,
    /// Number of checkpoints since the fork.
    pub checkpoints: usize,
    /// Files that it changed since the fork.
    pub changed: Vec<RepoPath>,
    /// The working tree whose current session it is.
    pub worktree: Option<PathBuf>,
    /// How many files there differ from its latest checkpoint; `None` without a working tree that can be read.
    pub unsaved: Option<usize>,
}

/// Every fork, by name. Damaged sessions are passed over: `verify` reports them.
pub fn all(scene: &Scene<'_>) -> Result<Vec<ForkSummary>, Error> {
    let places = places(scene);
    let mut out = Vec::new();
    for found in session::all(scene.repo)? {
        let (Ok(name), Ok(tip)) = (ShortName::new(found.name), found.tip) else {
            continue;
        };
        let Ok(tip) = checkpoint::load(scene.repo, tip.id) else {
            continue;
        };
        let Some(from) = tip.document.session.forked_from.clone() else {
            continue;
        };
        let chain: Vec<_> = session::chain(scene.repo, tip.entry.id).map_while(Result::ok).collect();
        let first = chain
            .last()
            .and_then(|first| checkpoint::load(scene.repo, first.id).ok());
        let files = |checkpoint: &checkpoint::Checkpoint| {
            let snapshot = checkpoint.document.snapshot.as_ref();
            snapshot.map(|snapshot| object_id(&snapshot.tree))
        };
        let changed = match (first.as_ref().and_then(files), files(&tip)) {
            (Some(old), Some(new)) => tree::diff(scene.repo, Some(old), Some(new), Renames::Exact)?,
            _ => Vec::new(),
        };
        let worktree = places.get(&tip.document.session.id).cloned();
        let unsaved = worktree.as_ref().zip(files(&tip));
        out.push(ForkSummary {
            unsaved: unsaved.and_then(|(path, saved)| unsaved_files(scene, path, saved)),
            source: from.session,
            option: from.option,
            status: tip.document.session.status,
            id: tip.entry.id,
            subject: tip.entry.subject.clone(),
            checkpoints: chain.len().saturating_sub(1),
            changed: changed.into_iter().map(|change| change.path).collect(),
            worktree,
            session: name,
        });
    }
    out.sort_by(|a, b| a.session.cmp(&b.session));
    Ok(out)
}

/// How many files of a working tree differ from those that were saved.
fn unsaved_files(scene: &Scene<'_>, path: &Path, saved: ObjectId) -> Option<usize> {
    let repo = store::open_worktree(scene.repo, path).ok()?;
    let there = Scene {
        repo: &repo,
        index: None,
        ..*scene
    };
    let writer = Writer::memory(&repo);
    let present = compose::present(&there, &writer, true, &[]).ok()?;
    let overlay = writer.overlay(&repo);
    let changes = tree::diff(&overlay, Some(saved), Some(present.snapshot?.tree), Renames::Exact);
    Some(changes.ok()?.len())
}

/// The working tree of each session that is current in one, by identity.
fn places(scene: &Scene<'_>) -> HashMap<String, PathBuf> {
    let mut out = HashMap::new();
    for id in store::worktree_ids(scene.repo) {
        let Some(path) = store::worktree_path(scene.repo, &id) else {
            continue;
        };
        let current = store::open_worktree(scene.repo, &path)
            .ok()
            .and_then(|repo| current::read(&repo).ok()?.session);
        if let Some(current) = current {
            out.insert(current.id, path);
        }
    }
    out
}

/// The working tree in which a session is current, by identity.
pub(super) fn place_of(scene: &Scene<'_>, session: &str) -> Option<PathBuf> {
    places(scene).remove(session).filter(|path| path.is_dir())
}

/// Removal of a fork's working tree.
#[derive(Debug)]
pub struct WorktreeRemoval {
    /// Its directory.
    pub path: PathBuf,
    /// The session.
    pub session: ShortName,
    /// The checkpoint that holds what was in it.
    pub saved: ObjectId,
    /// The branch that was checked out in it, which stays.
    pub branch: Option<String>,
}

/// Saves what is in the working tree of a fork and removes it; session and branch stay. Refuses if there are files that no
/// checkpoint holds, unless `force` is set.
pub fn remove_worktree(scene: &Scene<'_>, name: &ShortName, force: bool) -> Result<WorktreeRemoval, Error> {
    let chosen = session_choice::named(scene, name)?.ok_or_else(|| suggestions::absent(scene, name))?;
    let id = &chosen.tip.document.session.id;
    let none = || Error::PathTaken {
        what: format!("session '{name}' has no working tree of its own"),
    };
    let path = places(scene).remove(id).ok_or_else(none)?;
    let repo = store::open_worktree(scene.repo, &path)?;
    let is_linked = repo.git_dir() != repo.common_dir();
    let here = store::work_tree(scene.repo)?;
    if !is_linked {
        return Err(none());
    }
    if path.canonicalize().ok() == here.canonicalize().ok() {
        return Err(Error::OwnWorktree {
            session: name.clone(),
            other: elsewhere(scene, here),
        });
    }
    let there = Scene {
        repo: &repo,
        session: Some(name),
        index: None,
        ..*scene
    };
    plan_runner::refuse_pending(&there)?;
    let request = SaveRequest {
        status: chosen.tip.document.session.status,
        trigger: Some("before-removal".to_owned()),
        summary: Some("before its working tree was removed".to_owned()),
        start: false,
        claim: if force { OverClaim::Forced } else { OverClaim::Automatic },
        ..SaveRequest::new(CheckpointKind::Event)
    };
    let outcome = save::save(&there, request)?;
    let (CheckpointOutcome::Saved(receipt)
    | CheckpointOutcome::Unchanged(receipt)
    | CheckpointOutcome::Planned(receipt)) = outcome;
    let saved = receipt.id.ok_or(Error::ConcurrentModification)?;
    if !verify::is_intact(scene, saved) {
        return Err(Error::Unproved { id: oid(saved) });
    }
    let mut lost: Vec<RepoPath> = receipt.skipped.into_iter().map(|skipped| skipped.path).collect();
    lost.extend(ignored(&there, &path, here)?);
    lost.extend(super::submodules::at_risk(&path, here)?);
    lost.sort();
    lost.dedup();
    if !lost.is_empty() && !force {
        return Err(Error::NotAllSaved {
            session: name.clone(),
            paths: lost,
        });
    }
    let branch = store::branches::active(&repo)?;
    let git = store::git(scene.repo)
        .args(["worktree", "remove", "--force", "--"])
        .arg(&path);
    git.run().map_err(store::Error::from)?;
    os::trace::changed();
    super::super::fork_notes::forget(scene, name)?;
    Ok(WorktreeRemoval {
        path,
        session: name.clone(),
        saved,
        branch,
    })
}

/// A place from which another working tree can be removed: the main working tree, else another linked one, else the
/// repository, where that is bare.
fn elsewhere(scene: &Scene<'_>, here: &Path) -> PathBuf {
    let real = |path: &Path| path.canonicalize().ok();
    let trees = store::worktree_ids(scene.repo)
        .into_iter()
        .filter_map(|id| real(&store::worktree_path(scene.repo, &id)?));
    let mut others = trees.filter(|path| Some(path) != real(here).as_ref());
    let common = scene.repo.common_dir();
    others
        .next()
        .or_else(|| real(common))
        .unwrap_or_else(|| common.to_owned())
}

/// Ignored files that differ from those of this working tree: `checkpoint.forkCopy` copied the others from here.
fn ignored(there: &Scene<'_>, path: &Path, here: &Path) -> Result<Vec<RepoPath>, Error> {
    let output = store::git(there.repo)
        .args(["ls-files", "-z", "--others", "--ignored", "--exclude-standard"])
        .run()
        .map_err(store::Error::from)?;
    let paths = output.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    let is_other = |relative: &&[u8]| {
        let name = os::os_string(relative);
        !os::is_same_content(&path.join(&name), &here.join(&name)).unwrap_or(false)
    };
    Ok(paths.filter(is_other).map(RepoPath::from).collect())
}

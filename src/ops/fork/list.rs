//! The forks of a repository with their working trees and changes.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use super::super::{Error, Scene, compose, fork_notes};
use crate::{
    model::{document::SessionStatus, name::ShortName, path::RepoPath},
    store::{
        self, ObjectId,
        checkpoint::{self, object_id},
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
    /// The exit status of its set-up command, where that failed.
    pub failed_setup: Option<i32>,
}

/// Every fork, by name. Damaged sessions are passed over: `verify` reports them.
pub fn all(scene: &Scene<'_>) -> Result<Vec<ForkSummary>, Error> {
    let places = places(scene);
    let notes = fork_notes::all(scene)?;
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
            failed_setup: notes
                .iter()
                .find(|note| note.session == name)
                .and_then(|note| note.setup),
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

/// The working tree of each session that is current in one, by identity, or was until git checked out a branch there that has
/// no session; else the one that was made for it, also after the session was left there.
pub(super) fn places(scene: &Scene<'_>) -> HashMap<String, PathBuf> {
    let (mut out, mut before, mut made) = (HashMap::new(), Vec::new(), Vec::new());
    for id in store::worktree_ids(scene.repo) {
        let Some(path) = store::worktree_path(scene.repo, &id) else {
            continue;
        };
        let current = store::open_worktree(scene.repo, &path)
            .ok()
            .and_then(|repo| current::read(&repo).ok());
        let Some(current) = current else { continue };
        // A file of before it said which fork the working tree was made for.
        let last = current.previous.filter(|_| current.session.is_none() && is_linked(&id));
        made.extend(current.fork.or(last).map(|session| (session.id, path.clone())));
        match (current.session, current.elsewhere) {
            (Some(session), _) => {
                out.insert(session.id, path);
            }
            (None, Some(left)) => before.push((left.session.id, path)),
            (None, None) => {}
        }
    }
    for (id, path) in before.into_iter().chain(made) {
        out.entry(id).or_insert(path);
    }
    out
}

fn is_linked(worktree: &str) -> bool {
    worktree.starts_with("linked-")
}

/// The working tree in which a session is current, by identity.
pub(super) fn place_of(scene: &Scene<'_>, session: &str) -> Option<PathBuf> {
    places(scene).remove(session).filter(|path| path.is_dir())
}

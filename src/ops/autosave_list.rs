//! `list --autosaves`: the autosaves that can still be read.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Error, Scene, compose, parted};
use crate::{
    model::document::{CheckpointKind, Document},
    store::{
        ObjectId, autosave,
        checkpoint::{self, CheckpointCommit},
        refs,
        scan::ObjectReader,
        session,
    },
};

/// An autosave in the list.
#[derive(Debug)]
pub struct ListedAutosave {
    /// Its commit.
    pub entry: CheckpointCommit,
    /// The working tree it was made in.
    pub worktree: String,
    /// Whether its ref points to it.
    pub is_latest: bool,
    /// Whether a later checkpoint of that working tree has what it has, so that `resume` does not offer it.
    pub is_covered: bool,
}

/// The autosaves of all sessions and working trees, latest first.
pub fn autosaves(scene: &Scene<'_>) -> Result<Vec<ListedAutosave>, Error> {
    let mut reader = ObjectReader::of(scene.repo);
    let mut out = Vec::new();
    let refs = refs::list(scene.repo, autosave::PREFIX)?;
    let tips = if refs.is_empty() { BTreeMap::new() } else { tips(scene)? };
    for (full, target) in refs {
        let mut names = full.rsplit('/');
        let worktree = names.next().unwrap_or_default().to_owned();
        let tip = names.next().and_then(|session| tips.get(session)).copied();
        let latest = target.ok();
        let logged = refs::reflog(scene.repo, &full)?.into_iter().map(|entry| entry.new);
        let mut seen = HashSet::new();
        let ids: Vec<ObjectId> = latest.into_iter().chain(logged).filter(|id| seen.insert(*id)).collect();
        let last = latest.and_then(|id| checkpoint::load(scene.repo, id).ok());
        let chain = tip
            .zip(last)
            .map(|(tip, last)| LaterCheckpoints::of(scene, tip, &last.document));
        for id in ids {
            // git lets what only a reflog names expire.
            if let Ok(entry) = reader.checkpoint(id) {
                out.push(ListedAutosave {
                    is_covered: chain.as_ref().is_some_and(|chain| chain.cover(&entry)),
                    entry,
                    worktree: worktree.clone(),
                    is_latest: latest == Some(id),
                });
            }
        }
    }
    out.sort_by_key(|row| std::cmp::Reverse(row.entry.time));
    Ok(out)
}

/// The latest checkpoint of each session by its identity. Damaged ones are reported where they are read.
fn tips(scene: &Scene<'_>) -> Result<BTreeMap<String, ObjectId>, Error> {
    let all = session::all(scene.repo)?.into_iter();
    let tips = all.filter_map(|session| checkpoint::load(scene.repo, session.tip.ok()?.id).ok());
    Ok(tips
        .map(|tip| (tip.document.session.id.clone(), tip.entry.id))
        .collect())
}

/// The chain of a session, and where in it the last checkpoint of a working tree is.
pub(super) struct LaterCheckpoints {
    places: HashMap<ObjectId, usize>,
    of_here: Option<(usize, CheckpointCommit)>,
}

impl LaterCheckpoints {
    /// The chain that ends in a checkpoint, and its last checkpoint of the working tree of an autosave.
    pub(super) fn of(scene: &Scene<'_>, tip: ObjectId, autosave: &Document) -> Self {
        let here = compose::worktree_named(scene, &autosave.worktree.id);
        // Every clone has a main working tree, so the path counts as well; a repository that was moved has two.
        let is_path = |path: &String| *path == autosave.worktree.path || here.as_ref() == Some(path);
        let is_same = |document: &Document| {
            document.worktree.id == autosave.worktree.id
                && document.host == autosave.host
                && is_path(&document.worktree.path)
        };
        let chain = chain(scene, tip);
        // A fork begins with the files of its source.
        let is_here = |entry: &&CheckpointCommit| {
            entry.trailers.kind != Some(CheckpointKind::Fork)
                && checkpoint::load(scene.repo, entry.id).is_ok_and(|one| is_same(&one.document))
        };
        Self {
            places: chain.iter().zip(0..).map(|(entry, at)| (entry.id, at)).collect(),
            of_here: (0..)
                .zip(&chain)
                .find(|(_, entry)| is_here(entry))
                .map(|(at, entry)| (at, entry.clone())),
        }
    }

    /// Whether one of them came after the autosave: by the chain, and where the autosave is no longer based on it (after
    /// an undo, or a prune) by time.
    pub(super) fn cover(&self, autosave: &CheckpointCommit) -> bool {
        let Some((at, later)) = &self.of_here else { return false };
        match autosave.parents.first().and_then(|parent| self.places.get(parent)) {
            Some(place) => at < place,
            None => later.time >= autosave.time,
        }
    }
}

/// The checkpoints of a session, latest first. One that was parted from another one has those that went along.
fn chain(scene: &Scene<'_>, tip: ObjectId) -> Vec<CheckpointCommit> {
    let mut out = Vec::new();
    let mut next = Some(tip);
    while let Some(from) = next.take() {
        out.extend(session::chain(scene.repo, from).map_while(Result::ok));
        let first = out.last().filter(|first| parted::is_parted(&first.trailers));
        next = first.and_then(|first| first.parents.first().copied());
    }
    out
}

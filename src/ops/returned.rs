//! Content that was purged and that a session has again: a merge or pull brought checkpoints back as they were before.
//!
//! Which checkpoints those are is known from the ones that a purge wrote again: each names the commit that it replaces.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use super::{Error, Scene, ids::short};
use crate::{
    model::{document::CheckpointKind, path::RepoPath},
    store::{
        ObjectId,
        ancestry::{self, MergeEdges},
        checkpoint::{self, CheckpointCommit, object_id},
        rewrite, session,
    },
};

/// How many checkpoints are looked through.
const LOOKED_THROUGH: usize = 20_000;

/// The paths of which a session with this latest checkpoint has purged content again, sorted.
pub fn purged(scene: &Scene<'_>, tip: ObjectId) -> Result<Vec<RepoPath>, Error> {
    if !is_joined(scene, tip, None)? {
        return Ok(Vec::new());
    }
    let mut reached = HashSet::new();
    let mut entries = reachable(scene, tip, &mut reached)?;
    let own = checkpoint::load(scene.repo, tip).map_err(Error::damaged(short(tip)))?;
    // What a pull moved aside comes from the session that was purged.
    if let Some(source) = own.document.session.forked_from
        && let Some(source) = session::tip(scene.repo, &source.session)?
    {
        let mut known = reached.clone();
        entries.extend(reachable(scene, source, &mut known)?);
    }
    let mut replaced: BTreeMap<ObjectId, Vec<RepoPath>> = BTreeMap::new();
    for entry in &entries {
        let damaged = Error::damaged(short(entry.id));
        for line in rewrite::lines(scene.repo, entry).map_err(damaged)? {
            let is_purge = line.now.is_some() && line.now.as_ref() != Some(&line.digest);
            let before = object_id(&line.commit);
            if is_purge && line.now == entry.trailers.digest && reached.contains(&before) {
                let checkpoint = checkpoint::load(scene.repo, entry.id).map_err(Error::damaged(short(entry.id)))?;
                let lists = checkpoint::lists(scene.repo, &checkpoint).map_err(Error::damaged(short(entry.id)))?;
                replaced.entry(before).or_default().extend(lists.purged().cloned());
            }
        }
    }
    let paths: BTreeSet<_> = replaced.into_values().flatten().collect();
    Ok(paths.into_iter().collect())
}

/// The same, without what a session with another latest checkpoint has already.
pub fn purged_beyond(scene: &Scene<'_>, tip: ObjectId, known: Option<ObjectId>) -> Result<Vec<RepoPath>, Error> {
    if !is_joined(scene, tip, known)? {
        return Ok(Vec::new());
    }
    let mut paths = purged(scene, tip)?;
    if let Some(known) = known.filter(|_| !paths.is_empty()) {
        let known = purged(scene, known)?;
        paths.retain(|path| !known.contains(path));
    }
    Ok(paths)
}

/// Whether a chain has a merge or begins with a fork, up to a checkpoint where one is given. One without either has each
/// checkpoint once: as it was, or as it was written again.
fn is_joined(scene: &Scene<'_>, tip: ObjectId, until: Option<ObjectId>) -> Result<bool, Error> {
    for entry in session::chain(scene.repo, tip) {
        let entry = entry.map_err(Error::damaged(short(tip)))?;
        if until == Some(entry.id) {
            return Ok(false);
        }
        if entry.merged_commit().is_some() || entry.trailers.kind == Some(CheckpointKind::Fork) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The checkpoints that one is or comes from, merges included, but for those that `reached` has, which is extended.
fn reachable(
    scene: &Scene<'_>,
    tip: ObjectId,
    reached: &mut HashSet<ObjectId>,
) -> Result<Vec<CheckpointCommit>, Error> {
    let mut waiting = VecDeque::from([tip]);
    let mut entries = Vec::new();
    while let Some(id) = waiting.pop_front().filter(|_| entries.len() < LOOKED_THROUGH) {
        if !reached.insert(id) {
            continue;
        }
        let entry = checkpoint::entry(scene.repo, id).map_err(Error::damaged(short(id)))?;
        let before = ancestry::parents(scene.repo, &entry, MergeEdges::All);
        waiting.extend(before.map_err(Error::damaged(short(id)))?);
        entries.push(entry);
    }
    Ok(entries)
}

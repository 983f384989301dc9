//! Content that was purged and that a session has again: a merge or pull brought checkpoints back as they were before.
//!
//! Which checkpoints those are is known from the ones that a purge wrote again: each names the commit that it replaces, and
//! those that were dropped before or right after it. What was dropped here is on a list besides: a session that was brought
//! to another state may not have the checkpoint any more that names them.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use super::{Error, Scene, ids::short};
use crate::{
    model::{
        document::CheckpointKind,
        id::{Digest, Oid},
        path::RepoPath,
    },
    store::{
        ObjectId,
        ancestry::{self, MergeEdges},
        checkpoint::{self, CheckpointCommit, object_id, oid},
        purged,
        rewrite::{self, RewriteLine},
        session,
        tree::{self, Renames},
    },
};

/// How many checkpoints are looked through.
const LOOKED_THROUGH: usize = 20_000;

/// Purged content that a session has again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReturnedContent {
    /// Purged paths, sorted.
    pub paths: Vec<RepoPath>,
    /// Checkpoints that were purged as a whole, latest first.
    pub checkpoints: Vec<Oid>,
}

impl ReturnedContent {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.checkpoints.is_empty()
    }
}

/// The checkpoints that a session leads to, with what they replace.
struct ReachedHistory {
    /// The session's own, and of a fork those of its source, latest first.
    entries: Vec<(CheckpointCommit, Vec<RewriteLine>)>,
    /// The session's own.
    reached: HashSet<ObjectId>,
    /// Digests of checkpoints that were purged as a whole, there or here.
    gone: BTreeSet<Digest>,
}

impl ReachedHistory {
    /// `None` where nothing can have come back. `known` is another latest checkpoint of the session, whose purges count as
    /// well.
    fn read(scene: &Scene<'_>, tip: ObjectId, known: Option<ObjectId>) -> Result<Option<Self>, Error> {
        let mut gone = purged::read(scene.repo)?;
        if gone.is_empty() && known.is_none() && end_of_chain(scene, tip, None)? != ChainEnd::Joined {
            return Ok(None);
        }
        let mut reached = HashSet::new();
        let mut found = reachable(scene, tip, &mut reached)?;
        if let Some(known) = known {
            found.extend(reachable(scene, known, &mut reached.clone())?);
        }
        let own = checkpoint::load(scene.repo, tip).map_err(Error::damaged(short(tip)))?;
        // What a pull moved aside comes from the session that was purged.
        if let Some(source) = own.document.session.forked_from
            && let Some(source) = session::tip(scene.repo, &source.session)?
        {
            let mut known = reached.clone();
            found.extend(reachable(scene, source, &mut known)?);
        }
        let mut entries = Vec::with_capacity(found.len());
        for entry in found {
            let lines = rewrite::lines(scene.repo, &entry).map_err(Error::damaged(short(entry.id)))?;
            gone.extend(rewrite::purged(&lines));
            entries.push((entry, lines));
        }
        Ok(Some(Self { entries, reached, gone }))
    }

    /// The purged paths that it has again: of copies of one checkpoint, one was purged of them, and one that the session
    /// leads to was not.
    fn paths(&self, scene: &Scene<'_>) -> Result<BTreeSet<RepoPath>, Error> {
        let mut copies: BTreeMap<Digest, Vec<&CheckpointCommit>> = BTreeMap::new();
        let mut purges = Vec::new();
        for (entry, lines) in &self.entries {
            let Some(digest) = entry.trailers.digest.clone() else {
                continue;
            };
            let digests = rewrite::digests_by(digest, lines);
            // A prune leaves the digest as it is.
            if digests.len() > 1 {
                purges.push((entry, digests.clone()));
            }
            for digest in digests {
                copies.entry(digest).or_default().push(entry);
            }
        }
        let mut found = BTreeSet::new();
        for (entry, digests) in purges {
            let of_same = digests.iter().filter_map(|digest| copies.get(digest)).flatten();
            let others = of_same
                .filter(|other| other.trailers.digest != entry.trailers.digest && self.reached.contains(&other.id));
            let others: BTreeMap<ObjectId, &CheckpointCommit> = others.map(|other| (other.id, *other)).collect();
            if others.is_empty() {
                continue;
            }
            let purged = purged_of(scene, entry)?;
            for other in others.into_values() {
                let known = purged_of(scene, other)?;
                found.extend(purged.difference(&known).cloned());
            }
        }
        Ok(found)
    }

    /// The checkpoints that it has again.
    fn checkpoints(&self) -> Vec<&CheckpointCommit> {
        let is_back = |(entry, lines): &&(CheckpointCommit, Vec<RewriteLine>)| {
            let is_first = matches!(entry.trailers.kind, Some(CheckpointKind::Start | CheckpointKind::Fork));
            let digest = entry
                .trailers
                .digest
                .clone()
                .filter(|_| !is_first && self.reached.contains(&entry.id));
            digest.is_some_and(|digest| !rewrite::digests_by(digest, lines).is_disjoint(&self.gone))
        };
        self.entries.iter().filter(is_back).map(|(entry, _)| entry).collect()
    }

    /// The files of a checkpoint that came back which the latest one has as that had changed them, unless a checkpoint that
    /// does not come after it has them as well.
    fn files_of(&self, scene: &Scene<'_>, back: &CheckpointCommit, tip: ObjectId) -> Result<Vec<RepoPath>, Error> {
        let repo = scene.repo;
        let trees = |id: ObjectId| -> Result<Option<ObjectId>, Error> {
            let loaded = checkpoint::load(repo, id).map_err(Error::damaged(short(id)))?;
            Ok(loaded.document.snapshot.map(|files| object_id(&files.tree)))
        };
        let (Some(files), Some(latest)) = (trees(back.id)?, trees(tip)?) else {
            return Ok(Vec::new());
        };
        let before = match session::before(back) {
            Some(before) => trees(before)?,
            None => None,
        };
        let mut found = Vec::new();
        for change in tree::diff(repo, before, Some(files), Renames::Off)? {
            if let Some(new) = change.new
                && tree::entry(repo, latest, &change.path)?.is_some_and(|entry| entry.id == new.id)
            {
                found.push((change.path, new.id));
            }
        }
        if found.is_empty() {
            return Ok(Vec::new());
        }
        for root in self.beside(scene, back)? {
            let Some(root) = trees(root)? else { continue };
            let mut kept = Vec::new();
            for (path, id) in found {
                if tree::entry(repo, root, &path)?.is_none_or(|entry| entry.id != id) {
                    kept.push((path, id));
                }
            }
            found = kept;
        }
        Ok(found.into_iter().map(|(path, _)| path).collect())
    }

    /// The latest checkpoints that do not come after one, of those that were merged with what does.
    fn beside(&self, scene: &Scene<'_>, back: &CheckpointCommit) -> Result<BTreeSet<ObjectId>, Error> {
        let mut parents = BTreeMap::new();
        for (entry, _) in self
            .entries
            .iter()
            .filter(|(entry, _)| self.reached.contains(&entry.id))
        {
            let before = ancestry::parents(scene.repo, entry, MergeEdges::All);
            parents.insert(entry.id, before.map_err(Error::damaged(short(entry.id)))?);
        }
        let mut after = HashSet::from([back.id]);
        loop {
            let known = after.len();
            let more = parents
                .iter()
                .filter(|(_, before)| before.iter().any(|id| after.contains(id)));
            let more: Vec<ObjectId> = more.map(|(id, _)| *id).collect();
            after.extend(more);
            if after.len() == known {
                break;
            }
        }
        let merged = after
            .iter()
            .filter(|id| **id != back.id)
            .filter_map(|id| parents.get(id))
            .flatten();
        Ok(merged.filter(|id| !after.contains(*id)).copied().collect())
    }
}

/// The paths that a checkpoint was purged of.
fn purged_of(scene: &Scene<'_>, entry: &CheckpointCommit) -> Result<BTreeSet<RepoPath>, Error> {
    let damaged = || Error::damaged(short(entry.id));
    let checkpoint = checkpoint::load(scene.repo, entry.id).map_err(damaged())?;
    let lists = checkpoint::lists(scene.repo, &checkpoint).map_err(damaged())?;
    Ok(lists.purged().cloned().collect())
}

/// The paths of which a session with this latest checkpoint has purged content again, sorted: those that were purged, and
/// the files of checkpoints that were purged as a whole.
pub fn purged(scene: &Scene<'_>, tip: ObjectId) -> Result<Vec<RepoPath>, Error> {
    let Some(history) = ReachedHistory::read(scene, tip, None)? else {
        return Ok(Vec::new());
    };
    let mut paths = history.paths(scene)?;
    for back in history.checkpoints() {
        paths.extend(history.files_of(scene, back, tip)?);
    }
    Ok(paths.into_iter().collect())
}

/// The purged content that a session with this latest checkpoint has again.
pub fn content(scene: &Scene<'_>, tip: ObjectId) -> Result<ReturnedContent, Error> {
    content_beside(scene, tip, None)
}

/// The same, also by what the session was purged of up to another latest checkpoint.
fn content_beside(scene: &Scene<'_>, tip: ObjectId, known: Option<ObjectId>) -> Result<ReturnedContent, Error> {
    let Some(history) = ReachedHistory::read(scene, tip, known)? else {
        return Ok(ReturnedContent::default());
    };
    Ok(ReturnedContent {
        paths: history.paths(scene)?.into_iter().collect(),
        checkpoints: history.checkpoints().into_iter().map(|entry| oid(entry.id)).collect(),
    })
}

/// The same, without what a session with another latest checkpoint has already.
pub fn content_beyond(scene: &Scene<'_>, tip: ObjectId, known: Option<ObjectId>) -> Result<ReturnedContent, Error> {
    if known == Some(tip) {
        return Ok(ReturnedContent::default());
    }
    let end = end_of_chain(scene, tip, known)?;
    // The session does not go on from there, or not only.
    let beside = known.filter(|_| end != ChainEnd::Reached);
    if end != ChainEnd::Joined && beside.is_none() && purged::read(scene.repo)?.is_empty() {
        return Ok(ReturnedContent::default());
    }
    let mut found = content_beside(scene, tip, beside)?;
    if let Some(known) = known.filter(|_| !found.is_empty()) {
        let known = content(scene, known)?;
        found.paths.retain(|path| !known.paths.contains(path));
        // A copy that was written again is the same checkpoint.
        let digests = |id: &Oid| {
            let entry = checkpoint::entry(scene.repo, object_id(id));
            let found = entry.and_then(|entry| rewrite::digests(scene.repo, &entry));
            found.unwrap_or_default()
        };
        let known_digests: BTreeSet<Digest> = known.checkpoints.iter().flat_map(digests).collect();
        found
            .checkpoints
            .retain(|id| !known.checkpoints.contains(id) && digests(id).is_disjoint(&known_digests));
    }
    Ok(found)
}

/// The same of a session as it was just fetched. One that is new here is looked at only where something was purged here: there
/// may be very many.
pub fn content_fetched(scene: &Scene<'_>, tip: ObjectId, before: Option<ObjectId>) -> Result<ReturnedContent, Error> {
    if before.is_none() && purged::read(scene.repo)?.is_empty() {
        return Ok(ReturnedContent::default());
    }
    content_beyond(scene, tip, before)
}

/// Where a walk down a chain ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChainEnd {
    /// At a merge, or the beginning of a fork.
    Joined,
    /// At the checkpoint that was looked for.
    Reached,
    /// At the first one of the session.
    First,
}

/// Walks down a chain to a merge, to the beginning of a fork or to a checkpoint. A chain without the first two has each
/// checkpoint once: as it was, or as it was written again.
fn end_of_chain(scene: &Scene<'_>, tip: ObjectId, until: Option<ObjectId>) -> Result<ChainEnd, Error> {
    for entry in session::chain(scene.repo, tip) {
        let entry = entry.map_err(Error::damaged(short(tip)))?;
        if until == Some(entry.id) {
            return Ok(ChainEnd::Reached);
        }
        if entry.merged_commit().is_some() || entry.trailers.kind == Some(CheckpointKind::Fork) {
            return Ok(ChainEnd::Joined);
        }
    }
    Ok(ChainEnd::First)
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

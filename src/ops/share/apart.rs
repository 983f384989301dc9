//! Two states of a session of which one, or each, was pruned: what is still on the other side, and both written again
//! without it.
//!
//! A checkpoint that was pruned on one side stays on the other where something that is only there rests on it directly: both
//! sides are merged by what it was.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    model::{document::CheckpointKind, id::Digest},
    ops::Error as OpsError,
    store::{
        ObjectId, Repository,
        checkpoint::{self, CheckpointCommit, Fault},
        objects::Writer,
        rewrite, session,
    },
};

use super::{ChainRelation, Error, chain};

/// Which of two states of a session was pruned, where one has all that the other one has besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrunedSide {
    /// Ours.
    Ours,
    /// Theirs.
    Theirs {
        /// Checkpoints that ours has after it.
        ours: usize,
        /// How many checkpoints ours still has that are gone there.
        dropped: usize,
        /// Whether ours was pruned as well, of other checkpoints.
        is_both: bool,
    },
}

/// The side that was pruned of two states where ours is the same as theirs or continues it; `None` if neither was, or if
/// only one could be ahead of the other.
pub(super) fn pruned_side(
    repo: &Repository,
    (ours, theirs): (ObjectId, ObjectId),
    relation: ChainRelation,
) -> Result<Option<PrunedSide>, OpsError> {
    // Both sides are read whole, so only where ours does not simply continue from theirs.
    let may_be = match relation {
        ChainRelation::Same => ours != theirs,
        ChainRelation::Ahead(_) => {
            !simply_continues(repo, ours, theirs).map_err(OpsError::damaged("the chain of the session"))?
        }
        _ => false,
    };
    if !may_be {
        return Ok(None);
    }
    if let Some(apart) = PrunedApart::of(repo, ours, theirs).filter(|apart| !apart.there.is_empty()) {
        let ours = match relation {
            ChainRelation::Ahead(ours) => ours,
            _ => 0,
        };
        return Ok(Some(PrunedSide::Theirs {
            ours,
            dropped: apart.there.len(),
            is_both: !apart.here.is_empty(),
        }));
    }
    // The shorter of two chains that end alike is the pruned one.
    let is_ours = relation == ChainRelation::Same && chain::length(repo, ours) < chain::length(repo, theirs);
    Ok(is_ours.then_some(PrunedSide::Ours))
}

/// All that a checkpoint comes from: its own chain, the source of a fork, and what was merged in.
struct SideHistory {
    tip: ObjectId,
    entries: BTreeMap<ObjectId, CheckpointCommit>,
    digests: BTreeMap<Digest, ObjectId>,
    /// Digests of checkpoints that a prune dropped from it.
    pruned: BTreeSet<Digest>,
}

/// The checkpoint before one; of the first one of a fork, that of its source.
fn previous(entry: &CheckpointCommit) -> Option<ObjectId> {
    let is_start = entry.trailers.kind == Some(CheckpointKind::Start);
    entry.parents.first().copied().filter(|_| !is_start)
}

fn before(entry: &CheckpointCommit) -> impl Iterator<Item = ObjectId> {
    previous(entry).into_iter().chain(entry.merged_commit())
}

impl SideHistory {
    fn read(repo: &Repository, tip: ObjectId) -> Self {
        let (mut entries, mut digests, mut pruned) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        let mut waiting = vec![tip];
        while let Some(id) = waiting.pop() {
            if entries.contains_key(&id) {
                continue;
            }
            // What cannot be read was not pruned, as far as is known, and stays as it is.
            let Ok(entry) = checkpoint::entry(repo, id) else {
                continue;
            };
            let lines = rewrite::lines(repo, &entry).unwrap_or_default();
            let purged = rewrite::purged(&lines);
            let dropped = lines.into_iter().filter(|line| line.now.is_none());
            pruned.extend(
                dropped
                    .map(|line| line.digest)
                    .filter(|digest| !purged.contains(digest)),
            );
            digests.extend(entry.trailers.digest.clone().map(|digest| (digest, id)));
            waiting.extend(before(&entry));
            entries.insert(id, entry);
        }
        pruned.retain(|digest| !digests.contains_key(digest));
        Self {
            tip,
            entries,
            digests,
            pruned,
        }
    }

    /// The checkpoints of it that were pruned on the other side.
    fn pruned_on(&self, other: &Self) -> BTreeSet<ObjectId> {
        let is_pruned = |entry: &CheckpointCommit| {
            let is_first = matches!(entry.trailers.kind, Some(CheckpointKind::Start | CheckpointKind::Fork));
            let digest = entry.trailers.digest.as_ref();
            !is_first && digest.is_some_and(|digest| other.pruned.contains(digest))
        };
        let pruned = self.entries.values().filter(|entry| is_pruned(entry));
        let pruned: BTreeSet<ObjectId> = pruned.map(|entry| entry.id).collect();
        let is_common = |entry: &CheckpointCommit| {
            let digest = entry.trailers.digest.as_ref();
            digest.is_some_and(|digest| other.digests.contains_key(digest))
        };
        let own = self.entries.values();
        let own = own.filter(|entry| !is_common(entry) && !pruned.contains(&entry.id));
        let needed: BTreeSet<ObjectId> = own.flat_map(before).chain([self.tip]).collect();
        pruned.into_iter().filter(|id| !needed.contains(id)).collect()
    }

    /// Writes it again without `gone`. A checkpoint that the other side has as well becomes the one that `common` gives.
    fn write(
        &self,
        repo: &Repository,
        writer: &Writer,
        gone: &BTreeSet<ObjectId>,
        common: &BTreeMap<Digest, ObjectId>,
    ) -> Result<RewrittenSide, Error> {
        let mut became: BTreeMap<ObjectId, ObjectId> = BTreeMap::new();
        // Those that went right before one, oldest first.
        let mut left: BTreeMap<ObjectId, Vec<CheckpointCommit>> = BTreeMap::new();
        let mut waiting = vec![(self.tip, false)];
        while let Some((id, parents_done)) = waiting.pop() {
            if became.contains_key(&id) {
                continue;
            }
            let entry = self.entries.get(&id);
            let digest = entry.and_then(|entry| entry.trailers.digest.as_ref());
            let other = digest.and_then(|digest| common.get(digest)).copied();
            let Some(entry) = entry.filter(|_| other.is_none()) else {
                became.insert(id, other.unwrap_or(id));
                continue;
            };
            if !parents_done {
                waiting.push((id, true));
                waiting.extend(before(entry).map(|id| (id, false)));
                continue;
            }
            let now = |old: ObjectId| became.get(&old).copied().unwrap_or(old);
            let parent = previous(entry).map(now);
            let mut dropped = previous(entry)
                .and_then(|id| left.get(&id))
                .cloned()
                .unwrap_or_default();
            let new = if gone.contains(&id) {
                dropped.push(entry.clone());
                left.insert(id, dropped);
                parent.unwrap_or(id)
            } else {
                let merged = entry.merged_commit();
                dropped.extend(merged.and_then(|id| left.get(&id)).cloned().unwrap_or_default());
                let parents = (parent, merged.map(now));
                rewrite::after(repo, writer, entry, parents, &dropped).map_err(OpsError::from)?
            };
            became.insert(id, new);
        }
        let tip = became.get(&self.tip).copied().unwrap_or(self.tip);
        Ok(RewrittenSide { tip, became })
    }
}

/// A side that was written again.
pub(super) struct RewrittenSide {
    /// Its latest checkpoint now.
    pub(super) tip: ObjectId,
    /// The checkpoints that took the place of others.
    pub(super) became: BTreeMap<ObjectId, ObjectId>,
}

/// Checkpoints of a session that were pruned on one side and are still on the other.
pub(super) struct PrunedApart {
    ours: SideHistory,
    theirs: SideHistory,
    /// Checkpoints of ours that were pruned there.
    pub(super) there: BTreeSet<ObjectId>,
    /// Checkpoints of theirs that were pruned here.
    pub(super) here: BTreeSet<ObjectId>,
}

impl PrunedApart {
    /// Reads both sides whole; `None` where nothing is left of what the other one pruned.
    pub(super) fn of(repo: &Repository, ours: ObjectId, theirs: ObjectId) -> Option<Self> {
        let (ours, theirs) = (SideHistory::read(repo, ours), SideHistory::read(repo, theirs));
        let (there, here) = (ours.pruned_on(&theirs), theirs.pruned_on(&ours));
        let is_any = !there.is_empty() || !here.is_empty();
        is_any.then_some(Self {
            ours,
            theirs,
            there,
            here,
        })
    }

    /// Writes theirs again without what was pruned here.
    pub(super) fn write_theirs(&self, repo: &Repository, writer: &Writer) -> Result<RewrittenSide, Error> {
        if self.here.is_empty() {
            return Ok(RewrittenSide {
                tip: self.theirs.tip,
                became: BTreeMap::new(),
            });
        }
        // Where nothing was pruned there, what both have is already here as it is to be.
        let none = BTreeMap::new();
        let common = if self.there.is_empty() {
            &self.ours.digests
        } else {
            &none
        };
        self.theirs.write(repo, writer, &self.here, common)
    }

    /// Writes ours again without what was pruned there, after theirs as it is now.
    pub(super) fn write_ours(
        &self,
        repo: &Repository,
        writer: &Writer,
        theirs: &RewrittenSide,
    ) -> Result<RewrittenSide, Error> {
        if self.there.is_empty() {
            return Ok(RewrittenSide {
                tip: self.ours.tip,
                became: BTreeMap::new(),
            });
        }
        let now = |id: ObjectId| theirs.became.get(&id).copied().unwrap_or(id);
        let stays = self.theirs.digests.iter().filter(|(_, id)| !self.here.contains(*id));
        let common = stays.map(|(digest, id)| (digest.clone(), now(*id))).collect();
        self.ours.write(repo, writer, &self.there, &common)
    }
}

/// Whether ours is theirs and checkpoints of the same chain after it, without a merge: then nothing that was pruned there is
/// in it again.
pub(super) fn simply_continues(repo: &Repository, ours: ObjectId, theirs: ObjectId) -> Result<bool, Fault> {
    for entry in session::chain(repo, ours) {
        let entry = entry?;
        if entry.id == theirs {
            return Ok(true);
        }
        if entry.merged_commit().is_some() {
            return Ok(false);
        }
    }
    Ok(false)
}

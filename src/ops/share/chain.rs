//! Relation of two states of a session, by the digests of their chains.
//!
//! Both chains are walked from their latest checkpoint at the same pace until they meet, so a session that went on by a
//! few checkpoints costs a few commits, however long it is.

use std::collections::HashMap;

use super::super::Error;
use crate::model::id::Digest;
use crate::store::{
    ObjectId, Repository,
    ancestry::{self, AncestryFault, MergeEdges},
    checkpoint::CheckpointCommit,
    rewrite, session,
};

/// Relation of one state of a session (ours) to another (theirs). Counts are checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainRelation {
    /// They end in the same document.
    Same,
    /// Ours went on from theirs.
    Ahead(usize),
    /// Theirs went on from ours.
    Behind(usize),
    /// Both went on from the same checkpoint.
    Diverged {
        /// Ours alone.
        ours: usize,
        /// Theirs alone.
        theirs: usize,
    },
    /// They have nothing in common: two sessions that happen to have the same name.
    Unrelated,
}

/// Compares two states of a session by their latest checkpoints.
pub(super) fn relation(repo: &Repository, ours: ObjectId, theirs: ObjectId) -> Result<ChainRelation, Error> {
    if ours == theirs {
        return Ok(ChainRelation::Same);
    }
    let (ours_tip, theirs_tip) = (ours, theirs);
    let (mut a, mut b) = (ChainSide::new(repo, ours), ChainSide::new(repo, theirs));
    loop {
        let stepped = (a.step()?, b.step()?);
        // What is at the front of each may be anywhere in the other. A digest that a prune left behind is met out of
        // order, so of several meetings the nearest counts.
        let front = a.front.iter().chain(&b.front);
        let meetings = front.filter_map(|digest| Some((a.known.get(digest)?, b.known.get(digest)?)));
        // What both dropped is in neither.
        let meetings = meetings.filter(|(ours, theirs)| !(ours.is_dropped && theirs.is_dropped));
        let meetings = meetings.map(|(ours, theirs)| (ours.position, theirs.position));
        // Of two at the same distance, the one that has all of a side: the checkpoint after which the other side dropped the
        // latest one is in both chains as well.
        let met = meetings.min_by_key(|&(ours, theirs)| (ours + theirs, ours.min(theirs)));
        if let Some((ours, theirs)) = met {
            return Ok(match (ours, theirs) {
                (0, 0) => ChainRelation::Same,
                (ours, 0) => ChainRelation::Ahead(ours),
                (0, theirs) => ChainRelation::Behind(theirs),
                (own, other) => {
                    let linear = ChainRelation::Diverged {
                        ours: own,
                        theirs: other,
                    };
                    if a.has_merge || b.has_merge {
                        by_merges(repo, ours_tip, theirs_tip)?.unwrap_or(linear)
                    } else {
                        linear
                    }
                }
            });
        }
        if stepped == (false, false) {
            let merged = (a.has_merge || b.has_merge).then(|| by_merges(repo, ours_tip, theirs_tip));
            return Ok(merged.transpose()?.flatten().unwrap_or(ChainRelation::Unrelated));
        }
    }
}

/// The relation of two chains with merges: one may have merged in what the other ends in. `None` without anything in
/// common.
fn by_merges(repo: &Repository, ours: ObjectId, theirs: ObjectId) -> Result<Option<ChainRelation>, Error> {
    let damaged = |faulty: AncestryFault| Error::damaged("the chain of the session")(*faulty.fault);
    let found = ancestry::relation(repo, ours, theirs, MergeEdges::All).map_err(damaged)?;
    if found.bases.is_empty() {
        return Ok(None);
    }
    Ok(Some(match (found.ahead, found.behind) {
        (0, 0) => ChainRelation::Same,
        (ahead, 0) => ChainRelation::Ahead(ahead),
        (0, behind) => ChainRelation::Behind(behind),
        (ours, theirs) => ChainRelation::Diverged { ours, theirs },
    }))
}

/// How many checkpoints a session has of its own, as far as they can be read.
pub(super) fn length(repo: &Repository, tip: ObjectId) -> usize {
    session::chain(repo, tip).map_while(Result::ok).count()
}

struct ChainSide<'r> {
    repo: &'r Repository,
    chain: session::CheckpointChain<'r>,
    steps: usize,
    /// Whether one of those that were taken in is a merge.
    has_merge: bool,
    known: HashMap<Digest, KnownDigest>,
    /// The digests met in the last step.
    front: Vec<Digest>,
}

/// Place of a digest in a chain.
#[derive(Clone, Copy)]
struct KnownDigest {
    /// How many checkpoints come after it.
    position: usize,
    /// Whether its checkpoint was dropped.
    is_dropped: bool,
}

impl<'r> ChainSide<'r> {
    fn new(repo: &'r Repository, tip: ObjectId) -> Self {
        Self {
            repo,
            chain: session::chain(repo, tip),
            steps: 0,
            has_merge: false,
            known: HashMap::new(),
            front: Vec::new(),
        }
    }

    /// Takes the next checkpoint in; `false` when there is none.
    fn step(&mut self) -> Result<bool, Error> {
        self.front.clear();
        let Some(entry) = self.chain.next() else {
            return Ok(false);
        };
        let entry = entry.map_err(Error::damaged("the chain of the session"))?;
        self.has_merge |= entry.merged_commit().is_some();
        let lines = rewrite::lines(self.repo, &entry).unwrap_or_default();
        let own = entry.trailers.digest.clone();
        let of_this = own
            .clone()
            .map(|own| rewrite::digests_by(own, &lines))
            .unwrap_or_default();
        // Dropped before this one, or this one as it was before a purge.
        let replaced = lines.into_iter().map(|line| (line.digest, 1));
        for (digest, before) in own.map(|own| (own, 0)).into_iter().chain(replaced) {
            let is_dropped = !of_this.contains(&digest);
            self.known.entry(digest.clone()).or_insert(KnownDigest {
                position: self.steps + before,
                is_dropped,
            });
            self.front.push(digest);
        }
        self.steps += 1;
        Ok(true)
    }
}

/// The digests that a checkpoint replaces, besides its own.
pub(super) fn replaced(repo: &Repository, entry: &CheckpointCommit) -> Vec<Digest> {
    let lines = rewrite::lines(repo, entry).unwrap_or_default();
    lines.into_iter().map(|line| line.digest).collect()
}

//! The order in which checkpoints are looked at: the chain of a session from new to old, then the chains that were merged in.

use std::collections::HashSet;

use crate::{model::id::Digest, store::ObjectId};

/// A walk over the checkpoints of sessions. One that was merged in is given once, however many sessions have it.
#[derive(Default)]
pub(in crate::ops) struct ChainWalk {
    next: Option<ObjectId>,
    is_own: bool,
    /// The digest that the checkpoint after the present one names as its predecessor's.
    pub(super) expected: Option<Digest>,
    /// Checkpoints that were merged in and are still to be given, with the digest that the merge names.
    merged: Vec<(ObjectId, Option<Digest>)>,
    seen: HashSet<ObjectId>,
}

impl ChainWalk {
    /// Goes on with the session of this latest checkpoint.
    pub(in crate::ops) fn begin(&mut self, tip: ObjectId) {
        (self.next, self.is_own, self.expected) = (Some(tip), true, None);
    }

    /// The next checkpoint; [`follow`](Self::follow) names the one before it.
    pub(in crate::ops) fn advance(&mut self) -> Option<ObjectId> {
        let Some(id) = self.next.take() else {
            self.is_own = false;
            return self.next_merged();
        };
        self.seen.insert(id);
        Some(id)
    }

    /// The next chain that was merged in and not looked at yet.
    fn next_merged(&mut self) -> Option<ObjectId> {
        while let Some((id, digest)) = self.merged.pop() {
            if self.seen.insert(id) {
                self.expected = digest;
                return Some(id);
            }
        }
        None
    }

    /// Whether the checkpoint given last is of the session's own chain.
    pub(super) fn is_own(&self) -> bool {
        self.is_own
    }

    /// Names the checkpoint before the one given last. A chain that was merged in ends at one that was looked at.
    pub(in crate::ops) fn follow(&mut self, previous: Option<ObjectId>) {
        if !self.is_own && previous.is_some_and(|id| self.seen.contains(&id)) {
            self.expected = None;
        } else {
            self.next = previous;
        }
    }

    /// Adds a checkpoint that was merged in.
    pub(in crate::ops) fn push(&mut self, merged: ObjectId, digest: Option<Digest>) {
        self.merged.push((merged, digest));
    }
}

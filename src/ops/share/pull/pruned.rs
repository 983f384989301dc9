//! A session that was pruned on the remote and not here: it becomes what the remote has, and what is only here is written
//! again after that. What it was goes to the trash.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    super::{Error, chain},
    PullAttempt, PullOutcome, PulledSession, Swap, trash,
};
use crate::{
    ops::{Error as OpsError, ref_transaction::Aftermath},
    store::{
        ObjectId, autosave,
        checkpoint::{self, Checkpoint, CheckpointCommit},
        objects::{self, Writer},
        refs::{ExpectedValue, RefUpdate},
        rewrite, session,
    },
};

/// A chain that was written again.
struct RewrittenChain {
    tip: ObjectId,
    /// The commits that took the place of others.
    became: BTreeMap<ObjectId, ObjectId>,
}

impl PullAttempt<'_> {
    /// Follows a prune. The last `own` checkpoints are only here; `dropped` of those here are gone there.
    pub(super) fn follow_prune(&self, ours: &Checkpoint, own: usize, dropped: usize) -> Result<PulledSession, Error> {
        let scene = self.scene;
        let outcome = PullOutcome::Pruned { ours: own, dropped };
        let pulled = |id, aftermath| PulledSession {
            id,
            // The document of the latest checkpoint is the same.
            author: ours.entry.author.clone(),
            claim: ours.document.session.claim.clone(),
            has_other_files: false,
            ..self.pulled(outcome, aftermath)
        };
        if self.dry_run {
            return Ok(pulled(ours.entry.id, Aftermath::default()));
        }
        objects::sweep(scene.repo)?;
        let writer = Writer::durable(scene.repo)?;
        let chain = self.write_after_theirs(&writer, ours, own)?;
        let mut edits = vec![trash(scene, ours.entry.id, &self.message(), &[])?];
        // An autosave goes along with the checkpoint that it is based on.
        for (name, target) in autosave::refs_of(scene.repo, &ours.document.session.id)? {
            let entry = target.ok().and_then(|id| checkpoint::entry(scene.repo, id).ok());
            let based_on = entry.as_ref().and_then(|entry| entry.parents.first());
            let Some((entry, parent)) = entry.as_ref().zip(based_on.and_then(|id| chain.became.get(id))) else {
                continue;
            };
            let again = rewrite::after(scene.repo, &writer, entry, (Some(*parent), None), &[]);
            let again = again.map_err(OpsError::from)?;
            let before = trash(scene, entry.id, &self.message(), &edits)?;
            edits.push(before);
            edits.push(RefUpdate {
                name,
                expected: ExpectedValue::Is(entry.id),
                new: Some(again),
                message: self.message(),
            });
        }
        let aftermath = self.swap(Swap {
            more: edits,
            tip: Some(chain.tip),
            sealed: Some(writer.finish().map_err(OpsError::from)?),
            ..Swap::default()
        })?;
        Ok(pulled(chain.tip, aftermath))
    }

    /// Writes the last `own` checkpoints of our chain after what the remote has, without what was pruned here.
    fn write_after_theirs(&self, writer: &Writer, ours: &Checkpoint, own: usize) -> Result<RewrittenChain, Error> {
        let repo = self.scene.repo;
        let theirs = self.theirs.entry.id;
        let damaged = |fault| OpsError::damaged(self.name.as_str())(fault);
        let pruned_here: BTreeSet<ObjectId> = chain::dropped_there(repo, theirs, ours.entry.id).into_iter().collect();
        // Both latest first: of theirs what has to be written again, down to the first one that was pruned here.
        let mut left = pruned_here.len();
        let mut again: Vec<CheckpointCommit> = Vec::new();
        let mut parent = Some(theirs);
        for entry in session::chain(repo, theirs) {
            if left == 0 {
                break;
            }
            let entry = entry.map_err(damaged)?;
            left -= usize::from(pruned_here.contains(&entry.id));
            parent = session::before(&entry);
            again.push(entry);
        }
        let mut mine = Vec::with_capacity(own);
        // The checkpoint of ours that theirs ends in; none where that was pruned here.
        let mut base = None;
        for entry in session::chain(repo, ours.entry.id).take(own + 1) {
            let entry = entry.map_err(damaged)?;
            if mine.len() < own {
                mine.push(entry);
            } else if entry.trailers.digest == self.theirs.entry.trailers.digest {
                base = Some(entry.id);
            }
        }
        let (mut became, mut gone) = (BTreeMap::new(), Vec::new());
        let written = |entry: &CheckpointCommit, parent, gone: &[CheckpointCommit]| {
            let parents = (parent, entry.merged_commit());
            rewrite::after(repo, writer, entry, parents, gone).map_err(OpsError::from)
        };
        for entry in again.into_iter().rev() {
            if pruned_here.contains(&entry.id) {
                gone.push(entry);
            } else {
                parent = Some(written(&entry, parent, &gone)?);
                gone.clear();
            }
        }
        became.extend(base.zip(parent));
        for entry in mine.into_iter().rev() {
            let now = written(&entry, parent, &gone)?;
            gone.clear();
            became.insert(entry.id, now);
            parent = Some(now);
        }
        let tip = parent.unwrap_or(theirs);
        Ok(RewrittenChain { tip, became })
    }
}

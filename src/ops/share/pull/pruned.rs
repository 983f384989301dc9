//! A session that was pruned on one side and not on the other: what is only there or here is written again after the rest.
//! What it was here goes to the trash.

use std::collections::BTreeMap;

use super::{
    super::{Error, apart::PrunedApart},
    PullAttempt, PullOutcome, PulledSession, Swap, trash,
};
use crate::{
    model::name::ShortName,
    ops::{
        Error as OpsError, Scene,
        ref_transaction::{Aftermath, UndoableRefTransaction},
    },
    store::{
        ObjectId, Repository, autosave,
        checkpoint::{self, Checkpoint},
        objects::{self, SealedObjects, Writer},
        refs::{ExpectedValue, RefUpdate},
        rewrite, session,
    },
};

/// How many checkpoints a pull left out, as they were pruned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOutCheckpoints {
    /// Of those here, the ones that were pruned on the remote.
    pub there: usize,
    /// Of those on the remote, the ones that were pruned here.
    pub here: usize,
}

/// Both sides of a session without what the other one pruned.
pub(super) struct SettledSides {
    /// The latest checkpoint of the session here.
    pub(super) ours: ObjectId,
    /// The latest checkpoint of the remote's.
    pub(super) theirs: ObjectId,
    pub(super) left_out: LeftOutCheckpoints,
    pub(super) aftermath: Aftermath,
    /// Protects what was written until a ref leads to it.
    pub(super) sealed: Option<SealedObjects>,
}

/// What [`settle`] would leave out.
pub(super) fn planned(repo: &Repository, ours: ObjectId, (theirs, moves_ours): (ObjectId, bool)) -> LeftOutCheckpoints {
    let apart = PrunedApart::of(repo, ours, theirs);
    apart.map_or_else(LeftOutCheckpoints::default, |apart| left_out(&apart, moves_ours))
}

fn left_out(apart: &PrunedApart, moves_ours: bool) -> LeftOutCheckpoints {
    LeftOutCheckpoints {
        there: if moves_ours { apart.there.len() } else { 0 },
        here: apart.here.len(),
    }
}

/// Takes from both sides what the other one pruned: theirs is written again, and the session here moves, unless it is to be
/// replaced. The caller holds the locks of the working tree and of the session. `None` where nothing was pruned.
pub(super) fn settle(
    scene: &Scene<'_>,
    (remote, name): (&str, &ShortName),
    ours: &Checkpoint,
    (theirs, moves_ours): (ObjectId, bool),
) -> Result<Option<SettledSides>, Error> {
    let repo = scene.repo;
    let Some(apart) = PrunedApart::of(repo, ours.entry.id, theirs) else {
        return Ok(None);
    };
    objects::sweep(repo)?;
    let writer = Writer::durable(repo)?;
    let there = apart.write_theirs(repo, &writer)?;
    let mut settled = SettledSides {
        ours: ours.entry.id,
        theirs: there.tip,
        left_out: left_out(&apart, moves_ours),
        aftermath: Aftermath::default(),
        sealed: Some(writer.finish().map_err(OpsError::from)?),
    };
    if !moves_ours || apart.there.is_empty() {
        return Ok(Some(settled));
    }
    let writer = Writer::durable(repo)?;
    let here = apart.write_ours(repo, &writer, &there)?;
    let message = format!("{}{remote}", session::PULLED);
    let mut edits = follow(scene, &writer, ours, &message, &here.became)?;
    edits.push(RefUpdate {
        name: session::ref_name(name),
        expected: ExpectedValue::Is(ours.entry.id),
        new: Some(here.tip),
        message,
    });
    let deed = UndoableRefTransaction {
        operation: "pull",
        what: format!("followed a prune of {name} on {remote}"),
        edits: &edits,
        sealed: Some(writer.finish().map_err(OpsError::from)?),
        ..UndoableRefTransaction::default()
    };
    settled.aftermath = deed.run(scene)?;
    settled.ours = here.tip;
    Ok(Some(settled))
}

/// Edits that keep in the trash what a session was, and move its autosaves along with the checkpoints that they are based on.
fn follow(
    scene: &Scene<'_>,
    writer: &Writer,
    ours: &Checkpoint,
    message: &str,
    became: &BTreeMap<ObjectId, ObjectId>,
) -> Result<Vec<RefUpdate>, Error> {
    let mut edits = vec![trash(scene, ours.entry.id, message, &[])?];
    for (name, target) in autosave::refs_of(scene.repo, &ours.document.session.id)? {
        let entry = target.ok().and_then(|id| checkpoint::entry(scene.repo, id).ok());
        let based_on = entry.as_ref().and_then(|entry| entry.parents.first());
        let Some((entry, parent)) = entry.as_ref().zip(based_on.and_then(|id| became.get(id))) else {
            continue;
        };
        let again = rewrite::after(scene.repo, writer, entry, (Some(*parent), None), &[]);
        let again = again.map_err(OpsError::from)?;
        if again == entry.id {
            continue;
        }
        let before = trash(scene, entry.id, message, &edits)?;
        edits.push(before);
        edits.push(RefUpdate {
            name,
            expected: ExpectedValue::Is(entry.id),
            new: Some(again),
            message: message.to_owned(),
        });
    }
    Ok(edits)
}

impl PullAttempt<'_> {
    /// Follows a prune where nothing else is new. The last `own` checkpoints are only here.
    pub(super) fn follow_prune(
        &self,
        ours: &Checkpoint,
        own: usize,
        apart: &PrunedApart,
    ) -> Result<PulledSession, Error> {
        let scene = self.scene;
        let outcome = PullOutcome::Pruned {
            ours: own,
            dropped: apart.there.len(),
        };
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
        let theirs = apart.write_theirs(scene.repo, &writer)?;
        let chain = apart.write_ours(scene.repo, &writer, &theirs)?;
        let edits = follow(scene, &writer, ours, &self.message(), &chain.became)?;
        let aftermath = self.swap(Swap {
            more: edits,
            tip: Some(chain.tip),
            sealed: Some(writer.finish().map_err(OpsError::from)?),
            ..Swap::default()
        })?;
        Ok(pulled(chain.tip, aftermath))
    }
}

//! Sessions with new checkpoints here and on the remote: those that one side pruned are left out, and both are merged.

use super::{
    super::{ChainRelation, Error, Wire, chain},
    LeftOutCheckpoints, PullMode, PullOutcome, PulledSession, WALKED,
    names::fetched_tip,
    pruned::{self, SettledSides},
};
use crate::{
    model::name::ShortName,
    ops::{
        Error as OpsError, Scene,
        merge::{self, MergeMethod},
        returned::ReturnedContent,
        session_choice,
    },
    store::{
        self, ObjectId, checkpoint::Checkpoint, current, graph, lock, objects::SealedObjects, refs, remote::Remote,
    },
};

/// Merges what the remote has into a session that diverged from it. `None` where it did not.
pub(super) fn merge_diverged(
    scene: &Scene<'_>,
    remote: &Remote,
    (there, name): (&ShortName, &ShortName),
    mode: PullMode,
    how: &MergeMethod,
    wire: Wire<'_>,
) -> Result<Option<PulledSession>, Error> {
    let theirs = fetched_tip(scene, remote, there, mode)?;
    let (Some(theirs), Some(before)) = (theirs, session_choice::named(scene, name)?) else {
        return Ok(None);
    };
    let tip = before.tip;
    let before = tip.entry.id;
    let ChainRelation::Diverged {
        ours: own,
        theirs: came,
    } = chain::relation(scene.repo, before, theirs)?
    else {
        return Ok(None);
    };
    // Before what the remote pruned is moved to the trash for a merge that is refused.
    if session_choice::load(scene, there.as_str(), theirs)?
        .document
        .is_locked()
    {
        let session = format!("{}/{there}", remote.name);
        return Err(OpsError::from(store::Error::RecordLocked { session }).into());
    }
    let (settled, mut left_out) = match mode {
        PullMode::Done => (
            settled(scene, (&remote.name, name), &tip, theirs)?,
            LeftOutCheckpoints::default(),
        ),
        PullMode::Planned(_) => (None, pruned::planned(scene.repo, before, (theirs, true))),
    };
    let theirs = settled.as_ref().map_or(theirs, |settled| settled.theirs);
    let how = MergeMethod {
        dry_run: mode != PullMode::Done,
        ..how.clone()
    };
    let progress = |done: usize, all: usize| (wire.progress)("Writing files", done as u64, all as u64);
    let mut merged = merge::merge_remote(scene, (&remote.name, there), name, theirs, &how, &progress)?;
    let mut aftermath = std::mem::take(&mut merged.aftermath);
    let id = merged.id.unwrap_or(before);
    if let Some(settled) = settled {
        left_out = settled.left_out;
        aftermath.extend(settled.aftermath);
        aftermath.left.extend(settled.sealed.and_then(SealedObjects::release));
    }
    let author = session_choice::load(scene, name.as_str(), theirs)?.entry.author;
    let current = current::read(scene.repo)?.session;
    Ok(Some(PulledSession {
        remote: remote.name.clone(),
        fetched: None,
        name: name.clone(),
        there: (there != name).then(|| there.clone()),
        id,
        before: Some(before),
        outcome: PullOutcome::Merged {
            ours: own,
            theirs: came,
            merged: Box::new(merged),
        },
        author,
        signature: None,
        current: current.is_some_and(|current| current.name == *name),
        has_other_files: false,
        claims_dropped: false,
        claim: None,
        purged_again: ReturnedContent::default(),
        left_over: Vec::new(),
        left_out,
        aftermath,
    }))
}

/// Takes from both sides what the other one pruned, under the locks that this needs.
pub(super) fn settled(
    scene: &Scene<'_>,
    of_remote: (&str, &ShortName),
    ours: &Checkpoint,
    theirs: ObjectId,
) -> Result<Option<SettledSides>, Error> {
    let _worktree = lock::worktree(scene.repo, scene.wait)?;
    refs::recover(scene.repo, scene.wait)?;
    let _session = lock::session(scene.repo, &ours.document.session.id, scene.wait)?;
    pruned::settle(scene, of_remote, ours, (theirs, true))
}

/// Whether theirs has new checkpoints and does not simply continue ours: each side may then have what the other one pruned.
/// Gives whether ours has new ones as well.
pub(super) fn continues_apart(scene: &Scene<'_>, ours: ObjectId, theirs: ObjectId) -> Result<Option<bool>, Error> {
    Ok(match chain::relation(scene.repo, ours, theirs)? {
        ChainRelation::Diverged { .. } => Some(true),
        ChainRelation::Behind(_) if graph::is_ancestor(scene.repo, ours, theirs, WALKED)? != Some(true) => Some(false),
        _ => None,
    })
}

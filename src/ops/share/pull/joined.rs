//! `pull --merge` after a pull that moved what was only here to a session of its own: both become the session that it was
//! part of, and the other one goes.

use super::{
    super::{ChainRelation, Error, Wire, chain},
    PullOutcome, PulledSession,
};
use crate::{
    model::{document::CheckpointKind, name::ShortName},
    ops::{
        Scene,
        merge::{self, MergeMethod},
        session_choice,
    },
    store::{ObjectId, refs, remote, session},
};

/// The current session, where a pull made it of what was only here.
pub(super) struct MovedSession {
    name: ShortName,
    tip: ObjectId,
    /// The session that it was part of.
    pub(super) source: ShortName,
    /// Whether a remote has it by its own name.
    pub(super) is_shared: bool,
}

/// The current session, if a pull of a diverged session made it.
pub(super) fn moved_aside(scene: &Scene<'_>) -> Result<Option<MovedSession>, Error> {
    let Some(chosen) = session_choice::session_for_command(scene)? else {
        return Ok(None);
    };
    let tip = chosen.tip.entry.id;
    // The first checkpoint of a fork ends its chain.
    let Some(first) = session::chain(scene.repo, tip).map_while(Result::ok).last() else {
        return Ok(None);
    };
    let first = session_choice::load(scene, chosen.name.as_str(), first.id)?.document;
    let is_moved = first.kind == CheckpointKind::Fork && first.trigger.as_deref() == Some("pull");
    let Some(from) = first.session.forked_from.filter(|_| is_moved) else {
        return Ok(None);
    };
    let mut is_shared = false;
    for known in remote::all(scene.repo) {
        is_shared |= refs::read(scene.repo, &known.tracking_ref(&chosen.name))?.is_some();
    }
    Ok(Some(MovedSession {
        name: chosen.name,
        tip,
        source: from.session,
        is_shared,
    }))
}

/// Merges the session that was moved aside into the one that was pulled.
pub(super) fn join(
    scene: &Scene<'_>,
    moved: &MovedSession,
    how: &MergeMethod,
    pulled: &mut PulledSession,
    wire: Wire<'_>,
) -> Result<(), Error> {
    let (ours, theirs) = match chain::relation(scene.repo, moved.tip, pulled.id)? {
        ChainRelation::Diverged { ours, theirs } => (ours, theirs),
        _ => (0, 0),
    };
    let progress = |done: usize, all: usize| (wire.progress)("Writing files", done as u64, all as u64);
    let sides = (pulled.remote.as_str(), &moved.source, pulled.id);
    let mut merged = merge::rejoin(scene, sides, &moved.name, how, &progress)?;
    pulled.aftermath = std::mem::take(&mut merged.aftermath);
    pulled.before = Some(pulled.id);
    pulled.id = merged.id.unwrap_or(pulled.id);
    pulled.current = true;
    pulled.outcome = PullOutcome::Merged {
        ours,
        theirs,
        merged: Box::new(merged),
    };
    Ok(())
}

//! `pull --merge` after a pull that moved what was only here to a session of its own: both become the session that it was
//! part of, and the other one goes.

use super::{
    super::{ChainRelation, Error, Wire, chain},
    PullOutcome, PullRequest, PulledSession, diverged, pruned,
};
use crate::{
    model::{document::CheckpointKind, name::ShortName},
    ops::{
        Scene,
        merge::{self, MergeMethod},
        session_choice,
    },
    store::{ObjectId, refs, remote, remote_state::RemoteState, session},
};

/// The current session, where a pull made it of what was only here.
pub(super) struct MovedSession {
    name: ShortName,
    tip: ObjectId,
    /// The session that it was part of.
    pub(super) source: ShortName,
    /// The remotes that were last seen to have it by its own name.
    remotes: Vec<String>,
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
    let mut remotes = Vec::new();
    for known in remote::all(scene.repo) {
        if let Some(there) = refs::read(scene.repo, &known.tracking_ref(&chosen.name))?
            && !RemoteState::of(scene.repo, &known.name).is_deleted(chosen.name.as_str(), there)
        {
            remotes.push(known.name);
        }
    }
    Ok(Some(MovedSession {
        name: chosen.name,
        tip,
        source: from.session,
        remotes,
    }))
}

/// Pulls the session that was moved aside itself, if a remote has checkpoints of it that are not here. `None` where there is
/// nothing of it to pull.
pub(super) fn more_of_it(
    scene: &Scene<'_>,
    request: &PullRequest,
    moved: &MovedSession,
    wire: Wire<'_>,
) -> Result<Option<PulledSession>, Error> {
    if moved.remotes.is_empty() {
        return Ok(None);
    }
    let own = PullRequest {
        session: Some(moved.name.clone()),
        ..request.clone()
    };
    match super::pull_with(scene, &own, wire) {
        // Others deleted it there, or have it at another remote.
        Err(Error::Lost { .. } | Error::NotThere { .. }) => Ok(None),
        Ok(pulled) if matches!(pulled.outcome, PullOutcome::UpToDate { .. }) => Ok(None),
        pulled => pulled.map(Some),
    }
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
    let aside = session_choice::named(scene, &moved.name)?;
    let settled = match aside {
        Some(aside) if how.dry_run => {
            let planned = pruned::planned(scene.repo, aside.tip.entry.id, (pulled.id, true));
            pulled.left_out.there += planned.there;
            None
        }
        Some(aside) => diverged::settled(scene, (&pulled.remote, &moved.name), &aside.tip, pulled.id)?,
        None => None,
    };
    let progress = |done: usize, all: usize| (wire.progress)("Writing files", done as u64, all as u64);
    let sides = (pulled.remote.as_str(), &moved.source, pulled.id);
    let mut merged = merge::rejoin(scene, sides, &moved.name, how, &progress)?;
    pulled.aftermath.extend(std::mem::take(&mut merged.aftermath));
    if let Some(settled) = settled {
        pulled.left_out.there += settled.left_out.there;
        pulled.aftermath.extend(settled.aftermath);
    }
    pulled.before = Some(pulled.id);
    pulled.id = merged.id.unwrap_or(pulled.id);
    pulled.current = true;
    let remotes = moved.remotes.iter();
    pulled.left_over = remotes.map(|remote| (remote.clone(), moved.name.clone())).collect();
    pulled.outcome = PullOutcome::Merged {
        ours,
        theirs,
        merged: Box::new(merged),
    };
    Ok(())
}

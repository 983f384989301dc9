//! The session here that an agent's session is bound to.

use super::super::{
    Error, Scene,
    session_choice::{self, SessionChoice},
    start,
};
use super::process;
use crate::{
    agents::hooks::{adapter, event::Occasion},
    model::name::ShortName,
    os,
    store::{
        self,
        agents::{self as bindings, Binding},
        current::SessionRef,
        worktree_id,
    },
};

/// The session that the agent's checkpoints go to: the one it is bound to; else the current one of the branch, unless
/// another agent works in it; else, where none is current, the one that was paused last on this branch, which becomes
/// current again; else a new one.
pub(super) fn bound(scene: &Scene<'_>, binding: &mut Binding) -> Result<ShortName, Error> {
    let open = |chosen: &SessionChoice| !chosen.tip.document.session.status.is_finished();
    if let Some(session) = &binding.session
        && let Some(chosen) = session_choice::by_identity(scene, session)?.filter(open)
    {
        return Ok(chosen.name);
    }
    let current = session_choice::session_for_command(scene)?.filter(open);
    let is_free = match &current {
        Some(chosen) => !is_taken(scene, binding, &chosen.tip.document.session.id)?,
        None => true,
    };
    if let Some(chosen) = current.filter(|_| is_free) {
        binding.session = Some(SessionRef {
            id: chosen.tip.document.session.id,
            name: chosen.name.clone(),
        });
        return Ok(chosen.name);
    }
    if is_free && let Some(paused) = paused(scene, binding)? {
        // As with a save of a person: what was paused on this branch continues.
        start::make_current(scene, &paused.tip.document, &paused.name)?;
        binding.session = Some(SessionRef {
            id: paused.tip.document.session.id.clone(),
            name: paused.name.clone(),
        });
        return Ok(paused.name);
    }
    let request = start::StartRequest {
        name: None,
        session: serde_json::json!({ "agent": binding.agent }),
        if_missing: false,
        dry_run: false,
    };
    let scene = &Scene {
        session: None,
        ..*scene
    };
    let started = if is_free {
        start::start(scene, request)?
    } else {
        start::create(scene, request, false)?
    };
    binding.session = Some(SessionRef {
        id: started.document.session.id.clone(),
        name: started.name.clone(),
    });
    Ok(started.name)
}

/// The session last paused on this branch in this working tree, unless another agent works in it.
fn paused(scene: &Scene<'_>, binding: &Binding) -> Result<Option<SessionChoice>, Error> {
    if scene.session.is_some() {
        return Ok(None);
    }
    let branch = store::branches::active(scene.repo)?;
    let worktree = worktree_id(scene.repo);
    let (found, _) = session_choice::paused_here(scene, branch.as_deref(), &worktree)?;
    let Some(chosen) = found else { return Ok(None) };
    let is_taken = is_taken(scene, binding, &chosen.tip.document.session.id)?;
    Ok(Some(chosen).filter(|_| !is_taken))
}

/// Whether another session of an agent is at work in this session. One that reports its end and has not is, until it
/// has been silent for long or its process is known to have ended; of the others one whose turn has not ended.
fn is_taken(scene: &Scene<'_>, binding: &Binding, id: &str) -> Result<bool, Error> {
    let scope = os::process_scope();
    let silent = |other: &Binding| {
        other
            .last
            .as_ref()
            .is_none_or(|last| scene.now.since(last.at).to_std().unwrap_or_default() > scene.settings.interrupted_after)
    };
    let reports_end = |other: &Binding| {
        adapter::named(&other.agent).is_some_and(|adapter| {
            adapter
                .events
                .iter()
                .any(|(_, occasion)| *occasion == Occasion::SessionEnd)
        })
    };
    Ok(bindings::all(scene.repo)?.iter().any(|other| {
        (&other.agent, &other.agent_session) != (&binding.agent, &binding.agent_session)
            && other.session.as_ref().is_some_and(|session| session.id == id)
            && !other.ended
            && !silent(other)
            && !process::has_ended(other, scope.as_deref())
            && (other.turn.is_some() || reports_end(other))
    }))
}

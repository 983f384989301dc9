//! The session that a command reads or changes where it names none and none is current.

use super::{
    Error, Scene,
    session_choice::{self, SessionChoice},
    suggestions,
};
use crate::store::{self, branches};

/// The session to read: the one that a change would go to, else the one that was finished or paused last here, of which it is
/// reported that it is meant.
pub(super) fn to_read(scene: &Scene<'_>) -> Result<SessionChoice, Error> {
    if let Some(chosen) = continued(scene)? {
        return Ok(chosen);
    }
    let left = match scene.session {
        Some(_) => None,
        None => session_choice::just_left_noted(scene)?,
    };
    left.ok_or_else(|| suggestions::none_current(scene))
}

/// The session whose items a change goes to: of one that has ended it would be recorded in a new one, which has no such items.
pub(super) fn to_change(scene: &Scene<'_>) -> Result<SessionChoice, Error> {
    continued(scene)?.ok_or_else(|| suggestions::none_current(scene))
}

/// The session that is named or current, else the one paused last on this branch in this working tree.
pub(super) fn continued(scene: &Scene<'_>) -> Result<Option<SessionChoice>, Error> {
    let chosen = session_choice::session_for_command(scene)?;
    if chosen.is_some() || scene.session.is_some() {
        return Ok(chosen);
    }
    let branch = branches::active(scene.repo)?;
    Ok(session_choice::paused_here(scene, branch.as_deref(), &store::worktree_id(scene.repo))?.0)
}

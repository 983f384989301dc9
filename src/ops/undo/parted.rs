//! A session that a pull parted: what waits for a save and the autosaves are where the current session is.

use super::super::{Error, Scene, ids::short, parted, waiting};
use crate::{
    model::document::CheckpointKind,
    store::{
        ObjectId,
        checkpoint::{self, Checkpoint, object_id},
        session,
        undo::{Effect, UndoEntry},
    },
};

/// The checkpoint of before, where the action is the pull that parted the session which begins with this one. Another action
/// on that session, such as a rename, moves nothing.
pub(super) fn source(entry: &UndoEntry, first: &Checkpoint) -> Option<ObjectId> {
    let is_parted = entry.operation == parted::PULL
        && first.document.kind == CheckpointKind::Fork
        && first.document.trigger.as_deref() == Some(parted::PULL);
    first.previous().filter(|_| is_parted)
}

/// Moves what waits for a save in the one session, and its autosaves, to the other: to the session of before in an undo,
/// to the parted one in a redo. What a killed call has moved already is not moved twice.
pub(super) fn carry(scene: &Scene<'_>, entry: &UndoEntry, is_undo: bool) -> Result<(), Error> {
    let word = if is_undo { "undo" } else { "redo" };
    let message = format!("checkpoint: {word} {}", entry.operation);
    let load = |id| checkpoint::load(scene.repo, id).map_err(Error::damaged(short(id)));
    for effect in &entry.effects {
        let Effect::Ref {
            name,
            old: None,
            new: Some(new),
        } = effect
        else {
            continue;
        };
        if !name.starts_with(session::PREFIX) {
            continue;
        }
        let fork = load(object_id(new))?;
        let Some(source) = source(entry, &fork) else {
            continue;
        };
        let before = load(source)?;
        let (from, to) = if is_undo { (&fork, &before) } else { (&before, &fork) };
        let copied = waiting::copy(scene, from, &to.document.session.id)?;
        parted::carry_autosaves(scene, from, to, &copied, &message)?;
        waiting::clear(scene, &from.document.session.id, &copied)?;
    }
    Ok(())
}

//! The draft of a session that a pull parted: what waits for a save is where the current session is.

use super::super::{Error, Scene, ids, ids::short};
use crate::{
    model::{document::CheckpointKind, operation::Operation},
    store::{
        checkpoint::{self, Checkpoint, object_id},
        draft, session,
        undo::{Effect, UndoEntry},
    },
};

/// Moves what waits in the draft of the one session to that of the other: to the session of before in an undo, to the
/// parted one in a redo. What a killed call has moved already is not moved twice.
pub(super) fn carry(scene: &Scene<'_>, entry: &UndoEntry, is_undo: bool) -> Result<(), Error> {
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
        let is_parted = fork.document.kind == CheckpointKind::Fork && fork.document.trigger.as_deref() == Some("pull");
        let Some(source) = fork.previous().filter(|_| is_parted) else {
            continue;
        };
        let before = load(source)?;
        let (from, to) = if is_undo { (&fork, &before) } else { (&before, &fork) };
        move_draft(scene, from, to)?;
    }
    Ok(())
}

fn move_draft(scene: &Scene<'_>, from: &Checkpoint, to: &Checkpoint) -> Result<(), Error> {
    let (old, new) = (&from.document.session.id, &to.document.session.id);
    let waiting = draft::read(scene.repo, old)?;
    let there = draft::read(scene.repo, new)?;
    let known: Vec<&str> = there.operations.iter().map(|(_, known)| known.id.as_str()).collect();
    let operations: Vec<Operation> = waiting
        .after(&from.document.folded)
        .map(|(_, operation)| operation.clone())
        .filter(|operation| !known.contains(&operation.id.as_str()))
        .collect();
    if !operations.is_empty() {
        let draft_id = ids::item_id()?;
        draft::append(scene.repo, new, &operations, || draft_id, scene.wait)?;
    }
    if let Some(last) = waiting.last() {
        draft::clear(scene.repo, old, last, scene.wait)?;
    }
    Ok(())
}

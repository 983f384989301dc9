//! Notes about the conflicts of a merge or apply, in a draft and by `rerere`: they go with the merge.

use super::super::{Scene, plan_runner::PlanOperation, rerere};
use crate::{
    model::operation::Operation,
    store::{
        Error,
        checkpoint::{self, object_id},
        draft, session,
        undo::{Effect, UndoEntry},
    },
};

/// Revokes the resolutions of conflicts that the session does not have without the merge; in a redo they count again.
pub(super) fn turn(scene: &Scene<'_>, entry: &UndoEntry, is_undo: bool) -> Result<(), Error> {
    let is_of = |operation: PlanOperation| entry.operation == operation.word();
    if is_undo && (is_of(PlanOperation::Merge) || is_of(PlanOperation::Apply)) {
        rerere::forget(scene);
    }
    if !is_of(PlanOperation::Merge) {
        return Ok(());
    }
    for effect in &entry.effects {
        let Effect::Ref {
            name,
            old: Some(old),
            new: Some(new),
        } = effect
        else {
            continue;
        };
        if !name.starts_with(session::PREFIX) {
            continue;
        }
        let now = if is_undo { old } else { new };
        // Of what cannot be read nothing is known, and nothing of it changes.
        let Ok(now) = checkpoint::load(scene.repo, object_id(now)) else {
            continue;
        };
        let conflicts = &now.document.record.conflicts;
        let is_meant = |operation: &Operation| {
            let is_there = |id: &String| conflicts.iter().any(|conflict| conflict.id == *id);
            operation.resolves.as_ref().is_some_and(|id| is_there(id) != is_undo)
        };
        draft::revoke(scene.repo, &now.document.session.id, &is_meant, is_undo, scene.wait)?;
    }
    Ok(())
}

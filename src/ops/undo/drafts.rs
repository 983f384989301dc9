//! Actions whose undoing leaves something in a draft: a finish, and a clear that saved first.

use super::{
    super::{Error, Scene, ids::short},
    Direction,
};
use crate::{
    model::id::Oid,
    store::{
        ObjectId, chat,
        checkpoint::{self, object_id, oid},
        undo::{Effect, UndoEntry},
    },
};

/// The operation whose undoing leaves what the last checkpoint had of the draft in the draft.
const FINISH: &str = "finish";
/// The same, if what waited was saved for it in a checkpoint of its own: then it has an effect on the record.
pub(super) const CLEAR: &str = "clear";

/// Whether an entry is about a finish, or about a clear that saved first.
pub(super) fn leaves_a_draft(entry: &UndoEntry) -> bool {
    let record = |effect: &Effect| matches!(effect, Effect::Record { .. });
    entry.operation == FINISH || entry.operation == CLEAR && entry.effects.iter().any(record)
}

/// The checkpoint before another one.
pub(super) fn above(scene: &Scene<'_>, id: ObjectId) -> Result<Option<Oid>, Error> {
    let entry = checkpoint::entry(scene.repo, id).map_err(Error::damaged(short(id)))?;
    Ok(entry.parents.first().map(|id| oid(*id)))
}

/// The entry as it is taken back. Messages from after a clear would come before those that are pending again; then what
/// was saved for the clear stays saved.
pub(super) fn part_only(scene: &Scene<'_>, entry: &UndoEntry, direction: Direction) -> Result<UndoEntry, Error> {
    let mut entry = entry.clone();
    if direction == Direction::Redo || entry.operation != CLEAR || !leaves_a_draft(&entry) {
        return Ok(entry);
    }
    let mut at = None;
    let mut came = false;
    for effect in &entry.effects {
        match effect {
            Effect::Record { session, .. } => came = !chat::read(scene.repo, session)?.entries.is_empty(),
            Effect::Ref { new, .. } => at = new.as_ref().map(object_id),
            _ => {}
        }
    }
    let saved = match at {
        Some(at) if came => above(scene, at)?,
        _ => return Ok(entry),
    };
    entry.effects.retain(|effect| !matches!(effect, Effect::Record { .. }));
    for effect in &mut entry.effects {
        if let Effect::Ref { old, .. } = effect {
            old.clone_from(&saved);
        }
    }
    Ok(entry)
}

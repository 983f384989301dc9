//! The record of a session, taken back with the rest of an entry.

use super::{
    super::{
        Error, Scene,
        ids::short,
        plan_runner,
        record::{self, ClaimedRecord},
        refuse, session_choice,
    },
    Direction, UndoRun,
};
use crate::{
    model::id::Oid,
    store::{
        ObjectId, chat as stored_chat,
        checkpoint::{self, object_id, oid},
        draft,
        undo::{Effect, UndoEntry},
    },
};

/// The operation whose undoing leaves what the last checkpoint had of the draft in the draft.
const FINISH: &str = "finish";
/// The same, if what waited was saved for it in a checkpoint of its own: then it has an effect on the record.
pub(super) const CLEAR: &str = "clear";

/// How a record changes.
pub(super) struct RecordUndo<'a> {
    pub(super) session: &'a str,
    now: &'a serde_json::Value,
    then: &'a serde_json::Value,
    /// The number of the last operation, where a killed call has made the change already.
    done: Option<u64>,
}

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
            Effect::Record { session, .. } => came = !stored_chat::read(scene.repo, session)?.entries.is_empty(),
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

impl UndoRun<'_> {
    /// The session whose record changes, its record now and then; or the record that stays.
    pub(super) fn record(&self) -> Result<(Option<RecordUndo<'_>>, Option<ClaimedRecord>), Error> {
        if self.without_record {
            return Ok((None, None));
        }
        for effect in &self.entry.effects {
            let Effect::Record {
                session,
                before,
                after,
                last,
            } = effect
            else {
                continue;
            };
            let (now, then, expected) = if self.is_undo() {
                (after, before, Some(*last))
            } else {
                (before, after, self.left)
            };
            let waiting = draft::read(self.scene.repo, session)?;
            let found = waiting.last().unwrap_or(0);
            let begun = match &self.begun {
                Some(begun) => begun.complete(self.scene)?,
                None => None,
            };
            if let Some(last) = begun {
                let done = Some(last);
                let change = RecordUndo {
                    session,
                    now,
                    then,
                    done,
                };
                return Ok((Some(change), None));
            }
            if let Some(claimed) = self.claimed(session)? {
                return Ok((None, Some(claimed)));
            }
            let done = expected.is_some_and(|expected| record::is_replaced(&waiting, expected, now, then));
            // A finish cleared the draft up to there, unless it was killed before.
            let cleared = leaves_a_draft(self.entry) && self.is_undo() && found == 0;
            let moved = expected.is_some_and(|expected| expected != found);
            // Another change of it that was made and taken back since is none; a save is one.
            let is_same = || Ok::<_, Error>(Some(found) > expected && record::is_now(self.scene, session, now)?);
            if !done && !cleared && !self.request.force && moved && !is_same()? {
                return Err(Error::RecordChanged {
                    direction: self.request.direction.word(),
                    what: self.entry.what.clone(),
                });
            }
            let change = RecordUndo {
                session,
                now,
                then,
                done: done.then_some(found),
            };
            return Ok((Some(change), None));
        }
        Ok((None, None))
    }

    /// The claim of another agent or person under which a record stays as it is and the rest goes back; an error where
    /// there is no rest. A session that moves takes its record along.
    fn claimed(&self, session: &str) -> Result<Option<ClaimedRecord>, Error> {
        let effects = &self.entry.effects;
        if self.is_forced || effects.iter().any(|effect| matches!(effect, Effect::Ref { .. })) {
            return Ok(None);
        }
        let Some(chosen) = session_choice::of_identity(self.scene, session)? else {
            return Ok(None);
        };
        if effects.iter().all(|effect| matches!(effect, Effect::Record { .. })) {
            refuse::claimed(self.scene, &chosen.name, &chosen.tip.document.session)?;
        }
        Ok(ClaimedRecord::of(self.scene, &chosen))
    }

    /// Makes the change of the record. Gives the number of the draft's last operation afterwards.
    pub(super) fn put_record(&self, change: &RecordUndo<'_>) -> Result<u64, Error> {
        let scene = self.scene;
        if leaves_a_draft(self.entry) && !self.is_undo() {
            // The last checkpoint has the record again, so nothing waits.
            let waiting = draft::read(scene.repo, change.session)?;
            let left = self
                .left
                .filter(|left| waiting.last() == Some(*left) || self.request.force);
            if let Some(last) = left.and(waiting.last()) {
                draft::clear(scene.repo, change.session, last, scene.wait)?;
            }
            self.take_out_rest(change.session)?;
            return Ok(draft::read(scene.repo, change.session)?.last().unwrap_or(0));
        }
        if let Some(last) = change.done {
            return Ok(last);
        }
        if leaves_a_draft(self.entry) {
            self.give_back_rest(change.session)?;
        }
        let noted = record::RecordReset::new(scene, change.session, change.now, change.then)?;
        plan_runner::note_record(scene, &noted)?;
        noted.make(scene)
    }
}

//! A record brought back into the draft of its session.

use serde_json::{Map, Value, json};

use super::{Error, Scene, compose, ids, restore::RecordFate, session_choice};
use crate::{
    model::{operation::Operation, record::Record},
    store::{
        checkpoint::Checkpoint,
        draft::{self, Draft},
        undo::Effect,
    },
};

/// Change that sets the record of the current session to that of a checkpoint.
pub(super) struct RecordReset {
    session: String,
    before: Value,
    after: Value,
    /// The number of the last operation in the draft before it.
    last: u64,
}

impl RecordReset {
    /// Effect that undo reverts; `last` is the number of the last operation in the draft.
    fn effect(&self, last: u64) -> Effect {
        Effect::Record {
            session: self.session.clone(),
            before: Box::new(self.before.clone()),
            after: Box::new(self.after.clone()),
            last,
        }
    }

    /// The same before it is made.
    pub(super) fn meant(&self) -> Effect {
        self.effect(self.last)
    }

    /// Makes it, and gives the number of the last operation in the draft afterwards.
    pub(super) fn make(&self, scene: &Scene<'_>) -> Result<u64, Error> {
        replace(scene, &self.session, &self.before, self.after.clone())
    }

    /// Makes it, and gives what to take back.
    pub(super) fn made(&self, scene: &Scene<'_>) -> Result<Effect, Error> {
        Ok(self.effect(self.make(scene)?))
    }
}

/// Whether the record of the current session can become that of a checkpoint, which it can if that is one of its own,
/// and how.
pub(super) fn plan(scene: &Scene<'_>, checkpoint: &Checkpoint) -> Result<(RecordFate, Option<RecordReset>), Error> {
    let Some(chosen) = session_choice::session_for_command(scene)? else {
        return Ok((RecordFate::OfAnotherSession, None));
    };
    let session = &chosen.tip.document.session;
    if session.id != checkpoint.document.session.id {
        return Ok((RecordFate::OfAnotherSession, None));
    }
    let mut subject = session_choice::carried(&chosen.tip, &chosen.name);
    let draft = session_choice::with_draft(scene, &chosen.tip, &mut subject)?;
    let wanted = kept(&checkpoint.document.record);
    if kept(&subject.record) == wanted {
        return Ok((RecordFate::Same, None));
    }
    let change = RecordReset {
        session: session.id.clone(),
        before: value(&subject.record),
        after: value(&wanted),
        last: draft.last().unwrap_or(0),
    };
    Ok((RecordFate::Restored(chosen.name), Some(change)))
}

/// The part of a record that is not about one checkpoint alone: files attached to it, its error, its summary and who
/// wrote that.
fn kept(record: &Record) -> Record {
    Record {
        summary: None,
        auto_summary: false,
        error: None,
        attachments: Vec::new(),
        ..record.clone()
    }
}

/// That part as a value.
pub(super) fn kept_value(record: &Record) -> Value {
    value(&kept(record))
}

fn value(record: &Record) -> Value {
    serde_json::to_value(record).unwrap_or_else(|_| Value::Object(Map::new()))
}

/// Whether all that a draft has after an operation is what [`replace`] appends for these records.
pub(super) fn is_replaced(draft: &Draft, after: u64, present: &Value, wanted: &Value) -> bool {
    let mut rest = draft.operations.iter().filter(|(n, _)| *n > after);
    let mut next = || rest.next().and_then(|(_, operation)| operation.record.as_ref());
    next() == Some(&cleared(present)) && next() == Some(wanted) && rest.next().is_none()
}

/// A patch that empties every member that a record has.
fn cleared(record: &Value) -> Value {
    let members = record.as_object().into_iter().flat_map(Map::keys);
    members.map(|member| (member.clone(), json!(null))).collect()
}

/// Appends operations after which the session's record is `wanted`. Gives the number of the last one.
pub(super) fn replace(scene: &Scene<'_>, session: &str, present: &Value, wanted: Value) -> Result<u64, Error> {
    let by = compose::by(scene, &compose::people(scene));
    let operation = |record: Value| -> Result<Operation, Error> {
        Ok(Operation {
            id: ids::item_id()?,
            at: scene.now,
            by: by.clone(),
            record: Some(record),
            remove: None,
            put: None,
            session: None,
            log: None,
            step: None,
            unknown: Map::new(),
        })
    };
    let operations = [operation(cleared(present))?, operation(wanted)?];
    let draft_id = ids::item_id()?;
    let appended = draft::append(scene.repo, session, &operations, || draft_id, scene.wait)?;
    Ok(appended.last)
}

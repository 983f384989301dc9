//! A record brought back into the draft of its session.

use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::{Error, Scene, choose, compose, fresh, restore::RecordIs};
use crate::{
    model::{operation::Operation, record::Record},
    store::{checkpoint::Checkpoint, draft, undo::Effect},
};

/// Makes the record of the current session that of a checkpoint, if it is one of its own. Gives what to take back.
pub(super) fn restore(
    scene: &Scene<'_>,
    checkpoint: &Checkpoint,
    dry_run: bool,
) -> Result<(RecordIs, Option<Effect>), Error> {
    let Some(chosen) = choose::meant(scene)? else {
        return Ok((RecordIs::OfAnotherSession, None));
    };
    let session = &chosen.tip.document.session;
    if session.id != checkpoint.document.session.id {
        return Ok((RecordIs::OfAnotherSession, None));
    }
    let mut subject = choose::carried(&chosen.tip, &chosen.name);
    choose::with_draft(scene, &chosen.tip, &mut subject)?;
    let wanted = kept(&checkpoint.document.record);
    if kept(&subject.record) == wanted {
        return Ok((RecordIs::Same, None));
    }
    if dry_run {
        return Ok((RecordIs::Restored(chosen.name), None));
    }
    let before = value(&subject.record);
    let after = value(&wanted);
    let last = replace(scene, &session.id, &before, after.clone())?;
    let (before, after) = (Box::new(before), Box::new(after));
    let effect = Effect::Record {
        session: session.id.clone(),
        before,
        after,
        last,
    };
    Ok((RecordIs::Restored(chosen.name), Some(effect)))
}

/// The part of a record that is not about one checkpoint alone: files attached to it, its error, its summary.
fn kept(record: &Record) -> Record {
    Record {
        summary: None,
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

/// What a session's record is now, with its draft; `None` if there is no such session.
pub(super) fn present(scene: &Scene<'_>, session: &str) -> Result<Option<Value>, Error> {
    let Some(chosen) = choose::of_identity(scene, session)? else {
        return Ok(None);
    };
    let mut subject = choose::carried(&chosen.tip, &chosen.name);
    choose::with_draft(scene, &chosen.tip, &mut subject)?;
    Ok(Some(kept_value(&subject.record)))
}

/// Whether two records say the same, but for what is about one checkpoint alone.
pub(super) fn is_same(a: &Value, b: &Value) -> bool {
    let plain = |record: &Value| {
        let record = Record::deserialize(record).ok()?;
        Some(Record {
            auto_summary: false,
            ..kept(&record)
        })
    };
    a == b || plain(a).is_some_and(|a| plain(b) == Some(a))
}

/// Appends operations after which the session's record is `wanted`. Gives the number of the last one.
pub(super) fn replace(scene: &Scene<'_>, session: &str, present: &Value, wanted: Value) -> Result<u64, Error> {
    let by = compose::by(scene, &compose::people(scene));
    let operation = |record: Value| -> Result<Operation, Error> {
        Ok(Operation {
            id: fresh::item_id()?,
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
    let members = present.as_object().into_iter().flat_map(Map::keys);
    let cleared: Map<String, Value> = members.map(|member| (member.clone(), json!(null))).collect();
    let operations = [operation(Value::Object(cleared))?, operation(wanted)?];
    let draft_id = fresh::item_id()?;
    let appended = draft::append(scene.repo, session, &operations, || draft_id, scene.wait)?;
    Ok(appended.last)
}

//! A record brought back into the draft of its session.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    Error, Scene, compose, ids, refuse,
    session_choice::{self, SessionChoice},
};
use crate::{
    model::{
        comparison::{self, RecordDifference},
        name::ShortName,
        operation::Operation,
        record::Record,
    },
    store::{
        self,
        checkpoint::Checkpoint,
        draft::{self, Draft},
        undo::Effect,
    },
};

/// Result of a restore for the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordFate {
    /// It was not meant.
    NotMeant,
    /// It is that of the checkpoint now, in the draft of this session, next to what was not saved before.
    Restored {
        /// The session.
        session: ShortName,
        /// Differences that it made.
        changes: Vec<RecordDifference>,
    },
    /// It was that of the checkpoint already.
    Same,
    /// The checkpoint belongs to a session that is not current.
    OfAnotherSession,
    /// It stays as it is: another agent or person has claimed the session.
    Claimed(ClaimedRecord),
}

/// A record that stays as it is, as another agent or person has claimed its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedRecord {
    /// The session.
    pub session: ShortName,
    /// Who has claimed it.
    pub by: String,
}

impl ClaimedRecord {
    /// The record of a session, where another one has claimed that.
    pub(super) fn of(scene: &Scene<'_>, chosen: &SessionChoice) -> Option<Self> {
        let claim = refuse::claim_of_other(scene, &chosen.tip.document.session)?;
        Some(Self {
            session: chosen.name.clone(),
            by: claim.by.clone(),
        })
    }
}

/// Change that sets the record of the current session to that of a checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RecordReset {
    session: String,
    before: Value,
    after: Value,
    /// The number of the last operation in the draft before it.
    last: u64,
}

/// How far a change of the record came before its process was killed.
enum Extent {
    /// Nothing of it is in the draft.
    Untouched,
    /// The record is empty: the draft has the first of the two operations.
    Emptied,
    /// All of it is in the draft, up to this number; the operations after that were added since.
    Complete(u64, Vec<Operation>),
    /// The draft is another one: it was saved since.
    Unknown,
}

impl RecordReset {
    /// A change of the record of a session whose draft is read now.
    pub(super) fn new(scene: &Scene<'_>, session: &str, before: &Value, after: &Value) -> Result<Self, Error> {
        Ok(Self {
            session: session.to_owned(),
            before: before.clone(),
            after: after.clone(),
            last: draft::read(scene.repo, session)?.last().unwrap_or(0),
        })
    }

    fn extent(&self, scene: &Scene<'_>) -> Result<Extent, Error> {
        let draft = draft::read(scene.repo, &self.session)?;
        let mut rest = draft.operations.iter().filter(|(n, _)| *n > self.last);
        let Some((_, first)) = rest.next() else {
            let same = draft.last().unwrap_or(0) == self.last;
            return Ok(if same { Extent::Untouched } else { Extent::Unknown });
        };
        if first.record.as_ref() != Some(&cleared(&self.before)) {
            return Ok(Extent::Untouched);
        }
        Ok(match rest.next() {
            None => Extent::Emptied,
            Some((n, second)) if second.record.as_ref() == Some(&self.after) => {
                Extent::Complete(*n, rest.map(|(_, operation)| operation.clone()).collect())
            }
            Some(_) => Extent::Unknown,
        })
    }

    /// Makes what is left to make of an interrupted change. Gives the number of its last operation, or `None` if nothing
    /// of it was made.
    pub(super) fn complete(&self, scene: &Scene<'_>) -> Result<Option<u64>, Error> {
        Ok(match self.extent(scene)? {
            Extent::Untouched | Extent::Unknown => None,
            Extent::Complete(last, _) => Some(last),
            Extent::Emptied => Some(append(scene, &self.session, vec![self.after.clone()], &[])?),
        })
    }

    /// Takes back what was made of an interrupted change; what was noted since stays. Gives the number of the last
    /// operation in the draft, or `None` if nothing was made.
    pub(super) fn take_back(&self, scene: &Scene<'_>) -> Result<Option<u64>, Error> {
        let (cleared, later) = match self.extent(scene)? {
            Extent::Untouched => return Ok(None),
            Extent::Unknown => {
                return Err(Error::RecordChanged {
                    direction: "revert",
                    what: "what was interrupted".to_owned(),
                });
            }
            Extent::Emptied => (None, Vec::new()),
            Extent::Complete(_, later) => {
                let mut members = cleared(&self.after);
                for patch in later.iter().filter_map(|operation| operation.record.as_ref()) {
                    members.as_object_mut().into_iter().for_each(|members| {
                        members.extend(cleared(patch).as_object().cloned().unwrap_or_default());
                    });
                }
                (Some(members), later)
            }
        };
        let records = cleared.into_iter().chain([self.before.clone()]).collect();
        Ok(Some(append(scene, &self.session, records, &later)?))
    }

    /// Effect that undo reverts; `last` is the number of the last operation in the draft.
    pub(super) fn effect(&self, last: u64) -> Effect {
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
/// and how. What was noted and is not saved yet stays.
pub(super) fn plan(scene: &Scene<'_>, checkpoint: &Checkpoint) -> Result<(RecordFate, Option<RecordReset>), Error> {
    let Some(chosen) = session_choice::session_for_command(scene)? else {
        return Ok((RecordFate::OfAnotherSession, None));
    };
    let session = &chosen.tip.document.session;
    if session.id != checkpoint.document.session.id {
        return Ok((RecordFate::OfAnotherSession, None));
    }
    if checkpoint.document.is_locked() && !chosen.tip.document.is_locked() {
        let session = checkpoint.document.session.name.to_string();
        return Err(store::Error::RecordLocked { session }.into());
    }
    let mut subject = session_choice::carried(&chosen.tip, &chosen.name);
    let draft = draft::read(scene.repo, &session.id)?;
    let mut wanted = kept(&checkpoint.document.record);
    // An earlier restore or undo changed the record by itself: that is no note of a user.
    let mut base = subject.record.clone();
    let mut was_emptied = false;
    let folded = &chosen.tip.document.folded;
    let operations: Vec<&Operation> = draft.after(folded).map(|(_, operation)| operation).collect();
    for (at, operation) in operations.iter().enumerate() {
        // Both of its operations are of one moment.
        let next = operations.get(at + 1).filter(|next| next.at == operation.at);
        let empties = next.is_some_and(|next| next.record.is_some())
            && operation.record.as_ref() == Some(&cleared(&value(&subject.record)));
        if empties {
            wanted = with_unsaved(wanted, &base, &subject.record);
        }
        subject.apply_all([*operation])?;
        if was_emptied {
            base = subject.record.clone();
        }
        was_emptied = empties;
    }
    let wanted = with_unsaved(wanted, &base, &subject.record);
    if kept(&subject.record) == kept(&wanted) {
        return Ok((RecordFate::Same, None));
    }
    chosen.require_readable()?;
    let change = RecordReset {
        session: session.id.clone(),
        before: value(&subject.record),
        after: value(&wanted),
        last: draft.last().unwrap_or(0),
    };
    let fate = RecordFate::Restored {
        session: chosen.name,
        changes: comparison::compare(&kept(&subject.record), &kept(&wanted)),
    };
    Ok((fate, Some(change)))
}

/// A record with everything that is different `now` from what was `saved`: items by their ids, other members as they are.
fn with_unsaved(wanted: Record, saved: &Record, now: &Record) -> Record {
    if saved == now {
        return wanted;
    }
    let mut out = value(&wanted);
    carry_over(&mut out, &value(saved), &value(now));
    // Each member is one of a record already.
    crate::model::json::from_value(out).unwrap_or(wanted)
}

/// Carries the differences of two values over to a third one.
fn carry_over(out: &mut Value, saved: &Value, now: &Value) {
    if saved == now {
        return;
    }
    match (&mut *out, saved, now) {
        (Value::Object(out), Value::Object(saved), Value::Object(now)) => {
            for (member, now) in now {
                let none = match now {
                    Value::Array(_) => Value::Array(Vec::new()),
                    _ => Value::Null,
                };
                let saved = saved.get(member).unwrap_or(&none);
                if saved != now {
                    carry_over(out.entry(member).or_insert_with(|| none.clone()), saved, now);
                }
            }
            out.retain(|member, _| now.contains_key(member) || !saved.contains_key(member));
        }
        (Value::Array(out), Value::Array(saved), Value::Array(now)) => {
            let same = |one: &Value, other: &Value| match (&one["id"], &other["id"]) {
                (Value::Null, _) | (_, Value::Null) => one == other,
                (one, other) => one == other,
            };
            out.retain(|item| now.iter().any(|it| same(it, item)) || !saved.iter().any(|it| same(it, item)));
            for item in now.iter().filter(|item| !saved.contains(item)) {
                match out.iter_mut().find(|it| same(it, item)) {
                    Some(known) => known.clone_from(item),
                    None => out.push(item.clone()),
                }
            }
        }
        _ => out.clone_from(now),
    }
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

/// Whether the record of a session is, but for what is about one checkpoint alone, this one. Also where another change of
/// it was made and taken back since.
pub(super) fn is_now(scene: &Scene<'_>, session: &str, record: &Value) -> Result<bool, Error> {
    let Some(chosen) =
        session_choice::session_for_command(scene)?.filter(|chosen| chosen.tip.document.session.id == session)
    else {
        return Ok(false);
    };
    let mut subject = session_choice::carried(&chosen.tip, &chosen.name);
    session_choice::with_draft(scene, &chosen.tip, &mut subject)?;
    let wanted = crate::model::json::from_value::<Record>(record.clone()).ok();
    Ok(wanted.is_some_and(|wanted| kept(&wanted) == kept(&subject.record)))
}

/// Whether all that a draft has of the record after an operation is what [`replace`] appends for these records.
pub(super) fn is_replaced(draft: &Draft, after: u64, present: &Value, wanted: &Value) -> bool {
    let of_record = |one: &Operation| one.record.is_some() || one.remove.is_some() || one.put.is_some();
    let mut rest = draft.operations.iter().filter(|(n, one)| *n > after && of_record(one));
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
    append(scene, session, vec![cleared(present), wanted], &[])
}

/// Appends patches of the record, and again what operations say of it. Gives the number of the last one.
fn append(scene: &Scene<'_>, session: &str, records: Vec<Value>, again: &[Operation]) -> Result<u64, Error> {
    let by = compose::by(scene, &compose::people(scene));
    let operation = |record: Value| -> Result<Operation, Error> {
        Ok(Operation {
            record: Some(record),
            ..Operation::new(ids::item_id()?, scene.now, by.clone())
        })
    };
    let mut operations = records.into_iter().map(operation).collect::<Result<Vec<_>, _>>()?;
    for said in again {
        let of_record = Operation {
            id: ids::item_id()?,
            session: None,
            log: None,
            step: None,
            ..said.clone()
        };
        if of_record.says_something() {
            operations.push(of_record);
        }
    }
    let draft_id = ids::item_id()?;
    let appended = draft::append(scene.repo, session, &operations, || draft_id, scene.wait)?;
    Ok(appended.last)
}

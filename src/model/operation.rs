//! Operations of a draft: small changes to a session, kept until a save folds them into a document.
//!
//! Each has an id and a sequence number in its draft. A document records up to which number of which draft it has folded
//! operations in, so one that survives a killed save is never applied twice.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    document::Session,
    patch::{self, MissingItemRule, RecordEditor},
    record::{Record, UnknownMembers},
    step::{Step, StepChange},
    time::Timestamp,
};

/// One change. At least one of the optional members is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Operation {
    /// Unique in the repository.
    pub id: String,
    /// When it was made.
    pub at: Timestamp,
    /// Who made it.
    pub by: String,
    /// A prepared patch of the record (see [`patch::prepare`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Value>,
    /// An item to take out of a list of the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remove: Option<ItemRef>,
    /// A JSON merge patch of the session's members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Value>,
    /// A part of the caller's state to be replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub put: Option<StateValue>,
    /// A line of the session log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogLine>,
    /// A change of one step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepChange>,
    /// The conflict of the record that it resolves, by id: it goes where the merge goes that left it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolves: Option<String>,
    /// Members of a later version.
    #[serde(flatten)]
    pub unknown: UnknownMembers,
}

impl Operation {
    /// An operation that changes nothing yet.
    pub fn new(id: String, at: Timestamp, by: String) -> Self {
        Self {
            id,
            at,
            by,
            record: None,
            remove: None,
            session: None,
            put: None,
            log: None,
            step: None,
            resolves: None,
            unknown: UnknownMembers::new(),
        }
    }

    /// Whether it changes more than the session's state: that it was taken up again is nothing to save for.
    pub fn says_something(&self) -> bool {
        let only_status = |patch: &Value| {
            let map = patch.as_object();
            map.is_some_and(|map| map.keys().all(|key| key == "status"))
        };
        self.record.is_some()
            || self.remove.is_some()
            || self.put.is_some()
            || self.log.is_some()
            || self.step.is_some()
            || self.session.as_ref().is_some_and(|patch| !only_status(patch))
    }
}

/// Whether operations, of a file that anybody may have edited, could be applied to a session at all; for all of them at
/// the price of one, unless one could not.
pub fn fit<'a>(operations: &[&'a Operation], is_fit: &mut dyn FnMut(&'a Operation, bool)) {
    let all = fit_together(operations);
    for operation in operations {
        is_fit(operation, all || fit_together(&[operation]));
    }
}

fn fit_together(operations: &[&Operation]) -> bool {
    let mut record = RecordEditor::new(&Record::default());
    for operation in operations {
        let patched = operation.record.as_ref();
        if patched.is_some_and(|patch| {
            record.apply(patch, MissingItemRule::IsPassedOver).is_err() || patch::check_parts(patch).is_err()
        }) {
            return false;
        }
        if operation
            .session
            .as_ref()
            .is_some_and(|patch| Session::check(patch).is_err())
        {
            return false;
        }
        let step = operation.step.as_ref();
        if step.is_some_and(|change| Step::new(&change.id, 1, change.at, "").patched(change).is_err()) {
            return false;
        }
    }
    record.finish().is_ok()
}

/// An item of a list of the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ItemRef {
    /// The list's name.
    pub list: String,
    /// The item's id.
    pub id: String,
}

/// A value for the record's `state`, which a merge patch could not give: that takes nulls for removals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateValue {
    /// Where, as a JSON pointer (RFC 6901); empty for the whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub at: String,
    /// New value.
    pub value: Value,
}

/// A line of the session log, stored in `log/*.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LogLine {
    /// When it happened.
    pub at: Timestamp,
    /// `info`, `warn` or `error`.
    pub level: String,
    /// Message of the log line.
    pub message: String,
    /// Whom it concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// The part of a session that operations change.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// Its members.
    pub session: Session,
    /// Its record.
    pub record: Record,
    /// Log lines not stored yet.
    pub log: Vec<LogLine>,
    /// Changes of steps not applied yet, in order: the steps themselves are read only where one is changed.
    pub steps: Vec<StepChange>,
}

impl Subject {
    /// Applies one operation that is made now. An item to be changed must be there; one to be removed may be gone.
    pub fn apply(&mut self, operation: &Operation) -> Result<(), patch::Error> {
        self.apply_as([operation], MissingItemRule::IsAdded)
    }

    /// Applies operations of a draft in order; costs what they say and what the record holds once, not once for each.
    ///
    /// An item to be changed that is gone is no error: another writer removed it.
    pub fn apply_all<'a>(&mut self, operations: impl IntoIterator<Item = &'a Operation>) -> Result<(), patch::Error> {
        self.apply_as(operations, MissingItemRule::IsPassedOver)
    }

    fn apply_as<'a>(
        &mut self,
        operations: impl IntoIterator<Item = &'a Operation>,
        missing: MissingItemRule,
    ) -> Result<(), patch::Error> {
        let mut record = None;
        for operation in operations {
            if operation.record.is_some() || operation.remove.is_some() || operation.put.is_some() {
                let record = record.get_or_insert_with(|| RecordEditor::new(&self.record));
                if let Some(patch) = &operation.record {
                    record.stamp(&operation.at.to_string(), &operation.by);
                    record.apply(patch, missing)?;
                }
                if let Some(item) = &operation.remove {
                    record.remove(&item.list, &item.id);
                }
                if let Some(put) = &operation.put {
                    record.put(&put.at, put.value.clone());
                }
            }
            if let Some(patch) = &operation.session {
                self.session = self.session.patched(patch)?;
            }
            self.log.extend(operation.log.clone());
            self.steps.extend(operation.step.clone());
        }
        if let Some(record) = record {
            self.record = record.finish()?;
        }
        Ok(())
    }
}

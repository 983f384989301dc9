//! Operations of a draft: small changes to a session, kept until a save folds them into a document.
//!
//! Each has an id and a sequence number in its draft. A document says up to which number of which draft it has folded
//! operations in, so one that survives a killed save is never applied twice.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    document::Session,
    patch,
    record::{Record, Unknown},
    step::StepChange,
    time::Timestamp,
};

/// One change. At least one of the optional members is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// A line of the session log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LogLine>,
    /// A change of one step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepChange>,
    /// Members of a later version.
    #[serde(flatten)]
    pub unknown: Unknown,
}

impl Operation {
    /// Whether it changes more than where the session stands: that it was taken up again is nothing to save for.
    pub fn says_something(&self) -> bool {
        let only_status = |patch: &Value| {
            let map = patch.as_object();
            map.is_some_and(|map| map.keys().all(|key| key == "status"))
        };
        self.record.is_some()
            || self.remove.is_some()
            || self.log.is_some()
            || self.step.is_some()
            || self.session.as_ref().is_some_and(|patch| !only_status(patch))
    }
}

/// An item of a list of the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemRef {
    /// The list's name.
    pub list: String,
    /// The item's id.
    pub id: String,
}

/// A line of the session log, stored in `log/*.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogLine {
    /// When it happened.
    pub at: Timestamp,
    /// `info`, `warn` or `error`.
    pub level: String,
    /// What happened.
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
    /// Applies one operation. An item to be removed that is already gone is no error: another writer removed it.
    pub fn apply(&mut self, operation: &Operation) -> Result<(), patch::Error> {
        if let Some(patch) = &operation.record {
            self.record = patch::apply(&self.record, patch)?;
        }
        if let Some(item) = &operation.remove {
            match patch::remove(&self.record, &item.list, &item.id) {
                Ok(record) => self.record = record,
                Err(patch::Error::NoItem { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        if let Some(patch) = &operation.session {
            self.session = self.session.patched(patch)?;
        }
        self.log.extend(operation.log.clone());
        self.steps.extend(operation.step.clone());
        Ok(())
    }
}

//! Output of the commands that change the draft, and of those that list its items.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::receipt::{RedactionRow, SaveReceipt};
use crate::model::{
    item::{Overlap, Totals},
    name::ShortName,
    operation::LogLine,
    record::Phase,
    time::Timestamp,
};

/// A change of the draft.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.draft/1")]
pub struct DraftView<'a> {
    /// The change, in one word.
    #[schemars(extend("enum" = [
        "added", "answered", "blocked", "changed", "checked", "cleared", "closed", "decided", "done", "dropped", "noted",
        "opened", "patched", "removed", "reopened", "resolved", "set", "started",
    ]))]
    pub outcome: &'static str,
    /// The name of the session.
    pub session: &'a ShortName,
    /// The identity of the session, which never changes.
    pub session_id: &'a str,
    /// `started`, `continued` (it was paused here) or `meant` (current or named).
    #[schemars(extend("enum" = ["started", "continued", "meant"]))]
    pub session_is: &'static str,
    /// Ids of the operations that were appended to the draft.
    pub operations: Vec<&'a str>,
    /// How many operations wait for the next save.
    pub draft_operations: u64,
    /// Secrets that were found.
    pub redactions: Vec<RedactionRow>,
    /// The receipt of the checkpoint that `checkpoint.saveOn` asked for.
    pub checkpoint: Option<SaveReceipt<'a>>,
    /// The list of the record that changed, where it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<&'static str>,
    /// Items that were added, changed or removed, as they are now or were last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<ItemView>>")]
    pub items: Option<Vec<Value>>,
    /// Those of them that lost a text, such as an earlier answer, as they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<ItemView>>")]
    pub former: Option<Vec<Value>>,
    /// Changes that are no item.
    #[serde(flatten)]
    pub detail: DraftDetail,
}

/// Parts of the record that are no items.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct DraftDetail {
    /// The phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// The iteration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u64>,
    /// The line of the session log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<LogLine>,
    /// Paths of two agents that may be the same file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlaps: Option<Vec<Overlap>>,
}

/// The items of one list of the record.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.items/1")]
#[schemars(extend("x-lines" = "items"))]
pub struct ItemList<'a> {
    /// The name of the session.
    pub session: &'a ShortName,
    /// The identity of the session, which never changes.
    pub session_id: &'a str,
    /// The list's name in the document.
    pub list: &'static str,
    /// The items.
    #[schemars(with = "Vec<NumberedItem>")]
    pub items: Vec<Value>,
    /// The totals of delegations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub totals: Option<Totals>,
}

/// An item of a list; its other members depend on the list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ItemView {
    /// Unique in the list.
    pub id: String,
    /// When it was added.
    pub at: Timestamp,
    /// Who added it.
    pub by: String,
    /// Members of its list.
    #[serde(flatten)]
    pub members: Map<String, Value>,
}

/// An item and its number, by which commands find it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NumberedItem {
    /// Counted from 1.
    pub number: usize,
    /// The item.
    #[serde(flatten)]
    pub item: ItemView,
}

//! Output of `diff`: items of the record that came and went, and the files that differ.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::{change::TreeChange, comparison::RecordDifference, id::Oid};

/// The differences as JSON, `git-checkpoint.diff/1`.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "The differences between two checkpoints, or one and the current files")]
pub struct CheckpointDiff<'a> {
    /// `git-checkpoint.diff/1`.
    #[schemars(extend("const" = "git-checkpoint.diff/1"))]
    pub schema: &'static str,
    /// The older side.
    pub old: &'a Oid,
    /// The newer side; null for the current files.
    pub new: Option<&'a Oid>,
    /// Items of the record that came and went.
    pub record: &'a [RecordDifference],
    /// The files that differ.
    pub files: &'a [TreeChange],
    /// Whether both sides have files, so that they could be compared.
    pub files_compared: bool,
    /// The files as a patch, where `--patch` asked for it; bytes that are no UTF-8 are replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<Cow<'a, str>>,
}

/// A heading and a line an item; nothing when the records are the same.
pub fn record(changes: &[RecordDifference], old: &str, new: &str) -> Text {
    let mut text = Text::new();
    if changes.is_empty() {
        return text;
    }
    text.push(TextLine::new().with(Slot::Heading, format!("record {old}..{new}")));
    for change in changes {
        let mut line = TextLine::plain(format!("  {}", change.item));
        line.pad_to(14);
        let (sign, slot) = if change.added {
            ("+", Slot::Added)
        } else {
            ("-", Slot::Removed)
        };
        text.push(line.with(slot, format!("{sign} {}", change.text)));
    }
    text
}

//! Output of `diff`: items of the record that came and went, and the files that differ.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::{change::TreeChange, comparison::RecordDifference, id::Oid, name::ShortName};

/// The differences between two checkpoints, or one and the current files.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.diff/1")]
pub struct CheckpointDiff<'a> {
    /// The older side.
    pub old: &'a Oid,
    /// The newer side; null for the current files.
    pub new: Option<&'a Oid>,
    /// Items of the record that came and went.
    pub record: &'a [RecordDifference],
    /// Whether what is staged was compared, instead of the files.
    pub index: bool,
    /// The files that differ.
    pub files: &'a [TreeChange],
    /// Whether both sides have files, so that they could be compared.
    pub files_compared: bool,
    /// The files as a patch, where `--patch` asked for it; bytes that are no UTF-8 are replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patch: Option<Cow<'a, str>>,
}

/// The commits of two forks, as `diff --range` matches them.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.range/1")]
#[schemars(extend("x-lines" = "commits"))]
pub struct RangeView<'a> {
    /// The older side.
    pub old: RangeSideRow<'a>,
    /// The newer side.
    pub new: RangeSideRow<'a>,
    /// The commit that both began at.
    pub base: &'a Oid,
    /// Their commits, in the order of git.
    pub commits: Vec<MatchedCommitRow<'a>>,
}

/// A side of a range.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RangeSideRow<'a> {
    /// The checkpoint.
    pub id: &'a Oid,
    /// Its session.
    pub session: Option<&'a ShortName>,
    /// The commit it was saved at.
    pub head: &'a Oid,
}

/// A commit of one side, with the other side's that makes about the same change.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MatchedCommitRow<'a> {
    /// `removed`: only the old side has it; `added`: only the new side.
    #[schemars(extend("enum" = ["same", "changed", "removed", "added"]))]
    pub verdict: &'static str,
    /// The old side's commit.
    pub old: Option<&'a Oid>,
    /// The new side's commit.
    pub new: Option<&'a Oid>,
    /// Its subject.
    pub subject: &'a str,
}

/// A heading and a line an item; nothing when the records are the same.
pub fn record(changes: &[RecordDifference], old: &str, new: &str) -> Text {
    let mut text = Text::new();
    if changes.is_empty() {
        return text;
    }
    text.push(TextLine::new().with(Slot::Heading, format!("record {old}..{new}")));
    for change in changes {
        text.push(record_line(change, 2, 14));
    }
    text
}

/// The line of one difference: its item after so many spaces, and from `column` on the sign and the text.
pub(super) fn record_line(change: &RecordDifference, indent: usize, column: usize) -> TextLine {
    let mut line = TextLine::plain(format!("{:indent$}{}", "", change.item));
    line.pad_to(column);
    let (sign, slot) = if change.added {
        ("+", Slot::Added)
    } else {
        ("-", Slot::Removed)
    };
    line.with(slot, format!("{sign} {}", change.text))
}

//! The record part of `diff`: items that came and went.

use super::{
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::comparison::RecordDifference;

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

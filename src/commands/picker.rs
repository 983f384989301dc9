//! The choice of a session at a terminal: a numbered list, of which Enter takes the latest.

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
};
use crate::{
    model::{selector::Selector, time::Timestamp},
    ops::list::SessionSummaryRow,
    render::{age, slot::Slot, text::TextLine},
};

/// Asks which of these sessions is meant, latest first. `instead` names the argument to give where no question is possible.
///
/// # Errors
/// [`FailureKind::Negative`] when none was chosen.
pub(super) fn pick(
    context: &Context,
    rows: &[SessionSummaryRow],
    now: Timestamp,
    instead: &str,
) -> Result<Selector, CommandError> {
    let choices: Vec<TextLine> = rows.iter().map(|row| choice(row, now)).collect();
    let Some(at) = context.ui.choose("Which session?", &choices, instead)? else {
        return Err(CommandError::silent(FailureKind::Negative));
    };
    failure::selector(&rows[at].name)
}

fn choice(row: &SessionSummaryRow, now: Timestamp) -> TextLine {
    let mut line = TextLine::new().with(Slot::Session, &row.name);
    if let Ok((entry, standing)) = &row.tip {
        line.push(Slot::Plain, format!("  {}  ", standing.word()));
        line.push(Slot::Date, age::age(entry.time, now));
        let summary = entry.trailers.summary.as_ref().unwrap_or(&entry.subject);
        line.push(Slot::Plain, format!("  {summary}"));
    }
    line
}

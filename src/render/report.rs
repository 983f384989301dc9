//! Stand-in.
use crate::model::report::ChangeReport;
/// Text.
pub fn text(_report: &ChangeReport, _columns: usize) -> super::text::Text {
    super::text::Text::new()
}

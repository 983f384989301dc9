//! Views for front ends that people look at: the page and the terminal interface.

use super::{CallMonitor, CommandFailure, CommandLine, CommandRunner};
use crate::{
    model::time::Timestamp,
    render::{
        indicator::IndicatorView,
        sessions::{CheckpointLog, SessionTable},
        text::Text,
    },
};

/// Gives the views of one repository. Each call reads its current state.
pub trait ViewSource: CommandRunner {
    /// Output of a command as a person reads it, in lines of at most `columns`, with the receipt and the failure, if any.
    fn text(&self, line: &CommandLine, columns: usize, monitor: &CallMonitor) -> TextRun;

    /// The sessions, latest first, and the time now.
    ///
    /// # Errors
    /// When they cannot be listed.
    fn sessions(&self) -> Result<(SessionTable, Timestamp), CommandFailure>;

    /// The latest checkpoints of a session, or those from a checkpoint on; of the current session without a selector.
    ///
    /// # Errors
    /// When there is no such session.
    fn log(&self, selector: Option<&str>, limit: usize) -> Result<CheckpointLog, CommandFailure>;

    /// State of the current session; `None` without one.
    ///
    /// # Errors
    /// When it cannot be read.
    fn indicator(&self) -> Result<Option<IndicatorView>, CommandFailure>;

    /// A checkpoint as a fragment of HTML, everything in it escaped.
    ///
    /// # Errors
    /// When there is no such checkpoint.
    #[cfg(feature = "serve")]
    fn article(&self, selector: &str) -> Result<String, CommandFailure>;

    /// A number that changes with what the other views show.
    ///
    /// # Errors
    /// When the repository cannot be read.
    fn stamp(&self) -> Result<u64, CommandFailure>;
}

/// Output of a command for a person.
#[derive(Debug)]
pub struct TextRun {
    /// Standard output.
    pub text: Text,
    /// Warnings, in their order.
    pub warnings: Vec<String>,
    /// Why it failed.
    pub failure: Option<CommandFailure>,
}

//! Front ends for programs: the tool server for agents and the batch mode. What the front ends for people share is here as
//! well: where their views come from, and the actions they offer.
//!
//! The tool server and the batch mode take requests on standard input and answer on standard output, and both run commands
//! inside of this process, so that hundreds of calls cost one start. A tool turns its arguments into the line of a command and the output of that
//! command into a typed result: whatever a command refuses, redacts, warns of or does afterwards holds for the tool as
//! well, and there is one set of operations. This layer knows the protocols and the views of `render`; what runs a command
//! is handed in as a [`CommandRunner`].

pub mod actions;
pub mod batch;
pub mod documents;
mod failure;
mod id_scanner;
mod line;
#[cfg(feature = "mcp")]
pub mod mcp;
mod request_line;
pub mod source;
pub mod tools;

use std::sync::Arc;

pub use failure::{CommandFailure, FailureKind};
pub use line::{CommandLine, PathRule};
pub use source::ViewSource;

use crate::os::Cancellation;

/// Runs commands inside of this process.
pub trait CommandRunner: Send + Sync {
    /// Runs one command to its end. May be called from several threads at once.
    fn run(&self, line: &CommandLine, monitor: &CallMonitor) -> CommandRun;
}

/// Receiver of progress: the work, how much is done, and of how much.
pub type ProgressReceiver = Arc<dyn Fn(&str, u64, Option<u64>) + Send + Sync>;

/// Connection of a running command to its caller.
#[derive(Clone, Default)]
pub struct CallMonitor {
    /// Receives progress, where the caller wants it.
    pub progress: Option<ProgressReceiver>,
    /// Stops the command, as long as it has changed nothing.
    pub cancellation: Cancellation,
}

/// Result of a command.
#[derive(Debug)]
pub struct CommandRun {
    /// The exit code that the command would have as a process.
    pub exit_code: u8,
    /// Standard output.
    pub output: String,
    /// Warnings, in their order.
    pub warnings: Vec<String>,
    /// Why it failed. A command that saved a partial checkpoint has output and a failure.
    pub failure: Option<CommandFailure>,
}

//! Output of `help`, and the failures and warnings of every command.

use schemars::JsonSchema;
use serde::Serialize;

/// A help page, or the commands there are.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.help/1")]
pub struct HelpView {
    /// The page; null for the program itself.
    pub topic: Option<String>,
    /// The text for people.
    pub text: String,
    /// The command with everything below it.
    pub command: Option<CommandDescription>,
    /// The pages that are not about a command.
    pub topics: Vec<&'static str>,
}

/// A command of the program.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "command")]
pub struct CommandDescription {
    /// Its name.
    pub name: String,
    /// Its purpose in one line.
    pub about: String,
    /// Its usage line.
    pub usage: String,
    /// Its other names.
    pub aliases: Vec<String>,
    /// Its own options.
    pub options: Vec<String>,
    /// The commands below it.
    pub commands: Vec<CommandDescription>,
}

/// Why a command failed, on standard error.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FailureView<'a> {
    /// The failure.
    pub error: FailureDetail<'a>,
}

/// A failure.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FailureDetail<'a> {
    /// The kind of failure; test it rather than the exit code.
    #[schemars(extend("enum" = [
        "negative", "not-found", "ambiguous", "refused", "locked", "network", "drift", "partial", "step", "fatal",
        "invalid", "damaged", "newer-format", "denied", "usage", "needs-answer", "interrupted", "broken-pipe",
    ]))]
    pub code: &'static str,
    /// The message.
    pub message: String,
    /// Advice, best with a command.
    pub hints: &'a [String],
}

/// Warnings of a command that continued, one per line on standard error.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WarningView<'a> {
    /// The warning.
    pub warning: WarningDetail<'a>,
}

/// A warning.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WarningDetail<'a> {
    /// The message.
    pub message: &'a str,
}

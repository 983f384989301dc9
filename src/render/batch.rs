//! Output of `batch`.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// An answer of batch, one a line.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.batch/1")]
pub struct BatchAnswer {
    /// Number of the line, from 1.
    pub line: u64,
    /// The `id` of the request.
    pub id: Value,
    /// The exit code that the command would have as a process.
    pub exit_code: u8,
    /// The JSON that the command prints, or the result of the tool; null where there is none.
    pub output: Value,
    /// The output as text, where it is no JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// Why it failed; null where it did not.
    pub error: Option<BatchFailure>,
}

/// A failure.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BatchFailure {
    /// The word for programs, as in the errors of `--json`.
    pub code: &'static str,
    /// The message.
    pub message: String,
    /// Hints.
    pub hints: Vec<String>,
}

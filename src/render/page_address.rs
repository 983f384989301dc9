//! The address of the local page, whose schema is published by every build.

use schemars::JsonSchema;
use serde::Serialize;

/// Address of the local page.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.serve/1")]
pub struct PageAddress {
    /// The address with the token of this run, which admits anyone who has it.
    pub url: String,
    /// The port on the loopback interface.
    pub port: u16,
    /// Whether the page may change something.
    pub actions: bool,
}

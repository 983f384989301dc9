//! Finding secrets in text, bytes and JSON, and replacing them before anything is stored.
//!
//! Well-known formats (`rules`) are replaced by a marker that names the kind, `[REDACTED:github-token]`, which
//! cannot be mistaken for a working credential and never matches again. What merely looks like a secret, a random
//! string or `password = "..."`, is reported as a [`Severity::Warning`] and stays. Object ids, digests, UUIDs,
//! signatures, encrypted reasoning and images are left alone.
//!
//! Pure: nothing is read or written here, no finding carries the secret, and content of the working tree is never meant
//! to pass through. What cannot be seen: secrets in encrypted data and in compression other than gzip, zlib and zip, which
//! is reported ([`UnsearchedData`]), and words of no known form.

mod assignments;
mod check;
mod clean_texts;
mod engine;
pub mod file;
mod json;
mod key_file;
mod opaque;
mod packed;
mod placeholder;
mod random;
mod redact;
mod rules;
mod scan;
mod settings;
mod stream;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

pub use json::JsonFinding;
pub use packed::{BEYOND_LIMITS, PackedFinding, PackedReport, UnsearchedData};
pub use scan::Scanner;
pub use settings::{Error, OwnRule, RedactionMode, RedactionSettings};
pub use stream::ChunkRedactor;

/// Beginning of every marker.
const MARKER_START: &str = "[REDACTED:";

/// How sure a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// It may be one: a random string, or a value assigned to something called a password. The text stays.
    Warning,
    /// A known format, or one of the user's own rules. The text is replaced, unless the mode is [`RedactionMode::Warn`].
    Secret,
}

/// A secret in a text: what and where, never the secret itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Name of the kind, as in the marker: `github-token`.
    pub kind: Cow<'static, str>,
    /// How sure it is.
    pub severity: Severity,
    /// The bytes of the secret in the input.
    pub range: Range<usize>,
    /// Line in the input, from 1.
    pub line: usize,
    /// Character in the line, from 1.
    pub column: usize,
    /// The output has a marker in its place.
    pub replaced: bool,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at line {}, column {}", self.kind, self.line, self.column)
    }
}

/// The marker that replaces a secret of this kind.
pub fn marker(kind: &str) -> String {
    format!("{MARKER_START}{kind}]")
}

/// The kinds of the built-in rules that are replaced, sorted, each once.
pub fn kinds() -> Vec<&'static str> {
    let all = rules::TABLES.iter().flat_map(|table| table.iter());
    let mut kinds: Vec<_> = all
        .filter(|rule| !rule.check.only_warns())
        .map(|rule| rule.kind)
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

//! Settings of redaction (`checkpoint.redact` and its allow-list and rules), checked once.

use std::str::FromStr;

use regex::bytes::Regex;

use super::check::marker_len;
use super::{engine, marker};

/// The kinds that only warn: by name, by randomness.
pub(super) const WARNINGS: [&str; 2] = ["generic-secret", "high-entropy"];

/// Action on secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RedactionMode {
    /// Replace them.
    #[default]
    On,
    /// Report them and leave the text as it is.
    Warn,
    /// Do not look.
    Off,
}

impl FromStr for RedactionMode {
    type Err = Error;

    /// Reads `on`, `warn` or `off`, and git's other spellings of booleans.
    fn from_str(text: &str) -> Result<Self, Error> {
        match text.to_ascii_lowercase().as_str() {
            "on" | "true" | "yes" | "1" => Ok(Self::On),
            "warn" => Ok(Self::Warn),
            "off" | "false" | "no" | "0" => Ok(Self::Off),
            _ => Err(Error::Mode { value: text.to_owned() }),
        }
    }
}

/// A rule of the user's own: what it matches is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnRule {
    /// Name for the marker: lower-case letters, digits and `-`, at most 64, a letter first.
    pub kind: String,
    /// Regular expression in the syntax of the `regex` crate, over bytes with ASCII classes. The secret is its first
    /// group, or the match.
    pub pattern: String,
}

/// How to redact. The default: replace, nothing allowed, no rules of one's own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RedactionSettings {
    /// Action on secrets.
    pub mode: RedactionMode,
    /// Allow-list: the exact text of a secret (`AKIA...`), a regular expression between slashes that matches in it
    /// (`/EXAMPLE$/`), or `kind:` and the kind to ignore (`kind:jwt`).
    pub allow: Vec<String>,
    /// Rules next to the built-in ones.
    pub rules: Vec<OwnRule>,
}

/// Why settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// `checkpoint.redact` has another value.
    #[error("unknown redaction mode '{value}': use on, warn or off")]
    Mode {
        /// The value.
        value: String,
    },
    /// The kind of an own rule cannot be in a marker.
    #[error("bad name '{kind}' of a redaction rule: use lower-case letters, digits and '-', a letter first")]
    OwnKind {
        /// The name.
        kind: String,
    },
    /// The pattern of an own rule is no regular expression.
    #[error("bad pattern '{pattern}' of redaction rule '{kind}': {reason}")]
    OwnPattern {
        /// Name of the rule.
        kind: String,
        /// The pattern.
        pattern: String,
        /// Reason why it is invalid.
        reason: String,
    },
    /// An entry of the allow-list between slashes is no regular expression.
    #[error("bad pattern '{entry}' in the list of what is no secret: {reason}")]
    AllowPattern {
        /// The entry.
        entry: String,
        /// Reason why it is invalid.
        reason: String,
    },
    /// An entry of the allow-list names a kind that there is not.
    #[error("unknown kind '{kind}' in the list of what is no secret")]
    AllowKind {
        /// The kind.
        kind: String,
    },
    /// An entry of the allow-list is empty and would allow everything or nothing.
    #[error("empty entry in the list of what is no secret")]
    AllowEmpty,
}

/// An own rule, compiled.
pub(super) struct CustomRule {
    pub(super) kind: String,
    pub(super) regex: Regex,
}

/// An entry of the allow-list.
pub(super) enum AllowRule {
    Text(Vec<u8>),
    Pattern(Regex),
    Kind(String),
}

pub(super) fn own_rules(rules: &[OwnRule]) -> Result<Vec<CustomRule>, Error> {
    let own = |rule: &OwnRule| {
        let kind = rule.kind.clone();
        if !kind.starts_with(|c: char| c.is_ascii_lowercase()) || marker_len(marker(&kind).as_bytes()).is_none() {
            return Err(Error::OwnKind { kind });
        }
        match engine::build(&rule.pattern) {
            Ok(regex) => Ok(CustomRule { kind, regex }),
            Err(error) => Err(Error::OwnPattern {
                kind,
                pattern: rule.pattern.clone(),
                reason: reason(&error),
            }),
        }
    };
    rules.iter().map(own).collect()
}

pub(super) fn allow_list(entries: &[String], own: &[CustomRule]) -> Result<Vec<AllowRule>, Error> {
    let entry = |entry: &String| {
        if let Some(kind) = entry.strip_prefix("kind:") {
            let known =
                super::kinds().contains(&kind) || WARNINGS.contains(&kind) || own.iter().any(|rule| rule.kind == kind);
            return if known {
                Ok(AllowRule::Kind(kind.to_owned()))
            } else {
                Err(Error::AllowKind { kind: kind.to_owned() })
            };
        }
        if let Some(pattern) = entry
            .strip_prefix('/')
            .and_then(|rest| rest.strip_suffix('/'))
            .filter(|pattern| !pattern.is_empty())
        {
            return match engine::build(pattern) {
                Ok(regex) => Ok(AllowRule::Pattern(regex)),
                Err(error) => Err(Error::AllowPattern {
                    entry: entry.clone(),
                    reason: reason(&error),
                }),
            };
        }
        if entry.is_empty() {
            Err(Error::AllowEmpty)
        } else {
            Ok(AllowRule::Text(entry.as_bytes().to_vec()))
        }
    };
    entries.iter().map(entry).collect()
}

/// The reason in one line: the regex crate prints the pattern with a caret below it first.
fn reason(error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(limit) => format!("larger than {limit} bytes when compiled"),
        other => {
            let text = other.to_string();
            let last = text.lines().last().unwrap_or_default().trim();
            last.strip_prefix("error: ").unwrap_or(last).to_owned()
        }
    }
}

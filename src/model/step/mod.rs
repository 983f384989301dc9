//! Steps: units of delegated work with what went in and what came out, kept so that a failed one can be tried again
//! with everything that is known.
//!
//! A step is stored as `steps/<id>.json` next to the document. Drafts change it by merge patches of its members, so that
//! two writers of one step do not undo each other. Nothing here runs anything or looks at files.

mod files;
mod find;
mod retry;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use files::{FileState, FileStates, LISTED};
pub use find::{StepMatch, find, needed_by, rests_on};
pub use retry::{FileChanges, RetryInfo, Warning};

use super::{excerpt::Excerpt, json, patch, path::RepoPath, record::UnknownMembers, time::Timestamp};

/// The largest stored step that is read: 16 MiB. Real ones have a few KiB; outputs are bounded, prompts to 1 MiB.
pub const SIZE_LIMIT: usize = 16 << 20;
/// The most bytes of a prompt, a context or an error that a step takes.
pub const TEXT_LIMIT: usize = 1 << 20;

/// A unit of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Unique in the session: eight base32 characters unless it was imported.
    pub id: String,
    /// Its place in the order of steps, from 1.
    #[serde(default)]
    pub n: u32,
    /// When it was noted first.
    pub at: Timestamp,
    /// Who noted it.
    pub by: String,
    /// Title.
    #[serde(default)]
    pub title: String,
    /// How far it is.
    #[serde(default)]
    pub status: StepStatus,
    /// Which try this is, from 1.
    #[serde(default = "one")]
    pub attempt: u32,
    /// Who does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The issue in a tracker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<String>,
    /// Objective, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// Prompt of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// Corrections since, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub corrections: Vec<String>,
    /// Ids of the steps whose results it uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<String>,
    /// When this try began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// How long it took, in milliseconds, where that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The command, when it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<ShellCommand>,
    /// The command's exit status; 128 and the signal's number when one ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
    /// Excerpt of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Excerpt>,
    /// Files it created, modified or deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<StepOutput>,
    /// How many more files than those it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more_outputs: Option<u64>,
    /// Results of checks by name (`lint`, `tests`, `build`): `pass`, `fail` or another word.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub verification: Map<String, Value>,
    /// Context for later steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why its result does not hold any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalidated: Option<String>,
    /// The files when this try began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<FileStates>,
    /// The files when it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<FileStates>,
    /// The tries before this one, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<StepAttempt>,
    /// Members of a later version.
    #[serde(flatten)]
    pub unknown: UnknownMembers,
}

fn one() -> u32 {
    1
}

/// How far a step is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StepStatus {
    /// Begun, and not ended as far as anybody said.
    #[default]
    Running,
    /// Ended well.
    Done,
    /// Ended badly.
    Failed,
    /// Ended well once, but its result does not hold any more.
    Invalid,
}

impl StepStatus {
    /// The word that is stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Invalid => "invalid",
        }
    }
}

/// A command with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShellCommand {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The directory it runs in, below the top of the working tree; empty is the top itself.
    #[serde(rename = "folder", default, skip_serializing_if = "is_top")]
    pub directory: RepoPath,
    /// How long it may take, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Whether what is stored is not quite what ran (a secret was taken out, or bytes are no text), so that it cannot be
    /// run from here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub altered: bool,
}

fn is_top(directory: &RepoPath) -> bool {
    directory.as_bytes().is_empty()
}

impl ShellCommand {
    /// As people type it: words with anything special in single quotes.
    pub fn shown(&self) -> String {
        let words: Vec<_> = self.argv.iter().map(|word| quoted(word)).collect();
        words.join(" ")
    }
}

/// A word as people type it for a shell: in single quotes if there is anything special in it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A file that a step wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StepOutput {
    /// Where it is.
    pub path: RepoPath,
    /// `created`, `modified` or `deleted`.
    pub change: String,
    /// Text, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// An earlier try.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepAttempt {
    /// Which one, from 1.
    pub n: u32,
    /// How it ended.
    pub status: StepStatus,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// The command's exit status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Members of a later version.
    #[serde(flatten)]
    pub unknown: UnknownMembers,
}

/// A change of one step: an operation's member `step`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepChange {
    /// The step.
    pub id: String,
    /// When it was noted, for a step that is new.
    pub at: Timestamp,
    /// Who noted it.
    pub by: String,
    /// A JSON merge patch of its members.
    pub patch: Value,
}

impl Step {
    /// One that nothing was said of yet.
    pub fn new(id: &str, n: u32, at: Timestamp, by: &str) -> Self {
        Self {
            id: id.to_owned(),
            n,
            at,
            by: by.to_owned(),
            title: String::new(),
            status: StepStatus::Running,
            attempt: 1,
            agent: None,
            issue: None,
            objective: None,
            prompt: None,
            corrections: Vec::new(),
            uses: Vec::new(),
            started_at: None,
            ended_at: None,
            duration_ms: None,
            command: None,
            exit_status: None,
            output: None,
            outputs: Vec::new(),
            more_outputs: None,
            verification: Map::new(),
            context: None,
            error: None,
            invalidated: None,
            before: None,
            after: None,
            earlier: Vec::new(),
            unknown: Map::new(),
        }
    }

    /// The step with a change applied. What identifies it (`id`, `n`, `at`, `by`) stays as it is.
    pub fn patched(&self, change: &StepChange) -> Result<Self, patch::Error> {
        let Value::Object(patch) = &change.patch else {
            return Err(patch::Error::NotAnObject);
        };
        let mut patch = patch.clone();
        for fixed in ["id", "n", "at", "by"] {
            patch.shift_remove(fixed);
        }
        let mut value = serde_json::to_value(self).expect("a step is plain data");
        json::merge_patch(&mut value, Value::Object(patch));
        json::from_value(value).map_err(|e| patch::Error::Member {
            member: "step".into(),
            reason: json::words(&e),
        })
    }

    /// The exact bytes that are stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        json::to_bytes(self)
    }

    /// Reads a stored step. The error describes what is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let value = json::parse(bytes, SIZE_LIMIT).map_err(|e| e.to_string())?;
        json::from_value(value).map_err(|e| json::words(&e))
    }

    /// This try, as one of the earlier ones is kept.
    pub fn as_attempt(&self) -> StepAttempt {
        StepAttempt {
            n: self.attempt,
            status: self.status,
            started_at: self.started_at,
            ended_at: self.ended_at,
            exit_status: self.exit_status,
            error: self.error.clone(),
            unknown: Map::new(),
        }
    }
}

/// Whether a text may represent a step in the name `steps/<id>.json`: letters, digits, `-` and `_`, 64 at most.
pub fn is_id(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
}

#[cfg(test)]
pub(crate) mod tests;

//! The one form of a session that every reader gives: facts, turns, helpers, tasks and tokens.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::model::{record::TaskStatus, time::Timestamp};

/// Facts on a session as the agent wrote them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionFacts {
    /// The agent's own id of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The directory it works in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The branch it noted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The version of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The latest model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The session it was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<String>,
    /// The session whose helper this one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub helper_of: Option<String>,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// It has not, as far as the file says.
    #[default]
    Open,
    /// With an answer.
    Done,
    /// By the person, or by another prompt before there was an answer.
    Interrupted,
    /// With an error.
    Failed,
}

impl Ending {
    /// The word that is stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Done => "done",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// Tokens as a provider counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenUsage {
    /// All that went in, from a cache or not.
    pub input: u64,
    /// The part of the input that came from a cache.
    pub cached: u64,
    /// All that came out.
    pub output: u64,
    /// The part of the output that was reasoning.
    pub reasoning: u64,
}

impl TokenUsage {
    /// Whether nothing was counted.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// The sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    /// What is in this one beyond another; never below zero.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.with(other, u64::saturating_sub)
    }

    fn with(self, other: Self, each: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            input: each(self.input, other.input),
            cached: each(self.cached, other.cached),
            output: each(self.output, other.output),
            reasoning: each(self.reasoning, other.reasoning),
        }
    }

    /// The form in which a message keeps it: input without what came from a cache.
    pub fn to_json(self) -> Value {
        let mut out = Map::new();
        if self.input > 0 {
            out.insert("input_tokens".into(), json!(self.input.saturating_sub(self.cached)));
        }
        for (name, count) in [
            ("cache_read_input_tokens", self.cached),
            ("output_tokens", self.output),
            ("reasoning_output_tokens", self.reasoning),
        ] {
            if count > 0 {
                out.insert(name.into(), json!(count));
            }
        }
        Value::Object(out)
    }

    /// Reads the form that [`to_json`](Self::to_json) writes.
    pub fn from_json(usage: &Value) -> Self {
        let count = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or(0);
        let cached = count("cache_read_input_tokens");
        Self {
            input: count("input_tokens")
                .saturating_add(cached)
                .saturating_add(count("cache_creation_input_tokens")),
            cached,
            output: count("output_tokens"),
            reasoning: count("reasoning_output_tokens"),
        }
    }
}

/// A turn: a prompt of the person and all that followed from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The agent's own key of it.
    pub key: String,
    /// The first line of the prompt.
    pub subject: String,
    /// When the prompt was given.
    pub started_at: Timestamp,
    /// When its latest record was written.
    pub ended_at: Timestamp,
    /// How it ended.
    pub ending: Ending,
    /// The latest model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens of all requests in it, those of helpers in the same file included.
    #[serde(default, skip_serializing_if = "TokenUsage::is_zero")]
    pub tokens: TokenUsage,
}

/// A helper: an agent that was started by a tool call of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelperRun {
    /// The agent's own id of it, or of the tool call.
    pub id: String,
    /// The turn that called it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// Its kind, such as `general-purpose`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its task in few words.
    #[serde(default)]
    pub title: String,
    /// Its prompt.
    #[serde(default)]
    pub prompt: String,
    /// Its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// How it ended.
    #[serde(default)]
    pub ending: Ending,
}

/// An entry of the agent's to-do list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskItem {
    /// The agent's own id of it, or its place in the list.
    pub id: String,
    /// What is to be done.
    pub title: String,
    /// How far it is.
    pub status: TaskStatus,
}

/// The status that an agent's word stands for.
pub(super) fn task_status(word: &str) -> TaskStatus {
    match word {
        "in_progress" | "in-progress" | "active" | "running" => TaskStatus::InProgress,
        "completed" | "complete" | "done" => TaskStatus::Done,
        "blocked" => TaskStatus::Blocked,
        "cancelled" | "canceled" | "deleted" | "dropped" | "skipped" => TaskStatus::Dropped,
        _ => TaskStatus::Todo,
    }
}

//! The one form of a session that every reader gives next to turns and messages: facts, helpers and tasks.

use crate::model::record::TaskStatus;
pub use crate::model::turn::{Ending, TokenUsage, Turn};
use serde::{Deserialize, Serialize};

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
    /// The task in words.
    pub title: String,
    /// How far it is.
    pub status: TaskStatus,
}

/// The status that an agent's word means.
pub(super) fn task_status(word: &str) -> TaskStatus {
    match word {
        "in_progress" | "in-progress" | "active" | "running" => TaskStatus::InProgress,
        "completed" | "complete" | "done" => TaskStatus::Done,
        "blocked" => TaskStatus::Blocked,
        "cancelled" | "canceled" | "deleted" | "dropped" | "skipped" => TaskStatus::Dropped,
        _ => TaskStatus::Todo,
    }
}

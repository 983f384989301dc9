//! The session files of coding agents that are kept next to the chat.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::record::UnknownMembers;

/// A session file of an agent that is kept in `transcript/<n>/`, where `n` is the entry's place in the document's list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptInfo {
    /// The agent's name on the command line, such as `claude-code`.
    pub agent: String,
    /// The agent's own id of its session.
    pub agent_session: String,
    /// The version of the agent that wrote it, where the file has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The file's name without its directory; empty where a plug-in handed the conversation over.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// How many lines of it are kept.
    pub lines: u64,
    /// How many bytes of the agent's file they are.
    pub bytes: u64,
    /// SHA-256 of those bytes, as they were before secrets were replaced.
    pub source: String,
    /// How many secrets were replaced.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redactions: u64,
    /// How many lines were too long to be kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: u64,
    /// Members of a later version.
    #[serde(flatten)]
    pub unknown: UnknownMembers,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The next lines of a session file, without their secrets, on their way into a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptPart {
    /// The `source` of the entry that they follow; `None` where they are the beginning, and what was kept goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The lines.
    pub text: String,
    /// The entry with them.
    pub info: TranscriptInfo,
}

impl TranscriptPart {
    /// The place of the entry in a list that this one follows; `None` for a new entry.
    pub fn place(&self, list: &[TranscriptInfo]) -> Option<usize> {
        list.iter()
            .position(|known| known.agent == self.info.agent && known.agent_session == self.info.agent_session)
    }

    /// Whether this part can be added to a list: it begins a file, or what it follows is there.
    pub fn fits(&self, list: &[TranscriptInfo]) -> bool {
        match &self.after {
            None => true,
            Some(after) => self.place(list).is_some_and(|at| list[at].source == *after),
        }
    }
}

//! One turn of a coding agent: a prompt and everything the agent did until it answered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    id::Oid,
    record::UnknownMembers,
    time::Timestamp,
    turn::{Ending, TokenUsage},
};

/// The most changed files that a turn names; the rest is counted.
pub const FILES_LISTED: usize = 200;

/// The turn that a checkpoint of kind `turn` was saved for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentTurn {
    /// The agent's name on the command line, such as `claude-code`.
    pub agent: String,
    /// The agent's own id of its session.
    pub agent_session: String,
    /// The identity of the turn in that session: a second report of the same turn saves nothing.
    pub key: String,
    /// The first line of the prompt; where no prompt is known, the agent and the files that changed.
    pub subject: String,
    /// The time of the prompt, where it was reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// The checkpoint in whose state the turn began, where others were saved within the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<Oid>,
    /// The time of the report that the turn ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// How it ended.
    pub outcome: Ending,
    /// The model that answered last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tokens it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenUsage>,
    /// Cost in millionths of a US dollar, where the agent recorded it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// The paths that changed between `began`, else the checkpoint before, else HEAD, and this one, C-quoted as git does where they must be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// How many more paths changed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub files_omitted: u64,
    /// Whether its prompt or its end was saved late, behind a slow save, its prompt was not reported, or it began in another
    /// working tree: its files may hold edits made by a person, or in the turn before or after.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inexact: bool,
    /// Members of a later version.
    #[serde(flatten)]
    pub unknown: UnknownMembers,
}

impl AgentTurn {
    /// Cost in US dollars, where the agent recorded it.
    #[expect(clippy::cast_precision_loss, reason = "no sum of money is that large")]
    pub fn cost(&self) -> Option<f64> {
        let micros = self.cost_micros.filter(|micros| *micros > 0)?;
        Some(micros as f64 / 1e6)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Subject of a turn whose prompt is not known.
pub const NO_PROMPT: &str = "(no prompt)";

/// The first line of a prompt that has something on it, cut to what a commit's subject line takes. Reminders that an agent
/// puts in front of a person's words do not count, and its own report of a background task is represented by its summary.
pub fn subject_of(prompt: &str) -> String {
    let mut prompt = prompt.trim_start();
    while let Some((_, rest)) = prompt
        .strip_prefix("<system-reminder>")
        .and_then(|inner| inner.split_once("</system-reminder>"))
    {
        prompt = rest.trim_start();
    }
    let summary = prompt
        .strip_prefix("<task-notification>")
        .and_then(|inner| inner.split_once("<summary>")?.1.split_once("</summary>"));
    if let Some((summary, _)) = summary {
        prompt = summary;
    }
    let line = prompt.lines().map(str::trim).find(|line| !line.is_empty());
    let mut line: String = line.unwrap_or(NO_PROMPT).chars().take(120).collect();
    if prompt.trim().chars().count() > line.chars().count() && line.chars().count() == 120 {
        line.push('…');
    }
    line
}

/// Files that are in the subject of a turn whose prompt is not known.
const FILES_NAMED: usize = 3;

/// The subject of a turn whose prompt is not known, by the agent's name for people and the files that changed.
pub fn subject_of_files(agent: &str, files: &[String], omitted: u64) -> String {
    if files.is_empty() {
        return format!("{agent}: no files changed");
    }
    let named = files[..files.len().min(FILES_NAMED)].join(", ");
    let more = omitted + files.len().saturating_sub(FILES_NAMED) as u64;
    let line = if more == 0 {
        format!("{agent}: {named}")
    } else {
        format!("{agent}: {named} and {more} more")
    };
    subject_of(&line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_one_line() {
        assert_eq!(subject_of("\n\n  fix the lexer  \nand more"), "fix the lexer");
        assert_eq!(subject_of(" \n"), "(no prompt)");
        let reminded =
            "<system-reminder>\n1 agent\n</system-reminder>\n\n<system-reminder>2</system-reminder>\nwrite it";
        assert_eq!(subject_of(reminded), "write it");
        let report =
            "<task-notification>\n<task-id>t</task-id>\n<summary>Agent finished</summary>\n</task-notification>";
        assert_eq!(subject_of(report), "Agent finished");
        assert_eq!(subject_of("<system-reminder>\ntorn"), "<system-reminder>");
        assert_eq!(subject_of(&"ü".repeat(300)).chars().count(), 121);
    }

    #[test]
    fn files_stand_for_a_prompt() {
        let files = ["a", "b/c", "\"d\\n\"", "e"].map(str::to_owned);
        assert_eq!(subject_of_files("Pi", &[], 0), "Pi: no files changed");
        assert_eq!(subject_of_files("Pi", &files[..1], 0), "Pi: a");
        assert_eq!(subject_of_files("Pi", &files[..3], 0), "Pi: a, b/c, \"d\\n\"");
        assert_eq!(subject_of_files("Pi", &files, 10), "Pi: a, b/c, \"d\\n\" and 11 more");
        assert_eq!(subject_of_files("Pi", &["x".repeat(300)], 0).chars().count(), 121);
    }

    #[test]
    fn a_turn_comes_back() {
        let text = r#"{"agent":"codex","agent_session":"s","key":"k","subject":"x","outcome":"interrupted","files":["a"],"files_omitted":3,"later":1.50}"#;
        let turn: AgentTurn = serde_json::from_str(text).expect("a turn");
        assert_eq!((turn.outcome, turn.files_omitted), (Ending::Interrupted, 3));
        assert_eq!(serde_json::to_string(&turn).expect("JSON"), text);
    }
}

//! Output of `enable --mcp` and `disable --mcp`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    View,
    slot::Slot,
    text::{Text, TextLine},
};

/// Coding agents that the tool server was registered with or removed from.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.agent-servers/1")]
pub struct AgentServersView {
    /// `enable` or `disable`.
    pub action: &'static str,
    /// Whether it is only planned.
    pub dry_run: bool,
    /// Each agent.
    pub agents: Vec<AgentServerRow>,
}

/// One agent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentServerRow {
    /// Its name on the command line.
    pub agent: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// `by-hand`: the command has to be run, or the file edited, by a person. `unsupported`: it knows no tool servers.
    #[schemars(extend("enum" = ["registered", "removed", "unchanged", "planned", "by-hand", "unsupported"]))]
    pub outcome: &'static str,
    /// The agent's own command that does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Why it was not done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl View for AgentServersView {
    // A line for each agent, with a second one where something is to be done.
    fn text(&self) -> Text {
        let mut text = Text::new();
        for row in &self.agents {
            let mut line = TextLine::new().with(Slot::Heading, row.title);
            line.pad_to(14);
            let (slot, words) = match (row.outcome, self.action) {
                ("registered", _) => (Slot::Good, "tool server registered"),
                ("removed", _) => (Slot::Good, "tool server removed"),
                ("unchanged", "enable") => (Slot::Plain, "tool server is registered"),
                ("unchanged", _) => (Slot::Plain, "no tool server"),
                ("planned", "enable") => (Slot::Plain, "tool server would be registered"),
                ("planned", _) => (Slot::Plain, "tool server would be removed"),
                ("by-hand", "enable") => (Slot::Caution, "tool server not registered"),
                ("by-hand", _) => (Slot::Caution, "tool server not removed"),
                _ => (Slot::Dim, "knows no tool servers"),
            };
            line.push(slot, words);
            if let Some(reason) = &row.reason {
                line.push(Slot::Plain, format!(": {reason}"));
            }
            text.push(line);
            if let Some(command) = row
                .command
                .as_ref()
                .filter(|_| matches!(row.outcome, "planned" | "by-hand"))
            {
                let word = if row.outcome == "planned" { "runs" } else { "to do" };
                text.push(TextLine::plain(format!("  {word}: {command}")));
            }
        }
        text
    }
}

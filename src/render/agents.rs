//! `enable`, `disable` and `agents`: coding agents, their hooks and their last events.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    View, age, escape,
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::time::Timestamp;

/// Coding agents, their hooks and their last events.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.agents/1")]
pub struct AgentsView {
    /// Whether `checkpoint.agents` is on here; null outside of a repository.
    pub enabled: Option<bool>,
    /// Every agent, in the program's order.
    pub agents: Vec<AgentRow>,
}

/// One agent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentRow {
    /// Its name on the command line.
    pub agent: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The path of its program, if it is in PATH.
    pub program: Option<String>,
    /// The program's version, if it can be found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The file in which its hooks are configured, or the directory of its hooks.
    pub file: String,
    /// `installed`, `incomplete`, `absent` or `broken`.
    pub hooks: &'static str,
    /// Why they are incomplete or broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Step that a person still has to take in the agent, by what the agent itself notes as trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<String>,
    /// Its last event in this repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<AgentEventRow>,
    /// An earlier event that failed and was not reported yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<AgentEventRow>,
}

/// The last event of an agent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentEventRow {
    /// The occasion, such as `turn-end`.
    pub occasion: String,
    /// Its time.
    pub at: Timestamp,
    /// `saved`, `unchanged`, `bound`, `ignored` or `failed`.
    pub outcome: String,
    /// The checkpoint, or the reason.
    pub detail: String,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// The session that the agent's session is bound to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

impl AgentsView {
    /// A line for each agent, with a second one where something is to be said.
    pub fn text(&self, now: Timestamp) -> Text {
        let mut text = Text::new();
        match self.enabled {
            Some(true) => text.push(TextLine::plain(
                "Agents save a checkpoint for each turn in this repository.",
            )),
            Some(false) => text.push(TextLine::plain("Agents save nothing in this repository.")),
            None => {}
        }
        for row in &self.agents {
            let mut line = TextLine::new().with(Slot::Heading, row.title);
            line.pad_to(14);
            let slot = match row.hooks {
                "installed" => Slot::Good,
                "absent" => Slot::Dim,
                _ => Slot::Bad,
            };
            let hooks = match row.hooks {
                "absent" => "no hooks",
                "installed" => "hooks installed",
                "incomplete" => "hooks incomplete",
                _ => "hooks broken",
            };
            line.push(slot, hooks);
            if let Some(reason) = &row.reason {
                line.push(Slot::Plain, format!(": {reason}"));
            }
            if let Some(version) = &row.version {
                line.push(Slot::Dim, format!(", version {}", escape::line(version)));
            }
            if row.program.is_none() {
                line.push(Slot::Dim, ", program not found");
            }
            text.push(line);
            if let Some(last) = &row.last {
                let mut line = TextLine::plain("  last event  ");
                line.push(Slot::Plain, format!("{} {}", last.occasion, age::age(last.at, now)));
                if let Some(session) = &last.session {
                    line.push(Slot::Plain, " in ");
                    line.push(Slot::Session, session.clone());
                }
                let detail = escape::line(&last.detail);
                match last.outcome.as_str() {
                    "saved" => {
                        line.push(Slot::Plain, ": saved ");
                        line.push(Slot::Id, last.detail.get(..8).unwrap_or(&last.detail));
                    }
                    "failed" => line.push(Slot::Bad, format!(": failed: {detail}")),
                    // No fault: an event of that kind makes none.
                    "ignored" => line.push(Slot::Plain, format!(": no checkpoint, {detail}")),
                    outcome => line.push(Slot::Plain, format!(": {outcome}")),
                }
                text.push(line);
            }
            if let Some(error) = &row.error {
                let mut line = TextLine::plain("  last error  ");
                line.push(Slot::Plain, format!("{} {}: ", error.occasion, age::age(error.at, now)));
                line.push(Slot::Bad, escape::line(&error.detail));
                text.push(line);
            }
            if let Some(trust) = &row.trust {
                text.push(TextLine::plain(format!("  to do       {trust}")));
            }
        }
        text
    }
}

/// Hooks of coding agents that were added or removed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.agent-hooks/1")]
pub struct AgentHooksView {
    /// `enable` or `disable`.
    pub action: &'static str,
    /// Whether it is only planned.
    pub dry_run: bool,
    /// `repository`, `user`, or null where the setting stays as it is.
    pub extent: Option<&'static str>,
    /// Each agent.
    pub agents: Vec<AgentHooksRow>,
    /// Skills, and paragraphs for agents in files of the project.
    pub texts: Vec<AgentTextRow>,
    /// Hooks of git that call this program; null where they were not asked for or could not be added.
    pub git_hooks: Option<Vec<&'static str>>,
}

/// A file with a text for agents.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentTextRow {
    /// The file.
    pub file: String,
    /// Whether it changes.
    pub changed: bool,
    /// The change as a unified diff, in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// The hooks of one agent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentHooksRow {
    /// Its name on the command line.
    pub agent: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The file, or the directory of its files.
    pub file: String,
    /// Whether anything in it changes.
    pub changed: bool,
    /// The change as a unified diff, in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Step that a person still has to take in the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trust: Option<&'static str>,
}

impl View for AgentHooksView {
    // A line for each file.
    fn text(&self) -> Text {
        let mut text = Text::new();
        for row in &self.agents {
            let mut line = TextLine::new().with(Slot::Heading, row.title);
            line.pad_to(14);
            let word = match (self.action, row.changed, self.dry_run) {
                ("enable", true, false) => "hooks installed in ",
                ("enable", true, true) => "hooks would be installed in ",
                ("enable", false, _) => "hooks are installed in ",
                (_, true, false) => "hooks removed from ",
                (_, true, true) => "hooks would be removed from ",
                (_, false, _) => "no hooks in ",
            };
            line.push(Slot::Plain, word);
            line.push(Slot::Path, row.file.clone());
            text.push(line);
            if let Some(diff) = &row.diff {
                text.append(super::patch::text(diff.as_bytes()));
            }
            if let Some(trust) = row.trust {
                text.push(TextLine::plain(format!("  to do: {trust}")));
            }
        }
        for row in &self.texts {
            let word = match (self.action, row.changed, self.dry_run) {
                ("enable", true, false) => "text written to ",
                ("enable", true, true) => "text would be written to ",
                ("enable", false, _) => "text is in ",
                (_, true, false) => "text removed from ",
                (_, true, true) => "text would be removed from ",
                (_, false, _) => continue,
            };
            text.push(TextLine::plain(word).with(Slot::Path, row.file.clone()));
            if let Some(diff) = &row.diff {
                text.append(super::patch::text(diff.as_bytes()));
            }
        }
        if let Some(hooks) = self.git_hooks.as_ref().filter(|hooks| !hooks.is_empty()) {
            let word = if self.dry_run { "would call" } else { "call" };
            text.push(TextLine::plain(format!(
                "git hooks     {} {word} git-checkpoint",
                hooks.join(", ")
            )));
        }
        let extent = match (self.action, self.extent) {
            ("enable", Some("user")) => "in all your repositories",
            ("enable", Some(_)) => "in this repository",
            _ => return text,
        };
        let word = if self.dry_run { "would save" } else { "save" };
        text.push(TextLine::plain(format!(
            "Agents {word} a checkpoint for each turn {extent}."
        )));
        text
    }
}

/// The change of a file as a unified diff.
pub fn diff(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    let name = |text: Option<&str>| text.map_or("/dev/null", |_| path);
    similar::TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default())
        .unified_diff()
        .header(name(before), name(after))
        .to_string()
}

/// Agents that were asked once, and what their hooks did.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.agent-doctor/1")]
pub struct AgentDoctorView {
    /// The agents.
    pub agents: Vec<AgentDoctorRow>,
}

/// One agent that was asked.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AgentDoctorRow {
    /// Its name on the command line.
    pub agent: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The path of its program, if it is in PATH.
    pub program: Option<String>,
    /// How the run went: `ended`, `failed`, `late`, `absent` (no program) or `untried`.
    pub outcome: &'static str,
    /// How many requests reached the model server.
    pub requests: u64,
    /// How many sessions of the agent reported events.
    pub events: u64,
    /// Whether the turn was saved.
    pub saved: bool,
    /// How long the agent took, in milliseconds.
    pub took_ms: u64,
    /// Step that helps, where the turn was not saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl View for AgentDoctorView {
    // A line for each agent.
    fn text(&self) -> Text {
        let mut text = Text::new();
        for row in &self.agents {
            let mut line = TextLine::new().with(Slot::Heading, row.title);
            line.pad_to(14);
            let (slot, word) = match (row.outcome, row.saved, row.events) {
                ("absent", ..) => (Slot::Dim, "not installed"),
                ("untried", ..) => (Slot::Dim, "not tried"),
                (_, true, _) => (Slot::Good, "hooks fired, turn saved"),
                ("late", ..) => (Slot::Bad, "did not end in time"),
                (_, false, 0) => (Slot::Bad, "hooks did not fire"),
                (_, false, _) => (Slot::Bad, "hooks fired, nothing was saved"),
            };
            line.push(slot, word);
            if row.took_ms > 0 {
                line.push(Slot::Dim, format!(", {} ms", row.took_ms));
            }
            text.push(line);
            if let Some(advice) = &row.advice {
                text.push(TextLine::plain(format!("  {}", escape::line(advice))));
            }
        }
        text
    }
}

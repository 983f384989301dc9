//! Output of `hooks`: the hooks that make checkpoints, and their last run.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    View,
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::hook::HookRun;

/// Hooks that make checkpoints.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.hooks/1")]
pub struct HooksView {
    /// `install`, `uninstall` or `status`.
    #[schemars(extend("enum" = ["install", "uninstall", "status"]))]
    pub action: &'static str,
    /// Whether nothing was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
    /// Whether every commit makes a checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// The directory in which git looks for hooks.
    #[serde(rename = "folder", skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The program that manages the hooks of this project.
    pub manager: Option<&'static str>,
    /// The file that the snippet belongs into.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The lines for the configuration of the manager.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
    /// The hooks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hooks: Option<Vec<HookRow>>,
    /// The last run of a hook.
    pub last_run: Option<HookRun>,
    /// The last run in one line, for people.
    #[serde(skip)]
    pub last_run_line: Option<TextLine>,
}

/// A hook.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HookRow {
    /// The name that git has for it.
    pub hook: &'static str,
    /// The change of its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["created", "added", "chained", "unchanged", "restored", "removed"]))]
    pub outcome: Option<&'static str>,
    /// Whether it makes checkpoints.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["active", "not installed", "not working"]))]
    pub state: Option<&'static str>,
    /// The manager that calls it, or why it does not work.
    pub why: Option<String>,
}

impl View for HooksView {
    fn text(&self) -> Text {
        if let Some(snippet) = &self.snippet {
            return Text::block(snippet);
        }
        let rows = self.hooks.as_deref().unwrap_or_default();
        let mut text: Text = rows.iter().filter_map(|row| self.line(row)).collect();
        if self.action == "uninstall" && rows.iter().all(|row| row.outcome == Some("unchanged")) {
            text.push(TextLine::plain("No git hooks of git-checkpoint are installed."));
        }
        if let Some(last) = &self.last_run_line {
            let mut line = TextLine::new().with(Slot::Heading, "last run");
            line.pad_to(15);
            line.append(last);
            text.push(line);
        }
        text
    }
}

impl HooksView {
    fn line(&self, row: &HookRow) -> Option<TextLine> {
        let mut line = TextLine::new().with(Slot::Heading, row.hook);
        line.pad_to(15);
        let words = match row.outcome {
            None => return Some(row.state(line)),
            Some("unchanged") if self.action == "install" => "is already installed",
            Some("unchanged") => return None,
            Some("created" | "added" | "chained") if self.dry_run == Some(true) => "would be installed",
            Some(_) if self.dry_run == Some(true) => "would be removed",
            Some("created") => "installed",
            Some("added") => "installed; your own hook runs after it",
            Some("chained") => "installed; your own hook is kept next to it and runs after it",
            Some("restored") => "removed; your own hook is unchanged",
            Some(_) => "removed",
        };
        Some(line.with(Slot::Plain, words))
    }
}

impl HookRow {
    fn state(&self, mut line: TextLine) -> TextLine {
        let word = self.state.unwrap_or_default();
        let way = match self.hook {
            "commit-msg" => Some("git config checkpoint.commitTrailer on"),
            "post-checkout" => Some("git checkpoint hooks install --post-checkout"),
            "pre-push" => Some("git checkpoint hooks install --pre-push"),
            _ => None,
        };
        match (word, &self.why, way) {
            ("not installed", _, Some(way)) => {
                line.push(Slot::Plain, format!("off by default; to turn it on: {way}"));
            }
            (_, why, _) => {
                let slot = match word {
                    "active" => Slot::Good,
                    "not installed" => Slot::Plain,
                    _ => Slot::Bad,
                };
                line.push(slot, word);
                line.push(
                    Slot::Plain,
                    why.as_ref().map(|why| format!(": {why}")).unwrap_or_default(),
                );
            }
        }
        line
    }
}

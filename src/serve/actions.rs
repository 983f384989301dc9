//! Actions of the page and the terminal interface: each is a command, with its dry run as the plan that is shown before.
//!
//! What a person fills in becomes the value of an option or an operand, never an option, as with the tools of the server.

use serde::Deserialize;

use serde_json::Value;

use super::{CallMonitor, CommandLine, PathRule, ViewSource, source::TextRun};
use crate::model::id::Digest;

/// An action.
#[derive(Debug)]
pub struct Action {
    /// Its word in requests.
    pub word: &'static str,
    /// Its name in a menu.
    pub title: &'static str,
    /// Consequence of the action, shown above its plan.
    pub about: &'static str,
    /// Value that a person fills in.
    pub field: Option<ActionField>,
    /// Its target.
    pub target: ActionTarget,
    /// Whether it takes something away that only a checkpoint or the trash still has, so that the confirmation names it.
    pub destroys: bool,
    line: fn(&ActionRequest) -> Result<CommandLine, String>,
}

/// A value that a person fills in.
#[derive(Debug)]
pub struct ActionField {
    /// Its label.
    pub label: &'static str,
    /// Whether it may stay empty.
    pub optional: bool,
    /// Whether it may have several lines.
    pub has_lines: bool,
}

/// The plan of an action, as it is shown.
#[derive(Debug)]
pub struct ActionPlan {
    /// Output of the dry run.
    pub run: TextRun,
    /// Binds the action to this plan.
    pub token: String,
}

/// Why an action was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActionRefusal {
    /// No command can be made of the request.
    #[error("{0}")]
    Request(String),
    /// It names no plan.
    #[error("the plan was not shown")]
    NotPlanned,
    /// It would not do what was shown.
    #[error("something changed since the plan was shown; look at the new plan")]
    Changed,
}

/// The target of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionTarget {
    /// The working tree or the current session.
    Current,
    /// A session.
    Session,
    /// A checkpoint.
    Checkpoint,
    /// An item that waits for an answer.
    Item,
}

/// Parameters of an action.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionRequest {
    /// The word of the action.
    pub action: String,
    /// The session, by name.
    #[serde(default)]
    pub session: Option<String>,
    /// The checkpoint, by a selector.
    #[serde(default)]
    pub checkpoint: Option<String>,
    /// The id of an item.
    #[serde(default)]
    pub item: Option<String>,
    /// Text that was filled in.
    #[serde(default)]
    pub text: Option<String>,
    /// The token of the plan that was shown.
    #[serde(default)]
    pub plan: Option<String>,
}

impl ActionRequest {
    fn text(&self) -> Option<&String> {
        self.text.as_ref().filter(|text| !text.trim().is_empty())
    }

    fn needed<'r>(&self, value: Option<&'r String>, name: &str) -> Result<&'r String, String> {
        value.ok_or_else(|| format!("'{}' needs {name}", self.action.escape_debug()))
    }

    fn on_checkpoint(&self, command: &str) -> Result<CommandLine, String> {
        let checkpoint = self.needed(self.checkpoint.as_ref(), "a checkpoint")?;
        CommandLine::new(command).selector(Some(checkpoint))
    }

    /// A command for the session of the request, or the current one.
    fn on_session(&self, command: &str) -> CommandLine {
        CommandLine::new(command).option("session", self.session.as_ref())
    }
}

/// Every action, in the order of the menus.
pub const ACTIONS: &[Action] = &[
    Action {
        word: "save",
        title: "Save a checkpoint",
        about: "Saves the record, the chat and the files.",
        field: Some(ActionField {
            label: "Summary",
            optional: true,
            has_lines: false,
        }),
        target: ActionTarget::Current,
        destroys: false,
        line: |request| Ok(request.on_session("save").option("message", request.text())),
    },
    Action {
        word: "compact",
        title: "Compact the chat now",
        about: "Puts a summary in the place of older messages. The whole chat stays in the checkpoints.",
        field: None,
        target: ActionTarget::Current,
        destroys: false,
        line: |request| Ok(request.on_session("compact").flag("force", true)),
    },
    Action {
        word: "clear",
        title: "Clear the messages",
        about: "Clears the messages. Record, context and summary stay; the checkpoint before keeps the chat.",
        field: None,
        target: ActionTarget::Current,
        destroys: true,
        line: |request| Ok(request.on_session("clear").flag("messages", true).flag("yes", true)),
    },
    Action {
        word: "reset",
        title: "Reset the session",
        about: "Clears messages, summary, context, agent description and record. Checkpoints and files stay.",
        field: None,
        target: ActionTarget::Current,
        destroys: true,
        line: |request| Ok(request.on_session("clear").flag("all", true).flag("yes", true)),
    },
    Action {
        word: "undo",
        title: "Undo the last command",
        about: "Reverts the last restore, apply, merge, fork, rename, delete or clear.",
        field: None,
        target: ActionTarget::Current,
        destroys: false,
        // The plan names what is undone.
        line: |_| Ok(CommandLine::new("undo").flag("older", true)),
    },
    Action {
        word: "redo",
        title: "Redo",
        about: "Repeats what was undone.",
        field: None,
        target: ActionTarget::Current,
        destroys: false,
        line: |_| Ok(CommandLine::new("redo")),
    },
    Action {
        word: "restore",
        title: "Restore the files",
        about: "Writes the saved files back. The current files are saved first, and undo brings them back.",
        field: None,
        target: ActionTarget::Checkpoint,
        destroys: false,
        line: |request| Ok(request.on_checkpoint("restore")?.option("plan", request.plan.as_ref())),
    },
    Action {
        word: "restore-paths",
        title: "Restore some files",
        about: "Writes these saved files back. The current ones are saved first, and undo brings them back.",
        field: Some(ActionField {
            label: "Files or directories",
            optional: false,
            has_lines: true,
        }),
        target: ActionTarget::Checkpoint,
        destroys: false,
        line: |request| {
            let text = request.needed(request.text(), "a path")?;
            // The very files, whatever patterns their names look like.
            let lines = text.lines().filter(|line| !line.is_empty());
            let paths: Vec<String> = lines.map(str::to_owned).collect();
            let line = request.on_checkpoint("restore")?.option("plan", request.plan.as_ref());
            Ok(line.paths(PathRule::Exact, &paths))
        },
    },
    Action {
        word: "apply",
        title: "Apply the changes",
        about: "Merges the uncommitted changes of the checkpoint into the current files.",
        field: None,
        target: ActionTarget::Checkpoint,
        destroys: false,
        line: |request| request.on_checkpoint("apply"),
    },
    Action {
        word: "fork",
        title: "Fork a session",
        about: "Starts a new session from this checkpoint.",
        field: Some(ActionField {
            label: "Name of the new session",
            optional: true,
            has_lines: false,
        }),
        target: ActionTarget::Checkpoint,
        destroys: false,
        line: |request| Ok(request.on_checkpoint("fork")?.option("name", request.text())),
    },
    Action {
        word: "pin",
        title: "Pin the checkpoint",
        about: "Keeps it when old checkpoints are pruned.",
        field: None,
        target: ActionTarget::Checkpoint,
        destroys: false,
        line: |request| request.on_checkpoint("pin"),
    },
    Action {
        word: "resume",
        title: "Resume the session",
        about: "Makes the session current. Changes no file.",
        field: None,
        target: ActionTarget::Session,
        destroys: false,
        line: |request| {
            let session = request.needed(request.session.as_ref(), "a session")?;
            CommandLine::new("resume").selector(Some(session))
        },
    },
    Action {
        word: "rename",
        title: "Rename the session",
        about: "Gives the session another name.",
        field: Some(ActionField {
            label: "New name",
            optional: false,
            has_lines: false,
        }),
        target: ActionTarget::Session,
        destroys: false,
        line: |request| {
            let session = request.needed(request.session.as_ref(), "a session")?;
            let name = request.needed(request.text(), "a name")?;
            CommandLine::new("rename")
                .selector(Some(session))?
                .named("session", name)
        },
    },
    Action {
        word: "delete",
        title: "Delete the session",
        about: "Moves the session to the trash. Undo brings it back.",
        field: None,
        target: ActionTarget::Session,
        destroys: true,
        line: |request| {
            let session = request.needed(request.session.as_ref(), "a session")?;
            CommandLine::new("delete").selector(Some(session))
        },
    },
    Action {
        word: "push",
        title: "Push the session",
        about: "Sends the session, its chat and its files to a remote.",
        field: Some(ActionField {
            label: "Remote",
            optional: false,
            has_lines: false,
        }),
        target: ActionTarget::Session,
        destroys: false,
        line: |request| {
            let remote = request.needed(request.text(), "a remote")?;
            let session = request.needed(request.session.as_ref(), "a session")?;
            CommandLine::new("push")
                .named("remote", remote)?
                .selector(Some(session))
        },
    },
    Action {
        word: "approve",
        title: "Approve",
        about: "Records the approval.",
        field: None,
        target: ActionTarget::Item,
        destroys: false,
        line: |request| answer(request, "approval answer", "approve"),
    },
    Action {
        word: "reject",
        title: "Reject",
        about: "Records the rejection.",
        field: None,
        target: ActionTarget::Item,
        destroys: false,
        line: |request| answer(request, "approval answer", "reject"),
    },
    Action {
        word: "answer",
        title: "Answer",
        about: "Records the answer.",
        field: Some(ActionField {
            label: "Answer",
            optional: false,
            has_lines: false,
        }),
        target: ActionTarget::Item,
        destroys: false,
        line: |request| {
            let text = request.needed(request.text(), "an answer")?.clone();
            answer(request, "question answer", &text)
        },
    },
];

fn answer(request: &ActionRequest, command: &str, text: &str) -> Result<CommandLine, String> {
    let item = request.needed(request.item.as_ref(), "an item")?.clone();
    Ok(request.on_session(command).operands(&[item, text.to_owned()]))
}

impl Action {
    /// The action of this word.
    pub fn find(word: &str) -> Option<&'static Self> {
        ACTIONS.iter().find(|action| action.word == word)
    }

    /// The command that does it.
    ///
    /// # Errors
    /// When something is not given, or looks like an option.
    pub fn line(&self, request: &ActionRequest) -> Result<CommandLine, String> {
        (self.line)(request).map(CommandLine::for_tool)
    }

    /// The command that shows its plan and changes nothing; `None` where the action only adds to the record, or makes
    /// another session current.
    ///
    /// # Errors
    /// As [`line`](Self::line).
    pub fn plan(&self, request: &ActionRequest) -> Result<Option<CommandLine>, String> {
        if !self.has_plan() {
            return Ok(None);
        }
        let mut line = self.line(&ActionRequest {
            plan: None,
            ..request.clone()
        })?;
        // Before operands that follow `--`.
        let at = line
            .words
            .iter()
            .position(|word| word == "--")
            .unwrap_or(line.words.len());
        line.words.insert(at, "--dry-run".into());
        Ok(Some(line))
    }

    fn has_plan(&self) -> bool {
        self.target != ActionTarget::Item && self.word != "resume"
    }

    /// Whether its command takes the token of a plan.
    fn has_own_token(&self) -> bool {
        self.word.starts_with("restore")
    }

    /// The plan to show; `None` where there is none.
    ///
    /// # Errors
    /// As [`line`](Self::line).
    pub fn planned(
        &self,
        request: &ActionRequest,
        source: &dyn ViewSource,
        columns: usize,
        monitor: &CallMonitor,
    ) -> Result<Option<ActionPlan>, String> {
        let Some(line) = self.plan(request)? else {
            return Ok(None);
        };
        // The token first: had something changed in between, the plan that is shown would be the later one, and the action
        // would be refused.
        let token = self.token(&line, source, monitor);
        let run = source.text(&line, columns, monitor);
        Ok(Some(ActionPlan { run, token }))
    }

    /// The token of the outcome of a dry run: of a restore its own, which its command checks under its locks; else a
    /// digest of everything that it reports.
    fn token(&self, line: &CommandLine, source: &dyn ViewSource, monitor: &CallMonitor) -> String {
        let run = source.run(line, monitor);
        if self.has_own_token() {
            let value: Value = serde_json::from_str(&run.output).unwrap_or_default();
            return value["plan_token"].as_str().unwrap_or_default().to_owned();
        }
        let failure = run.failure.map(|failure| failure.message).unwrap_or_default();
        Digest::of(format!("{}\n{failure}", run.output).as_bytes())
            .hex()
            .to_owned()
    }

    /// Carries the action out, if it still does what its plan said.
    ///
    /// # Errors
    /// [`ActionRefusal`]; then nothing was done.
    pub fn carried_out(
        &self,
        request: &ActionRequest,
        source: &dyn ViewSource,
        columns: usize,
        monitor: &CallMonitor,
    ) -> Result<TextRun, ActionRefusal> {
        if let Some(line) = self.plan(request).map_err(ActionRefusal::Request)? {
            let shown = request.plan.as_ref().ok_or(ActionRefusal::NotPlanned)?;
            if !self.has_own_token() && self.token(&line, source, monitor) != *shown {
                return Err(ActionRefusal::Changed);
            }
        }
        let line = self.line(request).map_err(ActionRefusal::Request)?;
        Ok(source.text(&line, columns, monitor))
    }
}

#[cfg(test)]
mod tests;

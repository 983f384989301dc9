//! The tools: flat typed arguments in, the view of a command out.
//!
//! Each tool names the commands that it runs; the schema of its result is that of the view which the command prints.
//! Arguments that a tool does not know are refused, so that a misspelled one does not change what is done.

mod read;
mod restore;
mod save;
mod step;
mod task;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{CallMonitor, CommandFailure, CommandLine, CommandRunner, FailureKind, PathRule};
use crate::{
    model::{json, spelling},
    render::schemas,
};

/// Arguments of a call, by name.
pub type Arguments = Map<String, Value>;

/// A tool.
pub struct Tool {
    /// Its name, unique in the server.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Purpose and use, for the model that calls it.
    pub description: &'static str,
    /// Whether it changes nothing.
    pub read_only: bool,
    /// Whether it may replace or remove files.
    pub destructive: bool,
    /// Whether a second call with the same arguments changes nothing more.
    pub idempotent: bool,
    /// The schema of the arguments.
    pub input: fn() -> Value,
    /// The schema of the result.
    pub output: fn() -> Value,
    /// Carries out a call.
    pub call: fn(&ToolCall<'_>, Arguments) -> Result<ToolResult, CommandFailure>,
}

impl std::fmt::Debug for Tool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Tool").field(&self.name).finish()
    }
}

/// The tools, sorted by name.
pub const TOOLS: [Tool; 10] = [
    read::DIFF,
    read::LIST,
    restore::RESTORE,
    read::RESUME,
    save::SAVE,
    read::SEARCH,
    read::SHOW,
    step::STEP,
    task::TASK,
    restore::UNDO,
];

/// The tool with a name.
pub fn find(name: &str) -> Option<&'static Tool> {
    const ALL: &[Tool] = &TOOLS;
    ALL.iter().find(|tool| tool.name == name)
}

/// Result of a tool.
#[derive(Debug, PartialEq)]
pub struct ToolResult {
    /// The result, as the tool's output schema describes it.
    pub structured: Value,
    /// The result as text, where that is better than its JSON.
    pub text: Option<String>,
    /// Warnings.
    pub warnings: Vec<String>,
}

/// The call of a tool: runs the commands of the tool.
pub struct ToolCall<'a> {
    /// The runner of the operations.
    pub runner: &'a dyn CommandRunner,
    /// The connection to the caller.
    pub monitor: &'a CallMonitor,
    /// The agent that calls, where the caller names it.
    pub agent: Option<&'a str>,
}

impl ToolCall<'_> {
    /// Runs a command and takes the JSON that it prints. A partial checkpoint is a result, and so is an empty one.
    fn view(&self, line: CommandLine) -> Result<(Value, Vec<String>), CommandFailure> {
        /// Nothing was found; or saved, but some paths could not be read.
        const WITH_RESULT: [u8; 2] = [1, 7];
        let run = self.runner.run(&line.for_tool(), self.monitor);
        match (serde_json::from_str(&run.output), run.failure) {
            (Ok(view), None) => Ok((view, run.warnings)),
            (Ok(view), Some(_)) if WITH_RESULT.contains(&run.exit_code) => Ok((view, run.warnings)),
            (_, Some(failure)) => Err(failure),
            (Err(_), None) => Err(internal("the command printed no JSON")),
        }
    }

    /// The same as the result of the tool.
    fn result(&self, line: CommandLine) -> Result<ToolResult, CommandFailure> {
        let (structured, warnings) = self.view(line)?;
        Ok(ToolResult {
            structured,
            text: None,
            warnings,
        })
    }

    /// The agent to record: the one that the arguments name, else the one that calls.
    fn agent<'b>(&'b self, given: Option<&'b String>) -> Option<&'b str> {
        given.map(String::as_str).or(self.agent)
    }
}

/// The arguments of a call as their type.
fn arguments<T: DeserializeOwned + JsonSchema>(given: Arguments) -> Result<T, CommandFailure> {
    let schema = input::<T>();
    let known = schema["properties"].as_object().into_iter().flatten();
    let known: Vec<&str> = known.map(|(name, _)| name.as_str()).collect();
    if let Some(name) = given.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(unknown_argument(name, &known));
    }
    serde_path_to_error::deserialize(Value::Object(given)).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." {
            String::new()
        } else {
            format!("'{path}': ")
        };
        wrong(&format!("{place}{}", json::words(error.inner())))
    })
}

/// The failure for an argument that a tool does not know.
fn unknown_argument(name: &str, known: &[&str]) -> CommandFailure {
    let mut failure = wrong(&format!("'{}' is no argument of this tool", name.escape_debug()));
    if let Some(near) = spelling::similar(name, known.iter().copied()) {
        failure.hints.push(format!("did you mean '{near}'?"));
    }
    failure.hints.push(match known {
        [] => "it has no arguments".to_owned(),
        known => format!("its arguments: {}", known.join(", ")),
    });
    failure
}

impl CommandLine {
    /// The same with paths as results have them: from the root of the repository, wherever the server was started.
    fn below_root(self, paths: &[String]) -> Result<Self, CommandFailure> {
        let is_outside = |path: &&String| {
            let leads_out = path.starts_with('/') || path.split('/').any(|part| part == "..");
            path.is_empty() || leads_out && !path.starts_with(':')
        };
        match paths.iter().find(is_outside) {
            Some(path) => Err(wrong(&format!(
                "'paths': '{}' is not a path from the root of the repository",
                path.escape_debug()
            ))),
            None => Ok(self.paths(PathRule::FromRoot, paths)),
        }
    }
}

/// The failure for arguments that cannot be used.
fn wrong(message: &str) -> CommandFailure {
    CommandFailure::new(FailureKind::Usage, "the arguments are wrong", message)
}

fn internal(message: &str) -> CommandFailure {
    CommandFailure::new(FailureKind::Fatal, "nothing could be done", message)
}

/// The next step after a failure, for an agent that has these tools and perhaps no shell.
pub fn advice(failure: &CommandFailure) -> &'static str {
    match failure.kind {
        FailureKind::NotFound | FailureKind::Ambiguous => {
            "call checkpoint_list or checkpoint_search for sessions and checkpoints, or the tool without paths for its files, \
             then name exactly what you mean"
        }
        FailureKind::Refused => "nothing was changed; do what the hints say, or ask the user before you override it",
        FailureKind::Locked | FailureKind::Network => {
            "call the tool again with the same arguments; an idempotency_key keeps a save from being made twice"
        }
        FailureKind::Usage | FailureKind::Invalid | FailureKind::NeedsAnswer => {
            "correct the arguments and call the tool again"
        }
        FailureKind::Damaged | FailureKind::Newer | FailureKind::Denied => {
            "report this to the user; it cannot be repaired by a tool"
        }
        FailureKind::Interrupted => {
            "the call was cancelled before anything was changed; call it again if you still want it"
        }
        FailureKind::Negative => "there is nothing to do; go on",
        FailureKind::Drift
        | FailureKind::Partial
        | FailureKind::Step
        | FailureKind::Fatal
        | FailureKind::BrokenPipe => "report this to the user, with the message and the hints",
    }
}

/// The schema of the arguments of a tool.
fn input<T: JsonSchema>() -> Value {
    schemas::of_arguments::<T>()
}

/// The schema of a published view as the schema of a result.
fn published(name: &str) -> Value {
    schemas::schema(name).unwrap_or_default()
}

/// The member of a result that has the warnings, so that a program sees them which reads nothing else.
pub const WARNINGS: &str = "warnings";

impl Tool {
    /// The schema of the result with its warnings.
    pub fn result_schema(&self) -> Value {
        let mut schema = (self.output)();
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.entry(WARNINGS).or_insert_with(|| {
                json!({
                    "description": "Warnings, where there are any.",
                    "type": "array",
                    "items": { "type": "string" },
                })
            });
        }
        schema
    }
}

impl ToolResult {
    /// The result with its warnings as a member.
    pub fn with_warnings(&self) -> Value {
        let mut structured = self.structured.clone();
        if let Some(members) = structured.as_object_mut()
            && !self.warnings.is_empty()
        {
            members.entry(WARNINGS).or_insert_with(|| json!(self.warnings));
        }
        structured
    }
}

#[cfg(test)]
mod tests;

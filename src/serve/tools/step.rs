//! `checkpoint_step`: delegated work, from its start to the prompt of its next try.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Arguments, Tool, ToolCall, ToolResult, arguments, input, wrong};
use crate::{
    render::{
        retry::RetryView,
        schemas,
        step::{StepList, StepView},
    },
    serve::{CommandFailure, CommandLine},
};

pub(super) const STEP: Tool = Tool {
    name: "checkpoint_step",
    title: "Record delegated work",
    description: "Record units of delegated work. start: begins a step and returns its id. done: needs step and context, \
                  which is what later steps must know. fail: needs step and error. retry: begins the next try. replay: \
                  returns the prompt for the next try of a failed step, with what finished steps gave; runs nothing. list: \
                  all steps. Steps wait in the draft until the next checkpoint_save.",
    read_only: false,
    destructive: false,
    idempotent: false,
    input: input::<StepArguments>,
    output: schemas::of_type::<StepResult>,
    call,
};

/// Action of `checkpoint_step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum StepAction {
    Start,
    Done,
    Fail,
    Retry,
    Replay,
    List,
}

/// Arguments of `checkpoint_step`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StepArguments {
    /// The change to make.
    action: StepAction,
    /// The step: its id, its number or its title. For done, fail and retry; for replay the one that failed last by default.
    step: Option<String>,
    /// Title, for start.
    title: Option<String>,
    /// Objective in a sentence, for start, retry and replay.
    objective: Option<String>,
    /// The whole prompt of the agent that does it, for start.
    prompt: Option<String>,
    /// Steps whose results it uses, for start.
    #[serde(default)]
    uses: Vec<String>,
    /// The issue in a tracker, for start.
    issue: Option<String>,
    /// Context that later steps need, for done.
    context: Option<String>,
    /// Why it failed, for fail.
    error: Option<String>,
    /// Output of the work, for done and fail; of a long one the beginning and the end are kept.
    output: Option<String>,
    /// Files that it created, for done.
    #[serde(default)]
    created: Vec<String>,
    /// Files that it modified, for done.
    #[serde(default)]
    modified: Vec<String>,
    /// Results of checks by name, such as {"tests": "pass"}, for done.
    #[serde(default)]
    checks: BTreeMap<String, String>,
    /// Corrections for the next try, for retry and replay.
    #[serde(default)]
    corrections: Vec<String>,
    /// The session; the current one by default.
    session: Option<String>,
    /// Name of the agent that does the work.
    agent: Option<String>,
}

/// Result of `checkpoint_step`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "The result of a call of checkpoint_step")]
struct StepResult {
    /// The action.
    action: StepAction,
    /// The step as it is now, for start, done, fail and retry.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<StepView<'static>>")]
    step: Option<Value>,
    /// The next try, for replay; its member `prompt` is for the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<RetryView<'static>>")]
    replay: Option<Value>,
    /// All steps, for list.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<StepList<'static>>")]
    steps: Option<Value>,
}

fn call(call: &ToolCall<'_>, given: Arguments) -> Result<ToolResult, CommandFailure> {
    let given: StepArguments = arguments(given)?;
    let (view, warnings) = call.view(line(call, &given)?)?;
    let text = view["prompt"].as_str().map(str::to_owned);
    let mut result = StepResult {
        action: given.action,
        step: None,
        replay: None,
        steps: None,
    };
    *match given.action {
        StepAction::Replay => &mut result.replay,
        StepAction::List => &mut result.steps,
        _ => &mut result.step,
    } = Some(view);
    Ok(ToolResult {
        structured: json!(result),
        text,
        warnings,
    })
}

fn line(call: &ToolCall<'_>, given: &StepArguments) -> Result<CommandLine, CommandFailure> {
    let needed = |value: &Option<String>, name: &str| match value {
        Some(value) if !value.trim().is_empty() => Ok(value.clone()),
        _ => Err(wrong(&format!("this action needs '{name}'"))),
    };
    let about = |line: CommandLine| {
        line.option("session", given.session.as_ref())
            .option("agent", call.agent(given.agent.as_ref()))
    };
    let output = |line: CommandLine| match &given.output {
        Some(output) => line.option("output", Some("-")).input(output.as_str()),
        None => line,
    };
    Ok(match given.action {
        StepAction::Start => {
            let title = needed(&given.title, "title")?;
            let line = about(CommandLine::new("step start"))
                .option("objective", given.objective.as_ref())
                .option("issue", given.issue.as_ref())
                .each("uses", &given.uses);
            let line = match &given.prompt {
                Some(prompt) => line.option("prompt", Some("-")).input(prompt.as_str()),
                None => line,
            };
            line.operands([&title])
        }
        StepAction::Done => {
            let step = needed(&given.step, "step")?;
            let checks = given.checks.iter().map(|(name, result)| format!("{name}={result}"));
            output(about(CommandLine::new("step done")))
                .option("context", Some(needed(&given.context, "context")?))
                .each("created", &given.created)
                .each("modified", &given.modified)
                .each("check", &checks.collect::<Vec<_>>())
                .for_argument("checks")
                .operands([&step])
        }
        StepAction::Fail => {
            let step = needed(&given.step, "step")?;
            output(about(CommandLine::new("step fail")))
                .option("error", Some(needed(&given.error, "error")?))
                .operands([&step])
        }
        StepAction::Retry => about(CommandLine::new("step retry"))
            .option("objective", given.objective.as_ref())
            .each("correction", &given.corrections)
            .for_argument("corrections")
            .operands([&needed(&given.step, "step")?]),
        StepAction::Replay => about(CommandLine::new("replay"))
            .option("format", Some("prompt"))
            .option("step", given.step.as_ref())
            .option("objective", given.objective.as_ref())
            .each("correction", &given.corrections)
            .for_argument("corrections"),
        StepAction::List => CommandLine::new("step list")
            .selector(given.session.as_ref())
            .map_err(|message| wrong(&message))?,
    })
}

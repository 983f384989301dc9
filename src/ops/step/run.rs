//! A command run as a step: what it printed, how it ended, how long it took, and which files it changed.
//!
//! The step is on disk before the command begins, so that a machine that dies leaves a step that is running, not none.
//! The part of the output that is stored has gone through the redactor as one stream and is bounded; what the caller shows is
//! not changed.

use std::{ffi::OsString, path::Path, time::Duration};

use serde_json::{Map, Value, json};

use super::{
    super::{Error, Scene, events::EventOutcome, ids, redact::Redactor},
    Start, StepReceipt, files, note, retry_step,
};
use crate::{
    model::{
        excerpt::Cutter,
        path::RepoPath,
        step::{ShellCommand, Step, StepStatus},
        time::Timestamp,
    },
    os::child::{self, ChildEnd, ChildJob, Stream},
    store::{commands, objects::Writer},
};

/// The exit status when the command took too long, as of `timeout`.
const TIMED_OUT: i32 = 124;
/// The exit status of a command that is no program, as of a shell.
const NOT_EXECUTABLE: i32 = 126;
/// The exit status of a command that is not there, as of a shell.
const NOT_FOUND: i32 = 127;

/// Which step the command is.
#[derive(Debug)]
pub enum StepChoice {
    /// A new one.
    New(Start),
    /// The next try of this one.
    Again(Box<Step>),
}

/// Request to run a command as a step.
#[derive(Debug)]
pub struct StepRunRequest<'a> {
    /// The step.
    pub which: StepChoice,
    /// The program and its arguments.
    pub argv: &'a [OsString],
    /// The directory to run in.
    pub directory: &'a Path,
    /// That directory below the top of the working tree.
    pub below: RepoPath,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// Whether the terminal is its input.
    pub foreground: bool,
}

/// Result of a command that ran as a step.
#[derive(Debug)]
pub struct RunOutcome {
    /// The step as it is now, and its last change.
    pub noted: StepReceipt,
    /// Outcome of the event at its start.
    pub begun: EventOutcome,
    /// The exit status to pass on.
    pub status: i32,
}

/// Runs a command as a step. `pass` shows a piece of output and returns whether it is still read.
pub fn run(
    scene: &Scene<'_>,
    request: &StepRunRequest<'_>,
    pass: &mut dyn FnMut(Stream, &[u8]) -> bool,
) -> Result<RunOutcome, Error> {
    let mut redactor = Redactor::new(scene)?;
    let writer = Writer::memory(scene.repo);
    let before = files::now(scene, &writer)?;
    let command = command(request, &mut redactor);
    let (id, mut patch) = match &request.which {
        StepChoice::New(start) => {
            let title = Some(start.title.clone()).filter(|title| !title.trim().is_empty());
            let start = Start {
                title: title.unwrap_or_else(|| command.shown()),
                agent: start.agent.clone(),
                issue: start.issue.clone(),
                prompt: start.prompt.clone(),
                objective: start.objective.clone(),
                uses: start.uses.clone(),
            };
            (ids::item_id()?, start.patch(scene, before.as_ref())?)
        }
        StepChoice::Again(step) => (step.id.clone(), retry_step(scene, step, before.as_ref())),
    };
    patch.insert("command".into(), json!(command));
    commands::note(scene.repo, [&command])?;
    let begun = note(scene, &id, patch, Some("step-start"), "started")?;
    // From here on the session is the one the step is in, whatever becomes current meanwhile.
    let session = begun.appended.session.clone();
    let scene = &Scene {
        session: Some(&session),
        ..*scene
    };
    let job = ChildJob {
        argv: request.argv,
        directory: request.directory,
        timeout: request.timeout,
        foreground: request.foreground,
        without: &[],
        is_guarded: false,
    };
    let mut cutter = Cutter::default();
    let mut clean = Vec::new();
    let mut stream = redactor.stream();
    let ended = child::run(&job, &mut |from, piece| {
        stream.push(piece, &mut clean);
        cutter.push(&clean);
        clean.clear();
        pass(from, piece)
    });
    let findings = stream.finish(&mut clean);
    cutter.push(&clean);
    redactor.note(findings, "step/output");
    let (status, error, took) = match &ended {
        Ok((end, took)) => (status_of(*end), why(*end, request.timeout), *took),
        Err(error) => (
            1,
            Some(format!("it could not be run: {}", crate::os::reason(error))),
            Duration::ZERO,
        ),
    };
    let mut patch = Map::new();
    patch.insert("exit_status".into(), json!(status));
    patch.insert(
        "duration_ms".into(),
        json!(u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
    );
    let seconds = i64::try_from(took.as_secs()).unwrap_or(0);
    let at = Timestamp::from_unix(scene.now.unix() + seconds, scene.now.offset());
    patch.insert("ended_at".into(), json!(at));
    let output = cutter.finish();
    if !output.is_empty() {
        patch.insert("output".into(), json!(output));
    }
    let verdict = match &error {
        None => StepStatus::Done,
        Some(error) => {
            patch.insert("error".into(), json!(error));
            StepStatus::Failed
        }
    };
    patch.insert("status".into(), json!(verdict));
    changed_files(scene, &writer, before.as_ref(), &mut patch)?;
    let (trigger, word) = match verdict {
        StepStatus::Done => ("step-done", "done"),
        _ => ("step-fail", "failed"),
    };
    // Others may have been given the lock for long; the result of a command is worth waiting for.
    let mut noted = note(scene, &id, patch, Some(trigger), word)?;
    noted.appended.redactions.append(&mut redactor.found);
    if let Err(error) = ended {
        return Err(Error::Child(error));
    }
    Ok(RunOutcome {
        noted,
        begun: begun.event,
        status,
    })
}

/// The command as it is stored.
fn command(request: &StepRunRequest<'_>, redactor: &mut Redactor) -> ShellCommand {
    let texts: Vec<String> = request.argv.iter().map(|a| a.to_string_lossy().into_owned()).collect();
    let is_text = request.argv.iter().all(|argument| argument.to_str().is_some());
    let mut argv = json!(texts);
    redactor.json(&mut argv, "step/command");
    let argv: Vec<String> = crate::model::json::from_value(argv).unwrap_or_default();
    ShellCommand {
        altered: !is_text || argv != texts,
        argv,
        directory: request.below.clone(),
        timeout_ms: request.timeout.and_then(|limit| u64::try_from(limit.as_millis()).ok()),
    }
}

fn status_of(end: ChildEnd) -> i32 {
    match end {
        ChildEnd::Exited(status) => status,
        ChildEnd::Signal(signal) => 128 + signal,
        ChildEnd::TimedOut => TIMED_OUT,
        ChildEnd::NotFound => NOT_FOUND,
        ChildEnd::NotExecutable => NOT_EXECUTABLE,
    }
}

/// Why it failed, in words; `None` when it did not.
fn why(end: ChildEnd, timeout: Option<Duration>) -> Option<String> {
    match end {
        ChildEnd::Exited(0) => None,
        ChildEnd::Exited(status) => Some(format!("exit status {status}")),
        ChildEnd::Signal(signal) => Some(format!("ended by signal {signal}")),
        ChildEnd::TimedOut => {
            let limit = timeout.unwrap_or_default();
            Some(format!("took longer than {} s and was ended", limit.as_secs_f64()))
        }
        ChildEnd::NotFound => Some("there is no such program".to_owned()),
        ChildEnd::NotExecutable => Some("it is not executable".to_owned()),
    }
}

/// Adds the files as they are now, and what became of those there were.
fn changed_files(
    scene: &Scene<'_>,
    writer: &Writer,
    before: Option<&crate::model::step::FileStates>,
    patch: &mut Map<String, Value>,
) -> Result<(), Error> {
    let Some(after) = files::now(scene, writer)? else {
        return Ok(());
    };
    if let Some(before) = before {
        let (outputs, more) = files::outputs(&writer.overlay(scene.repo), before, &after)?;
        if !outputs.is_empty() {
            patch.insert("outputs".into(), json!(outputs));
        }
        if more > 0 {
            patch.insert("more_outputs".into(), json!(more));
        }
    }
    patch.insert("after".into(), json!(after));
    Ok(())
}

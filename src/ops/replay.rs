//! `replay`: what the next try of a step should know, and with `--run` the commands of steps run again.
//!
//! Showing changes nothing. Running goes on from the failed step in the order of steps; a step that ended well is not
//! run again when its command and the files it began with are the same and it changed none of them, because then its
//! result is known. What was recorded elsewhere runs only when the user asks for it.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    Error, Scene, select, share,
    step::{
        self, Steps,
        run::{self, RunOutcome, StepChoice},
    },
};
use crate::{
    model::{
        selector::Selector,
        step::{FileChanges, FileStates, RetryInfo, ShellCommand, Step, StepStatus},
    },
    os::child::Stream,
    store::{self, commands},
};

/// Request of a replay.
#[derive(Debug, Default)]
pub struct ReplayRequest {
    /// The session or checkpoint; without one the session that commands mean.
    pub selector: Option<Selector>,
    /// A word for the step; without one the step that failed last.
    pub step: Option<String>,
    /// The objective restated.
    pub objective: Option<String>,
    /// Corrections.
    pub corrections: Vec<String>,
}

/// Input of the next attempt of a step.
#[derive(Debug)]
pub struct StepView {
    /// The session's name, when it is one's.
    pub session: Option<crate::model::name::ShortName>,
    /// The try.
    pub retry: RetryInfo,
    /// Where it came from, if others wrote it.
    pub foreign: Option<String>,
}

/// Looks, and changes nothing.
pub fn show(scene: &Scene<'_>, request: &ReplayRequest) -> Result<StepView, Error> {
    let all = step::steps(scene, request.selector.as_ref())?;
    let wanted = match &request.step {
        Some(word) => all.find(word)?,
        None => failed_last(&all)?,
    };
    let since = since(scene, wanted)?;
    let objective = request.objective.as_deref();
    let retry = RetryInfo::new(&all.steps, wanted, objective, &request.corrections, since);
    let foreign = share::status::foreign_of(scene, all.session.as_ref(), request.selector.as_ref());
    Ok(StepView {
        session: all.session,
        retry,
        foreign,
    })
}

fn failed_last(all: &Steps) -> Result<&Step, Error> {
    let failed = all.steps.iter().filter(|step| step.status == StepStatus::Failed);
    failed
        .max_by_key(|step| (step.ended_at.map(crate::model::time::Timestamp::unix), step.n))
        .ok_or(Error::NoneFailed)
}

/// Changes of the files since the step ended, or since it began if its end was not recorded.
fn since(scene: &Scene<'_>, wanted: &Step) -> Result<FileChanges, Error> {
    let Some(then) = wanted.after.as_ref().or(wanted.before.as_ref()) else {
        return Ok(FileChanges::NotKept);
    };
    let (now, overlay) = step::files_now(scene)?;
    let Some(now) = now else {
        return Ok(FileChanges::NotKept);
    };
    Ok(match step::differing(&overlay, then, &now) {
        Some(paths) => FileChanges::Changed(paths),
        None => FileChanges::Unknown,
    })
}

/// Command to run again.
#[derive(Debug, Default)]
pub struct RunRequest {
    /// The session; without one that which commands mean.
    pub selector: Option<Selector>,
    /// A word for the first step; without one the first that failed.
    pub from: Option<String>,
    /// Whether to say only what would be done.
    pub dry_run: bool,
    /// Whether commands that were not run here before may run.
    pub trust: bool,
    /// Whether the terminal is the input of commands.
    pub foreground: bool,
}

/// Action of a replay on a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayAction {
    /// It runs.
    Run,
    /// Its recorded result is kept.
    Reuse,
    /// Which of the two depends on what the steps before it do to the files.
    Either,
    /// It has no command, so that only an agent can do it again.
    NoCommand,
    /// A step before it failed.
    NotReached,
}

impl ReplayAction {
    /// The word that is shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Reuse => "reused",
            Self::Either => "run or reused",
            Self::NoCommand => "no command",
            Self::NotReached => "not reached",
        }
    }
}

/// A step and what was done with it.
#[derive(Debug)]
pub struct ReplayedStep {
    /// The step as it is afterwards.
    pub step: Step,
    /// Action, or planned action.
    pub action: ReplayAction,
    /// Outcome of the run, if it ran.
    pub ran: Option<Box<RunOutcome>>,
}

/// Everything that was done.
#[derive(Debug)]
pub struct ReplayOutcome {
    /// The session.
    pub session: crate::model::name::ShortName,
    /// The steps from the first on.
    pub items: Vec<ReplayedStep>,
    /// The exit status of the last command that ran; 0 when none did.
    pub status: i32,
}

/// Runs the commands of steps again, or reports what would be run. `tell` is called with each step before it is done.
pub fn run(
    scene: &Scene<'_>,
    request: &RunRequest,
    tell: &mut dyn FnMut(&Step, ReplayAction),
    pass: &mut dyn FnMut(Stream, &[u8]) -> bool,
) -> Result<ReplayOutcome, Error> {
    let session = match &request.selector {
        Some(selector) => Some(select::session(scene, selector)?.0),
        None => None,
    };
    let scene = &Scene {
        session: session.as_ref().or(scene.session),
        ..*scene
    };
    let all = step::to_change(scene)?;
    let first = if let Some(word) = &request.from {
        all.find(word)?
    } else {
        let failed = all.steps.iter().find(|step| step.status == StepStatus::Failed);
        failed.ok_or(Error::NoneFailed)?
    };
    let steps: Vec<&Step> = all.steps.iter().filter(|step| step.n >= first.n).collect();
    if !steps.iter().any(|step| step.command.is_some()) {
        return Err(Error::NoCommand {
            step: first.title.clone(),
        });
    }
    let session = all.session.clone().ok_or(Error::NoneFailed)?;
    if request.dry_run {
        return Ok(ReplayOutcome {
            session,
            items: plan(scene, &steps)?,
            status: 0,
        });
    }
    consent(scene, &steps, request.trust)?;
    let top = store::work_tree(scene.repo)?.to_owned();
    let (mut items, mut status) = (Vec::new(), 0);
    for wanted in steps {
        let mut item = ReplayedStep {
            step: wanted.clone(),
            action: ReplayAction::NotReached,
            ran: None,
        };
        if status == 0 {
            let now = step::files_now(scene)?.0;
            item.action = action(wanted, now.as_ref());
            tell(wanted, item.action);
            if let (ReplayAction::Run, Some(command)) = (item.action, &wanted.command) {
                let ran = again(scene, wanted, command, &top, request.foreground, pass)?;
                status = ran.status;
                item.step = ran.noted.step.clone();
                item.ran = Some(Box::new(ran));
            }
        }
        items.push(item);
    }
    Ok(ReplayOutcome { session, items, status })
}

/// Plan of a replay, as far as it can be known in advance.
fn plan(scene: &Scene<'_>, steps: &[&Step]) -> Result<Vec<ReplayedStep>, Error> {
    let now = step::files_now(scene)?.0;
    let mut known = true;
    let mut items = Vec::new();
    for wanted in steps {
        let action = match action(wanted, now.as_ref()) {
            ReplayAction::Run | ReplayAction::Reuse if !known && is_pure(wanted) => ReplayAction::Either,
            action => action,
        };
        // Once something runs the files may be others.
        known &= action != ReplayAction::Run;
        items.push(ReplayedStep {
            step: (*wanted).clone(),
            action,
            ran: None,
        });
    }
    Ok(items)
}

/// Whether a step ended well and left the files as they were, so that its result can be used again.
fn is_pure(step: &Step) -> bool {
    let trees = (step.before.as_ref(), step.after.as_ref());
    step.status == StepStatus::Done && matches!(trees, (Some(before), Some(after)) if before.tree == after.tree)
}

fn action(step: &Step, now: Option<&FileStates>) -> ReplayAction {
    if step.command.is_none() {
        return ReplayAction::NoCommand;
    }
    let same = matches!((step.before.as_ref(), now), (Some(then), Some(now)) if then.tree == now.tree);
    if same && is_pure(step) {
        ReplayAction::Reuse
    } else {
        ReplayAction::Run
    }
}

/// Refuses commands that are not stored as they ran, and those that were not run here unless they are trusted.
fn consent(scene: &Scene<'_>, steps: &[&Step], trust: bool) -> Result<(), Error> {
    let commands: Vec<&ShellCommand> = steps.iter().filter_map(|step| step.command.as_ref()).collect();
    if let Some(step) = steps.iter().find(|s| s.command.as_ref().is_some_and(|c| c.altered)) {
        return Err(Error::AlteredCommand {
            step: step.title.clone(),
        });
    }
    if trust {
        return Ok(commands::note(scene.repo, commands)?);
    }
    let known = commands::read(scene.repo)?;
    let foreign: Vec<String> = commands
        .iter()
        .filter(|command| !known.has(command))
        .map(|command| command.shown())
        .collect();
    if foreign.is_empty() {
        Ok(())
    } else {
        Err(Error::ForeignCommands { commands: foreign })
    }
}

fn again(
    scene: &Scene<'_>,
    wanted: &Step,
    command: &ShellCommand,
    top: &Path,
    foreground: bool,
    pass: &mut dyn FnMut(Stream, &[u8]) -> bool,
) -> Result<RunOutcome, Error> {
    let argv: Vec<OsString> = command.argv.iter().map(OsString::from).collect();
    let directory = directory(top, command);
    let request = run::StepRunRequest {
        which: StepChoice::Again(Box::new(wanted.clone())),
        argv: &argv,
        directory: &directory,
        below: command.directory.clone(),
        timeout: command.timeout_ms.map(Duration::from_millis),
        foreground,
    };
    run::run(scene, &request, pass)
}

/// The directory of a command, never outside of the working tree whatever the step has.
fn directory(top: &Path, command: &ShellCommand) -> PathBuf {
    let mut out = top.to_owned();
    let text = String::from_utf8_lossy(command.directory.as_bytes()).into_owned();
    for part in Path::new(&text).components() {
        if let std::path::Component::Normal(part) = part {
            out.push(part);
        }
    }
    out
}

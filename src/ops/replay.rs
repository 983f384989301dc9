//! `replay`: what the next try of a step should know, and with `--run` the commands of steps run again.
//!
//! Showing changes nothing. Running goes on from the failed step in the order of steps; a step that ended well is not
//! run again when its command and the files it began with are the same and it changed none of them, because then its
//! result is known. What was recorded elsewhere runs only when the user says so.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{
    Error, Scene, select,
    step::{
        self, Steps,
        run::{self, Ran, Which},
    },
};
use crate::{
    model::{
        selector::Selector,
        step::{Command, Files, Retry, Since, Step, StepStatus},
    },
    os::child::Stream,
    store::{self, commands},
};

/// What is asked for.
#[derive(Debug, Default)]
pub struct Request {
    /// The session or checkpoint; without one the session that commands mean.
    pub selector: Option<Selector>,
    /// A word for the step; without one the step that failed last.
    pub step: Option<String>,
    /// The objective restated.
    pub objective: Option<String>,
    /// What is to be done otherwise.
    pub corrections: Vec<String>,
}

/// What the next try of a step should know.
#[derive(Debug)]
pub struct Shown {
    /// The session's name, when it is one's.
    pub session: Option<crate::model::name::Name>,
    /// The try.
    pub retry: Retry,
}

/// Looks, and changes nothing.
pub fn show(scene: &Scene<'_>, request: &Request) -> Result<Shown, Error> {
    let all = step::steps(scene, request.selector.as_ref())?;
    let wanted = match &request.step {
        Some(word) => all.find(word)?,
        None => failed_last(&all)?,
    };
    let since = since(scene, wanted)?;
    let objective = request.objective.as_deref();
    let retry = Retry::new(&all.steps, wanted, objective, &request.corrections, since);
    Ok(Shown {
        session: all.session,
        retry,
    })
}

fn failed_last(all: &Steps) -> Result<&Step, Error> {
    let failed = all.steps.iter().filter(|step| step.status == StepStatus::Failed);
    failed
        .max_by_key(|step| (step.ended_at.map(crate::model::time::Timestamp::unix), step.n))
        .ok_or(Error::NoneFailed)
}

/// What became of the files since the step ended, or since it began when nobody said that it ended.
fn since(scene: &Scene<'_>, wanted: &Step) -> Result<Since, Error> {
    let Some(then) = wanted.after.as_ref().or(wanted.before.as_ref()) else {
        return Ok(Since::NotKept);
    };
    let (now, overlay) = step::files_now(scene)?;
    let Some(now) = now else {
        return Ok(Since::NotKept);
    };
    Ok(match step::differing(&overlay, then, &now) {
        Some(paths) => Since::Changed(paths),
        None => Since::Unknown,
    })
}

/// What is to run again.
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

/// What is done with a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It runs.
    Run,
    /// Its recorded result stands.
    Reuse,
    /// Which of the two depends on what the steps before it do to the files.
    Either,
    /// It has no command, so that only an agent can do it again.
    NoCommand,
    /// A step before it failed.
    NotReached,
}

impl Action {
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
pub struct Item {
    /// The step as it is afterwards.
    pub step: Step,
    /// What was done, or would be.
    pub action: Action,
    /// What came of it, when it ran.
    pub ran: Option<Box<Ran>>,
}

/// Everything that was done.
#[derive(Debug)]
pub struct Replayed {
    /// The session.
    pub session: crate::model::name::Name,
    /// The steps from the first on.
    pub items: Vec<Item>,
    /// The exit status of the last command that ran; 0 when none did.
    pub status: i32,
}

/// Runs the commands of steps again, or says what would be run. `tell` hears of each step before it is done.
pub fn run(
    scene: &Scene<'_>,
    request: &RunRequest,
    tell: &mut dyn FnMut(&Step, Action),
    pass: &mut dyn FnMut(Stream, &[u8]) -> bool,
) -> Result<Replayed, Error> {
    let session = match &request.selector {
        Some(selector) => Some(select::session(scene, selector)?.0),
        None => None,
    };
    let scene = &Scene {
        session: session.as_ref().or(scene.session),
        ..*scene
    };
    let all = step::steps(scene, None)?;
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
        return Ok(Replayed {
            session,
            items: plan(scene, &steps)?,
            status: 0,
        });
    }
    consent(scene, &steps, request.trust)?;
    let top = store::work_tree(scene.repo)?.to_owned();
    let (mut items, mut status) = (Vec::new(), 0);
    for wanted in steps {
        let mut item = Item {
            step: wanted.clone(),
            action: Action::NotReached,
            ran: None,
        };
        if status == 0 {
            let now = step::files_now(scene)?.0;
            item.action = action(wanted, now.as_ref());
            tell(wanted, item.action);
            if let (Action::Run, Some(command)) = (item.action, &wanted.command) {
                let ran = again(scene, wanted, command, &top, request.foreground, pass)?;
                status = ran.status;
                item.step = ran.noted.step.clone();
                item.ran = Some(Box::new(ran));
            }
        }
        items.push(item);
    }
    Ok(Replayed { session, items, status })
}

/// What would be done, as far as that can be told before.
fn plan(scene: &Scene<'_>, steps: &[&Step]) -> Result<Vec<Item>, Error> {
    let now = step::files_now(scene)?.0;
    let mut known = true;
    let mut items = Vec::new();
    for wanted in steps {
        let action = match action(wanted, now.as_ref()) {
            Action::Run | Action::Reuse if !known && is_pure(wanted) => Action::Either,
            action => action,
        };
        // Once something runs the files may be others.
        known &= action != Action::Run;
        items.push(Item {
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

fn action(step: &Step, now: Option<&Files>) -> Action {
    if step.command.is_none() {
        return Action::NoCommand;
    }
    let same = matches!((step.before.as_ref(), now), (Some(then), Some(now)) if then.tree == now.tree);
    if same && is_pure(step) {
        Action::Reuse
    } else {
        Action::Run
    }
}

/// Refuses commands that are not stored as they ran, and those that were not run here unless they are trusted.
fn consent(scene: &Scene<'_>, steps: &[&Step], trust: bool) -> Result<(), Error> {
    let commands: Vec<&Command> = steps.iter().filter_map(|step| step.command.as_ref()).collect();
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
    command: &Command,
    top: &Path,
    foreground: bool,
    pass: &mut dyn FnMut(Stream, &[u8]) -> bool,
) -> Result<Ran, Error> {
    let argv: Vec<OsString> = command.argv.iter().map(OsString::from).collect();
    let folder = folder(top, command);
    let request = run::Request {
        which: Which::Again(Box::new(wanted.clone())),
        argv: &argv,
        folder: &folder,
        below: command.folder.clone(),
        timeout: command.timeout_ms.map(Duration::from_millis),
        foreground,
    };
    run::run(scene, &request, pass)
}

/// The folder of a command, never outside of the work tree whatever the step says.
fn folder(top: &Path, command: &Command) -> PathBuf {
    let mut out = top.to_owned();
    let text = String::from_utf8_lossy(command.folder.as_bytes()).into_owned();
    for part in Path::new(&text).components() {
        if let std::path::Component::Normal(part) = part {
            out.push(part);
        }
    }
    out
}

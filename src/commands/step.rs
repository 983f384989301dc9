//! `step`: units of delegated work, recorded so that a failed one can be tried again; and commands run as steps.

mod args;

use std::{
    ffi::OsString,
    path::{Component, Path},
};

pub(super) use args::Args;
use args::{DoneArgs, FailArgs, RunArgs, ShowArgs, StartArgs, StepCommand, StepListArgs};

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure, input,
    opening::{self, IdentityArgs, OpenedRepository},
    redactions,
};
use crate::{
    model::{
        path::RepoPath,
        step::{Step, StepOutput, TEXT_LIMIT},
    },
    ops::{
        self,
        events::EventOutcome,
        step::{
            self, NextAttempt, Start, StepOutcome, StepReceipt,
            run::{self, StepChoice},
        },
    },
    os::child::Stream,
    render::{slot::Slot, step as render, text::TextLine},
    store::{self, checkpoint::oid},
};

/// Exit code of our own failures in `step run`, distinct from the command's.
pub(super) const OWN_FAILURE: u8 = 125;

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    match args.command {
        StepCommand::Start(args) => start(args, context),
        StepCommand::Done(args) => done(args, context),
        StepCommand::Fail(args) => fail(args, context),
        StepCommand::Retry(args) => {
            let opened = opening::open(context, &args.whom)?;
            let wanted = NextAttempt {
                objective: args.objective,
                corrections: args.corrections,
            };
            let noted = step::retry(&opened.scene(), &args.step, &wanted)?;
            report(context, &noted, "started again")
        }
        StepCommand::Invalidate(args) => {
            let opened = opening::open(context, &args.whom)?;
            let noted = step::invalidate(&opened.scene(), &args.step, &args.reason)?;
            report(context, &noted, "invalidated")
        }
        StepCommand::Run(args) => run_command(args, context).map_err(|error| match error.kind() {
            // Passed on: not a failure of ours.
            FailureKind::Step if error.is_silent() => error,
            _ => error.with_code(OWN_FAILURE),
        }),
        StepCommand::List(args) => list(args, context),
        StepCommand::Show(args) => show(args, context),
    }
}

fn start(args: StartArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &args.about.whom)?;
    let prompt = args.prompt.map(|path| text_file(context, &path)).transpose()?;
    if args.title.trim().is_empty() {
        return Err(CommandError::new(
            FailureKind::Usage,
            "the title of the step is missing",
        ));
    }
    let wanted = Start {
        title: args.title,
        agent: args.about.whom.agent.clone(),
        issue: args.about.issue,
        prompt,
        objective: args.about.objective,
        uses: args.about.uses,
    };
    let noted = step::start(&opened.scene(), &wanted)?;
    report(context, &noted, "begun")?;
    context.ui.hint(
        "Step",
        &format!(
            "when it has finished: git checkpoint step done {} --context '...'",
            noted.step.id
        ),
    );
    Ok(())
}

/// A text from a file or standard input.
fn text_file(context: &Context, path: &Path) -> Result<String, CommandError> {
    let limit = TEXT_LIMIT as u64;
    let bytes = if path.as_os_str() == "-" {
        context.ui.read_input("the prompt", limit)?
    } else {
        input::read_file(context, path, limit, "the prompt")?
    };
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A text, or standard input for `-`.
fn text_or_input(context: &Context, text: Option<String>) -> Result<Option<String>, CommandError> {
    /// Limit in bytes of an output that is read before it is shortened.
    const LIMIT: u64 = 64 << 20;
    match text {
        Some(text) if text == "-" => {
            let bytes = context.ui.read_input("the output", LIMIT)?;
            Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
        }
        other => Ok(other),
    }
}

fn done(args: DoneArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &args.whom)?;
    let mut outputs = Vec::new();
    for (change, files) in [("created", &args.created), ("modified", &args.modified)] {
        for file in files {
            outputs.push(output(context, &opened, change, file)?);
        }
    }
    let wanted = StepOutcome {
        context: Some(args.context),
        output: text_or_input(context, args.output)?,
        outputs,
        checks: args.checks,
    };
    let noted = step::done(&opened.scene(), &args.step, &wanted)?;
    report(context, &noted, "done")
}

fn fail(args: FailArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &args.whom)?;
    let output = text_or_input(context, args.output)?;
    let noted = step::fail(&opened.scene(), &args.step, &args.error, output.as_deref())?;
    report(context, &noted, "failed")?;
    context
        .ui
        .hint("Replay", "prepare the next attempt: git checkpoint replay");
    Ok(())
}

/// `PATH[=DESC]`; the path is below the current directory, and is kept as it is below the top.
fn output(
    context: &Context,
    opened: &OpenedRepository,
    change: &str,
    given: &OsString,
) -> Result<StepOutput, CommandError> {
    let bytes = given.as_encoded_bytes();
    let (path, text) = match bytes.iter().position(|b| *b == b'=') {
        Some(at) => (
            &bytes[..at],
            Some(String::from_utf8_lossy(&bytes[at + 1..]).into_owned()),
        ),
        None => (bytes, None),
    };
    let path = String::from_utf8_lossy(path).into_owned();
    Ok(StepOutput {
        path: below(context, opened, Path::new(&path))?,
        change: change.to_owned(),
        text,
    })
}

/// A path below the top of the working tree. It need not exist.
fn below(context: &Context, opened: &OpenedRepository, path: &Path) -> Result<RepoPath, CommandError> {
    let scene = opened.scene();
    let outside = || {
        let message = format!("'{}' is outside of the repository", path.display());
        CommandError::new(FailureKind::Usage, message)
    };
    let top = store::work_tree(scene.repo).map_err(ops::Error::from)?;
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut full = real(&context.env.cwd);
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                full.pop();
            }
            Component::Normal(part) => full.push(part),
            Component::RootDir | Component::Prefix(_) => full.push(part.as_os_str()),
        }
    }
    let below = full.strip_prefix(real(top)).map_err(|_| outside())?;
    Ok(RepoPath::new(below.as_os_str().as_encoded_bytes()))
}

fn run_command(args: RunArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &args.about.whom)?;
    let scene = opened.scene();
    let which = match &args.again {
        Some(word) => StepChoice::Again(Box::new(step::to_change(&scene)?.find(word)?.clone())),
        None => StepChoice::New(Start {
            title: args.title.unwrap_or_default(),
            agent: args.about.whom.agent.clone(),
            issue: args.about.issue,
            prompt: None,
            objective: args.about.objective,
            uses: args.about.uses,
        }),
    };
    let directory = context.env.cwd.clone();
    let request = run::StepRunRequest {
        which,
        argv: &args.argv,
        below: below(context, &opened, Path::new("."))?,
        directory: &directory,
        timeout: args.timeout,
        foreground: context.ui.terminals().input,
    };
    let ui = &context.ui;
    let ran = run::run(&scene, &request, &mut |stream, piece| {
        ui.pass(stream == Stream::Error, piece)
    })?;
    told(context, &ran.begun);
    warn(context, &ran.noted);
    if context.ui.options().json {
        context.ui.json(&view(&ran.noted))?;
    } else {
        context.ui.status(ended(&ran.noted.step));
    }
    passed_on(ran.status)
}

/// How a command ended, in a line on standard error: standard output is the command's.
pub(super) fn ended(step: &Step) -> TextLine {
    let mut line = render::line(step);
    line.push(Slot::Plain, ": ");
    match &step.error {
        None => line.push(Slot::Good, "done"),
        Some(error) => line.push(Slot::Bad, error),
    }
    if let Some(took) = render::took(step) {
        line.push(Slot::Plain, format!(", {took}"));
    }
    let files = step.outputs.len() as u64 + step.more_outputs.unwrap_or(0);
    if files > 0 {
        let files = usize::try_from(files).unwrap_or(usize::MAX);
        line.push(
            Slot::Plain,
            format!(", {} changed", crate::render::count::CountedNoun::new(files, "file")),
        );
    }
    line
}

/// The exit status of a command as ours.
pub(super) fn passed_on(status: i32) -> Result<(), CommandError> {
    match u8::try_from(status & 0xff) {
        Ok(0) if status == 0 => Ok(()),
        Ok(code) if code > 0 => Err(CommandError::passed_on(code)),
        _ => Err(CommandError::passed_on(1)),
    }
}

fn report(context: &Context, noted: &StepReceipt, what: &str) -> Result<(), CommandError> {
    warn(context, noted);
    if context.ui.options().json {
        return context.ui.json(&view(noted));
    }
    let mut line = render::line(&noted.step);
    line.push(Slot::Plain, format!(": {what}, in the draft of session "));
    line.push(Slot::Session, noted.appended.session.as_str());
    context.ui.receipt(line);
    Ok(())
}

/// Warnings besides the receipt.
pub(super) fn warn(context: &Context, noted: &StepReceipt) {
    redactions::warn(context, &noted.appended.redactions);
    told(context, &noted.event);
}

/// Reports the outcome of an event.
pub(super) fn told(context: &Context, event: &EventOutcome) {
    match event {
        EventOutcome::NotAsked => {}
        EventOutcome::Saved(outcome) => {
            let receipt = outcome.receipt();
            if let Ok(opened) = opening::at(&context.env, &IdentityArgs::default(), context.env.now) {
                for trouble in super::share::automatic::after_checkpoint(&opened, &receipt.session) {
                    context.ui.warning(&trouble);
                }
            }
            if let Some(id) = receipt.id {
                let mut line = TextLine::plain("saved as checkpoint ").with(Slot::Id, oid(id).short());
                let trigger = receipt.document.trigger.as_deref().unwrap_or_default();
                line.push(Slot::Plain, format!(" ({trigger})"));
                context.ui.status(line);
            }
        }
        EventOutcome::Failed { trigger, error } => context
            .ui
            .warning(&format!("it is recorded, but the save on '{trigger}' failed: {error}")),
    }
}

fn view(noted: &StepReceipt) -> render::StepView<'_> {
    let checkpoint = match &noted.event {
        EventOutcome::Saved(outcome) => outcome.receipt().id.map(oid),
        EventOutcome::NotAsked | EventOutcome::Failed { .. } => None,
    };
    render::StepView {
        session: Some(&noted.appended.session),
        step: &noted.step,
        change: Some(render::StepChangeView {
            session_id: &noted.appended.session_id,
            checkpoint,
            redactions: super::views::redactions(&noted.appended.redactions),
        }),
    }
}

fn list(args: StepListArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let scene = opened.scene();
    let selector = args.selector.as_deref().map(failure::selector).transpose()?;
    let found = step::steps(&scene, selector.as_ref())?;
    if context.ui.options().json {
        return context.ui.json(&render::StepList {
            session: found.session.as_ref(),
            steps: &found.steps,
        });
    }
    if found.steps.is_empty() {
        context
            .ui
            .status("No steps found; start one: git checkpoint step start");
        return Ok(());
    }
    context
        .ui
        .data(render::list(&found.steps, context.ui.table_width(), scene.now));
    Ok(())
}

fn show(args: ShowArgs, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let scene = opened.scene();
    let selector = args.selector.as_deref().map(failure::selector).transpose()?;
    let found = step::steps(&scene, selector.as_ref())?;
    let step = found.find(&args.step)?;
    if context.ui.options().json {
        return context.ui.json(&render::StepView {
            session: found.session.as_ref(),
            step,
            change: None,
        });
    }
    context.ui.page();
    context
        .ui
        .data(render::show(step, context.ui.width(), args.all, scene.now));
    Ok(())
}

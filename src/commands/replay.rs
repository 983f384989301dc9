//! `replay`: the prompt for the next try of a failed step, and with `--run` its commands run again.

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    opening::{self, IdentityArgs, OpenedRepository},
    step::{OWN_FAILURE, ended, passed_on, told, warn},
};
use crate::{
    model::{selector::Selector, step::Step},
    ops::replay::{self, ReplayAction, ReplayOutcome, ReplayRequest, RunRequest},
    os::{self, child::Stream},
    render::{
        retry::{ReplayRow, ReplayRunView, RetryPrompt, RetryView},
        slot::Slot,
        step as render,
        text::TextLine,
    },
};

/// Prepare the retry of a failed step, or run it
///
/// Prints a prompt with the objective, the original prompt and its corrections, the last failure, and the results of
/// the steps it uses; nothing changes. It warns if an earlier step was invalidated, if three or more steps need the
/// result, and if files that it depends on changed since.
///
/// With --run, reruns the commands recorded by 'step run', starting at the failed step. A successful step keeps its
/// result if its command and the files are unchanged and it modified none of them; programs, variables and ignored
/// files are not compared. Commands that were not recorded in this repository on this machine are listed and refused
/// without --trust. The exit status is that of the last command, or 125 if 'replay' itself failed.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Retry the failed step with a correction:
    git checkpoint replay --correction 'the lexer gives tokens' | agent
    git checkpoint step retry parser \\
      --correction 'the lexer gives tokens, not characters'
  Rerun the recorded commands from the failed one:
    git checkpoint replay --run --dry-run
    git checkpoint replay --run")]
pub(super) struct Args {
    /// The session or checkpoint; the current one by default
    selector: Option<String>,
    /// The step; the last failed one by default
    #[arg(long, value_name = "STEP", conflicts_with = "run")]
    step: Option<String>,
    /// A new objective
    #[arg(long, value_name = "TEXT", conflicts_with = "run")]
    objective: Option<String>,
    /// Correction for the next attempt; repeatable
    #[arg(long = "correction", value_name = "TEXT", conflicts_with = "run")]
    corrections: Vec<String>,
    /// How to print it
    #[arg(long, value_name = "FORM", default_value = "text", value_parser = ["text", "markdown", "json", "prompt"], conflicts_with = "run")]
    format: String,
    /// Run the recorded commands again
    #[arg(long)]
    run: bool,
    /// The first step to run; the first failed one by default
    #[arg(long, value_name = "STEP", requires = "run")]
    from: Option<String>,
    /// Show what would be done
    #[arg(short = 'n', long, requires = "run")]
    dry_run: bool,
    /// Also run commands that were not recorded here
    #[arg(long, requires = "run")]
    trust: bool,
    #[command(flatten)]
    whom: IdentityArgs,
}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &args.whom)?;
    let selector = args.selector.as_deref().map(failure::selector).transpose()?;
    if args.run {
        return again(&args, selector, context, &opened).map_err(|error| match error.kind() {
            FailureKind::Step if error.is_silent() => error,
            FailureKind::NotFound | FailureKind::Ambiguous | FailureKind::Refused => error,
            _ => error.with_code(OWN_FAILURE),
        });
    }
    let request = ReplayRequest {
        selector,
        step: args.step,
        objective: args.objective,
        corrections: args.corrections,
    };
    let shown = replay::show(&opened.scene(), &request)?;
    let as_json = context.ui.options().json || args.format == "json";
    let retry = &shown.retry;
    let mut view = RetryView {
        session: shown.session.as_ref(),
        attempt: retry.attempt,
        objective: &retry.objective,
        corrections: &retry.corrections,
        warnings: &retry.warnings,
        step: &retry.step,
        finished: &retry.finished,
        prompt: None,
    };
    if as_json && args.format != "prompt" {
        return context.ui.json(&view);
    }
    let seed = os::random_token().map_err(|e| {
        CommandError::new(
            FailureKind::Fatal,
            format!("cannot get random bytes: {}", os::reason(&e)),
        )
    })?;
    let prompt = RetryPrompt {
        session: shown.session.as_ref().map(crate::model::name::ShortName::as_str),
        retry: &shown.retry,
        foreign: shown.foreign.as_deref(),
        seed: &seed,
    };
    if as_json {
        view.prompt = Some(prompt.text());
        return context.ui.json(&view);
    }
    let text = if args.format == "markdown" {
        prompt.markdown()
    } else {
        prompt.text()
    };
    context.ui.bytes(text.as_bytes());
    Ok(())
}

fn again(
    args: &Args,
    selector: Option<Selector>,
    context: &mut Context,
    opened: &OpenedRepository,
) -> Result<(), CommandError> {
    let request = RunRequest {
        selector,
        from: args.from.clone(),
        dry_run: args.dry_run,
        trust: args.trust,
        foreground: context.ui.terminals().input,
    };
    let ui = &context.ui;
    let mut tell = |step: &Step, action: ReplayAction| {
        if action != ReplayAction::NotReached {
            ui.status(planned(step, action));
        }
    };
    let mut pass = |stream: Stream, piece: &[u8]| ui.pass(stream == Stream::Error, piece);
    let replayed = replay::run(&opened.scene(), &request, &mut tell, &mut pass)?;
    for item in &replayed.items {
        if let Some(ran) = &item.ran {
            told(context, &ran.begun);
            warn(context, &ran.noted);
            context.ui.status(ended(&item.step));
        } else if args.dry_run && !context.ui.options().json {
            context.ui.data(planned(&item.step, item.action));
        } else if item.action == ReplayAction::NotReached {
            context.ui.status(planned(&item.step, item.action));
        }
    }
    if context.ui.options().json {
        context.ui.json(&view(&replayed, args.dry_run))?;
    }
    passed_on(replayed.status)
}

fn planned(step: &Step, action: ReplayAction) -> TextLine {
    let mut line = TextLine::new();
    let slot = match action {
        ReplayAction::Run | ReplayAction::Either => Slot::Changed,
        ReplayAction::Reuse => Slot::Good,
        ReplayAction::NoCommand | ReplayAction::NotReached => Slot::Dim,
    };
    line.push(slot, action.word());
    line.push(Slot::Plain, ": ");
    line.append(&render::line(step));
    if let (ReplayAction::Run | ReplayAction::Either, Some(command)) = (action, &step.command) {
        line.push(Slot::Plain, format!(": {}", command.shown()));
    }
    line
}

fn view(replayed: &ReplayOutcome, dry_run: bool) -> ReplayRunView<'_> {
    let steps = replayed.items.iter().map(|item| ReplayRow {
        id: &item.step.id,
        n: item.step.n,
        title: &item.step.title,
        action: item.action.word(),
        command: item.step.command.as_ref(),
        status: item.step.status,
        exit_status: item.ran.as_ref().map(|ran| ran.status),
    });
    ReplayRunView {
        session: &replayed.session,
        dry_run,
        status: replayed.status,
        steps: steps.collect(),
    }
}

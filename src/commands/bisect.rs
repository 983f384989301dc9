//! `bisect`: the first checkpoint at which something is bad.

use std::{ffi::OsString, path::Path};

use super::{
    Context,
    error::{CommandError, FailureKind},
    failure,
    log::write_patch,
    opening::{self, IdentityArgs, OpenedRepository},
    row_args::DateArg,
    views::state_ref,
};
use crate::{
    git::OF_ONE_REPOSITORY,
    model::selector::Selector,
    ops::{
        Error, Scene,
        bisect::{self, BisectError, BisectProgress, BisectStep, BisectVerdict, HeldBisection},
        file_history::PatchLog,
    },
    os::{
        self,
        child::{self, ChildEnd, ChildJob, Stream},
    },
    render::bisect::{BisectView, TurnRef, VerdictRow},
    store::{
        self,
        checkpoint::{self, oid},
        patch::PatchFormat,
    },
};

/// Find the checkpoint that broke something
///
/// Does a binary search over the checkpoints of the session, and of those it was forked from, in a separate working
/// tree: your files, index and branches do not change. By default the latest checkpoint is bad, and the state before
/// the session is good; 'run' tests these as well where the answer depends on it. Checkpoints with the same files are
/// tested once.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Which turn broke the tests?
    git checkpoint bisect run cargo test
  Between two checkpoints, with a script outside the saved files:
    git checkpoint bisect run --bad auth --good auth@before-merge \\
      \"$PWD/check.sh\"
  Step by step by hand:
    git checkpoint bisect start
    git checkpoint bisect good
    git checkpoint bisect reset")]
pub(super) struct Args {
    #[command(subcommand)]
    command: BisectCommand,
}

#[derive(Debug, clap::Subcommand)]
enum BisectCommand {
    Start(StartArgs),
    /// Mark a checkpoint as good
    Good(VerdictArgs),
    /// Mark a checkpoint as bad
    Bad(VerdictArgs),
    /// Mark a checkpoint as untestable
    Skip(VerdictArgs),
    Run(RunArgs),
    Log(LogArgs),
    Reset(ResetArgs),
}

/// Start a bisection
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  git checkpoint bisect start auth auth@before-merge")]
struct StartArgs {
    /// A checkpoint that is bad; the latest of the current session by default
    #[arg(id = "new", value_name = "BAD")]
    bad: Option<String>,
    /// An older one that is good; the state before the session by default
    #[arg(id = "old", value_name = "GOOD")]
    good: Option<String>,
    #[command(flatten)]
    date: DateArg,
}

/// Mark a checkpoint as good, bad or untestable
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  git checkpoint bisect good
  git checkpoint bisect bad auth~3")]
struct VerdictArgs {
    /// The checkpoint; the one that is being tested by default
    selector: Option<String>,
    #[command(flatten)]
    date: DateArg,
}

/// Test checkpoints with a command
///
/// Exit codes are those of 'git bisect run': 0 is good, 125 cannot be tested, other codes below 128 are bad, and 128
/// and above end the bisection. The command runs in the working tree of the bisection. Without a previous 'bisect
/// start', it starts a bisection and removes it at the end.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  git checkpoint bisect run cargo test
  git checkpoint bisect run sh -c 'cargo build || exit 125; cargo test parser'")]
struct RunArgs {
    /// A checkpoint that is bad; the latest of the current session by default
    #[arg(id = "new", long = "bad", value_name = "CHECKPOINT")]
    bad: Option<String>,
    /// An older one that is good; the state before the session by default
    #[arg(id = "old", long = "good", value_name = "CHECKPOINT")]
    good: Option<String>,
    #[command(flatten)]
    date: DateArg,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "COMMAND", value_hint = clap::ValueHint::CommandWithArguments)]
    argv: Vec<OsString>,
}

/// Show the verdicts so far
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  git checkpoint bisect log")]
struct LogArgs {}

/// End the bisection
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  git checkpoint bisect reset")]
struct ResetArgs {}

pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    let opened = opening::open(context, &IdentityArgs::default())?;
    let scene = opened.scene();
    if bisect::sweep(&scene)? {
        context.ui.status("Removed what an interrupted bisection left.");
    }
    match args.command {
        BisectCommand::Start(args) => {
            let (bad, good) = (parsed(args.bad.as_deref())?, parsed(args.good.as_deref())?);
            let mut held = bisect::start(&scene, bad.as_ref(), good.as_ref(), false)?;
            proceed(context, &opened, &mut held, &args.date)
        }
        BisectCommand::Good(args) => judge(context, &opened, &args, BisectVerdict::Good),
        BisectCommand::Bad(args) => judge(context, &opened, &args, BisectVerdict::Bad),
        BisectCommand::Skip(args) => judge(context, &opened, &args, BisectVerdict::Skip),
        BisectCommand::Run(args) => automatic(context, &opened, args),
        BisectCommand::Log(_) => log(context, &scene),
        BisectCommand::Reset(_) => reset(context, &scene),
    }
}

fn parsed(text: Option<&str>) -> Result<Option<Selector>, CommandError> {
    text.map(failure::selector).transpose()
}

fn held(scene: &Scene<'_>) -> Result<HeldBisection, CommandError> {
    Ok(bisect::open(scene)?.ok_or(Error::from(BisectError::NotBisecting))?)
}

/// Brings the working tree to the next checkpoint and reports which, or shows the result.
fn proceed(
    context: &mut Context,
    opened: &OpenedRepository,
    held: &mut HeldBisection,
    date: &DateArg,
) -> Result<(), CommandError> {
    let scene = opened.scene();
    let progress = bisect::proceed(&scene, held)?;
    show(context, &scene, &progress, date, true)
}

fn judge(
    context: &mut Context,
    opened: &OpenedRepository,
    args: &VerdictArgs,
    verdict: BisectVerdict,
) -> Result<(), CommandError> {
    let scene = opened.scene();
    let mut held = held(&scene)?;
    let selector = parsed(args.selector.as_deref())?;
    bisect::judge(&scene, &mut held, selector.as_ref(), verdict)?;
    proceed(context, opened, &mut held, &args.date)
}

fn view(scene: &Scene<'_>, progress: &BisectProgress, is_kept: bool) -> Result<BisectView, CommandError> {
    let mut view = BisectView {
        session: Some(progress.session.clone()),
        directory: is_kept.then(|| progress.directory.display().to_string()),
        verdicts: progress
            .verdicts
            .iter()
            .map(|(id, verdict)| VerdictRow {
                id: id.clone(),
                verdict: verdict.word(),
            })
            .collect(),
        ..BisectView::none()
    };
    let named = |place: usize| progress.state(place).map(|state| state_ref(&state.entry));
    match &progress.step {
        BisectStep::Test { place, left, steps } => {
            view.state = "testing";
            view.testing = named(*place);
            (view.left, view.steps) = (Some(*left), Some(*steps));
        }
        BisectStep::Skipped { places } => {
            view.state = "skipped";
            view.candidates = places.iter().copied().filter_map(named).collect();
        }
        BisectStep::Done { place } => {
            view.state = "found";
            view.first_bad = named(*place);
            if let Some(state) = progress.state(*place) {
                let changes = PatchLog::new(scene, PatchFormat::Patch, None);
                let patch = match progress.state(place + 1) {
                    Some(older) => changes.states(older, state)?,
                    None => changes.first(state)?,
                };
                view.patch = Some(String::from_utf8_lossy(&patch).into_owned());
                let loaded = checkpoint::load(scene.repo, state.entry.id).ok();
                view.turn = loaded.and_then(|loaded| loaded.document.turn).map(|turn| TurnRef {
                    agent: turn.agent,
                    model: turn.model,
                    prompt: turn.subject,
                });
            }
        }
    }
    Ok(view)
}

fn show(
    context: &mut Context,
    scene: &Scene<'_>,
    progress: &BisectProgress,
    date: &DateArg,
    is_kept: bool,
) -> Result<(), CommandError> {
    let view = view(scene, progress, is_kept)?;
    if context.ui.options().json {
        return context.ui.json(&view);
    }
    let dates = date.style()?;
    context.ui.data(view.text(&dates, scene.now));
    if let Some(patch) = &view.patch {
        write_patch(context, patch.as_bytes(), PatchFormat::Patch);
    }
    if is_kept && view.state != "testing" {
        context
            .ui
            .hint("BisectReset", "end the bisection: git checkpoint bisect reset");
    }
    Ok(())
}

/// Runs the command at one checkpoint after the other.
fn automatic(context: &mut Context, opened: &OpenedRepository, args: RunArgs) -> Result<(), CommandError> {
    let scene = opened.scene();
    let (bad, good) = (parsed(args.bad.as_deref())?, parsed(args.good.as_deref())?);
    let mut held = match bisect::open(&scene)? {
        Some(held) if bad.is_none() && good.is_none() => held,
        Some(_) => return Err(Error::from(BisectError::Bisecting).into()),
        None => bisect::start(&scene, bad.as_ref(), good.as_ref(), true)?,
    };
    let is_automatic = held.is_automatic();
    let result = to_the_end(context, opened, &mut held, &args);
    if is_automatic {
        bisect::end(&scene, held)?;
    }
    let progress = result?;
    show(context, &scene, &progress, &args.date, !is_automatic)?;
    match progress.step {
        BisectStep::Done { .. } => Ok(()),
        // As git: what was skipped hides the answer.
        _ => Err(CommandError::silent(FailureKind::Negative)),
    }
}

fn to_the_end(
    context: &Context,
    opened: &OpenedRepository,
    held: &mut HeldBisection,
    args: &RunArgs,
) -> Result<BisectProgress, CommandError> {
    let scene = opened.scene();
    let below = if store::has_work_tree(scene.repo) {
        os::os_string(opening::directory(context, opened)?.as_bytes())
    } else {
        OsString::new()
    };
    let dates = args.date.style()?;
    let mut is_first = true;
    loop {
        let progress = bisect::proceed(&scene, held)?;
        let BisectStep::Test { place, .. } = progress.step else {
            for (place, assumed) in bisect::assumptions(held, &progress) {
                if bisect::check_out_assumed(&scene, held, &progress, place)? {
                    check_assumption(test(context, &progress.directory, &below, &args.argv)?, assumed)?;
                }
            }
            return Ok(progress);
        };
        if !context.ui.options().json {
            context
                .ui
                .status(view(&scene, &progress, false)?.text(&dates, scene.now));
        }
        let code = test(context, &progress.directory, &below, &args.argv)?;
        if std::mem::take(&mut is_first) && matches!(code, 126 | 127) {
            // As git: a command that cannot even be run where all is well proves nothing.
            bisect::check_out_good(&scene, held, &progress)?;
            let again = test(context, &progress.directory, &below, &args.argv)?;
            if matches!(again, 126 | 127) {
                let message = format!("the command cannot be run: exit code {again} at a good checkpoint as well");
                return Err(CommandError::new(FailureKind::Fatal, message).hint(
                    "it runs in a working tree with the saved files; use an absolute path for a script outside",
                ));
            }
        }
        let verdict = match code {
            0 => BisectVerdict::Good,
            125 => BisectVerdict::Skip,
            1..=127 => BisectVerdict::Bad,
            130 => return Err(interrupted()),
            _ => {
                let id = progress
                    .state(place)
                    .map(|state| oid(state.entry.id).short().to_owned());
                return Err(CommandError::new(
                    FailureKind::Fatal,
                    format!(
                        "bisect run failed: exit code {code} at {} is < 0 or >= 128",
                        id.unwrap_or_default()
                    ),
                ));
            }
        };
        bisect::judge(&scene, held, None, verdict)?;
    }
}

fn interrupted() -> CommandError {
    CommandError::new(FailureKind::Interrupted, "bisect run was interrupted")
}

/// Compares the answer of the command at an end of the line with what was assumed there, because neither it nor the user had
/// said it before.
fn check_assumption(code: i32, assumed: BisectVerdict) -> Result<(), CommandError> {
    let (message, hint) = match (code, assumed) {
        (130, _) => return Err(interrupted()),
        (0 | 125, BisectVerdict::Bad) => (
            "no checkpoint is bad: the command does not fail at the latest one either",
            "name one that is bad: git checkpoint bisect run --bad CHECKPOINT COMMAND",
        ),
        (1..=127, BisectVerdict::Good) if code != 125 => (
            "no checkpoint is the first bad one: the command fails on the state before the session as well",
            "name one that is good: git checkpoint bisect run --good CHECKPOINT COMMAND",
        ),
        _ => return Ok(()),
    };
    Err(CommandError::new(FailureKind::Negative, message).hint(hint))
}

/// Runs the command in the working tree of the bisection and gives its exit code as a shell would.
fn test(context: &Context, top: &Path, below: &OsString, argv: &[OsString]) -> Result<i32, CommandError> {
    let directory = Some(top.join(below)).filter(|directory| directory.is_dir());
    let job = ChildJob {
        argv,
        directory: directory.as_deref().unwrap_or(top),
        timeout: None,
        foreground: context.ui.terminals().input,
        without: OF_ONE_REPOSITORY,
        is_guarded: true,
    };
    let ended = child::run(&job, &mut |stream: Stream, piece: &[u8]| {
        context.ui.pass(stream == Stream::Error, piece)
    });
    let (end, _) = ended.map_err(|error| {
        CommandError::new(
            FailureKind::Fatal,
            format!("cannot run the command: {}", os::reason(&error)),
        )
    })?;
    Ok(match end {
        ChildEnd::Exited(code) => code,
        ChildEnd::Signal(signal) => 128 + signal,
        ChildEnd::TimedOut => 124,
        ChildEnd::NotFound => 127,
        ChildEnd::NotExecutable => 126,
    })
}

fn log(context: &Context, scene: &Scene<'_>) -> Result<(), CommandError> {
    let Some(held) = bisect::open(scene)? else {
        if context.ui.options().json {
            return context.ui.json(&BisectView::none());
        }
        return Err(Error::from(BisectError::NotBisecting).into());
    };
    let view = view(scene, &bisect::look(scene, &held)?, true)?;
    if context.ui.options().json {
        return context.ui.json(&view);
    }
    context.ui.data(view.log());
    Ok(())
}

fn reset(context: &Context, scene: &Scene<'_>) -> Result<(), CommandError> {
    let was_there = bisect::reset(scene)?;
    if context.ui.options().json {
        return context.ui.json(&BisectView::none());
    }
    let text = if was_there {
        "The bisection has ended, and its working tree was removed."
    } else {
        "No bisection is in progress."
    };
    context.ui.status(text);
    Ok(())
}

//! The arguments of `step` and of its commands.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use crate::{commands::opening::IdentityArgs, store};

/// Record steps of delegated work, and run commands as steps
///
/// A step keeps what went in (title, prompt, objective, the steps it uses) and what came out (context for later steps,
/// output, files, checks, or the error), with the state of the files before and after. When one fails, 'git checkpoint
/// replay' shows what its next try should know. Steps go into the draft; the next save stores them.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Delegate something, and say what came of it:
    git checkpoint step start 'write the parser' --agent rust-dev --prompt task.md
    git checkpoint step done parser --context 'Parser::new takes a &str' --created src/parser.rs
  Run a command as a step, and see why it failed last time:
    git checkpoint step run --title tests -- cargo test
    git checkpoint replay

A step is named by its number, the beginning of its id, its title or a part of it.")]
pub(in crate::commands) struct Args {
    #[command(subcommand)]
    pub(super) command: StepCommand,
}

#[derive(Debug, clap::Subcommand)]
pub(super) enum StepCommand {
    Start(StartArgs),
    Done(DoneArgs),
    Fail(FailArgs),
    Retry(RetryArgs),
    Invalidate(InvalidateArgs),
    Run(RunArgs),
    List(StepListArgs),
    Show(ShowArgs),
}

/// Arguments that `start` and `run` share.
#[derive(Debug, clap::Args)]
pub(super) struct StepArgs {
    /// The tracker's name for it
    #[arg(long, value_name = "ID")]
    pub(super) issue: Option<String>,
    /// Objective, in a sentence
    #[arg(long, value_name = "TEXT")]
    pub(super) objective: Option<String>,
    /// A step whose result it uses; repeatable
    #[arg(long = "uses", value_name = "STEP")]
    pub(super) uses: Vec<String>,
    #[command(flatten)]
    pub(super) whom: IdentityArgs,
}

/// Begin a step
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  git checkpoint step start 'write the parser' --agent rust-dev --prompt task.md")]
pub(super) struct StartArgs {
    /// Title of the step
    pub(super) title: String,
    /// A file with the agent's prompt; '-' is standard input
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(super) prompt: Option<PathBuf>,
    #[command(flatten)]
    pub(super) about: StepArgs,
}

/// Mark a step as done
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  git checkpoint step done parser --context 'Parser::new takes a &str'")]
pub(super) struct DoneArgs {
    /// The step
    pub(super) step: String,
    /// Context for later steps
    #[arg(long, value_name = "TEXT")]
    pub(super) context: String,
    /// Output; '-' is standard input. Of a long one the beginning and the end are kept
    #[arg(long, value_name = "TEXT")]
    pub(super) output: Option<String>,
    /// A file it created, with '=' and what it is
    #[arg(long, value_name = "PATH[=DESC]", value_hint = clap::ValueHint::FilePath)]
    pub(super) created: Vec<OsString>,
    /// A file it modified, with '=' and what changed
    #[arg(long, value_name = "PATH[=DESC]", value_hint = clap::ValueHint::FilePath)]
    pub(super) modified: Vec<OsString>,
    /// The result of a check, such as lint=pass
    #[arg(long = "check", value_name = "NAME=RESULT", value_parser = check)]
    pub(super) checks: Vec<(String, String)>,
    #[command(flatten)]
    pub(super) whom: IdentityArgs,
}

fn check(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, result)) if !name.is_empty() && !result.is_empty() => Ok((name.to_owned(), result.to_owned())),
        _ => Err("it must be a name and a result, such as lint=pass".to_owned()),
    }
}

/// Mark a step as failed
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  git checkpoint step fail parser --error 'it loops on empty input'")]
pub(super) struct FailArgs {
    /// The step
    pub(super) step: String,
    /// Why it failed
    #[arg(long, value_name = "TEXT")]
    pub(super) error: String,
    /// Output; '-' is standard input
    #[arg(long, value_name = "TEXT")]
    pub(super) output: Option<String>,
    #[command(flatten)]
    pub(super) whom: IdentityArgs,
}

/// Begin the next try of a step
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  git checkpoint step retry parser --correction 'count the depth'")]
pub(super) struct RetryArgs {
    /// The step
    pub(super) step: String,
    /// The objective in other words
    #[arg(long, value_name = "TEXT")]
    pub(super) objective: Option<String>,
    /// Correction for the next attempt; repeatable
    #[arg(long = "correction", value_name = "TEXT")]
    pub(super) corrections: Vec<String>,
    #[command(flatten)]
    pub(super) whom: IdentityArgs,
}

/// Take the result of a step back: it does not hold any more
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  git checkpoint step invalidate design --reason 'the grammar changed'")]
pub(super) struct InvalidateArgs {
    /// The step
    pub(super) step: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: String,
    #[command(flatten)]
    pub(super) whom: IdentityArgs,
}

/// Run a command as a step
///
/// What it prints is passed on as it comes, and kept: of more than 64 KiB the first 16 and the last 48, without secrets.
/// Its exit status is ours; 128 and the signal's number when a signal ended it, 124 when it took longer than --timeout
/// allows (it is asked to end, and killed 5 seconds later), 126 when it is not executable, 127 when there is no such
/// program, and 125 when something failed that is not its fault. It reads our standard input; its output is a pipe.
/// Signals sent to us reach it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Keep what the tests said, and pass on their status:
    git checkpoint step run --title tests -- cargo test
  With a limit, for an agent that must not wait for ever:
    git checkpoint step run --timeout 10m -- make check
  The next try of a step that failed:
    git checkpoint step run --again tests -- cargo test")]
pub(super) struct RunArgs {
    /// Title; the command, unless given
    #[arg(long, value_name = "TEXT", conflicts_with = "again")]
    pub(super) title: Option<String>,
    /// How long it may take, such as 90s, 10m or 1h
    #[arg(long, value_name = "TIME", value_parser = store::config::span)]
    pub(super) timeout: Option<Duration>,
    /// Make it the next try of this step
    #[arg(long, value_name = "STEP", conflicts_with_all = ["issue", "objective", "uses"])]
    pub(super) again: Option<String>,
    #[command(flatten)]
    pub(super) about: StepArgs,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(super) argv: Vec<OsString>,
}

/// List the steps of a session
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  git checkpoint step list auth")]
pub(super) struct StepListArgs {
    /// The session or checkpoint; the current one by default
    pub(super) selector: Option<String>,
}

/// Show a step with everything that is known of it
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  git checkpoint step show parser --all")]
pub(super) struct ShowArgs {
    /// The step
    pub(super) step: String,
    /// The session or checkpoint; the current one by default
    #[arg(long = "in", value_name = "SELECTOR")]
    pub(super) selector: Option<String>,
    /// Show every line of its output, and every file
    #[arg(long)]
    pub(super) all: bool,
}

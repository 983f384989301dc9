//! The arguments of `step` and of its commands.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use crate::{commands::opening::IdentityArgs, store};

/// Record steps of delegated work, and run commands as steps
///
/// A step records its input (title, prompt, objective, the steps it uses) and its result (context for later steps,
/// output, files, checks, or the error), with the files before and after. For a failed step, 'git checkpoint replay'
/// prepares the next attempt. Steps are saved with the next checkpoint.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Record delegated work and its result:
    git checkpoint step start 'write the parser' --agent rust-dev \\
      --prompt task.md
    git checkpoint step done parser --context 'Parser::new takes a &str' \\
      --created src/parser.rs
  Run a command as a step, and see why it failed last time:
    git checkpoint step run --title tests -- cargo test
    git checkpoint replay

Name a step by its number, a prefix of its id, its title or a part of it.")]
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
    /// The issue in a tracker
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

/// Start a step
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
    /// Output; '-' is standard input. Long output is cut in the middle
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
        _ => Err("use a name and a result, such as lint=pass".to_owned()),
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

/// Start the next attempt of a step
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  git checkpoint step retry parser --correction 'count the depth'")]
pub(super) struct RetryArgs {
    /// The step
    pub(super) step: String,
    /// A new objective
    #[arg(long, value_name = "TEXT")]
    pub(super) objective: Option<String>,
    /// Correction for the next attempt; repeatable
    #[arg(long = "correction", value_name = "TEXT")]
    pub(super) corrections: Vec<String>,
    #[command(flatten)]
    pub(super) whom: IdentityArgs,
}

/// Mark the result of a step as invalid
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  git checkpoint step invalidate design --reason 'the grammar changed'")]
pub(super) struct InvalidateArgs {
    /// The step
    pub(super) step: String,
    /// The reason
    #[arg(long, value_name = "TEXT")]
    pub(super) reason: String,
    #[command(flatten)]
    pub(super) whom: IdentityArgs,
}

/// Run a command as a step
///
/// The output is passed through and stored without secrets; of more than 64 KiB, the first 16 and the last 48 are
/// stored. The exit status is that of the command: 128 plus the number of the signal that ended it, 124 after --timeout
/// (it is terminated, and killed 5 seconds later), 126 if it is not executable, 127 if it does not exist, and 125 if
/// 'step run' itself failed. The command reads standard input, writes to a pipe, and gets the signals sent to 'step
/// run'.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Record the output of the tests, and return their status:
    git checkpoint step run --title tests -- cargo test
  With a time limit:
    git checkpoint step run --timeout 10m -- make check
  The next attempt of a failed step:
    git checkpoint step run --again tests -- cargo test")]
pub(super) struct RunArgs {
    /// The title; the command by default
    #[arg(long, value_name = "TEXT", conflicts_with = "again")]
    pub(super) title: Option<String>,
    /// How long it may take, such as 90s, 10m or 1h
    #[arg(long, value_name = "TIME", value_parser = store::config::span)]
    pub(super) timeout: Option<Duration>,
    /// Make it the next attempt of this step
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

/// Show all details of a step
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

//! The command line: arguments in, an operation called, its outcome rendered.
//!
//! The only layer that knows clap, reads the environment and prints. A command is one file with its arguments and one
//! `run`; adding one takes its file and its line in `Command` and in `dispatch`.

#![allow(
    clippy::needless_pass_by_value,
    reason = "a command uses its arguments up: each runs once"
)]

mod compact;
mod context;
mod delete;
mod diff;
pub mod environment;
pub mod error;
mod export;
mod failure;
mod finish;
mod fork;
mod groups;
mod help;
mod hooks;
mod import;
mod list;
mod log;
mod message;
mod opened;
mod pathspecs;
mod prune;
mod purge;
mod record;
mod rename;
mod repair;
mod replay;
mod request;
mod restore;
mod resume;
mod save;
mod setup;
mod share;
mod show;
mod start;
mod status;
mod step;
mod switch;
mod tokens;
pub mod ui;
mod usage;
mod verify;
mod views;
mod watch;

use std::{ffi::OsString, process::ExitCode, time::Instant};

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use self::{
    environment::Environment,
    error::{CommandError, Kind},
    ui::{Options, Streams, Ui, When},
};
use crate::{
    os,
    render::text::{Line, Text},
};

/// Save and resume work sessions, with the exact state of the files, in your own repository
#[derive(Debug, Parser)]
#[command(
    name = "git-checkpoint",
    bin_name = "git checkpoint",
    version,
    max_term_width = 80,
    infer_long_args = true,
    disable_help_subcommand = true,
    after_help = "Run 'git checkpoint <command> -h' for a short help, '--help' for a long one with examples.",
    after_long_help = groups::EXAMPLES,
)]
struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Options of every command.
#[derive(Debug, clap::Args)]
struct Globals {
    /// Print one JSON document, or with '=lines' one object a line for what is listed; errors are JSON too
    #[arg(
        long,
        global = true,
        value_name = "FORM",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "document",
        help_heading = "Output",
        value_parser = ["document", "lines"],
    )]
    json: Option<String>,
    /// When to use colour
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "always",
        help_heading = "Output",
        value_parser = ["always", "never", "auto"],
    )]
    color: Option<String>,
    /// Never page the output
    #[arg(long, global = true, help_heading = "Output")]
    no_pager: bool,
    /// Say what was looked at and how long it took; given twice, also which git commands were run
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Output")]
    verbose: u8,
    /// Print no receipt and no hints; given twice, no warnings either
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Output")]
    quiet: u8,
    /// Show progress even when it is not a terminal that reads it
    #[arg(long, global = true, overrides_with = "no_progress", help_heading = "Output")]
    progress: bool,
    /// Show no progress
    #[arg(long, global = true, help_heading = "Output")]
    no_progress: bool,
    /// Give hints even when it is not a terminal that reads them
    #[arg(long, global = true, overrides_with = "no_advice", help_heading = "Output")]
    advice: bool,
    /// Give no hints
    #[arg(long, global = true, help_heading = "Output")]
    no_advice: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Start(start::Args),
    Save(save::Args),
    Pause(save::PauseArgs),
    Resume(resume::Args),
    List(list::Args),
    Log(log::Args),
    Show(show::Args),
    Diff(diff::Args),
    Status(status::Args),
    Finish(finish::Args),
    Switch(switch::Args),
    Rename(rename::Args),
    Restore(restore::Args),
    Apply(restore::ApplyArgs),
    Undo(restore::UndoArgs),
    Redo(restore::RedoArgs),
    Fork(fork::Args),
    Compare(fork::CompareArgs),
    Step(step::Args),
    Replay(replay::Args),
    Export(export::Args),
    Delete(delete::Args),
    Pin(delete::PinArgs),
    Unpin(delete::UnpinArgs),
    Message(message::Args),
    Tokens(tokens::Args),
    Context(context::Args),
    Agent(record::AgentArgs),
    Request(request::Args),
    Compact(compact::Args),
    Clear(compact::ClearArgs),
    Import(import::Args),
    Task(record::TaskArgs),
    Todo(record::TodoArgs),
    Decision(record::DecisionArgs),
    Blocker(record::BlockerArgs),
    Question(record::QuestionArgs),
    Approval(record::ApprovalArgs),
    Phase(record::PhaseArgs),
    Delegation(record::DelegationArgs),
    Partition(record::PartitionArgs),
    Instruction(record::InstructionArgs),
    Memory(record::MemoryArgs),
    OpenFile(record::OpenFileArgs),
    Note(record::NoteArgs),
    State(record::StateArgs),
    Check(record::CheckArgs),
    Iteration(record::IterationArgs),
    ForkPoint(record::ForkPointArgs),
    Watch(watch::Args),
    Prune(prune::Args),
    Hooks(hooks::Args),
    Purge(purge::Args),
    Verify(verify::Args),
    Repair(repair::Args),
    Push(share::push::Args),
    Fetch(share::fetch::Args),
    Pull(share::pull::Args),
    Remote(share::remote::Args),
    Setup(setup::Args),
    Help(help::Args),
}

/// What every command gets: where it runs and where its words go.
struct Context {
    env: Environment,
    ui: Ui,
}

/// Runs the program with these arguments, the first of which is its name, and gives its exit code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let env = match Environment::read() {
        Ok(env) => env,
        Err(error) => {
            // Without a current folder there is no repository; the rest of the environment does not matter any more.
            let ui = Ui::new(&Environment::unknown(), Options::default(), Streams::standard());
            let error = CommandError::of(Kind::Fatal, &error).hint("it may have been removed; go to another one: cd");
            ui.error(&error);
            return error.exit_code();
        }
    };
    let args = usage::without_end_of_options(args.into_iter().collect());
    // Wrong usage is reported in the form that was asked for as well.
    let json = args
        .iter()
        .skip(1)
        .take_while(|arg| *arg != "--")
        .any(|arg| arg == "--json" || arg.as_encoded_bytes().starts_with(b"--json="));
    let color = args
        .iter()
        .take_while(|arg| *arg != "--")
        .find_map(|arg| match arg.to_str()? {
            "--color" => Some(When::Always),
            arg => When::parse(arg.strip_prefix("--color=")?),
        });
    let long_help = args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--help");
    let words = usage::command_of(&program(&env), &args);
    let parsed = program(&env)
        .try_get_matches_from(args)
        .and_then(|matches| Cli::from_arg_matches(&matches));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => {
            let ui = Ui::new(
                &env,
                Options {
                    color,
                    json,
                    ..Options::default()
                },
                Streams::standard(),
            );
            return usage(ui, &error, &words, long_help);
        }
    };
    let mut context = Context {
        ui: Ui::new(&env, options(&cli.globals), Streams::standard()),
        env,
    };
    let begun = Instant::now();
    if cli.globals.verbose > 0 {
        os::trace::begin(cli.globals.verbose);
    }
    let result = dispatch(
        cli.command.unwrap_or(Command::Status(status::Args::default())),
        &mut context,
    );
    let took = begun.elapsed().as_millis();
    for said in os::trace::taken() {
        let line = format!("{:>6} ms  {}", said.after.as_millis(), said.text);
        context.ui.detail(said.level, Line::plain(line));
    }
    context.ui.detail(1, Line::plain(format!("It took {took} ms.")));
    conclude(&mut context.ui, result)
}

/// The definition of the whole program.
fn program(env: &Environment) -> clap::Command {
    let columns = env.terminals.columns.map_or(80, usize::from);
    groups::grouped(Cli::command(), columns.clamp(40, 80))
}

fn options(globals: &Globals) -> Options {
    Options {
        color: globals.color.as_deref().and_then(When::parse),
        no_pager: globals.no_pager,
        progress: either(globals.progress, globals.no_progress),
        quiet: globals.quiet,
        verbose: globals.verbose,
        json: globals.json.is_some(),
        lines: globals.json.as_deref() == Some("lines"),
        advice: either(globals.advice, globals.no_advice),
    }
}

/// A switch with an option for each side.
fn either(yes: bool, no: bool) -> Option<bool> {
    match (yes, no) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

fn dispatch(command: Command, context: &mut Context) -> Result<(), CommandError> {
    match command {
        Command::Start(args) => start::run(args, context),
        Command::Save(args) => save::run(args, context),
        Command::Pause(args) => save::pause(args, context),
        Command::Resume(args) => resume::run(args, context),
        Command::List(args) => list::run(args, context),
        Command::Log(args) => log::run(args, context),
        Command::Show(args) => show::run(args, context),
        Command::Diff(args) => diff::run(args, context),
        Command::Status(args) => status::run(args, context),
        Command::Finish(args) => finish::run(args, context),
        Command::Switch(args) => switch::run(args, context),
        Command::Rename(args) => rename::run(args, context),
        Command::Restore(args) => restore::run(args, context),
        Command::Apply(args) => restore::apply(args, context),
        Command::Undo(args) => restore::undo(args, context),
        Command::Redo(args) => restore::redo(args, context),
        Command::Fork(args) => fork::run(args, context),
        Command::Compare(args) => fork::compare(args, context),
        Command::Step(args) => step::run(args, context),
        Command::Replay(args) => replay::run(args, context),
        Command::Export(args) => export::run(args, context),
        Command::Delete(args) => delete::run(args, context),
        Command::Pin(args) => delete::pin(args, context),
        Command::Unpin(args) => delete::unpin(args, context),
        Command::Message(args) => message::run(args, context),
        Command::Tokens(args) => tokens::run(args, context),
        Command::Context(args) => context::run(args, context),
        Command::Agent(args) => record::agent(args, context),
        Command::Request(args) => request::run(args, context),
        Command::Compact(args) => compact::run(args, context),
        Command::Clear(args) => compact::clear(args, context),
        Command::Import(args) => import::run(args, context),
        Command::Task(args) => record::task(args, context),
        Command::Todo(args) => record::todo(args, context),
        Command::Decision(args) => record::decision(args, context),
        Command::Blocker(args) => record::blocker(args, context),
        Command::Question(args) => record::question(args, context),
        Command::Approval(args) => record::approval(args, context),
        Command::Phase(args) => record::phase(args, context),
        Command::Delegation(args) => record::delegation(args, context),
        Command::Partition(args) => record::partition(args, context),
        Command::Instruction(args) => record::instruction(args, context),
        Command::Memory(args) => record::memory(args, context),
        Command::OpenFile(args) => record::open_file(args, context),
        Command::Note(args) => record::note(args, context),
        Command::State(args) => record::state(args, context),
        Command::Check(args) => record::check(args, context),
        Command::Iteration(args) => record::iteration(args, context),
        Command::ForkPoint(args) => record::fork_point(args, context),
        Command::Hooks(args) => hooks::run(args, context),
        Command::Prune(args) => prune::run(args, context),
        Command::Watch(args) => watch::run(args, context),
        Command::Purge(args) => purge::run(args, context),
        Command::Verify(args) => verify::run(args, context),
        Command::Repair(args) => repair::run(args, context),
        Command::Push(args) => share::push::run(args, context),
        Command::Fetch(args) => share::fetch::run(args, context),
        Command::Pull(args) => share::pull::run(args, context),
        Command::Remote(args) => share::remote::run(args, context),
        Command::Setup(args) => setup::run(args, &program(&context.env), context),
        Command::Help(args) => help::run(args, &program(&context.env), context),
    }
}

/// Reports what went wrong, if anything, and gives the exit code.
fn conclude(ui: &mut Ui, result: Result<(), CommandError>) -> ExitCode {
    if let Err(error) = &result {
        ui.error(error);
    }
    match (result, ui.finish()) {
        (Err(error), _) => error.exit_code(),
        // A failing standard output is found only now.
        (Ok(()), Err(error)) => {
            ui.error(&error);
            error.exit_code()
        }
        (Ok(()), Ok(())) => ExitCode::SUCCESS,
    }
}

/// Help and version on standard output, wrong usage on standard error with git's exit code. As with git's own commands,
/// `--help` at a terminal opens the manual page where there is one.
fn usage(mut ui: Ui, error: &clap::Error, words: &str, long_help: bool) -> ExitCode {
    if !error.use_stderr() {
        if long_help && help::manual(&ui, &usage::page(&error.render().to_string())) {
            return ExitCode::SUCCESS;
        }
        ui.data(Text::block(&error.render().to_string()));
        return conclude(&mut ui, Ok(()));
    }
    conclude(&mut ui, Err(usage::error(error, words)))
}

//! The command line: arguments in, an operation called, its outcome rendered.
//!
//! The only layer that knows clap, reads the environment and prints. A command is one file with its arguments and one
//! `run`; adding one takes its file and its line in `commands!`.

#![allow(
    clippy::needless_pass_by_value,
    reason = "a command uses its arguments up: each runs once"
)]

mod agent_commands;
mod agent_doctor;
mod agent_git_hooks;
mod agent_servers;
mod agent_session;
mod agent_texts;
mod agents;
mod all_repos;
mod amend;
mod batch;
mod bisect;
mod blame;
mod claim;
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
mod fork_list;
mod groups;
mod habits;
mod help;
mod hook;
mod hooks;
mod import;
mod input;
mod layout;
mod list;
mod log;
mod mcp;
mod merge;
mod message;
mod opening;
mod parse;
mod pathspecs;
mod pending_merge;
mod picker;
mod prune;
mod pull;
mod purge;
mod put_aside;
mod quoting;
mod record;
mod record_fields;
mod record_session;
mod redactions;
mod rekey;
mod rename;
mod repair;
mod replay;
mod request;
mod resident;
mod restore;
mod restore_report;
mod resume;
mod resume_agent;
mod resume_prompt;
mod resume_remote;
mod row_args;
mod save;
mod saved_content;
mod screen;
mod search;
mod serve;
mod session_word;
mod setup;
mod share;
mod shorthand;
mod show;
mod start;
mod stats;
mod status;
mod step;
mod summary;
mod switch;
mod tokens;
mod turns;
pub mod ui;
mod undelete;
mod unlisted;
mod usage;
mod verbs;
mod verify;
mod view_source;
mod views;
mod visited;
mod watch;

use std::{
    ffi::OsString,
    mem::ManuallyDrop,
    process::ExitCode,
    time::{Instant, SystemTime},
};

use clap::{CommandFactory as _, Parser, Subcommand};

use self::{
    environment::Environment,
    error::{CommandError, FailureKind},
    ui::{ColorChoice, OutputOptions, Streams, Ui},
};
use crate::{
    model::step::quoted,
    os,
    render::text::{Text, TextLine},
};

/// The version; packages put commit and target after it, by `CHECKPOINT_VERSION` in the environment of their build.
const VERSION: &str = match option_env!("CHECKPOINT_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};

/// Save and resume work sessions, notes and exact files, in your own repository
#[derive(Debug, Parser)]
#[command(
    name = "git-checkpoint",
    bin_name = "git checkpoint",
    version = VERSION,
    max_term_width = 80,
    infer_long_args = true,
    disable_help_subcommand = true,
    after_long_help = groups::EXAMPLES,
)]
struct Cli<C: Subcommand = Command> {
    #[command(flatten)]
    globals: GlobalArgs,
    #[command(subcommand)]
    command: Option<C>,
}

/// Options of every command.
#[derive(Debug, Default, clap::Args)]
struct GlobalArgs {
    /// Print JSON, or with '=lines' one object per line; errors are JSON too
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
    /// When to use color
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
    /// Report what was read and how long it took; twice: also the git commands
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Output")]
    verbose: u8,
    /// Print no receipt and no hints but those of errors; twice: no warnings and no hints at all
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Output")]
    quiet: u8,
    /// Show progress even if stderr is not a terminal
    #[arg(long, global = true, overrides_with = "no_progress", help_heading = "Output")]
    progress: bool,
    /// Show no progress
    #[arg(long, global = true, help_heading = "Output")]
    no_progress: bool,
    /// Give hints even if stderr is not a terminal; errors have theirs anyway
    #[arg(long, global = true, overrides_with = "no_advice", help_heading = "Output")]
    advice: bool,
    /// Give no hints
    #[arg(long, global = true, help_heading = "Output")]
    no_advice: bool,
}

/// The commands: the word, its arguments, what runs it. One list makes all that needs every command.
macro_rules! commands {
    ($($name:literal $variant:ident($args:ty) => $run:path,)*) => {
        #[derive(Debug, Subcommand)]
        enum Command {
            $(#[command(name = $name)] $variant($args),)*
        }

        impl Command {
            fn run(self, context: &mut Context) -> Result<(), CommandError> {
                os::ask_at_terminal(context.ui.can_ask());
                match self {
                    $(Self::$variant(args) => $run(args, context),)*
                }
            }

            /// The word of the command.
            fn word(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                }
            }

            /// The definition of one command alone; `None` when no command is called this.
            fn definition(name: &str) -> Option<clap::Command> {
                match name {
                    $($name => Some(<$args as clap::Args>::augment_args(clap::Command::new($name))),)*
                    _ => None,
                }
            }
        }
    };
}

commands! {
    "start" Start(start::Args) => start::run,
    "save" Save(save::Args) => save::run,
    "pause" Pause(save::PauseArgs) => save::pause,
    "resume" Resume(resume::Args) => resume::run,
    "list" List(list::Args) => list::run,
    "log" Log(log::Args) => log::run,
    "show" Show(show::Args) => show::run,
    "diff" Diff(diff::Args) => diff::run,
    "status" Status(status::Args) => status::run,
    "finish" Finish(finish::Args) => finish::run,
    "claim" Claim(claim::Args) => claim::claim,
    "release" Release(claim::ReleaseArgs) => claim::release,
    "switch" Switch(switch::Args) => switch::run,
    "rename" Rename(rename::Args) => rename::run,
    "restore" Restore(restore::Args) => restore::run,
    "apply" Apply(restore::ApplyArgs) => restore::apply,
    "undo" Undo(restore::UndoArgs) => restore::undo,
    "redo" Redo(restore::RedoArgs) => restore::redo,
    "turns" Turns(turns::Args) => turns::run,
    "rewind" Rewind(turns::RewindArgs) => turns::rewind,
    "merge" Merge(merge::Args) => merge::run,
    "fork" Fork(fork::Args) => fork::run,
    "compare" Compare(fork::CompareArgs) => fork::compare,
    "search" Search(search::Args) => search::run,
    "blame" Blame(blame::Args) => blame::run,
    "why" Why(blame::WhyArgs) => blame::why,
    "bisect" Bisect(bisect::Args) => bisect::run,
    "stats" Stats(stats::Args) => stats::run,
    "step" Step(step::Args) => step::run,
    "replay" Replay(replay::Args) => replay::run,
    "export" Export(export::Args) => export::run,
    "delete" Delete(delete::Args) => delete::run,
    "rekey" Rekey(rekey::Args) => rekey::run,
    "undelete" Undelete(undelete::Args) => undelete::run,
    "pin" Pin(delete::PinArgs) => delete::pin,
    "unpin" Unpin(delete::UnpinArgs) => delete::unpin,
    "message" Message(message::Args) => message::run,
    "tokens" Tokens(tokens::Args) => tokens::run,
    "context" Context(context::Args) => context::run,
    "agent" Agent(record::AgentArgs) => record::agent,
    "request" Request(request::Args) => request::run,
    "compact" Compact(compact::Args) => compact::run,
    "clear" Clear(compact::ClearArgs) => compact::clear,
    "import" Import(import::Args) => import::run,
    "task" Task(record::TaskArgs) => record::task,
    "todo" Todo(record::TodoArgs) => record::todo,
    "decision" Decision(record::DecisionArgs) => record::decision,
    "blocker" Blocker(record::BlockerArgs) => record::blocker,
    "question" Question(record::QuestionArgs) => record::question,
    "approval" Approval(record::ApprovalArgs) => record::approval,
    "phase" Phase(record::PhaseArgs) => record::phase,
    "delegation" Delegation(record::DelegationArgs) => record::delegation,
    "partition" Partition(record::PartitionArgs) => record::partition,
    "instruction" Instruction(record::InstructionArgs) => record::instruction,
    "memory" Memory(record::MemoryArgs) => record::memory,
    "open-file" OpenFile(record::OpenFileArgs) => record::open_file,
    "note" Note(record::NoteArgs) => record::note,
    "state" State(record::StateArgs) => record::state,
    "check" Check(record::CheckArgs) => record::check,
    "iteration" Iteration(record::IterationArgs) => record::iteration,
    "conflict" Conflict(record::ConflictArgs) => record::conflict,
    "fork-point" ForkPoint(record::ForkPointArgs) => record::fork_point,
    "watch" Watch(watch::Args) => watch::run,
    "prune" Prune(prune::Args) => prune::run,
    "enable" Enable(agents::EnableArgs) => agents::enable,
    "disable" Disable(agents::DisableArgs) => agents::disable,
    "agents" Agents(agents::Args) => agents::run,
    "hook" Hook(hook::Args) => hook::run,
    "mcp" Mcp(mcp::Args) => mcp::run,
    "batch" Batch(batch::Args) => batch::run,
    "ui" Ui(screen::Args) => screen::run,
    "serve" Serve(serve::Args) => serve::run,
    "hooks" Hooks(hooks::Args) => hooks::run,
    "purge" Purge(purge::Args) => purge::run,
    "verify" Verify(verify::Args) => verify::run,
    "repair" Repair(repair::Args) => repair::run,
    "push" Push(share::push::Args) => share::push::run,
    "fetch" Fetch(share::fetch::Args) => share::fetch::run,
    "pull" Pull(pull::Args) => pull::run,
    "remote" Remote(share::remote::Args) => share::remote::run,
    "bundle" Bundle(share::bundle::Args) => share::bundle::run,
    "unbundle" Unbundle(share::bundle::OpenArgs) => share::bundle::open,
    "setup" Setup(setup::Args) => setup::run,
    "help" Help(help::Args) => help::run,
}

/// Parameters of every command: where it runs and where its output goes.
struct Context {
    env: Environment,
    ui: Ui,
    /// Whether the process ends with the command, so that the system frees what it used.
    is_last: bool,
    /// The repository that the command opened.
    visited: Option<visited::VisitedRepository>,
}

impl Context {
    /// The command once more with an option, for a hint.
    fn with_option(&self, option: &str) -> String {
        let words = &self.env.typed;
        let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
        let mut out = "git checkpoint".to_owned();
        let mut push = |word: &str| {
            out.push(' ');
            out.push_str(word);
        };
        words[..end].iter().for_each(|word| push(&quoted(word)));
        push(option);
        words[end..].iter().for_each(|word| push(&quoted(word)));
        out
    }

    /// Refuses an option that needs a person at a terminal where a front end runs the command.
    fn require_person(&self, option: &str, what: &str, instead: &str) -> Result<(), CommandError> {
        if !self.env.is_resident {
            return Ok(());
        }
        let message = format!("'{option}' {what}, and there is no terminal");
        Err(CommandError::new(FailureKind::NeedsAnswer, message).hint(instead))
    }
}

/// Runs the program with these arguments, the first of which is its name, and gives its exit code.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let env = match Environment::read() {
        Ok(env) => env,
        Err(error) => {
            // Without a current directory there is no repository; the rest of the environment does not matter any more.
            let ui = Ui::new(&Environment::unknown(), OutputOptions::default(), Streams::standard());
            let error = CommandError::of(FailureKind::Fatal, &error)
                .hint("it may have been removed; change to another one: cd");
            ui.error(&error);
            return error.exit_code();
        }
    };
    let (args, mistaken) = understood(args.into_iter().collect());
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
            "--color" => Some(ColorChoice::Always),
            arg => ColorChoice::parse(arg.strip_prefix("--color=")?),
        });
    let long_help = args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--help");
    let plain = || {
        let options = OutputOptions {
            color,
            json,
            ..OutputOptions::default()
        };
        Ui::new(&env, options, Streams::standard())
    };
    if let Some(error) = mistaken {
        return conclude(&mut plain(), Err(error));
    }
    let cli = match parse::parse(&env, &args, true) {
        Ok(cli) => cli,
        Err(error) => {
            // To take it apart again, as the process ends, is for nothing.
            let program = ManuallyDrop::new(program(&env));
            return usage(plain(), &error, &program, &args, long_help);
        }
    };
    let mut context = Context {
        ui: Ui::new(&env, options(&cli.globals), Streams::standard()),
        env,
        is_last: true,
        visited: None,
    };
    context.env.typed = typed_words(&args);
    let begun = Instant::now();
    if cli.globals.verbose > 0 {
        os::trace::begin(cli.globals.verbose);
    }
    let command = cli.command.unwrap_or(Command::Status(status::Args::default()));
    let started = os::moment();
    let word = unlisted::RunWord::of(&command);
    let result = command.run(&mut context);
    let change = (os::trace::has_changed(), started);
    note_run(&context, (word, &args), result.is_ok(), change);
    let took = begun.elapsed().as_millis();
    for said in os::trace::taken() {
        let line = format!("{:>6} ms  {}", said.after.as_millis(), said.text);
        context.ui.detail(said.level, TextLine::plain(line));
    }
    for note in os::notices::taken_notes() {
        context.ui.note(&note);
    }
    for notice in os::notices::taken() {
        context.ui.warning(&notice);
    }
    context.ui.detail(1, TextLine::plain(format!("It took {took} ms.")));
    conclude(&mut context.ui, result)
}

/// The arguments as they are parsed, with the words that were left out, and the error for a verb that the noun does not have.
fn understood(args: Vec<OsString>) -> (Vec<OsString>, Option<CommandError>) {
    let typed = usage::without_end_of_options(args);
    let mistaken = verbs::mistaken(&typed);
    (shorthand::spelled_out(typed), mistaken)
}

/// Notes a command that ran, for `undo`, for the list of repositories and for the owner of the git directory: whether it
/// changed anything, and when it began.
fn note_run(
    context: &Context,
    (word, args): (unlisted::RunWord, &[OsString]),
    is_done: bool,
    (changed, started): (bool, SystemTime),
) {
    let Some(visited) = &context.visited else { return };
    unlisted::note(visited, word, args, context.env.now, (is_done, changed));
    if let Err(error) = os::hand_over(&visited.common, &visited.common, started) {
        let why = os::reason(&error);
        context.ui.warning(&format!(
            "not everything in the git directory could be given to its owner: {why}"
        ));
    }
    if changed {
        all_repos::note(context);
    }
}

/// The words after the name of the program.
fn typed_words(args: &[OsString]) -> Vec<String> {
    let words = args.iter().skip(1);
    words.map(|word| word.to_string_lossy().into_owned()).collect()
}

/// The definition of the whole program.
fn program(env: &Environment) -> clap::Command {
    let columns = env.terminals.columns.map_or(80, usize::from);
    groups::grouped(Cli::<Command>::command(), columns.clamp(40, 80))
}

fn options(globals: &GlobalArgs) -> OutputOptions {
    OutputOptions {
        color: globals.color.as_deref().and_then(ColorChoice::parse),
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

/// Reports what went wrong, if anything, and gives the exit code.
fn conclude(ui: &mut Ui, result: Result<(), CommandError>) -> ExitCode {
    if let Err(error) = &result {
        ui.error(error);
    }
    // A failing standard output is found only now.
    let finished = ui.finish().map_err(|error| {
        let is_done = result.as_ref().err().is_none_or(CommandError::is_silent);
        let error = if is_done { done_all_the_same(ui, error) } else { error };
        ui.error(&error);
        error
    });
    match result.and(finished) {
        Err(error) => error.exit_code(),
        Ok(()) => ExitCode::SUCCESS,
    }
}

/// The error for a standard output that failed after something was changed: that it is done, and what.
fn done_all_the_same(ui: &Ui, error: CommandError) -> CommandError {
    if error.is_silent() || !os::trace::has_changed() {
        return error;
    }
    let what = ui.lost().map(|what| format!(": {what}")).unwrap_or_default();
    CommandError::new(error.kind(), format!("{error}\nthe command itself succeeded{what}"))
        .hint("see the current state: git checkpoint status, or git checkpoint log")
}

/// The help of the command that these words name, the first two of which are the program's.
fn help_of(program: &clap::Command, words: &str, long: bool, columns: usize) -> String {
    let words: Vec<&str> = words.split(' ').skip(2).collect();
    let program = parse::built(program, words.first().copied());
    let found = words.iter().try_fold(&program, |at, word| at.find_subcommand(word));
    layout::page(found.unwrap_or(&program), &words, long, columns.clamp(40, 80))
}

/// Help and version on standard output, wrong usage on standard error with git's exit code. As with git's own commands,
/// `--help` at a terminal opens the manual page where there is one.
fn usage(mut ui: Ui, error: &clap::Error, program: &clap::Command, args: &[OsString], long_help: bool) -> ExitCode {
    if !error.use_stderr() {
        if long_help && help::manual(&ui, &usage::page(&usage::command_of(program, args))) {
            return ExitCode::SUCCESS;
        }
        let text = if error.kind() == clap::error::ErrorKind::DisplayHelp {
            help_of(program, &usage::command_of(program, args), long_help, ui.width())
        } else {
            error.render().to_string()
        };
        ui.data(Text::block(&text));
        return conclude(&mut ui, Ok(()));
    }
    let words = usage::command_of(program, args);
    conclude(&mut ui, Err(usage::error(error, program, &words, args)))
}

//! Commands inside of a process that stays, for the tool server, `batch`, the page and the terminal interface.
//!
//! Each has its own clock, streams and settings, as if it had been started for itself, and no terminal. What a
//! command of a process of its own leaves to the system at its end is freed here.

use std::{
    ffi::OsString,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;

use super::{
    Context,
    environment::Environment,
    error::{CommandError, FailureKind},
    note_run, opening, options, parse, program, typed_words,
    ui::{Streams, Ui},
    understood,
    unlisted::RunWord,
    usage,
};
use crate::{
    os,
    render::text::Text,
    serve::{CallMonitor, CommandFailure, CommandLine, CommandRun, CommandRunner},
};

/// Commands that take the streams of the process, or that never end.
const OWN_PROCESS: [&str; 6] = ["batch", "hook", "mcp", "serve", "ui", "watch"];

/// A process that runs commands one after the other, or several at once.
pub(super) struct ResidentProcess {
    env: Environment,
}

impl ResidentProcess {
    /// One in the surroundings of this process, for the repository that is there now.
    pub(super) fn new(env: &Environment) -> Self {
        Self {
            env: opening::served(env),
        }
    }
}

impl ResidentProcess {
    /// Surroundings of a command that runs now.
    pub(super) fn environment(&self) -> Environment {
        self.env.unattended()
    }

    /// Runs a command whose output a person reads in lines of at most `columns`, and gives its lines.
    pub(super) fn gather(&self, line: &CommandLine, columns: usize, monitor: &CallMonitor) -> (Text, CommandRun) {
        let mut env = self.environment();
        env.terminals.columns = u16::try_from(columns).ok();
        let lines = Arc::default();
        let line = line.clone().as_text();
        let done = monitor.cancellation.cover(|| run(&env, &line, monitor, Some(&lines)));
        let text = std::mem::take(&mut *lines.lock().unwrap_or_else(PoisonError::into_inner));
        (text, done)
    }
}

impl CommandRunner for ResidentProcess {
    fn run(&self, line: &CommandLine, monitor: &CallMonitor) -> CommandRun {
        monitor
            .cancellation
            .cover(|| run(&self.environment(), line, monitor, None))
    }
}

fn run(
    env: &Environment,
    line: &CommandLine,
    monitor: &CallMonitor,
    gathered: Option<&Arc<Mutex<Text>>>,
) -> CommandRun {
    if os::is_cancelled() {
        let error = CommandError::new(FailureKind::Interrupted, "canceled before it started");
        return failed(&error, line);
    }
    let mut args: Vec<OsString> = vec!["git-checkpoint".into()];
    args.extend((!line.text).then(|| "--json".into()));
    args.extend(line.words.iter().cloned());
    // A tool says what it means; a line is typed as at a prompt.
    let (args, mistaken) = if line.is_tool { (args, None) } else { understood(args) };
    if let Some(error) = mistaken {
        return failed(&error, line);
    }
    let mut env = env.clone();
    env.is_without_input = line.input.is_none();
    let env = &env;
    let (streams, captured) = Streams::captured(line.input.as_deref().unwrap_or_default());
    let mut output = String::new();
    let result = match parse::parse(env, &args, false) {
        Ok(cli) => {
            let mut ui = Ui::new(env, options(&cli.globals), streams);
            ui.report_progress(monitor.progress.clone());
            if let Some(lines) = gathered {
                ui.gather(Arc::clone(lines));
            }
            let mut context = Context {
                env: env.clone(),
                ui,
                is_last: false,
                visited: None,
            };
            context.env.paths = line.paths;
            context.env.typed = typed_words(&args);
            let command = cli
                .command
                .unwrap_or(super::Command::Status(super::status::Args::default()));
            let (word, started) = (RunWord::of(&command), os::moment());
            let (result, changed) = os::trace::with_changes(|| {
                if OWN_PROCESS.contains(&word.word) {
                    let message = format!("'{}' needs a process of its own", word.word);
                    let error = CommandError::new(FailureKind::Usage, message);
                    return Err(error.hint(format!("run it by itself: git checkpoint {}", word.word)));
                }
                os::without_questions(|| command.run(&mut context))
            });
            note_run(&context, (word, &args), result.is_ok(), (changed, started));
            for notice in os::notices::taken() {
                context.ui.warning(&notice);
            }
            result.and(context.ui.finish())
        }
        Err(error) if !error.use_stderr() => {
            output = error.render().to_string();
            Ok(())
        }
        Err(error) => {
            let program = program(env);
            let words = usage::command_of(&program, &args);
            Err(if line.is_tool {
                usage::of_tool(&error, &program, &words, line)
            } else {
                usage::error(&error, &program, &words, &args)
            })
        }
    };
    output.push_str(&captured.output());
    CommandRun {
        exit_code: result.as_ref().err().map_or(0, CommandError::status),
        output,
        warnings: warnings(&captured.error(), line.text),
        failure: result.err().map(|error| failure_of(&error, line)),
    }
}

/// A line that was not run.
fn failed(error: &CommandError, line: &CommandLine) -> CommandRun {
    CommandRun {
        exit_code: error.status(),
        output: String::new(),
        warnings: Vec::new(),
        failure: Some(failure_of(error, line)),
    }
}

/// The warnings among the lines of standard error.
fn warnings(text: &str, is_text: bool) -> Vec<String> {
    if is_text {
        let lines = text.lines().filter_map(|line| line.strip_prefix("warning: "));
        return lines.map(str::to_owned).collect();
    }
    let messages = text.lines().filter_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        Some(line["warning"]["message"].as_str()?.to_owned())
    });
    messages.collect()
}

/// The failure of an error.
pub(super) fn failure(error: &CommandError) -> CommandFailure {
    failure_of(error, &CommandLine::default())
}

/// The failure of this line. All that is wrong for a tool came as an argument, and so there is one code for it.
fn failure_of(error: &CommandError, line: &CommandLine) -> CommandFailure {
    let (kind, exit_code) = match error.kind() {
        FailureKind::Invalid if line.is_tool => (FailureKind::Usage, FailureKind::Usage.exit_code()),
        kind => (kind, error.status()),
    };
    let meaning = if line.is_tool {
        kind.meaning_for_tool()
    } else {
        kind.meaning()
    };
    CommandFailure {
        kind,
        exit_code,
        meaning,
        message: if error.is_silent() {
            meaning.to_owned()
        } else {
            error.to_string()
        },
        hints: error.hints_for(line),
    }
}

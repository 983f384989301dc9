//! Commands inside of a process that stays, for the tool server, `batch`, the page and the terminal interface.
//!
//! Each has its own clock, streams and settings, as if it had been started for itself; nobody is at a terminal. What a
//! command of a process of its own leaves to the system at its end is freed here.

use std::{
    ffi::OsString,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;

use super::{
    Context, all_repos,
    environment::Environment,
    error::{CommandError, FailureKind},
    options, parse, program,
    ui::{Streams, Ui},
    usage,
};
use crate::{
    os,
    render::text::Text,
    serve::{CallMonitor, CommandFailure, CommandLine, CommandRun, CommandRunner},
};

/// Commands that take the streams of the process, or that never end.
const OWN_PROCESS: [&str; 5] = ["batch", "mcp", "serve", "ui", "watch"];

/// A process that runs commands one after the other, or several at once.
pub(super) struct ResidentProcess {
    env: Environment,
}

impl ResidentProcess {
    /// One in the surroundings of this process.
    pub(super) fn new(env: &Environment) -> Self {
        Self { env: env.clone() }
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
        return CommandRun {
            exit_code: error.status(),
            output: String::new(),
            warnings: Vec::new(),
            failure: Some(failure(&error)),
        };
    }
    let mut args: Vec<OsString> = vec!["git-checkpoint".into()];
    args.extend((!line.text).then(|| "--json".into()));
    args.extend(line.words.iter().cloned());
    let (streams, captured) = Streams::captured(&line.input);
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
            let command = cli
                .command
                .unwrap_or(super::Command::Status(super::status::Args::default()));
            let result = match OWN_PROCESS
                .iter()
                .find(|name| line.words.first().is_some_and(|word| word == *name))
            {
                Some(name) => Err(CommandError::new(
                    FailureKind::Usage,
                    format!("'{name}' needs a process of its own"),
                )),
                None => command.run(&mut context),
            };
            if os::trace::has_changed() {
                all_repos::note(&context);
            }
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
            Err(usage::error(&error, &program, &words, &args))
        }
    };
    output.push_str(&captured.output());
    CommandRun {
        exit_code: result.as_ref().err().map_or(0, CommandError::status),
        output,
        warnings: warnings(&captured.error(), line.text),
        failure: result.err().as_ref().map(failure),
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
    let kind = error.kind();
    CommandFailure {
        code: kind.code(),
        exit_code: error.status(),
        meaning: kind.meaning(),
        message: if error.is_silent() {
            kind.meaning().to_owned()
        } else {
            error.to_string()
        },
        hints: error.hints().to_vec(),
    }
}

//! `enable --mcp` and `disable --mcp`: the tool server in the configurations of coding agents, by the agents' own commands.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use super::{Context, error::CommandError};
use crate::{
    agents::hooks::{
        adapter::Adapter,
        server::{self, ServerCommands},
    },
    model::step::quoted,
    os::{self, QueryOutcome, Question},
    render::agent_servers::{AgentServerRow, AgentServersView},
};

/// The longest time of an agent's command: some load for seconds.
const TIME: Duration = Duration::from_secs(60);
/// The most bytes of its output that are taken, and dropped.
const SAID: usize = 1 << 20;

/// An agent with the path of its program, where it is installed.
pub(super) type InstalledAgent = (&'static Adapter, Option<PathBuf>);

/// Registers the server with the agents.
pub(super) fn enable(
    context: &Context,
    agents: &[InstalledAgent],
    program: &str,
    dry_run: bool,
) -> Result<(), CommandError> {
    let row = |(adapter, agent): &InstalledAgent| {
        let Some(commands) = server::commands(adapter.name) else {
            return row(adapter, "unsupported", None, None);
        };
        if configurations(context, adapter, commands).any(|text| server::starts(&text, program)) {
            return row(adapter, "unchanged", None, None);
        }
        let add = commands.add(program);
        let command = shown(adapter.program, &add);
        let agent = match agent {
            Some(agent) if !dry_run => agent.display().to_string(),
            _ => return not_run(adapter, agent.is_some(), command),
        };
        let mut failure = run(context, &agent, &add);
        if failure.is_some()
            && let Some(remove) = commands.remove()
        {
            // One of an earlier version or in another directory is in the way.
            run(context, &agent, &remove);
            failure = run(context, &agent, &add);
        }
        match failure {
            None => row(adapter, "registered", Some(command), None),
            Some(reason) => row(adapter, "by-hand", Some(command), Some(reason)),
        }
    };
    report(context, "enable", dry_run, agents.iter().map(row).collect())
}

/// Removes the server from the agents' configurations, where it is in them.
pub(super) fn disable(context: &Context, agents: &[InstalledAgent], dry_run: bool) -> Result<(), CommandError> {
    let row = |(adapter, agent): &InstalledAgent| {
        let Some(commands) = server::commands(adapter.name) else {
            return row(adapter, "unsupported", None, None);
        };
        if !configurations(context, adapter, commands).any(|text| server::is_registered(&text)) {
            return row(adapter, "unchanged", None, None);
        }
        let Some(remove) = commands.remove() else {
            let file = files(context, adapter, commands)
                .into_iter()
                .find(|file| file.is_file());
            let file = file.unwrap_or_default();
            let reason = format!("take '{}' out of '{}'", server::SERVER, file.display());
            return row(adapter, "by-hand", None, Some(reason));
        };
        let command = shown(adapter.program, &remove);
        let agent = match agent {
            Some(agent) if !dry_run => agent.display().to_string(),
            _ => return not_run(adapter, agent.is_some(), command),
        };
        match run(context, &agent, &remove) {
            None => row(adapter, "removed", Some(command), None),
            Some(reason) => row(adapter, "by-hand", Some(command), Some(reason)),
        }
    };
    report(context, "disable", dry_run, agents.iter().map(row).collect())
}

/// The row of a command that is not run: the agent is not installed, or it is a dry run.
fn not_run(adapter: &Adapter, is_installed: bool, command: String) -> AgentServerRow {
    if is_installed {
        row(adapter, "planned", Some(command), None)
    } else {
        row(
            adapter,
            "by-hand",
            Some(command),
            Some("its program is not in PATH".to_owned()),
        )
    }
}

fn row(adapter: &Adapter, outcome: &'static str, command: Option<String>, reason: Option<String>) -> AgentServerRow {
    AgentServerRow {
        agent: adapter.name,
        title: adapter.title,
        outcome,
        command,
        reason,
    }
}

fn report(
    context: &Context,
    action: &'static str,
    dry_run: bool,
    agents: Vec<AgentServerRow>,
) -> Result<(), CommandError> {
    let view = AgentServersView {
        action,
        dry_run,
        agents,
    };
    context.ui.report(&view)
}

/// The files that may hold the agent's servers.
fn files(context: &Context, adapter: &Adapter, commands: &ServerCommands) -> Vec<PathBuf> {
    let moved = adapter.variable.and_then(|name| context.env.text(name));
    let home = context.env.home();
    home.map_or_else(Vec::new, |home| commands.files(home, moved.as_deref()))
}

/// The agent's configuration files that there are.
fn configurations(context: &Context, adapter: &Adapter, commands: &ServerCommands) -> impl Iterator<Item = String> {
    let files = files(context, adapter, commands).into_iter();
    files.filter_map(|file| String::from_utf8(os::read_regular(&file).ok()?).ok())
}

/// A command as a person types it.
fn shown(program: &str, words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("{} {}", quoted(program), words.join(" "))
}

/// Runs an agent's command in the home directory, where no project has settings of its own; the reason of a failure.
fn run(context: &Context, program: &str, words: &[String]) -> Option<String> {
    // Its output is for people who run it themselves.
    let command = OsString::from(format!("{} 2>/dev/null", shown(program, words)));
    let question = Question {
        command: &command,
        directory: context.env.home().unwrap_or(&context.env.cwd),
        variables: &[],
        input: &[],
        limit: SAID,
        time: TIME,
    };
    match os::query_program(question) {
        Ok(QueryOutcome::Text(_) | QueryOutcome::TooLong) => None,
        Ok(QueryOutcome::Failed(_)) => Some("its command failed".to_owned()),
        Ok(QueryOutcome::Late) => Some("its command took too long".to_owned()),
        Ok(QueryOutcome::Interrupted) => Some("interrupted".to_owned()),
        Err(error) => Some(os::reason(&error)),
    }
}

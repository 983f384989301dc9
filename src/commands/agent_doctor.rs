//! `agents doctor`: runs the program of an agent once, without a key, and reports whether our hooks fired.
//!
//! The agent reads the user's own settings, since those are what is tried; only its model is a server on loopback. It
//! works in a repository made for this, so that no session of the user's gets a turn that the user did not ask for.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::{
    Context,
    agent_servers::InstalledAgent,
    error::{CommandError, FailureKind},
    opening::{self, IdentityArgs},
};
use crate::{
    agents::hooks::{
        adapter::Adapter,
        probe::{self, AgentProbe},
    },
    model::step::quoted,
    ops::agent,
    os::{self, LoopbackServer, QueryOutcome, Question},
    render::agents::{AgentDoctorRow, AgentDoctorView},
    store::agents::Binding,
};

/// The longest time of an agent: some wait for a network that is not there.
const TIME: Duration = Duration::from_secs(120);
/// The longest time of a hook's worker after the agent ended.
const WORKER: Duration = Duration::from_secs(5);
/// Variables of git that name the user's own repository.
const CLEARED: &str = "unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX GIT_OBJECT_DIRECTORY GIT_COMMON_DIR";

/// Run each agent once without a key, and check that the hooks fire
///
/// Asks each installed agent one question in a temporary repository, with your settings and a model server on this
/// machine that answers "Ready.". No account is used, and nothing leaves this machine. The agent keeps the session of
/// that question in its own directory.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  Every agent that is installed:
    git checkpoint agents doctor
  One of them:
    git checkpoint agents doctor codex")]
pub(super) struct DoctorArgs {
    /// The agents: claude-code, codex, copilot, gemini, qwen, opencode, pi, cline, cursor
    #[arg(value_name = "AGENT", value_parser = super::agent_session::adapter)]
    pub(super) agents: Vec<&'static Adapter>,
}

pub(super) fn run(context: &mut Context, agents: &[InstalledAgent]) -> Result<(), CommandError> {
    if agents.is_empty() {
        let error = CommandError::new(FailureKind::NotFound, "no coding agent is installed");
        return Err(error.hint("name one: git checkpoint agents doctor claude-code"));
    }
    let failed = |error: std::io::Error| {
        let message = format!("cannot run an agent: {}", os::reason(&error));
        CommandError::new(FailureKind::Fatal, message)
    };
    let server = LoopbackServer::start(probe::answer).map_err(failed)?;
    let mut rows = Vec::new();
    for (adapter, program) in agents {
        let mut row = AgentDoctorRow {
            agent: adapter.name,
            title: adapter.title,
            program: program.as_ref().map(|path| path.display().to_string()),
            outcome: "absent",
            requests: 0,
            events: 0,
            saved: false,
            took_ms: 0,
            advice: None,
        };
        let probe = probe::probe(adapter.name, &server.url());
        match (program, probe) {
            (None, _) => {}
            (Some(_), None) => row.outcome = "untried",
            (Some(program), Some(probe)) => {
                let before = server.requests();
                ask(context, program, &probe, &mut row).map_err(failed)?;
                row.requests = server.requests() - before;
            }
        }
        row.advice = advice(adapter, &row);
        rows.push(row);
    }
    let view = AgentDoctorView { agents: rows };
    let is_well = view.agents.iter().all(|row| row.saved || row.outcome == "untried");
    context.ui.report(&view)?;
    if is_well {
        Ok(())
    } else {
        Err(CommandError::silent(FailureKind::Negative))
    }
}

/// Asks one agent, and notes what its hooks did.
fn ask(context: &Context, program: &Path, probe: &AgentProbe, row: &mut AgentDoctorRow) -> std::io::Result<()> {
    let parent = context
        .env
        .text("TMPDIR")
        .map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    let directory = parent.join(format!("git-checkpoint-doctor-{}", os::random_token()?));
    fs::create_dir(&directory)?;
    let directory = directory.canonicalize()?;
    let words: Vec<String> = probe.args.iter().map(|word| quoted(word)).collect();
    let line = format!(
        "{CLEARED}; git init -q . && git config checkpoint.agents true && exec {} {} </dev/null >/dev/null 2>&1",
        quoted(&program.to_string_lossy()),
        words.join(" ")
    );
    let variables: Vec<(&str, &str)> = probe
        .variables
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    let begun = Instant::now();
    let outcome = os::query_program(Question {
        command: &OsString::from(line),
        directory: &directory,
        variables: &variables,
        input: b"",
        limit: 1 << 20,
        time: TIME,
    });
    row.took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    row.outcome = match &outcome {
        Ok(QueryOutcome::Text(_)) => "ended",
        Ok(QueryOutcome::Late) => "late",
        _ => "failed",
    };
    let ended = Instant::now();
    loop {
        let bindings = bindings(context, &directory);
        row.events = u64::try_from(bindings.iter().filter(|binding| binding.last.is_some()).count()).unwrap_or(0);
        row.saved = bindings.iter().any(|binding| !binding.saved.is_empty());
        // The hook of the last event may have ended before its worker did.
        if row.saved || ended.elapsed() >= WORKER {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let removed = fs::remove_dir_all(&directory);
    outcome.map(drop).and(removed)
}

/// The sessions of agents that reported to the repository of the question.
fn bindings(context: &Context, directory: &Path) -> Vec<Binding> {
    let env = context.env.elsewhere(directory.to_owned());
    let opened = opening::at(&env, &IdentityArgs::default(), env.now);
    let found = opened.ok().and_then(|opened| agent::bindings(&opened.scene()).ok());
    found.unwrap_or_default()
}

/// The step that a person has to take, if one is known.
fn advice(adapter: &Adapter, row: &AgentDoctorRow) -> Option<String> {
    match row.outcome {
        "absent" => Some(format!("{} is not in PATH", adapter.program)),
        "untried" => Some("its model server cannot be replaced for one run".to_owned()),
        _ if row.saved => None,
        _ if row.requests == 0 => Some(format!(
            "it did not call the test server: run '{}' and check its output",
            adapter.program
        )),
        _ if row.events > 0 => Some("see its last event: git checkpoint agents".to_owned()),
        _ => Some(adapter.trust.step().map_or_else(
            || format!("its hooks did not fire: git checkpoint enable {}", adapter.name),
            str::to_owned,
        )),
    }
}

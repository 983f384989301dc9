//! `hook`: the one program that the hooks of coding agents call.
//!
//! It must never disturb the agent: it ends with success whatever happens, prints nothing but the JSON that the agent
//! reads, and does not keep the agent waiting. The work is done by a worker, this program started anew, which is waited
//! for briefly and then runs on in the background. Only what the agent injects into its context is computed here, since
//! the agent reads it from this process. How it went is in the binding of the agent's session, for `agents` and `status`.

use std::{
    ffi::OsString,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::{
    Context,
    environment::Environment,
    error::CommandError,
    opening::{self, IdentityArgs, OpenedRepository},
    resume_prompt,
    visited::VisitedRepository,
};
use crate::{
    agents::hooks::{
        adapter::{self, Adapter},
        event::{self, HookEvent, Occasion},
    },
    ops::{
        Scene,
        agent::{self, EventContext},
    },
    os,
};

/// How long the agent waits after its JSON document was read. A worker that is saving then continues. The system needs some
/// milliseconds before and after, and the agent is to have its answer within 50.
const BUDGET: Duration = Duration::from_millis(40);
/// The same for the prompt with which an agent session that was not reported before begins: its session is made first, and
/// the agent may edit at once.
const FIRST_BUDGET: Duration = Duration::from_millis(400);
/// How long the worker waits for a lock: another event of the same agent session may be at work.
const WAIT: Duration = Duration::from_secs(120);
/// How long the agent may take to write its JSON document.
const INPUT_TIME: Duration = Duration::from_secs(3);
/// The largest payload that is read. A plug-in hands over a whole conversation.
const INPUT_SIZE: u64 = 256 << 20;
/// The variable that shows the worker that it is one.
const GUARD: &str = "CHECKPOINT_AGENT_HOOK";
/// The variable with the worker's place among the events of its agent session.
const TICKET: &str = "CHECKPOINT_AGENT_TICKET";
/// The variable with the process of the agent, as JSON: the worker outlives the hook that the agent started.
const PROCESS: &str = "CHECKPOINT_AGENT_PROCESS";

/// Handle an event of a coding agent
///
/// The hooks that 'git checkpoint enable' sets up call this. It reads one JSON document from standard input. It always
/// succeeds, and prints nothing but the JSON that the agent reads.
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub(super) struct Args {
    /// The agent
    agent: String,
    /// The event, in the agent's own word
    event: String,
}

#[expect(clippy::unnecessary_wraps, reason = "the form of every command")]
pub(super) fn run(args: Args, context: &mut Context) -> Result<(), CommandError> {
    // Whatever goes wrong, the agent must not be reported to stop or to try again.
    let _ = handle(&args, context);
    Ok(())
}

fn handle(args: &Args, context: &mut Context) -> Result<(), CommandError> {
    let Some(adapter) = adapter::named(&args.agent) else {
        return Ok(());
    };
    let Some(occasion) = adapter.occasion(&args.event) else {
        return Ok(());
    };
    // Copilot also runs hooks that a project configures for Claude Code, under session ids of its own.
    if adapter.name == "claude-code" && context.env.variable("COPILOT_CLI").is_some() {
        return Ok(());
    }
    let Some(input) = read_input(context) else {
        return Ok(());
    };
    let begun = Instant::now();
    let Ok(payload) = serde_json::from_slice::<Value>(&input) else {
        return Ok(());
    };
    let Some(mut event) = event::read(occasion, &payload) else {
        return Ok(());
    };
    let adapter = event::sender(&payload).and_then(adapter::named).unwrap_or(adapter);
    if let (None, None, Some(home)) = (&event.transcript, &event.conversation, context.env.home()) {
        let files = event::session_files(adapter.name, &event, home);
        let found = files.into_iter().find(|file| file.is_file());
        event.transcript = found.and_then(|file| file.into_os_string().into_string().ok());
    }
    let env = surroundings(&context.env, &event);
    let opened = opening::at(&env, &IdentityArgs::default(), env.now)?;
    context.visited = Some(VisitedRepository::of(&opened.scene()));
    if !opened.scene().settings.agents {
        return Ok(());
    }
    let process = context.env.text(PROCESS);
    let process = match process.and_then(|text| serde_json::from_str(&text).ok()) {
        Some(process) => Some(process),
        None => agent::process::caller(&args.event),
    };
    if context.env.text(GUARD).as_deref() == Some("worker") {
        let ticket = context.env.text(TICKET);
        return work(&opened, adapter, &event, EventContext { ticket, process });
    }
    if occasion == Occasion::SessionStart {
        // Binding a session is quick, and the context below is that of the bound one.
        let ticket = None;
        work(&opened, adapter, &event, EventContext { ticket, process })?;
    } else if let Some(program) = &context.env.program {
        let line: Vec<OsString> = vec!["hook".into(), args.agent.clone().into(), args.event.clone().into()];
        // A worker that cannot be started saves nothing; the next event saves what it would have.
        let ticket = agent::draw_ticket(&opened.scene(), adapter, &event).unwrap_or_default();
        let process = process.and_then(|process| serde_json::to_string(&process).ok());
        let mut variables = vec![(GUARD, "worker"), (TICKET, ticket.as_str())];
        variables.extend(process.as_deref().map(|process| (PROCESS, process)));
        let is_first = occasion == Occasion::Prompt && agent::session_of(&opened.scene(), adapter, &event)?.is_none();
        let budget = if is_first { FIRST_BUDGET } else { BUDGET };
        let rest = budget.saturating_sub(begun.elapsed());
        if os::run_for(program, &line, &variables, input, rest).is_err() {
            agent::give_ticket_back(&opened.scene(), &ticket);
        }
    }
    if adapter.injects_at(&args.event) {
        inject(&opened, adapter, &event, args, context)?;
    }
    Ok(())
}

fn work(
    opened: &OpenedRepository,
    adapter: &Adapter,
    event: &HookEvent,
    context: EventContext,
) -> Result<(), CommandError> {
    let begun = Instant::now();
    let scene = opened.scene();
    let scene = Scene {
        wait: WAIT,
        index: None,
        ..scene
    };
    let took = || u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    if let agent::EventOutcome::Saved(name, _) = agent::handle(&scene, adapter, event, context, &took)? {
        // A file that cannot be written is reported by the next save of a person.
        let _ = super::share::automatic::after_checkpoint(opened, &name);
    }
    Ok(())
}

/// Prints the context of the bound session, unless the agent has it already or there is nothing to say yet.
fn inject(
    opened: &OpenedRepository,
    adapter: &Adapter,
    event: &HookEvent,
    args: &Args,
    context: &Context,
) -> Result<(), CommandError> {
    let scene = opened.scene();
    let Some(name) = agent::session_of(&scene, adapter, event)? else {
        return Ok(());
    };
    let reader = (adapter.name, event.session.as_str());
    let Some((text, state)) = resume_prompt::prompt_of(&scene, &name, Some(reader), resume_prompt::PROMPT_SIZE)? else {
        return Ok(());
    };
    if agent::is_news(&scene, adapter, event, &state)?
        && let Some(answer) = adapter.injected(&args.event, &text)
    {
        context.ui.json(&answer)?;
    }
    Ok(())
}

/// The environment of the directory that the agent works in. A hook may run in a daemon that was started elsewhere, or
/// in a shell with variables of git's, so only the payload names the repository.
fn surroundings(env: &Environment, event: &HookEvent) -> Environment {
    let cwd = event.cwd.as_ref().map(std::path::PathBuf::from);
    env.elsewhere(cwd.filter(|path| path.is_absolute()).unwrap_or_else(|| env.cwd.clone()))
}

/// The whole of standard input, if it ends in time.
fn read_input(context: &Context) -> Option<Vec<u8>> {
    if context.ui.terminals().input {
        return None;
    }
    os::input_within(INPUT_SIZE, INPUT_TIME).ok()?
}

//! `resume --agent`: the agent's own session continues here; another agent starts with the saved context.

use super::{
    Context,
    agent_session::{self, AgentPlace},
    error::{CommandError, FailureKind},
    opening::OpenedRepository,
};
use crate::{
    model::{document::Document, name::ShortName},
    ops::agent::resumption::{self, KeptSession},
    os,
    render::turns::{AgentSessionReport, AgentSessionView},
    store,
};

/// Puts the agent's session of a checkpoint into place, prints the command that resumes it, and at a terminal offers
/// to run it. `is_tip` is whether the checkpoint is the session's latest: an earlier one gives a copy that ends there.
pub(super) fn resume(
    context: &mut Context,
    opened: &OpenedRepository,
    session: &ShortName,
    document: &Document,
    is_tip: bool,
    agent: Option<&str>,
) -> Result<(), CommandError> {
    let Some(kept) = resumption::resumable(document, agent) else {
        let last = resumption::kept(document, agent).map(|kept| kept.agent.name());
        return with_context(context, session, document, agent.or(last));
    };
    let root = store::work_tree(opened.scene().repo)?.to_owned();
    let place = AgentPlace {
        root: &root,
        is_copy: !is_tip,
        dry_run: false,
    };
    let target = agent_session::session_ref(document, session);
    let resumed = agent_session::in_place(context, opened, target, document, &kept, &place)?;
    let view = agent_session::view_of(&resumed);
    print(context, session, view)?;
    offer(context, &kept, &[resumed.import, resumed.command])
}

/// An agent that has no session here starts one with the saved context.
fn with_context(
    context: &mut Context,
    session: &ShortName,
    document: &Document,
    agent: Option<&str>,
) -> Result<(), CommandError> {
    let Some((name, words)) = agent.and_then(|name| Some((name, resumption::prompt_command(name)?))) else {
        let message = format!("session '{session}' has no agent session");
        return Err(CommandError::new(FailureKind::NotFound, message)
            .hint(format!(
                "to start an agent with the saved context: git checkpoint resume {session} --agent claude-code"
            ))
            .hint("let agents save their sessions: git checkpoint enable"));
    };
    let title = crate::agents::named(name).map_or(name, |agent| agent.title());
    let command = format!(
        "{} \"$(git checkpoint resume {} --format prompt)\"",
        words.join(" "),
        session
    );
    let _ = document;
    let view = AgentSessionView {
        agent: name.to_owned(),
        title: title.to_owned(),
        id: None,
        file: None,
        written: false,
        import: None,
        command,
    };
    print(context, session, view)
}

fn print(context: &mut Context, session: &ShortName, view: AgentSessionView) -> Result<(), CommandError> {
    if context.ui.options().json {
        return context.ui.json(&AgentSessionReport {
            dry_run: false,
            session: session.to_string(),
            agent: view,
        });
    }
    context.ui.data(view.text(false));
    Ok(())
}

/// Runs the commands if a person at the terminal agrees.
fn offer(context: &Context, kept: &KeptSession, commands: &[Vec<String>]) -> Result<(), CommandError> {
    if !context.ui.can_ask() {
        return Ok(());
    }
    let title = kept.agent.title();
    if !context.ui.confirm(&format!("Start {title} now?"), "--agent")? {
        return Ok(());
    }
    for words in commands.iter().filter(|words| !words.is_empty()) {
        let done = os::run_attached(words).map_err(|error| {
            let message = format!("cannot start '{}': {}", words[0], os::reason(&error));
            CommandError::new(FailureKind::Fatal, message)
        })?;
        if !done {
            return Err(CommandError::new(FailureKind::Fatal, format!("'{}' failed", words[0])));
        }
    }
    Ok(())
}

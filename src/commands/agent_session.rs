//! Sessions of agents as arguments name them, and put into place for the agent to resume.

use std::path::{Path, PathBuf};

use super::{
    Context,
    error::{CommandError, FailureKind},
    opening::OpenedRepository,
    usage::UnknownValue,
};
use crate::{
    agents::hooks::adapter::{self, ADAPTERS, Adapter},
    model::{document::Document, name::ShortName},
    ops::agent::resumption::{self, KeptSession, ResumePlace, ResumedSession},
    render::turns::AgentSessionView,
    store::current::SessionRef,
};

/// The agent of a name on the command line.
pub(super) fn adapter(name: &str) -> Result<&'static Adapter, UnknownValue> {
    adapter::named(name).ok_or_else(|| UnknownValue {
        what: "agents",
        known: ADAPTERS.iter().map(|adapter| adapter.name.to_owned()).collect(),
    })
}

/// The names that `--agent` takes.
pub(super) fn agent_name(name: &str) -> Result<String, UnknownValue> {
    adapter(name).map(|adapter| adapter.name.to_owned())
}

/// The session of a document, by the name it has now.
pub(super) fn session_ref(document: &Document, name: &ShortName) -> SessionRef {
    SessionRef {
        id: document.session.id.clone(),
        name: name.clone(),
    }
}

/// The place of an agent's session, without the agent's own directory.
pub(super) struct AgentPlace<'a> {
    pub(super) root: &'a Path,
    pub(super) is_copy: bool,
    pub(super) dry_run: bool,
}

/// Puts the session of an agent into place.
pub(super) fn in_place(
    context: &Context,
    opened: &OpenedRepository,
    session: SessionRef,
    document: &Document,
    kept: &KeptSession,
    place: &AgentPlace<'_>,
) -> Result<ResumedSession, CommandError> {
    let directory = directory_of(context, kept.agent.name())?;
    let place = ResumePlace {
        directory: &directory,
        root: place.root,
        is_copy: place.is_copy,
        dry_run: place.dry_run,
    };
    Ok(resumption::resume(&opened.scene(), session, document, kept, &place)?)
}

/// The directory in which an agent keeps its settings and sessions.
pub(super) fn directory_of(context: &Context, agent: &str) -> Result<PathBuf, CommandError> {
    let home = context.env.home();
    let (Some(home), Some(adapter)) = (home, adapter::named(agent)) else {
        return Err(CommandError::new(
            FailureKind::Fatal,
            format!("the sessions of '{agent}' cannot be found: HOME is not set, or the agent has none"),
        ));
    };
    let moved = adapter.variable.and_then(|name| context.env.text(name));
    Ok(adapter.directory(home, moved.as_deref()))
}

/// An agent's session for the reader.
pub(super) fn view_of(resumed: &ResumedSession) -> AgentSessionView {
    AgentSessionView {
        agent: resumed.agent.to_owned(),
        title: resumed.title.to_owned(),
        id: Some(resumed.id.clone()),
        file: Some(resumed.path.display().to_string()),
        written: resumed.written,
        import: (!resumed.import.is_empty()).then(|| resumption::shell_line(&resumed.import)),
        command: resumption::shell_line(&resumed.command),
    }
}

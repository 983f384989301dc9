//! The files of an event's moment, read before the event waits for others or for the agent's session file.

use std::time::Duration;

use super::{LATE, in_session, session};
use crate::{
    agents::hooks::{
        adapter::Adapter,
        event::{HookEvent, Occasion},
    },
    ops::{
        Error, Scene,
        save::{EarlyFiles, EarlyReading},
        session_choice,
    },
    store::{
        agent_queue,
        agents::{self as bindings, Binding},
    },
};

/// So many events of one agent session read files while others are ahead of them. More come only where something
/// reports the same over and over.
const CROWD: usize = 8;

/// The files that an event saves.
#[derive(Default)]
pub(super) struct EventFiles {
    /// Those of its moment. Without them the files are read when the checkpoint is made.
    pub(super) early: Option<EarlyFiles>,
    /// Whether they could not be read because other files were written at that moment.
    pub(super) is_unsettled: bool,
    /// Whether they were, or will be, read so late that they may be others.
    pub(super) is_late: bool,
}

impl EventFiles {
    /// Reads the files, where the event is one that saves some.
    pub(super) fn read(scene: &Scene<'_>, adapter: &Adapter, event: &HookEvent, ticket: Option<&str>) -> Self {
        let is_crowded =
            ticket.is_some_and(|own| agent_queue::ahead(scene.repo, adapter.name, &event.session, own) >= CROWD);
        let saves = !matches!(event.occasion, Occasion::SessionStart | Occasion::SessionEnd);
        if is_crowded || !saves {
            return Self::default();
        }
        // On a busy machine it takes a while before this process runs at all.
        let age = ticket.and_then(|own| agent_queue::age(scene.repo, own));
        let mut files = Self {
            is_late: age.is_some_and(|age| age >= LATE),
            ..Self::default()
        };
        let drawn = ticket.and_then(|own| agent_queue::drawn_at(scene.repo, own));
        // The save itself reports what is wrong.
        match read(scene, adapter, event).unwrap_or(None) {
            Some(EarlyReading::Files(early)) => {
                // What was written since a prompt is the work of the agent.
                let is_prompt = event.occasion == Occasion::Prompt;
                files.is_late |= is_prompt && drawn.is_some_and(|drawn| early.have_changes_since(scene, drawn));
                files.early = Some(*early);
            }
            Some(EarlyReading::Unsettled) => files.is_unsettled = true,
            Some(EarlyReading::OtherWorktree) | None => {}
        }
        files
    }
}

fn read(scene: &Scene<'_>, adapter: &Adapter, event: &HookEvent) -> Result<Option<EarlyReading>, Error> {
    let mut binding = bindings::read(scene.repo, adapter.name, &event.session);
    if is_known(&binding, event) {
        return Ok(None);
    }
    if binding.session.is_none()
        && let Ok(_ordered) = bindings::lock(scene.repo, adapter.name, &event.session, Duration::ZERO)
    {
        // The session is that of the branch of this moment.
        binding = bindings::read(scene.repo, adapter.name, &event.session);
        session::bound(scene, &mut binding)?;
        bindings::write(scene.repo, &binding)?;
    }
    let chosen = match &binding.session {
        Some(session) => session_choice::by_identity(scene, session)?,
        None => None,
    };
    let open = chosen.filter(|chosen| !chosen.tip.document.session.status.is_finished());
    match &open {
        Some(chosen) => EarlyFiles::read(&in_session(scene, &chosen.name)).map(Some),
        None => EarlyFiles::read(scene).map(Some),
    }
}

/// Whether an event reports what was reported before, so that it saves nothing.
fn is_known(binding: &Binding, event: &HookEvent) -> bool {
    let Some(key) = &event.turn else { return false };
    let is_open = || binding.turn.as_ref().is_some_and(|open| open.key.as_ref() == Some(key));
    let is_saved = binding.saved.contains(key) && !event.is_continued;
    is_saved || event.occasion == Occasion::Prompt && is_open()
}

//! The new part of an agent's session file, added to the chat.

use super::super::{Error, Scene, chat};
use crate::{agents::hooks::event::HookEvent, model::agent_turn::TurnTokens, os};

/// The facts of the latest turn that only the agent's session file shows.
#[derive(Debug, Default)]
pub(super) struct TurnFacts {
    /// The prompt.
    pub(super) prompt: Option<String>,
    /// The model.
    pub(super) model: Option<String>,
    /// The tokens.
    pub(super) tokens: Option<TurnTokens>,
}

/// Adds what is new to the chat. A file that is missing or cannot be read adds nothing: the files are saved all the same.
pub(super) fn import(scene: &Scene<'_>, event: &HookEvent) -> Result<TurnFacts, Error> {
    let Some(path) = &event.transcript else {
        return Ok(TurnFacts::default());
    };
    if let Ok(bytes) = os::read_regular(std::path::Path::new(path)) {
        match chat::import::import(scene, &bytes) {
            Ok(_) | Err(Error::NoMessages { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(TurnFacts::default())
}

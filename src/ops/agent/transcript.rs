//! The new part of an agent's session file, added to the chat.

use std::path::Path;

use super::super::{
    Error, Scene,
    chat::import::{self, ChatImport, MessageFile},
};
use crate::{agents, agents::hooks::event::HookEvent, model::turn::TokenUsage, store::config::TranscriptExtent};

/// The facts of the latest turn that only the agent's session file has.
#[derive(Debug, Default)]
pub(super) struct TurnFacts {
    /// The prompt's first line.
    pub(super) prompt: Option<String>,
    /// The model.
    pub(super) model: Option<String>,
    /// The tokens.
    pub(super) tokens: Option<TokenUsage>,
}

/// Adds what is new to the chat: of the agent's session file, or of the conversation that a plug-in handed over. A file
/// that is missing or cannot be read adds nothing, and the files are saved even so.
pub(super) fn import(scene: &Scene<'_>, event: &HookEvent, agent: &str) -> Result<TurnFacts, Error> {
    let is_off = scene.settings.transcripts == TranscriptExtent::Off;
    let Some(reader) = agents::named(agent).filter(|_| !is_off) else {
        return Ok(TurnFacts::default());
    };
    let done = match (&event.conversation, &event.transcript) {
        (Some(conversation), _) => import::import(
            scene,
            &MessageFile {
                bytes: conversation.as_bytes(),
                name: &event.session,
                agent: Some(reader),
            },
        ),
        (None, Some(path)) if Path::new(path).is_file() => import::import_file(scene, Path::new(path), reader),
        (None, _) => return Ok(TurnFacts::default()),
    };
    match done {
        Ok(done) => Ok(facts(done)),
        Err(Error::NoMessages { .. }) => Ok(TurnFacts::default()),
        Err(error) => Err(error),
    }
}

fn facts(done: ChatImport) -> TurnFacts {
    let turn = done
        .transcript
        .and_then(|transcript| transcript.turns.into_iter().next_back());
    turn.map_or_else(TurnFacts::default, |turn| TurnFacts {
        prompt: Some(turn.subject),
        model: turn.model,
        tokens: (!turn.tokens.is_zero()).then_some(turn.tokens),
    })
}

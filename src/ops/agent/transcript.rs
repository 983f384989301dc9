//! The new part of an agent's session file, at an event of the agent.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use chrono::TimeDelta;
use serde_json::Map;

use super::super::{
    Error, Scene,
    chat::import::{self, ChatImport, MessageFile},
    redact::Redactor,
    session_choice, transcript_facts,
};
use crate::{
    agents,
    agents::hooks::event::HookEvent,
    model::{
        chat::{Message, Role},
        time::Timestamp,
        turn::{Ending, TokenUsage},
    },
    store::{
        agents::{Binding, OpenTurn},
        config::TranscriptExtent,
    },
};

/// How long the end of a turn waits for the agent to write it into its session file: some report the end first.
const FLUSHED_WITHIN: Duration = Duration::from_millis(1500);
/// How often the file is read in that time.
const FLUSH_STEP: Duration = Duration::from_millis(60);
/// By how much the prompt in the file may be earlier than its report.
const SLACK: TimeDelta = TimeDelta::seconds(5);

/// The facts of the latest turn that only the agent's session file has.
#[derive(Debug, Default)]
pub(super) struct TurnFacts {
    /// The prompt's first line.
    pub(super) prompt: Option<String>,
    /// The model.
    pub(super) model: Option<String>,
    /// The tokens.
    pub(super) tokens: Option<TokenUsage>,
    /// Cost in millionths of a US dollar.
    pub(super) cost_micros: Option<u64>,
    /// The agent's own key of the turn in the file.
    key: Option<String>,
    /// The time of its prompt.
    pub(super) started_at: Option<Timestamp>,
    /// Whether the file has its end.
    has_ended: bool,
    /// The agent's last answer.
    answer: Option<String>,
}

impl TurnFacts {
    /// Whether they are of a later turn than the one with this key.
    pub(super) fn is_of_later_turn(&self, key: Option<&str>) -> bool {
        self.key.is_some() && self.key.as_deref() != key
    }

    /// Notes their turn as the latest that is saved.
    pub(super) fn note_turn(&self, binding: &mut Binding) {
        if self.key.is_some() {
            binding.file_turn.clone_from(&self.key);
        }
    }
}

/// Adds what is new to the chat at the end of a turn, which the agent may not have written yet. `began` is the time at
/// which the prompt was reported.
pub(super) fn import_ended(
    scene: &Scene<'_>,
    event: &HookEvent,
    binding: &mut Binding,
    began: Option<Timestamp>,
) -> Result<TurnFacts, Error> {
    let begun = Instant::now();
    loop {
        let facts = import(scene, event, &binding.agent)?;
        let is_done = event.conversation.is_some()
            || facts.key.is_none() && facts.answer.is_none()
            || is_written(&facts, event, binding, began);
        if is_done || begun.elapsed() >= FLUSHED_WITHIN {
            binding.file_turn.clone_from(&facts.key);
            return Ok(facts);
        }
        std::thread::sleep(FLUSH_STEP);
    }
}

/// Whether the file has the end of the turn: the answer that the agent reported, or else a turn that was not there at the
/// last one's end, and its end.
fn is_written(facts: &TurnFacts, event: &HookEvent, binding: &Binding, began: Option<Timestamp>) -> bool {
    let answer = event.answer.as_deref().map(str::trim);
    if let Some(answer) = answer.filter(|answer| !answer.is_empty()) {
        return facts.answer.as_deref().is_some_and(|text| text.contains(answer));
    }
    let is_new = facts.key != binding.file_turn;
    let is_late = |at: Timestamp| facts.started_at.is_none_or(|started| at.since(started) <= SLACK);
    is_new && facts.has_ended && began.is_none_or(is_late)
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
        Ok(done) => {
            // Steps and tasks are compared with those of the record. Who can read it finds them in the file again.
            let chosen = session_choice::session_for_command(scene)?;
            let is_readable = chosen.is_none_or(|chosen| !chosen.tip.document.is_locked());
            if let Some(found) = done.transcript.as_ref().filter(|_| is_readable) {
                transcript_facts::note(scene, &event.session, found)?;
            }
            Ok(facts(done))
        }
        Err(Error::NoMessages { .. }) => Ok(TurnFacts::default()),
        Err(error) => Err(error),
    }
}

/// The whole prompt of an event, redacted, where there is no session file that has it.
pub(super) fn prompt_to_keep(scene: &Scene<'_>, event: &HookEvent) -> Result<Option<String>, Error> {
    let Some(prompt) = event.prompt.as_ref().filter(|_| has_no_file(event)) else {
        return Ok(None);
    };
    let mut prompt = prompt.clone();
    Redactor::new(scene)?.text(&mut prompt, "prompt");
    Ok(Some(prompt))
}

/// Adds the prompt and the answer of a turn to the chat as the events have them, where the agent has no session file.
pub(super) fn add_reported(
    scene: &Scene<'_>,
    event: &HookEvent,
    binding: &Binding,
    (open, key): (&OpenTurn, &str),
) -> Result<(), Error> {
    let is_off = scene.settings.transcripts == TranscriptExtent::Off;
    // Of an event without an answer the agent may have a file that it does not name there.
    let Some(answer) = event.answer.as_deref().filter(|_| !is_off && has_no_file(event)) else {
        return Ok(());
    };
    let session = binding.agent_session.as_str();
    let message = |role: Role, text: &str, at: Timestamp| Message {
        id: format!("{session}-{key}-{}", role.word()),
        at,
        role,
        agent: Some(binding.agent.clone()),
        content: text.into(),
        meta: Map::from_iter([("session".to_owned(), session.into()), ("turn".to_owned(), key.into())]),
        unknown: Map::new(),
    };
    let prompt = open
        .prompt
        .as_deref()
        .map(|text| message(Role::User, text, open.started_at));
    let answer = message(Role::Assistant, answer, scene.now);
    import::add_reported(scene, prompt.into_iter().chain([answer]).collect())?;
    Ok(())
}

fn has_no_file(event: &HookEvent) -> bool {
    let is_file = |path: &String| Path::new(path).is_file();
    event.conversation.is_none() && !event.transcript.as_ref().is_some_and(is_file)
}

fn facts(done: ChatImport) -> TurnFacts {
    let Some(found) = done.transcript else {
        return TurnFacts::default();
    };
    let answer = found.answer;
    let Some(turn) = found.turns.into_iter().next_back() else {
        return TurnFacts {
            answer,
            ..TurnFacts::default()
        };
    };
    TurnFacts {
        prompt: Some(turn.subject),
        model: turn.model,
        tokens: (!turn.tokens.is_zero()).then_some(turn.tokens),
        cost_micros: turn.cost_micros,
        key: Some(turn.key),
        started_at: Some(turn.started_at),
        has_ended: turn.ending != Ending::Open,
        answer,
    }
}

//! Turns that an agent left open: its session ended in the turn, or it was killed.

use std::time::Duration;

use super::{TurnEnd, key_of, process, save_turn, transcript};
use crate::{
    agents::hooks::event::{HookEvent, Occasion},
    model::{document::Document, time::Timestamp, turn::Ending},
    ops::{Error, Scene, receipt::CheckpointOutcome, save},
    os,
    store::{
        agents::{self as bindings, Binding, OpenTurn},
        lock::HeldLock,
    },
};

/// How a turn came to no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnBreak {
    /// The process of the agent ended without a report.
    Killed,
    /// The agent reported the end of its session in the turn.
    Ended,
    /// It was saved as interrupted.
    Interrupted,
}

/// A turn without an end that the state of a session comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenTurn {
    /// The agent.
    pub agent: String,
    /// The time of the prompt, where it is known.
    pub began: Option<Timestamp>,
    /// How it came to no end.
    pub how: TurnBreak,
}

/// The turn without an end that the latest state of a session comes from, for who continues there. `document` is the
/// session's latest checkpoint; of its own turns `reader`, an agent and its session, knows.
pub fn broken_turn(
    scene: &Scene<'_>,
    document: &Document,
    reader: Option<(&str, &str)>,
) -> Result<Option<BrokenTurn>, Error> {
    let reader = reader.unwrap_or_default();
    let scope = os::process_scope();
    let bindings = bindings::all(scene.repo)?.into_iter();
    let open = bindings
        .filter(|other| is_left_open(other, &document.session.id, reader, scope.as_deref()))
        .find_map(|other| {
            let how = if other.ended {
                TurnBreak::Ended
            } else {
                TurnBreak::Killed
            };
            let began = Some(other.turn?.started_at);
            Some(BrokenTurn {
                agent: other.agent,
                began,
                how,
            })
        });
    let saved = document.turn.as_ref().filter(|turn| {
        turn.outcome == Ending::Interrupted && (turn.agent.as_str(), turn.agent_session.as_str()) != reader
    });
    Ok(open.or_else(|| {
        saved.map(|turn| BrokenTurn {
            agent: turn.agent.clone(),
            began: turn.started_at,
            how: TurnBreak::Interrupted,
        })
    }))
}

/// Whether another agent session than the reader's left a turn in a session open when it ended or was killed.
fn is_left_open(other: &Binding, session: &str, reader: (&str, &str), scope: Option<&str>) -> bool {
    other.turn.is_some()
        && (other.agent.as_str(), other.agent_session.as_str()) != reader
        && other.session.as_ref().is_some_and(|bound| bound.id == session)
        && (other.ended || process::has_ended(other, scope))
}

/// A turn in this session of another agent session, which ended or was killed in the turn.
pub(super) struct KilledTurn {
    binding: Binding,
    open: OpenTurn,
    _ordered: HeldLock,
}

/// The turn in the session of a binding that another agent session left open when it ended or was killed.
pub(super) fn killed_turn(
    scene: &Scene<'_>,
    event: &HookEvent,
    binding: &Binding,
) -> Result<Option<KilledTurn>, Error> {
    let Some(session) = &binding.session else {
        return Ok(None);
    };
    let scope = os::process_scope();
    let reader = (binding.agent.as_str(), event.session.as_str());
    let is_killed = |other: &Binding| is_left_open(other, &session.id, reader, scope.as_deref());
    for other in bindings::all(scene.repo)?.iter().filter(|other| is_killed(other)) {
        // A worker of its that still runs saves it.
        let Ok(lock) = bindings::lock(scene.repo, &other.agent, &other.agent_session, Duration::ZERO) else {
            continue;
        };
        let mut binding = bindings::read(scene.repo, &other.agent, &other.agent_session);
        if is_killed(&binding)
            && let Some(open) = binding.turn.take()
        {
            return Ok(Some(KilledTurn {
                binding,
                open,
                _ordered: lock,
            }));
        }
    }
    Ok(None)
}

impl KilledTurn {
    /// Saves the turn as interrupted: what changed since its prompt is the work of the killed agent and not a person's.
    pub(super) fn save(
        &mut self,
        scene: &Scene<'_>,
        event: &HookEvent,
        early: Option<save::EarlyFiles>,
    ) -> Result<CheckpointOutcome, Error> {
        let agent = self.binding.agent.clone();
        let scene = &Scene {
            agent: Some(&agent),
            ..*scene
        };
        let report = HookEvent {
            occasion: Occasion::Interruption,
            session: self.binding.agent_session.clone(),
            transcript: self.binding.transcript.clone(),
            conversation: None,
            turn: None,
            prompt: None,
            answer: None,
            model: None,
            source: None,
            helper: None,
            is_continued: false,
            cwd: event.cwd.clone(),
        };
        transcript::import(scene, &report, &agent)?;
        let key = key_of(&self.open);
        let outcome = save_turn(scene, TurnEnd::interrupted(&self.binding, &self.open, &key), early)?;
        self.binding.remember(&key);
        self.binding.ended = true;
        bindings::write(scene.repo, &self.binding)?;
        Ok(outcome)
    }
}

//! Coding agents at work: what each event of their hooks does here.
//!
//! An agent's session is bound to a session here by the agent's own id. Its prompt saves what changed since the last
//! turn, which is also the exact state before the turn; the end of a turn saves the files and the new part of the
//! conversation. Events come doubled, late, concurrently and out of order: one lock for each agent session orders them,
//! and a turn has a key, so that a second report of it saves nothing.

pub mod enrollment;
pub mod resumption;
pub mod running;
pub mod setup;
mod transcript;
pub mod trust;
pub mod turns;
pub mod version;

use std::time::Duration;

use chrono::TimeDelta;
use sha2::{Digest as _, Sha256};

use super::{
    Error, Scene,
    receipt::CheckpointOutcome,
    redact::Redactor,
    save,
    session_choice::{self, SessionChoice},
    start,
};
use crate::{
    agents::hooks::{
        adapter::{self, Adapter},
        event::{HookEvent, Occasion},
    },
    model::{
        agent_turn::{self, AgentTurn},
        chat::hex,
        document::CheckpointKind,
        name::ShortName,
        time::Timestamp,
        turn::Ending,
    },
    store::{
        self, ObjectId, agent_queue,
        agents::{self as bindings, Binding, LastEvent, OpenTurn},
        checkpoint::oid,
        current::SessionRef,
        worktree_id,
    },
};

/// The trigger of a checkpoint before a compaction.
const COMPACTION: &str = "pre-compact";
/// How long a session of an agent without events stays bound.
const KEPT_DAYS: i64 = 90;
/// An event that waited so long for earlier ones is late: the files of its time may be others by now.
const LATE: Duration = Duration::from_millis(300);
/// How far apart two reports of one prompt may be.
const HALVES: TimeDelta = TimeDelta::seconds(10);

/// The result of an event.
#[derive(Debug)]
pub enum EventOutcome {
    /// Nothing was to be done, for this reason.
    Ignored(&'static str),
    /// The agent's session is bound to this session.
    Bound(ShortName),
    /// A checkpoint was saved.
    Saved(ShortName, ObjectId),
    /// There was nothing new to save.
    Unchanged(ShortName),
}

impl EventOutcome {
    /// The word and the detail for the log.
    fn words(&self) -> (&'static str, String) {
        match self {
            Self::Ignored(reason) => ("ignored", (*reason).to_owned()),
            Self::Bound(session) => ("bound", session.to_string()),
            Self::Saved(_, id) => ("saved", id.to_string()),
            Self::Unchanged(session) => ("unchanged", session.to_string()),
        }
    }
}

/// Draws a ticket for an event whose worker runs in the background, so that it keeps its place.
pub fn draw_ticket(scene: &Scene<'_>, adapter: &Adapter, event: &HookEvent) -> Result<String, Error> {
    Ok(agent_queue::draw(scene.repo, adapter.name, &event.session, scene.now)?)
}

/// Gives back a ticket whose worker could not be started.
pub fn give_ticket_back(scene: &Scene<'_>, ticket: &str) {
    agent_queue::give_back(scene.repo, ticket);
}

/// Does what an event asks for, behind those with an earlier ticket, and notes how it went with the agent's session.
pub fn handle(
    scene: &Scene<'_>,
    adapter: &Adapter,
    event: &HookEvent,
    ticket: Option<&str>,
    took: &dyn Fn() -> u64,
) -> Result<EventOutcome, Error> {
    if event.helper.is_some() {
        if let Some(ticket) = ticket {
            agent_queue::give_back(scene.repo, ticket);
        }
        return Ok(EventOutcome::Ignored("it belongs to a sub-agent"));
    }
    let held = match ticket {
        Some(ticket) => agent_queue::wait_for_turn(scene.repo, adapter.name, &event.session, ticket, scene.wait)?,
        None => None,
    };
    let _ordered = bindings::lock(scene.repo, adapter.name, &event.session, scene.wait)?;
    let mut binding = bindings::read(scene.repo, adapter.name, &event.session);
    let scene = &Scene {
        agent: Some(adapter.name),
        ..*scene
    };
    let is_late = held.as_ref().is_some_and(|ticket| ticket.waited >= LATE);
    let result = act(scene, event, &mut binding, is_late);
    let (outcome, detail) = match &result {
        Ok(outcome) => outcome.words(),
        Err(error) => ("failed", error.to_string()),
    };
    binding.worktree = worktree_id(scene.repo);
    if event.transcript.is_some() {
        binding.transcript.clone_from(&event.transcript);
    }
    binding.ended = event.occasion == Occasion::SessionEnd;
    let last = LastEvent {
        occasion: event.occasion.word().to_owned(),
        at: scene.now,
        outcome: outcome.to_owned(),
        detail,
        took: took(),
    };
    if result.is_err() {
        binding.error = Some(last.clone());
    }
    binding.last = Some(last);
    bindings::write(scene.repo, &binding)?;
    if event.occasion == Occasion::SessionStart {
        let before = scene.now.to_chrono() - TimeDelta::days(KEPT_DAYS);
        if let Some(before) = Timestamp::from_unix_millis(before.timestamp_millis()) {
            bindings::clean(scene.repo, before)?;
        }
    }
    result
}

/// The failures of hooks that were not reported yet; they count as reported from here on.
pub fn take_errors(scene: &Scene<'_>) -> Result<Vec<Binding>, Error> {
    let mut failed = bindings::all(scene.repo)?;
    failed.retain(|binding| binding.error.is_some());
    for binding in &failed {
        bindings::forget_error(scene.repo, binding, scene.wait)?;
    }
    Ok(failed)
}

fn act(scene: &Scene<'_>, event: &HookEvent, binding: &mut Binding, is_late: bool) -> Result<EventOutcome, Error> {
    match event.occasion {
        Occasion::SessionEnd => Ok(EventOutcome::Ignored("the agent's session ended")),
        Occasion::SessionStart => Ok(EventOutcome::Bound(bound(scene, binding)?)),
        Occasion::Prompt => prompt(scene, event, binding, is_late),
        Occasion::TurnEnd => turn_end(scene, event, binding, Ending::Done, is_late),
        Occasion::Interruption => turn_end(scene, event, binding, Ending::Interrupted, is_late),
        Occasion::Failure => turn_end(scene, event, binding, Ending::Failed, is_late),
        Occasion::Compaction => {
            let name = bound(scene, binding)?;
            let scene = &in_session(scene, &name);
            transcript::import(scene, event, &binding.agent)?;
            let mut request = request(CheckpointKind::Event, "before the agent compacts its context");
            request.trigger = Some(COMPACTION.to_owned());
            // A mark in the history, also where all is saved; a second report of the same one makes none.
            let tip = session_choice::session_for_command(scene)?;
            request.allow_empty = tip.is_some_and(|chosen| chosen.tip.document.trigger.as_deref() != Some(COMPACTION));
            let outcome = save::save(scene, request)?;
            Ok(saved(name.clone(), outcome))
        }
    }
}

/// The scene of an operation on the bound session, which leaves the current one as it is.
fn in_session<'a>(scene: &Scene<'a>, name: &'a ShortName) -> Scene<'a> {
    Scene {
        session: Some(name),
        session_is_of_environment: false,
        ..*scene
    }
}

fn request(kind: CheckpointKind, summary: &str) -> save::SaveRequest {
    let mut request = save::SaveRequest::new(kind);
    request.summary = Some(summary.to_owned());
    request
}

fn saved(name: ShortName, outcome: CheckpointOutcome) -> EventOutcome {
    match outcome {
        CheckpointOutcome::Saved(receipt) => match receipt.id {
            Some(id) => EventOutcome::Saved(name, id),
            None => EventOutcome::Unchanged(name),
        },
        CheckpointOutcome::Planned(_) | CheckpointOutcome::Unchanged(_) => EventOutcome::Unchanged(name),
    }
}

/// Saves what changed since the last turn, and notes that a turn begins.
fn prompt(scene: &Scene<'_>, event: &HookEvent, binding: &mut Binding, is_late: bool) -> Result<EventOutcome, Error> {
    let name = bound(scene, binding)?;
    let is_same = |open: &OpenTurn| {
        let is_keyed = open.key.is_some() && open.key == event.turn;
        is_keyed || open.key.is_none() && event.turn.is_none() && is_other_half(scene, open, event)
    };
    if let Some(open) = binding.turn.as_mut().filter(|open| is_same(open)) {
        if let Some(prompt) = event.prompt.as_deref().filter(|_| open.has_no_subject()) {
            open.subject = redacted_subject(scene, prompt)?;
        }
        return Ok(EventOutcome::Ignored("the prompt was reported before"));
    }
    let scene = &in_session(scene, &name);
    let outcome = match binding.turn.take() {
        // Its end was never reported: the agent was interrupted or killed.
        Some(open) => {
            let key = key_of(&open);
            transcript::import(scene, event, &binding.agent)?;
            let outcome = save_turn(scene, binding, &open, &key, Ending::Interrupted, None)?;
            binding.remember(&key);
            Some(outcome)
        }
        // The agent is at work since: its edits are not taken for a person's.
        None if is_late => None,
        None => Some(save::save(scene, request(CheckpointKind::Edit, "edits between turns"))?),
    };
    let began = match &outcome {
        Some(CheckpointOutcome::Saved(receipt)) => receipt.id,
        _ => None,
    };
    let subject = redacted_subject(scene, event.prompt.as_deref().unwrap_or_default())?;
    binding.prompts += 1;
    binding.turn = Some(OpenTurn {
        key: event.turn.clone(),
        number: binding.prompts,
        subject,
        started_at: scene.now,
        began: match began {
            Some(id) => Some(oid(id)),
            None => tip(scene)?.map(oid),
        },
        inexact: is_late,
    });
    Ok(match outcome {
        Some(outcome) => saved(name.clone(), outcome),
        None => EventOutcome::Unchanged(name.clone()),
    })
}

/// Whether this is another report of the prompt of an open turn: some agents report the start of the work and the prompt
/// apart, in either order, one of them without words.
fn is_other_half(scene: &Scene<'_>, open: &OpenTurn, event: &HookEvent) -> bool {
    open.has_no_subject() != event.prompt.is_none() && scene.now.since(open.started_at) <= HALVES
}

fn redacted_subject(scene: &Scene<'_>, prompt: &str) -> Result<String, Error> {
    let mut subject = agent_turn::subject_of(prompt);
    Redactor::new(scene)?.text(&mut subject, "prompt");
    Ok(subject)
}

/// The latest checkpoint of the bound session.
fn tip(scene: &Scene<'_>) -> Result<Option<ObjectId>, Error> {
    Ok(session_choice::session_for_command(scene)?.map(|chosen| chosen.tip.entry.id))
}

/// Saves a turn: the new part of the conversation and the files.
fn turn_end(
    scene: &Scene<'_>,
    event: &HookEvent,
    binding: &mut Binding,
    outcome: Ending,
    is_late: bool,
) -> Result<EventOutcome, Error> {
    let name = bound(scene, binding)?;
    let scene = &in_session(scene, &name);
    let open = binding
        .turn
        .take_if(|open| event.turn.is_none() || open.key.is_none() || open.key == event.turn);
    let key = match (&event.turn, &open) {
        (Some(key), _) => key.clone(),
        (None, Some(open)) => key_of(open),
        (None, None) => format!("prompt-{}", binding.prompts),
    };
    if binding.saved.contains(&key) || is_saved(scene, binding, &key)? {
        return Ok(EventOutcome::Unchanged(name));
    }
    let facts = if outcome == Ending::Done {
        transcript::import_ended(scene, event, binding, open.as_ref().map(|open| open.started_at))?
    } else {
        transcript::import(scene, event, &binding.agent)?
    };
    let in_file = facts.prompt.as_deref();
    let in_file = in_file.map(|prompt| redacted_subject(scene, prompt)).transpose()?;
    let mut open = open.unwrap_or_else(|| OpenTurn {
        key: event.turn.clone(),
        number: binding.prompts,
        subject: in_file.clone().unwrap_or_else(|| "turn".to_owned()),
        started_at: scene.now,
        began: None,
        inexact: false,
    });
    if let Some(subject) = in_file.filter(|_| open.has_no_subject()) {
        open.subject = subject;
    }
    open.inexact |= is_late;
    let made = save_turn(scene, binding, &open, &key, outcome, Some((event, facts)))?;
    binding.remember(&key);
    Ok(saved(name.clone(), made))
}

fn save_turn(
    scene: &Scene<'_>,
    binding: &Binding,
    open: &OpenTurn,
    key: &str,
    outcome: Ending,
    from: Option<(&HookEvent, transcript::TurnFacts)>,
) -> Result<CheckpointOutcome, Error> {
    let mut request = request(CheckpointKind::Turn, &open.subject);
    let (model, tokens, cost_micros) = from.map_or((None, None, None), |(event, facts)| {
        (
            facts.model.or_else(|| event.model.clone()),
            facts.tokens,
            facts.cost_micros,
        )
    });
    // A commit or a save of the agent itself may have been the end of what it did.
    let now = tip(scene)?.map(oid);
    let began = open.began.clone().filter(|began| now.as_ref() != Some(began));
    // What it did may be in a snapshot that was taken late.
    request.allow_empty = began.is_some() || open.inexact;
    request.turn = Some(AgentTurn {
        began,
        agent: binding.agent.clone(),
        agent_session: binding.agent_session.clone(),
        key: key.to_owned(),
        subject: open.subject.clone(),
        started_at: Some(open.started_at),
        ended_at: Some(scene.now),
        outcome,
        model,
        tokens,
        cost_micros,
        inexact: open.inexact,
        ..AgentTurn::default()
    });
    save::save(scene, request)
}

fn key_of(open: &OpenTurn) -> String {
    open.key.clone().unwrap_or_else(|| format!("prompt-{}", open.number))
}

/// Whether the latest checkpoint is of this turn, in case the binding was lost after it was saved.
fn is_saved(scene: &Scene<'_>, binding: &Binding, key: &str) -> Result<bool, Error> {
    let tip = session_choice::session_for_command(scene)?;
    let turn = tip.as_ref().and_then(|tip| tip.tip.document.turn.as_ref());
    Ok(turn.is_some_and(|turn| turn.agent_session == binding.agent_session && turn.key == key))
}

/// The session that the agent's checkpoints go to: the one it is bound to; else the current one of the branch, unless
/// another agent works in it; else, where none is current, the one that was paused last on this branch, which becomes
/// current again; else a new one.
fn bound(scene: &Scene<'_>, binding: &mut Binding) -> Result<ShortName, Error> {
    let open = |chosen: &SessionChoice| !chosen.tip.document.session.status.is_finished();
    if let Some(session) = &binding.session
        && let Some(chosen) = session_choice::by_identity(scene, session)?.filter(open)
    {
        return Ok(chosen.name);
    }
    let current = session_choice::session_for_command(scene)?.filter(open);
    let is_free = match &current {
        Some(chosen) => !is_taken(scene, binding, &chosen.tip.document.session.id)?,
        None => true,
    };
    if let Some(chosen) = current.filter(|_| is_free) {
        binding.session = Some(SessionRef {
            id: chosen.tip.document.session.id,
            name: chosen.name.clone(),
        });
        return Ok(chosen.name);
    }
    if is_free && let Some(paused) = paused(scene, binding)? {
        // As with a save of a person: what was paused on this branch continues.
        start::make_current(scene, &paused.tip.document, &paused.name)?;
        binding.session = Some(SessionRef {
            id: paused.tip.document.session.id.clone(),
            name: paused.name.clone(),
        });
        return Ok(paused.name);
    }
    let request = start::StartRequest {
        name: None,
        session: serde_json::json!({ "agent": binding.agent }),
        if_missing: false,
        dry_run: false,
    };
    let scene = &Scene {
        session: None,
        ..*scene
    };
    let started = if is_free {
        start::start(scene, request)?
    } else {
        start::create(scene, request, false)?
    };
    binding.session = Some(SessionRef {
        id: started.document.session.id.clone(),
        name: started.name.clone(),
    });
    Ok(started.name)
}

/// The session last paused on this branch in this working tree, unless another agent works in it.
fn paused(scene: &Scene<'_>, binding: &Binding) -> Result<Option<SessionChoice>, Error> {
    if scene.session.is_some() {
        return Ok(None);
    }
    let branch = store::facts::branch(scene.repo)?;
    let worktree = worktree_id(scene.repo);
    let (found, _) = session_choice::paused_here(scene, branch.as_deref(), &worktree)?;
    let Some(chosen) = found else { return Ok(None) };
    let is_taken = is_taken(scene, binding, &chosen.tip.document.session.id)?;
    Ok(Some(chosen).filter(|_| !is_taken))
}

/// Whether another session of an agent is at work in this session. One that reports its end and has not is, until it
/// has been silent for long; of the others one whose turn has not ended.
fn is_taken(scene: &Scene<'_>, binding: &Binding, id: &str) -> Result<bool, Error> {
    let silent = |other: &Binding| {
        other
            .last
            .as_ref()
            .is_none_or(|last| scene.now.since(last.at).to_std().unwrap_or_default() > scene.settings.interrupted_after)
    };
    let reports_end = |other: &Binding| {
        adapter::named(&other.agent).is_some_and(|adapter| {
            adapter
                .events
                .iter()
                .any(|(_, occasion)| *occasion == Occasion::SessionEnd)
        })
    };
    Ok(bindings::all(scene.repo)?.iter().any(|other| {
        (&other.agent, &other.agent_session) != (&binding.agent, &binding.agent_session)
            && other.session.as_ref().is_some_and(|session| session.id == id)
            && !other.ended
            && !silent(other)
            && (other.turn.is_some() || reports_end(other))
    }))
}

/// The sessions of agents that are bound here, the latest event first.
pub fn bindings(scene: &Scene<'_>) -> Result<Vec<Binding>, Error> {
    Ok(bindings::all(scene.repo)?)
}

/// The session that an agent's session is bound to, if it still exists.
pub fn session_of(scene: &Scene<'_>, adapter: &Adapter, event: &HookEvent) -> Result<Option<ShortName>, Error> {
    let binding = bindings::read(scene.repo, adapter.name, &event.session);
    let Some(session) = &binding.session else {
        return Ok(None);
    };
    Ok(session_choice::by_identity(scene, session)?.map(|chosen| chosen.name))
}

/// Notes that an agent's session has this context: what it was given back is all that it is to know.
pub fn mark_known(scene: &Scene<'_>, agent: &str, agent_session: &str, context: &str) -> Result<(), Error> {
    let _ordered = bindings::lock(scene.repo, agent, agent_session, scene.wait)?;
    let mut binding = bindings::read(scene.repo, agent, agent_session);
    binding.injected = Some(hex(&Sha256::digest(context)));
    Ok(bindings::write(scene.repo, &binding)?)
}

/// Whether this context differs from the one that the agent's session got last; it counts as injected then. Agents keep
/// what was injected, so the same context again would only pile up. A fresh context, after a compaction or a clear, has
/// none of it.
pub fn is_news(scene: &Scene<'_>, adapter: &Adapter, event: &HookEvent, context: &str) -> Result<bool, Error> {
    let _ordered = bindings::lock(scene.repo, adapter.name, &event.session, scene.wait)?;
    let mut binding = bindings::read(scene.repo, adapter.name, &event.session);
    let digest = hex(&Sha256::digest(context));
    let is_emptied = matches!(event.source.as_deref(), Some("compact" | "clear"));
    if binding.injected.as_deref() == Some(&digest) && !is_emptied {
        return Ok(false);
    }
    binding.injected = Some(digest);
    bindings::write(scene.repo, &binding)?;
    Ok(true)
}

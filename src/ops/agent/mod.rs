//! Coding agents at work: what each event of their hooks does here.
//!
//! An agent's session is bound to a session here by the agent's own id. Its prompt saves what changed since the last
//! turn, which is also the exact state before the turn; the end of a turn saves the files and the new part of the
//! conversation. Events come doubled, late, concurrently and out of order: one lock for each agent session orders them,
//! and a turn has a key, so that a second report of it saves nothing. The files are read before anything is waited for.
//! The end of a turn whose prompt was not reported saves what changed.

mod early;
pub mod enrollment;
mod killed;
pub mod process;
pub mod resumption;
pub mod running;
mod session;
pub mod setup;
mod transcript;
pub mod trust;
pub mod turns;
pub mod version;

use std::time::Duration;

use chrono::TimeDelta;
use sha2::{Digest as _, Sha256};

pub use self::killed::{BrokenTurn, TurnBreak, broken_turn};
use self::{early::EventFiles, killed::killed_turn, session::bound};
use super::{Error, Scene, conclude, fork_notes, receipt::CheckpointOutcome, redact::Redactor, save, session_choice};
use crate::{
    agents::hooks::{
        adapter::Adapter,
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
        ObjectId, agent_queue,
        agents::{self as bindings, AgentProcess, Binding, LastEvent, OpenTurn, UnannouncedTurn},
        checkpoint::oid,
        worktree_id,
    },
};

/// The trigger of a checkpoint before a compaction.
const COMPACTION: &str = "pre-compact";
/// How long a session of an agent without events stays bound.
const KEPT_DAYS: i64 = 90;
/// An event whose files are read so long after it is late: the files of its time may be others by now.
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

/// The part of an event that does not come from its payload.
#[derive(Clone, Debug, Default)]
pub struct EventContext {
    /// The ticket that was drawn for it.
    pub ticket: Option<String>,
    /// The process of the agent, as far as this event shows it.
    pub process: Option<AgentProcess>,
}

/// Does what an event asks for, behind those with an earlier ticket, and notes how it went with the agent's session.
pub fn handle(
    scene: &Scene<'_>,
    adapter: &Adapter,
    event: &HookEvent,
    context: EventContext,
    took: &dyn Fn() -> u64,
) -> Result<EventOutcome, Error> {
    let ticket = context.ticket.as_deref();
    if event.helper.is_some() {
        if let Some(ticket) = ticket {
            agent_queue::give_back(scene.repo, ticket);
        }
        return Ok(EventOutcome::Ignored("it belongs to a sub-agent"));
    }
    let scene = &Scene {
        agent: Some(adapter.name),
        ..*scene
    };
    // The files of this moment, before other events are waited for.
    let mut files = EventFiles::read(scene, adapter, event, ticket);
    let held = match ticket {
        Some(ticket) => agent_queue::wait_for_turn(scene.repo, adapter.name, &event.session, ticket, scene.wait)?,
        None => None,
    };
    let _ordered = bindings::lock(scene.repo, adapter.name, &event.session, scene.wait)?;
    let mut binding = bindings::read(scene.repo, adapter.name, &event.session);
    files.is_late |= files.early.is_none() && held.as_ref().is_some_and(|ticket| ticket.waited >= LATE);
    if let Some(seen) = context.process {
        binding.process = Some(process::after_event(binding.process.as_ref(), seen));
    }
    let result = act(scene, event, &mut binding, files);
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

fn act(scene: &Scene<'_>, event: &HookEvent, binding: &mut Binding, files: EventFiles) -> Result<EventOutcome, Error> {
    if fork_notes::here(scene)?.is_some() {
        return Ok(EventOutcome::Ignored("the working tree of this fork is not complete"));
    }
    match event.occasion {
        Occasion::SessionEnd => Ok(EventOutcome::Ignored("the agent's session ended")),
        Occasion::SessionStart => Ok(EventOutcome::Bound(bound(scene, binding)?)),
        Occasion::Prompt => prompt(scene, event, binding, files),
        Occasion::TurnEnd => turn_end(scene, event, binding, Ending::Done, files),
        Occasion::Interruption => turn_end(scene, event, binding, Ending::Interrupted, files),
        Occasion::Failure => turn_end(scene, event, binding, Ending::Failed, files),
        Occasion::Compaction => {
            let name = bound(scene, binding)?;
            let scene = &in_session(scene, &name);
            transcript::import(scene, event, &binding.agent)?;
            let mut request = request(CheckpointKind::Event, "before the agent compacts its context");
            request.trigger = Some(COMPACTION.to_owned());
            // A mark in the history, also where all is saved; a second report of the same one makes none.
            let tip = session_choice::session_for_command(scene)?;
            request.allow_empty = tip.is_some_and(|chosen| chosen.tip.document.trigger.as_deref() != Some(COMPACTION));
            let outcome = save::save_early(scene, request, files.early)?;
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
fn prompt(
    scene: &Scene<'_>,
    event: &HookEvent,
    binding: &mut Binding,
    files: EventFiles,
) -> Result<EventOutcome, Error> {
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
    let subject = redacted_subject(scene, event.prompt.as_deref().unwrap_or_default())?;
    if is_behind_its_end(scene, event, binding, &subject) {
        return Ok(EventOutcome::Ignored("its turn was saved before"));
    }
    let scene = &in_session(scene, &name);
    let outcome = match binding.turn.take() {
        // Its end was never reported: the agent was interrupted or killed.
        Some(open) => {
            let key = key_of(&open);
            transcript::import(scene, event, &binding.agent)?;
            let ended = TurnEnd::interrupted(binding, &open, &key);
            let outcome = save_turn(scene, ended, files.early)?;
            binding.remember(&key);
            Some(outcome)
        }
        // The agent is at work since: its edits are not taken for a person's.
        None if files.is_late => None,
        None => Some(match killed_turn(scene, event, binding)? {
            Some(mut killed) => killed.save(scene, event, files.early)?,
            None => save_edits(scene, files.early)?,
        }),
    };
    let began = match &outcome {
        Some(CheckpointOutcome::Saved(receipt)) => receipt.id,
        _ => None,
    };
    binding.prompts += 1;
    binding.unannounced = None;
    binding.turn = Some(OpenTurn {
        key: event.turn.clone(),
        number: binding.prompts,
        subject,
        prompt: transcript::prompt_to_keep(scene, event)?,
        started_at: scene.now,
        began: match began {
            Some(id) => Some(oid(id)),
            None => tip(scene)?.map(oid),
        },
        inexact: files.is_late,
    });
    Ok(match outcome {
        Some(outcome) => saved(name.clone(), outcome),
        None => EventOutcome::Unchanged(name.clone()),
    })
}

fn save_edits(scene: &Scene<'_>, early: Option<save::EarlyFiles>) -> Result<CheckpointOutcome, Error> {
    let chosen = session_choice::session_for_command(scene)?;
    // Without a turn before there is nothing between turns.
    let is_first = match &chosen {
        Some(chosen) => {
            chosen.tip.document.kind == CheckpointKind::Start && save::deferred::latest(scene, chosen)?.is_none()
        }
        None => true,
    };
    let subject = if is_first {
        "state before the first turn"
    } else {
        "edits between turns"
    };
    let request = request(CheckpointKind::Edit, subject);
    let mut outcome = save::save_early(scene, request, early)?;
    conclude::conclude(scene, &mut outcome);
    Ok(outcome)
}

/// Whether the end of a prompt's turn came first: by the key of the turn; of an agent without keys by the prompt, which
/// its session file had when the end was saved.
fn is_behind_its_end(scene: &Scene<'_>, event: &HookEvent, binding: &Binding, subject: &str) -> bool {
    match &event.turn {
        Some(key) => binding.saved.contains(key),
        None => binding
            .unannounced
            .as_ref()
            .is_some_and(|turn| turn.subject == subject && scene.now.since(turn.at) <= HALVES),
    }
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

/// The latest checkpoint of the bound session, or the one that waits for the key to be put behind it.
fn tip(scene: &Scene<'_>) -> Result<Option<ObjectId>, Error> {
    let Some(chosen) = session_choice::session_for_command(scene)? else {
        return Ok(None);
    };
    Ok(Some(
        save::deferred::latest(scene, &chosen)?.unwrap_or(chosen.tip.entry.id),
    ))
}

/// Saves a turn: the new part of the conversation and the files.
fn turn_end(
    scene: &Scene<'_>,
    event: &HookEvent,
    binding: &mut Binding,
    outcome: Ending,
    files: EventFiles,
) -> Result<EventOutcome, Error> {
    let name = bound(scene, binding)?;
    let scene = &in_session(scene, &name);
    let open = binding
        .turn
        .take_if(|open| event.turn.is_none() || open.key.is_none() || open.key == event.turn);
    let mut key = match (&event.turn, &open) {
        (Some(key), _) => key.clone(),
        (None, Some(open)) => key_of(open),
        // Nothing names it, so what changed decides whether it was reported before.
        (None, None) => format!("end-{}", scene.now.to_chrono().timestamp_millis()),
    };
    let is_repeated = binding.saved.contains(&key) || is_saved(scene, binding, &key)?;
    if is_repeated && !event.is_continued {
        return Ok(EventOutcome::Unchanged(name));
    }
    if is_repeated {
        // What came after the first end is the agent's as well.
        key = format!("{key}~{}", scene.now.to_chrono().timestamp_millis());
    }
    let is_announced = open.is_some() || is_repeated;
    let before = binding.file_turn.clone();
    let is_awaited = is_announced || event.turn.is_some() || !is_repeated_end(scene, binding);
    let mut facts = if outcome == Ending::Done && is_awaited {
        transcript::import_ended(scene, event, binding, open.as_ref().map(|open| open.started_at))?
    } else {
        transcript::import(scene, event, &binding.agent)?
    };
    if !is_announced && !facts.is_of_later_turn(before.as_deref()) {
        // The session file ends with a turn that is saved: this one is not in it.
        facts = transcript::TurnFacts::default();
    }
    if is_repeated {
        // They are counted with the first end.
        (facts.tokens, facts.cost_micros) = (None, None);
    }
    let in_file = facts.prompt.as_deref().or(event.prompt.as_deref());
    let in_file = in_file.map(|prompt| redacted_subject(scene, prompt)).transpose()?;
    let mut open = open.unwrap_or_else(|| OpenTurn {
        key: event.turn.clone(),
        number: binding.prompts,
        // Without a prompt, the files that changed give the subject.
        subject: String::new(),
        prompt: None,
        started_at: facts.started_at.filter(|at| *at < scene.now).unwrap_or(scene.now),
        began: None,
        inexact: false,
    });
    if open.prompt.is_none() {
        open.prompt = transcript::prompt_to_keep(scene, event)?;
    }
    if let Some(subject) = in_file.filter(|_| open.has_no_subject() || open.subject.is_empty()) {
        open.subject = subject;
    }
    if is_awaited {
        transcript::add_reported(scene, event, binding, (&open, &key))?;
    }
    open.inexact |= files.is_late || files.is_unsettled;
    if !is_awaited {
        facts.note_turn(binding);
    }
    let ended = TurnEnd {
        binding,
        open: &open,
        key: &key,
        outcome,
        is_announced,
        report: Some((event, facts)),
    };
    let made = saved(name.clone(), save_turn(scene, ended, files.early)?);
    if is_announced || event.turn.is_some() {
        binding.remember(&key);
    }
    if !is_announced && matches!(made, EventOutcome::Saved(..)) {
        binding.unannounced = Some(UnannouncedTurn {
            subject: open.subject,
            at: scene.now,
        });
    }
    Ok(made)
}

/// Whether the event before was the end of a turn a moment ago: most likely this is another report of it, for which no
/// session file has to be waited for.
fn is_repeated_end(scene: &Scene<'_>, binding: &Binding) -> bool {
    binding.last.as_ref().is_some_and(|last| {
        let ends = [Occasion::TurnEnd, Occasion::Interruption, Occasion::Failure];
        ends.iter().any(|end| end.word() == last.occasion) && scene.now.since(last.at) <= HALVES
    })
}

/// The end of a turn, as it is saved.
struct TurnEnd<'a> {
    binding: &'a Binding,
    open: &'a OpenTurn,
    key: &'a str,
    outcome: Ending,
    /// Whether its prompt was reported.
    is_announced: bool,
    /// The event, and what the session file has about the turn.
    report: Option<(&'a HookEvent, transcript::TurnFacts)>,
}

impl<'a> TurnEnd<'a> {
    /// The end of a turn that was never reported.
    fn interrupted(binding: &'a Binding, open: &'a OpenTurn, key: &'a str) -> Self {
        Self {
            binding,
            open,
            key,
            outcome: Ending::Interrupted,
            is_announced: true,
            report: None,
        }
    }
}

fn save_turn(
    scene: &Scene<'_>,
    ended: TurnEnd<'_>,
    early: Option<save::EarlyFiles>,
) -> Result<CheckpointOutcome, Error> {
    let (binding, open) = (ended.binding, ended.open);
    let mut request = save::SaveRequest::new(CheckpointKind::Turn);
    request.summary = Some(open.subject.clone()).filter(|subject| !subject.is_empty());
    let (model, tokens, cost_micros) = ended.report.map_or((None, None, None), |(event, facts)| {
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
        key: ended.key.to_owned(),
        subject: open.subject.clone(),
        started_at: Some(open.started_at),
        ended_at: Some(scene.now),
        outcome: ended.outcome,
        model,
        tokens,
        cost_micros,
        inexact: open.inexact || !ended.is_announced,
        ..AgentTurn::default()
    });
    let mut outcome = save::save_early(scene, request, early)?;
    conclude::conclude(scene, &mut outcome);
    Ok(outcome)
}

/// The key of a turn: the agent's own, else its number and the time of its prompt, which no other turn has.
fn key_of(open: &OpenTurn) -> String {
    let time = open.started_at.to_chrono().timestamp_millis();
    open.key
        .clone()
        .unwrap_or_else(|| format!("prompt-{}-{time}", open.number))
}

/// Whether the latest checkpoint is of this turn, in case the binding was lost after it was saved.
fn is_saved(scene: &Scene<'_>, binding: &Binding, key: &str) -> Result<bool, Error> {
    let tip = session_choice::session_for_command(scene)?;
    let turn = tip.as_ref().and_then(|tip| tip.tip.document.turn.as_ref());
    Ok(turn.is_some_and(|turn| turn.agent_session == binding.agent_session && turn.key == key))
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

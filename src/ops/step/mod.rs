//! Steps: begun, ended, tried again, taken back; each change goes into the draft of the session.
//!
//! The later state of a step is decided here and written as a patch, so that two processes at work on different
//! steps, or members of one, do not undo each other. Running commands is in `run`.

mod files;
pub mod run;

use serde_json::{Map, Value, json};

use super::{
    Error, Scene, SelectorCandidate,
    draft::{self, DraftChange, DraftReceipt},
    events::{self, EventOutcome},
    ids, select,
    session_choice::SessionChoice,
    target_session,
};
use crate::{
    model::{
        excerpt::Excerpt,
        name::ShortName,
        selector::Selector,
        step::{self, FileStates, Step, StepMatch, StepOutput, StepStatus, TEXT_LIMIT},
    },
    store::{Repository, checkpoint::Checkpoint, draft as drafts, objects::Writer, steps},
};

pub(in crate::ops) use files::differing;

/// The steps of a session, those of its draft among them.
#[derive(Debug)]
pub struct Steps {
    /// The session's name; `None` for a checkpoint that no session leads to.
    pub session: Option<ShortName>,
    /// The steps, in their order.
    pub steps: Vec<Step>,
}

impl Steps {
    /// The step a word means.
    pub fn find(&self, word: &str) -> Result<&Step, Error> {
        match step::find(&self.steps, word) {
            StepMatch::One(step) => Ok(step),
            StepMatch::Many(many) => Err(Error::Ambiguous {
                text: word.to_owned(),
                what: "steps",
                count: many.len(),
                candidates: many.into_iter().map(candidate).collect(),
            }),
            StepMatch::None => Err(Error::NoStep { text: word.to_owned() }),
        }
    }
}

fn candidate(step: &Step) -> SelectorCandidate {
    SelectorCandidate {
        selector: step.id.clone(),
        subject: step.title.clone(),
        at: Some(step.at),
    }
}

/// The steps of the session that commands mean, or of any checkpoint.
pub fn steps(scene: &Scene<'_>, selector: Option<&Selector>) -> Result<Steps, Error> {
    let Some(selector) = selector else {
        return of_session(scene, target_session::to_read(scene)?);
    };
    let selected = select::checkpoint(scene, selector)?;
    let subject = selected.session.as_ref().map_or("checkpoint", ShortName::as_str);
    let steps = if selected.is_tip {
        with_draft(scene, &selected.checkpoint, subject)?
    } else {
        steps::read(scene.repo, &selected.checkpoint).map_err(Error::damaged(subject))?
    };
    Ok(Steps {
        session: selected.session,
        steps,
    })
}

/// The steps of the session that a change goes to.
pub fn to_change(scene: &Scene<'_>) -> Result<Steps, Error> {
    of_session(scene, target_session::to_change(scene)?)
}

fn of_session(scene: &Scene<'_>, chosen: SessionChoice) -> Result<Steps, Error> {
    let steps = with_draft(scene, &chosen.tip, chosen.name.as_str())?;
    Ok(Steps {
        session: Some(chosen.name),
        steps,
    })
}

/// The steps of a tip as the next save would store them.
pub(super) fn with_draft(scene: &Scene<'_>, tip: &Checkpoint, subject: &str) -> Result<Vec<Step>, Error> {
    let mut found = steps::read(scene.repo, tip).map_err(Error::damaged(subject))?;
    let draft = drafts::read(scene.repo, &tip.document.session.id)?;
    let changes: Vec<_> = draft
        .after(&tip.document.folded)
        .filter_map(|(_, operation)| operation.step.clone())
        .collect();
    steps::apply(&mut found, &changes)?;
    Ok(found)
}

/// The steps of the session that is written to, which may not exist yet.
fn steps_of(scene: &Scene<'_>) -> Result<Steps, Error> {
    match to_change(scene) {
        Err(error) if error.is_without_session() => Ok(Steps {
            session: None,
            steps: Vec::new(),
        }),
        found => found,
    }
}

/// A change of a step that is on disk.
#[derive(Debug)]
pub struct StepReceipt {
    /// The step as it is now.
    pub step: Step,
    /// The change.
    pub appended: DraftReceipt,
    /// Outcome of the event.
    pub event: EventOutcome,
}

/// Parameters of a new step.
#[derive(Debug, Default)]
pub struct Start {
    /// Title.
    pub title: String,
    /// Who does it; else the calling agent.
    pub agent: Option<String>,
    /// The issue in a tracker.
    pub issue: Option<String>,
    /// Prompt for the agent.
    pub prompt: Option<String>,
    /// Objective.
    pub objective: Option<String>,
    /// Words for the steps whose results it uses.
    pub uses: Vec<String>,
}

impl Start {
    /// The members as a patch.
    fn patch(&self, scene: &Scene<'_>, before: Option<&FileStates>) -> Result<Map<String, Value>, Error> {
        let mut patch = Map::new();
        patch.insert("title".into(), json!(self.title));
        patch.insert("status".into(), json!(StepStatus::Running));
        let agent = self.agent.as_deref().or(scene.agent);
        for (member, text) in [
            ("agent", agent),
            ("issue", self.issue.as_deref()),
            ("objective", self.objective.as_deref()),
            ("prompt", self.prompt.as_deref()),
        ] {
            if let Some(text) = text {
                patch.insert(member.into(), json!(bounded(member, text)?));
            }
        }
        if !self.uses.is_empty() {
            let known = steps_of(scene)?;
            let mut uses: Vec<&str> = Vec::new();
            for word in &self.uses {
                let id = known.find(word)?.id.as_str();
                if !uses.contains(&id) {
                    uses.push(id);
                }
            }
            patch.insert("uses".into(), json!(uses));
        }
        patch.insert("started_at".into(), json!(scene.now));
        if let Some(before) = before {
            patch.insert("before".into(), json!(before));
        }
        Ok(patch)
    }
}

fn bounded<'t>(member: &str, text: &'t str) -> Result<&'t str, Error> {
    if text.len() > TEXT_LIMIT {
        return Err(Error::StepText {
            what: member.to_owned(),
            len: text.len(),
        });
    }
    Ok(text)
}

/// Begins a step.
pub fn start(scene: &Scene<'_>, wanted: &Start) -> Result<StepReceipt, Error> {
    let before = files::now(scene, &Writer::memory(scene.repo))?;
    let patch = wanted.patch(scene, before.as_ref())?;
    note(scene, &ids::item_id()?, patch, Some("step-start"), "started")
}

/// Result of a step.
#[derive(Debug, Default)]
pub struct StepOutcome {
    /// Context for later steps.
    pub context: Option<String>,
    /// Output.
    pub output: Option<String>,
    /// Files it wrote.
    pub outputs: Vec<StepOutput>,
    /// Results of checks, by name.
    pub checks: Vec<(String, String)>,
}

/// Ends a step well.
pub fn done(scene: &Scene<'_>, word: &str, wanted: &StepOutcome) -> Result<StepReceipt, Error> {
    let step = open_step(scene, word)?;
    let mut patch = ended(scene, &step, StepStatus::Done)?;
    patch.insert("error".into(), Value::Null);
    if let Some(context) = &wanted.context {
        patch.insert("context".into(), json!(bounded("context", context)?));
    }
    if let Some(output) = &wanted.output {
        patch.insert("output".into(), json!(Excerpt::of(output)));
    }
    if !wanted.outputs.is_empty() {
        patch.insert("outputs".into(), json!(wanted.outputs));
    }
    if !wanted.checks.is_empty() {
        let checks: Map<String, Value> = wanted.checks.iter().map(|(n, r)| (n.clone(), json!(r))).collect();
        patch.insert("verification".into(), Value::Object(checks));
    }
    note(scene, &step.id, patch, Some("step-done"), "done")
}

/// Ends a step badly.
pub fn fail(scene: &Scene<'_>, word: &str, error: &str, output: Option<&str>) -> Result<StepReceipt, Error> {
    let step = open_step(scene, word)?;
    let mut patch = ended(scene, &step, StepStatus::Failed)?;
    patch.insert("error".into(), json!(bounded("error", error)?));
    if let Some(output) = output {
        patch.insert("output".into(), json!(Excerpt::of(output)));
    }
    note(scene, &step.id, patch, Some("step-fail"), "failed")
}

/// A step that can end: not one whose result was taken back.
fn open_step(scene: &Scene<'_>, word: &str) -> Result<Step, Error> {
    let step = to_change(scene)?.find(word)?.clone();
    if step.status == StepStatus::Invalid {
        return Err(Error::StepInWrongState {
            step: step.title,
            status: step.status,
        });
    }
    Ok(step)
}

fn ended(scene: &Scene<'_>, step: &Step, status: StepStatus) -> Result<Map<String, Value>, Error> {
    let mut patch = Map::new();
    patch.insert("status".into(), json!(status));
    patch.insert("ended_at".into(), json!(scene.now));
    if let Some(files) = files::now(scene, &Writer::memory(scene.repo))? {
        patch.insert("after".into(), json!(files));
    }
    let seconds = step.started_at.map(|start| scene.now.unix() - start.unix());
    if let Some(seconds) = seconds.and_then(|seconds| u64::try_from(seconds).ok()) {
        patch.insert("duration_ms".into(), json!(seconds * 1000));
    }
    Ok(patch)
}

/// Instructions for the next attempt.
#[derive(Debug, Default)]
pub struct NextAttempt {
    /// A new objective.
    pub objective: Option<String>,
    /// Corrections.
    pub corrections: Vec<String>,
}

/// Begins the next try of a step that failed, was taken back, or was left running.
pub fn retry(scene: &Scene<'_>, word: &str, wanted: &NextAttempt) -> Result<StepReceipt, Error> {
    let step = to_change(scene)?.find(word)?.clone();
    if step.status == StepStatus::Done {
        return Err(Error::StepInWrongState {
            step: step.title,
            status: step.status,
        });
    }
    let before = files::now(scene, &Writer::memory(scene.repo))?;
    let mut patch = retry_step(scene, &step, before.as_ref());
    if let Some(objective) = &wanted.objective {
        patch.insert("objective".into(), json!(bounded("objective", objective)?));
    }
    if !wanted.corrections.is_empty() {
        let mut corrections = step.corrections.clone();
        for correction in &wanted.corrections {
            corrections.push(bounded("correction", correction)?.to_owned());
        }
        patch.insert("corrections".into(), json!(corrections));
    }
    note(scene, &step.id, patch, Some("step-start"), "started again")
}

/// The patch that makes a step's next try of it: what the last one gave goes, how it ended is kept.
fn retry_step(scene: &Scene<'_>, step: &Step, before: Option<&FileStates>) -> Map<String, Value> {
    let mut earlier = step.earlier.clone();
    earlier.push(step.as_attempt());
    let mut patch = Map::new();
    for member in [
        "ended_at",
        "duration_ms",
        "exit_status",
        "output",
        "outputs",
        "more_outputs",
        "verification",
        "error",
        "invalidated",
        "after",
    ] {
        patch.insert(member.into(), Value::Null);
    }
    patch.insert("status".into(), json!(StepStatus::Running));
    patch.insert("attempt".into(), json!(step.attempt.saturating_add(1)));
    patch.insert("earlier".into(), json!(earlier));
    patch.insert("started_at".into(), json!(scene.now));
    // A merge patch would mix the old state with the new one.
    patch.insert("before".into(), Value::Null);
    if let Some(before) = before {
        patch.insert("before".into(), json!(before));
    }
    patch
}

/// Takes the result of a step back: it does not hold any more.
pub fn invalidate(scene: &Scene<'_>, word: &str, reason: &str) -> Result<StepReceipt, Error> {
    let step = to_change(scene)?.find(word)?.clone();
    let mut patch = Map::new();
    patch.insert("status".into(), json!(StepStatus::Invalid));
    patch.insert("invalidated".into(), json!(bounded("reason", reason)?));
    note(scene, &step.id, patch, None, "invalidated")
}

/// Puts a change of a step into the draft, lets its event happen, and reads the step as it is then.
fn note(
    scene: &Scene<'_>,
    id: &str,
    patch: Map<String, Value>,
    trigger: Option<&str>,
    what: &str,
) -> Result<StepReceipt, Error> {
    let change = DraftChange::Step {
        id: id.to_owned(),
        patch: Value::Object(patch),
    };
    let appended = draft::append(scene, vec![change])?;
    let scene = &Scene {
        session: Some(&appended.session),
        ..*scene
    };
    let step = to_change(scene)?.find(id)?.clone();
    let about = format!("step {}: {what}", step.title);
    let triggers: Vec<&str> = trigger.into_iter().collect();
    let event = events::after(scene, &appended, &triggers, Some(&about));
    Ok(StepReceipt { step, appended, event })
}

/// The files now, and a repository that can read their trees; for commands that compare.
pub(super) fn files_now(scene: &Scene<'_>) -> Result<(Option<FileStates>, Repository), Error> {
    let writer = Writer::memory(scene.repo);
    let files = files::now(scene, &writer)?;
    Ok((files, writer.overlay(scene.repo)))
}

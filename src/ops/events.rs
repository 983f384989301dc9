//! Events: changes of the draft that save by themselves, where the settings ask for it.
//!
//! A checkpoint made here has the kind `event` and the trigger that caused it. The change it follows is on disk by then,
//! so that a save that fails loses nothing.

use super::{
    Error, Scene,
    draft::{self, DraftReceipt},
    receipt::CheckpointOutcome,
    save,
};
use crate::model::document::CheckpointKind;

/// The triggers that something emits, for messages and documentation.
pub const TRIGGERS: [&str; 6] = [
    "task-complete",
    "agent-spawn",
    "phase-complete",
    "step-start",
    "step-done",
    "step-fail",
];

/// The trigger of a checkpoint that `checkpoint.saveEvery` makes.
pub const EVERY: &str = "every";

/// Outcome of an event.
#[derive(Debug)]
pub enum EventOutcome {
    /// The settings do not ask for a checkpoint.
    NotAsked,
    /// There was one, or there was nothing new.
    Saved(Box<CheckpointOutcome>),
    /// The save failed; the draft has everything, and the next save takes it.
    Failed {
        /// Trigger of the save.
        trigger: String,
        /// Why it failed.
        error: Box<Error>,
    },
}

/// Saves the session that commands mean in this scene if `checkpoint.saveOn` names the trigger. Without a summary that of
/// the checkpoint is made from git's facts.
///
/// For after an [`append`](draft::append) that succeeded: a failure is reported, never returned.
pub fn emit_about(scene: &Scene<'_>, trigger: &str, summary: Option<String>) -> EventOutcome {
    if scene.settings.save_on.iter().any(|word| word == trigger) {
        save(scene, trigger, summary)
    } else {
        EventOutcome::NotAsked
    }
}

/// Saves if with these changes the draft has reached another multiple of `checkpoint.saveEvery`.
pub fn count(scene: &Scene<'_>, appended: &DraftReceipt) -> EventOutcome {
    let every = scene.settings.save_every;
    let before = appended.waiting.saturating_sub(appended.operations.len() as u64);
    if every == 0 || appended.waiting / every == before / every {
        return EventOutcome::NotAsked;
    }
    save(scene, EVERY, None)
}

/// Saves if one of the triggers asks for it, else if there are enough changes; at most once.
///
/// `about` is the summary of a checkpoint that a trigger makes.
pub fn after(scene: &Scene<'_>, appended: &DraftReceipt, triggers: &[&str], about: Option<&str>) -> EventOutcome {
    // The one that was changed, whatever becomes current meanwhile.
    let scene = &Scene {
        session: Some(&appended.session),
        ..*scene
    };
    for trigger in triggers {
        match emit_about(scene, trigger, about.map(str::to_owned)) {
            EventOutcome::NotAsked => {}
            event => return event,
        }
    }
    count(scene, appended)
}

fn save(scene: &Scene<'_>, trigger: &str, summary: Option<String>) -> EventOutcome {
    let mut request = save::SaveRequest::new(CheckpointKind::Event);
    request.trigger = Some(trigger.to_owned());
    request.summary = summary;
    request.start = false;
    let scene = &Scene {
        wait: scene.wait.min(draft::WAIT),
        ..*scene
    };
    match save::save(scene, request) {
        Ok(outcome) => EventOutcome::Saved(Box::new(outcome)),
        Err(error) => EventOutcome::Failed {
            trigger: trigger.to_owned(),
            error: Box::new(error),
        },
    }
}

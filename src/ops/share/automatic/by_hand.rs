//! Sessions of the queue that a person pushed meanwhile.

use super::{
    super::{Error, find, push::PushOutcome},
    BUSY_WAIT, name_of, settle,
};
use crate::{
    ops::Scene,
    store::{self, lock, push_queue},
};

/// Takes sessions from the queue that were pushed by hand to the elected remote, and forgets why they waited.
pub fn pushed_by_hand(scene: &Scene<'_>, pushed: &PushOutcome) -> Result<(), Error> {
    let queued = push_queue::list(scene.repo);
    if queued.is_empty() || scene.settings.auto_push.is_none() {
        return Ok(());
    }
    if find(scene, scene.settings.auto_push.as_deref(), true)?.name != pushed.remote {
        return Ok(());
    }
    // A process that pushes the queue at this moment finds out on its own.
    let _held = match lock::automatic(scene.repo, BUSY_WAIT) {
        Err(store::Error::Busy { .. }) => return Ok(()),
        held => held?,
    };
    for one in queued {
        let name = name_of(scene, &one)?;
        let sent = pushed.sessions.iter().find(|sent| Some(&sent.name) == name.as_ref());
        if let Some(sent) = sent.filter(|sent| sent.fate.is_good()) {
            settle(scene, &one.name, sent)?;
        }
    }
    let waiting = push_queue::list(scene.repo);
    let mut state = push_queue::state(scene.repo);
    let waits = |name: &String| waiting.iter().any(|one| one.name.as_str() == name);
    state.refused.retain(|(name, _)| waits(name));
    state.diverged.retain(waits);
    state.ways.retain(|(name, _)| waits(name));
    if waiting.is_empty() {
        (state.failures, state.failed_at, state.why, state.reported) = (0, None, None, false);
    }
    Ok(push_queue::note(scene.repo, &state)?)
}

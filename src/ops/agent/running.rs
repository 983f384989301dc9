//! The turn that an agent is at: what is saved meanwhile is its work, before a checkpoint of the turn records it.

use crate::{
    model::time::Timestamp,
    ops::{Error, Scene},
    store::{
        agents::{self as bindings, Binding, OpenTurn},
        checkpoint::CheckpointCommit,
    },
};

/// A turn that has begun and not ended.
#[derive(Clone, Debug)]
pub struct RunningTurn {
    /// The agent.
    pub agent: String,
    /// The turn.
    pub turn: OpenTurn,
    /// Until when what is saved belongs to it: an agent that was killed reports no end.
    until: Timestamp,
}

impl RunningTurn {
    /// Whether a checkpoint was saved in the turn.
    pub fn has(&self, entry: &CheckpointCommit) -> bool {
        is_since(entry, self.turn.started_at) && entry.time <= self.until
    }
}

/// Whether a checkpoint was saved at a time or later; a commit alone has whole seconds.
pub fn is_since(entry: &CheckpointCommit, time: Timestamp) -> bool {
    match entry.trailers.time {
        Some(at) => at >= time,
        None => entry.time.unix() >= time.unix(),
    }
}

/// The turns that agents are at, with the identity of the session; of one session the latest first.
pub fn running_turns(scene: &Scene<'_>) -> Result<Vec<(String, RunningTurn)>, Error> {
    let running = |binding: Binding| {
        let last = binding.last.as_ref().filter(|_| !binding.ended)?.at;
        let patience = chrono::TimeDelta::from_std(scene.settings.interrupted_after).ok()?;
        let until = last.to_chrono().checked_add_signed(patience)?;
        let turn = RunningTurn {
            turn: binding.turn?,
            agent: binding.agent,
            until: Timestamp::from_unix_millis(until.timestamp_millis())?,
        };
        Some((binding.session?.id, turn))
    };
    Ok(bindings::all(scene.repo)?.into_iter().filter_map(running).collect())
}

//! Whether an agent or a person made a checkpoint, for lists: the commit names only the agent of the session.

use super::{
    Error, Scene,
    agent::running::{RunningTurn, is_since, running_turns},
    ids::short,
};
use crate::{
    model::{document::CheckpointKind, message::Trailers, time::Timestamp},
    store::{
        ObjectId,
        checkpoint::{self, CheckpointCommit},
        session,
    },
};

/// How many checkpoints are searched for a turn.
const SEARCHED: usize = 200;

/// Whether the commit of a checkpoint leaves it open that a person made it in the session of an agent. What has an occasion was
/// saved by a hook.
pub fn may_be_of_person(trailers: &Trailers) -> bool {
    let by_command = matches!(
        trailers.kind,
        Some(CheckpointKind::Save | CheckpointKind::Pause | CheckpointKind::Finish)
    );
    let is_edit = trailers.kind == Some(CheckpointKind::Edit);
    trailers.agent.is_some() && (is_edit || by_command && trailers.trigger.is_none())
}

/// Looks at checkpoints in the order of a log, latest first.
pub struct Hands<'a> {
    scene: &'a Scene<'a>,
    running: Option<Vec<(String, RunningTurn)>>,
    /// The turn after the checkpoint at hand.
    next: Option<ObjectId>,
    /// When that began, where it was asked for.
    began: Option<(ObjectId, Option<Timestamp>)>,
    /// Whether the chain has turns.
    has_turns: Option<bool>,
}

impl<'a> Hands<'a> {
    /// For one session.
    pub fn new(scene: &'a Scene<'a>) -> Self {
        Self {
            scene,
            running: None,
            next: None,
            began: None,
            has_turns: None,
        }
    }

    /// Whether a person made this checkpoint, in a session of an agent. What was saved by a command between the turns of an
    /// agent is a person's; in a session without turns it is that of the agent which calls the commands.
    pub fn is_of_person(&mut self, entry: &CheckpointCommit) -> Result<bool, Error> {
        let trailers = &entry.trailers;
        if trailers.kind == Some(CheckpointKind::Turn) {
            self.next = Some(entry.id);
        }
        let Some(agent) = trailers.agent.as_ref().filter(|_| may_be_of_person(trailers)) else {
            return Ok(false);
        };
        if trailers.kind == Some(CheckpointKind::Edit) {
            return Ok(true);
        }
        if let Some(next) = self.next {
            return Ok(!self.turn_began(next)?.is_some_and(|began| is_since(entry, began)));
        }
        if self.is_in_running_turn(entry, agent)? {
            return Ok(false);
        }
        let has_turns = match self.has_turns {
            Some(known) => known,
            None => self.has_turns_before(entry),
        };
        self.has_turns = Some(has_turns);
        Ok(has_turns)
    }

    fn turn_began(&mut self, turn: ObjectId) -> Result<Option<Timestamp>, Error> {
        if let Some((_, began)) = self.began.filter(|(known, _)| *known == turn) {
            return Ok(began);
        }
        let loaded = checkpoint::load(self.scene.repo, turn).map_err(Error::damaged(short(turn)))?;
        let began = loaded.document.turn.and_then(|turn| turn.started_at);
        self.began = Some((turn, began));
        Ok(began)
    }

    fn is_in_running_turn(&mut self, entry: &CheckpointCommit, agent: &str) -> Result<bool, Error> {
        if self.running.is_none() {
            self.running = Some(running_turns(self.scene)?);
        }
        let mut meant = self
            .running
            .iter()
            .flatten()
            .filter(|(_, running)| running.agent == agent && running.has(entry))
            .peekable();
        if meant.peek().is_none() {
            return Ok(false);
        }
        let session = checkpoint::load(self.scene.repo, entry.id).map_err(Error::damaged(short(entry.id)))?;
        let session = session.document.session.id;
        Ok(meant.any(|(id, _)| *id == session))
    }

    /// Damage is reported where the chain is needed.
    fn has_turns_before(&self, entry: &CheckpointCommit) -> bool {
        let chain = session::chain(self.scene.repo, entry.id).skip(1).take(SEARCHED);
        chain
            .map_while(Result::ok)
            .any(|entry| entry.trailers.kind == Some(CheckpointKind::Turn))
    }
}

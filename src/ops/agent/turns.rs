//! The turns of a session: its checkpoints of kind `turn`, in their order.

use std::collections::{BTreeMap, HashSet};

use super::super::{Error, Scene, plan_runner::PlanOperation, select, session_choice, suggestions};
use crate::{
    model::{
        agent_turn::AgentTurn,
        document::{CheckpointKind, Document},
        id::Digest,
        name::ShortName,
        selector::{Base, Selector},
        time::Timestamp,
    },
    store::{
        ObjectId, agent_queue,
        checkpoint::{self, oid},
        session, undo,
    },
};

/// A turn that was saved.
#[derive(Clone, Debug)]
pub struct SavedTurn {
    /// Its number in the session, from 1.
    pub n: usize,
    /// The checkpoint.
    pub id: ObjectId,
    /// The exact state when the turn began: the checkpoint before, or an earlier one where others were saved in the turn.
    pub before: Option<ObjectId>,
    /// The turn.
    pub turn: AgentTurn,
    /// Whether files were edited between the previous turn and this one.
    pub follows_edits: bool,
}

/// The turns of a session.
#[derive(Clone, Debug)]
pub struct SessionTurns {
    /// The session.
    pub session: ShortName,
    /// Its turns, the oldest first.
    pub turns: Vec<SavedTurn>,
    /// The digest of each of its checkpoints, and how many turns there were when it had been saved.
    counts: BTreeMap<Digest, usize>,
    /// The time of the latest checkpoint.
    saved_at: Option<Timestamp>,
}

/// Lists the turns of the session that a selector means, up to its checkpoint; without one those of the current session.
pub fn turns(scene: &Scene<'_>, selector: Option<&Selector>) -> Result<SessionTurns, Error> {
    let (name, from) = if let Some(selector) = selector {
        let found = select::checkpoint(scene, selector)?;
        let name = found.session.unwrap_or(found.checkpoint.document.session.name);
        (name, found.checkpoint.entry.id)
    } else {
        let chosen = session_choice::session_for_command(scene)?;
        let chosen = chosen.ok_or_else(|| suggestions::none_current(scene))?;
        (chosen.name, chosen.tip.entry.id)
    };
    let mut turns: Vec<SavedTurn> = Vec::new();
    let mut later: Option<SavedTurn> = None;
    let mut edits = None;
    let mut chain = HashSet::new();
    let (mut counts, mut saved_at) = (BTreeMap::new(), None);
    for entry in session::history(scene.repo, from) {
        let entry = entry.map_err(Error::damaged(name.as_str()))?;
        chain.insert(entry.id);
        saved_at.get_or_insert(entry.time);
        let later_turns = turns.len() + usize::from(later.is_some());
        counts.extend(entry.trailers.digest.clone().map(|digest| (digest, later_turns)));
        if let Some(turn) = &mut later {
            // The first checkpoint with files of a session shows no person's edits where all is committed.
            let is_first = entry.trailers.kind == Some(CheckpointKind::Start);
            if let Some(edits) = edits.take().filter(|_| is_first) {
                let first = checkpoint::load(scene.repo, edits).map_err(Error::damaged(name.as_str()))?;
                turn.follows_edits = !first.document.git.is_clean;
            }
            if entry.trailers.kind == Some(CheckpointKind::Edit) {
                turn.follows_edits = true;
                edits = Some(entry.id);
            }
        }
        if entry.trailers.kind != Some(CheckpointKind::Turn) {
            continue;
        }
        let document = checkpoint::load(scene.repo, entry.id)
            .map_err(Error::damaged(name.as_str()))?
            .document;
        let Some(turn) = document.turn else { continue };
        turns.extend(later.replace(SavedTurn {
            n: 0,
            id: entry.id,
            before: entry.parents.first().copied(),
            turn,
            follows_edits: false,
        }));
    }
    turns.extend(later);
    turns.reverse();
    for (n, turn) in turns.iter_mut().enumerate() {
        turn.n = n + 1;
        // One that was rewritten or pruned leaves the checkpoint before.
        let began = turn.turn.began.as_ref().map(checkpoint::object_id);
        turn.before = began.filter(|began| chain.contains(began)).or(turn.before);
    }
    for later in counts.values_mut() {
        *later = turns.len() - *later;
    }
    Ok(SessionTurns {
        session: name,
        turns,
        counts,
        saved_at,
    })
}

impl SessionTurns {
    /// The checkpoint of the session whose files were restored in this working tree after everything was saved: what comes
    /// after it is not in the files any more.
    fn restored(&self, scene: &Scene<'_>) -> Result<Option<Digest>, Error> {
        let list = undo::read(scene.repo)?;
        let in_force = list.entries().filter(|(_, in_force)| *in_force);
        let changes = in_force.filter(|(entry, _)| entry.files_before().is_some());
        let last = changes.map(|(entry, _)| entry).last();
        let restored = last.filter(|entry| {
            let is_later = self.saved_at.is_none_or(|saved| entry.at >= saved);
            entry.operation == PlanOperation::Restore.word() && is_later
        });
        let digest = restored.and_then(|entry| Some(entry.files.as_ref()?.digest.clone()));
        Ok(digest.filter(|digest| self.counts.contains_key(digest)))
    }
}

/// Why there is no state of a turn to go back to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    /// The session has none.
    #[error("session '{session}' has no turns of an agent")]
    Empty {
        /// The session.
        session: ShortName,
    },
    /// It has no turn of this number.
    #[error("session '{session}' has no turn {number}; the latest is {latest}")]
    Number {
        /// The session.
        session: ShortName,
        /// The number that was given.
        number: usize,
        /// That of the latest turn.
        latest: usize,
    },
    /// The files are as before the first one.
    #[error("the files are as they were before the first turn of session '{session}'")]
    AtBeginning {
        /// The session.
        session: ShortName,
    },
    /// The state before it is not saved.
    #[error("no checkpoint holds the state before turn {number}")]
    NothingBefore {
        /// The turn.
        number: usize,
    },
}

/// A state to go back to.
#[derive(Clone, Debug)]
pub struct RewindTarget {
    /// The session.
    pub session: ShortName,
    /// The turn that was named, or the latest.
    pub turn: SavedTurn,
    /// The checkpoint whose files come back.
    pub to: ObjectId,
    /// The checkpoint that has the agent's conversation as it was then.
    pub document: Box<Document>,
    /// Whether the last rewind went there.
    pub is_reached: bool,
}

/// Waits for events of agents that are still written in the background, as long as a command waits for a lock.
pub fn settle(scene: &Scene<'_>) {
    agent_queue::wait_until_idle(scene.repo, scene.wait);
}

/// Finds the state after a turn, or before it. Without a number it is the one before the latest turn that is in the files: a
/// rewind continues from an earlier one.
pub fn rewind_target(
    scene: &Scene<'_>,
    number: Option<usize>,
    before: bool,
    selector: Option<&Selector>,
) -> Result<RewindTarget, Error> {
    let found = turns(scene, selector)?;
    let Some(latest) = found.turns.last() else {
        return Err(TurnError::Empty { session: found.session }.into());
    };
    let restored = found.restored(scene)?;
    let count = restored.as_ref().and_then(|digest| found.counts.get(digest)).copied();
    let turn = match (number, count) {
        (Some(n), _) => found.turns.iter().find(|turn| turn.n == n),
        (None, Some(0)) => return Err(TurnError::AtBeginning { session: found.session }.into()),
        (None, Some(count)) => found.turns.get(count - 1),
        (None, None) => Some(latest),
    };
    let turn = turn.cloned().ok_or_else(|| TurnError::Number {
        session: found.session.clone(),
        number: number.unwrap_or_default(),
        latest: latest.n,
    })?;
    let to = if before || number.is_none() {
        turn.before.ok_or(TurnError::NothingBefore { number: turn.n })?
    } else {
        turn.id
    };
    let checkpoint = session_choice::load(scene, found.session.as_str(), to)?;
    let is_reached = restored.as_ref() == Some(&checkpoint.digest);
    let document = checkpoint.document;
    Ok(RewindTarget {
        is_reached,
        session: found.session,
        turn,
        to,
        document: Box::new(document),
    })
}

/// The selector of a commit.
pub fn selector_of(id: ObjectId) -> Selector {
    Selector {
        base: Base::Word(oid(id).as_str().to_owned()),
        steps: Vec::new(),
    }
}

//! The states of a session and of those that were merged into it, chain by chain: lines only ever go on to a state behind
//! in the list.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use crate::{
    ops::{
        Error, Scene,
        timeline::{self, FileState},
    },
    store::{ObjectId, scan::ObjectReader},
};

/// Merged sessions that are followed at most.
const MERGED: usize = 64;

/// The chains of a list of states.
#[derive(Debug, Default)]
pub(super) struct Segments {
    chains: Vec<Range<usize>>,
    /// The first state of the chain that was merged at a state.
    merged: HashMap<usize, usize>,
}

impl Segments {
    /// The state before a state in its chain.
    pub(super) fn older(&self, at: usize) -> Option<usize> {
        (at + 1 < self.of(at).end).then_some(at + 1)
    }

    /// The latest state of the session that was merged at a state.
    pub(super) fn merged(&self, at: usize) -> Option<usize> {
        self.merged.get(&at).copied()
    }

    /// The chain of a state.
    pub(super) fn of(&self, at: usize) -> Range<usize> {
        let chain = self.chains.iter().find(|chain| chain.contains(&at));
        chain.cloned().unwrap_or(at..at + 1)
    }

    /// The oldest state of the session itself.
    pub(super) fn oldest(&self) -> Option<usize> {
        self.chains.first().and_then(|chain| chain.end.checked_sub(1))
    }
}

/// Loads the states up to a checkpoint, those of merged sessions behind. The last one of a chain is what was committed
/// before the session, where that is known.
pub(super) fn load(scene: &Scene<'_>, from: ObjectId) -> Result<(Vec<FileState>, Segments), Error> {
    let mut reader = ObjectReader::of(scene.repo);
    let mut states = Vec::new();
    let mut segments = Segments::default();
    let mut seen = HashSet::new();
    let mut waiting: Vec<(Option<usize>, ObjectId)> = vec![(None, from)];
    while let Some((at, tip)) = waiting.pop() {
        if segments.chains.len() > MERGED {
            break;
        }
        let start = states.len();
        let (chain, beginning) = timeline::states_since_start(scene, tip, false)?;
        for (place, state) in (start..).zip(&chain) {
            // A checkpoint that merges a session has that one's latest checkpoint as last parent.
            if let Some(merged) = state.entry.merged_commit()
                && seen.insert(merged)
                && reader
                    .checkpoint(merged)
                    .is_ok_and(|entry| entry.trailers.digest.is_some())
            {
                waiting.push((Some(place), merged));
            }
        }
        states.extend(chain);
        states.extend(beginning);
        if start < states.len() {
            segments.chains.push(start..states.len());
            if let Some(at) = at {
                segments.merged.insert(at, start);
            }
        }
    }
    Ok((states, segments))
}

//! The saved states of a session's files, in order of time: its checkpoints, those of the sessions it was forked from, and
//! autosaves.

use std::collections::HashSet;

use super::{Error, Scene};
use crate::{
    model::document::CheckpointKind,
    store::{
        ObjectId, autosave,
        checkpoint::{self, CheckpointCommit},
        scan::ObjectReader,
        session,
    },
};

/// A checkpoint with files.
#[derive(Clone, Debug)]
pub struct FileState {
    /// The checkpoint.
    pub entry: CheckpointCommit,
    /// The snapshot commit.
    pub snapshot: ObjectId,
    /// The tree of the files.
    pub tree: ObjectId,
    /// HEAD at save time; on an unborn branch the empty commit in its place.
    pub head: ObjectId,
    /// Whether it is an autosave, next to the chain.
    pub is_autosave: bool,
}

/// The states up to a checkpoint, along one line, latest first.
pub(super) fn states(scene: &Scene<'_>, from: ObjectId) -> Result<Vec<FileState>, Error> {
    states_since_start(scene, from, false).map(|(states, _)| states)
}

/// The same with what was committed when the session began; `None` when that is not known. With what is beside the line: what
/// was merged in of the same session, and the autosaves of the session, those made later included.
pub(super) fn states_since_start(
    scene: &Scene<'_>,
    from: ObjectId,
    beside: bool,
) -> Result<(Vec<FileState>, Option<FileState>), Error> {
    let mut reader = ObjectReader::of(scene.repo);
    let mut states = Vec::new();
    let mut oldest = None;
    let mut next = Some(from);
    while let Some(id) = next.take() {
        let entries: Box<dyn Iterator<Item = _>> = if beside {
            Box::new(session::history(scene.repo, id))
        } else {
            Box::new(session::chain(scene.repo, id))
        };
        for entry in entries {
            let entry = entry.map_err(Error::damaged(id.to_string()))?;
            if entry.trailers.kind == Some(CheckpointKind::Fork) {
                next = entry.parents.first().copied();
            }
            oldest = Some(entry.clone());
            if let Some(state) = state(&mut reader, entry, false)? {
                states.push(state);
            }
        }
    }
    let beginning = match oldest.filter(|entry| entry.trailers.kind == Some(CheckpointKind::Start)) {
        Some(entry) => beginning(scene, entry)?,
        None => None,
    };
    if beside {
        for state in autosaves_of(scene, &mut reader, from)? {
            let at = states.partition_point(|other| other.entry.time > state.entry.time);
            states.insert(at, state);
        }
    }
    Ok((states, beginning))
}

/// The commit that a session began at, as a state.
fn beginning(scene: &Scene<'_>, entry: CheckpointCommit) -> Result<Option<FileState>, Error> {
    let document = checkpoint::load(scene.repo, entry.id).map_err(Error::damaged(entry.id.to_string()))?;
    let head = document.document.git.head.as_ref().map(checkpoint::object_id);
    // A commit that is gone since proves nothing.
    let tree = head.and_then(|head| checkpoint::tree_of(scene.repo, head).ok());
    Ok(head.zip(tree).map(|(head, tree)| FileState {
        entry,
        snapshot: head,
        tree,
        head,
        is_autosave: false,
    }))
}

/// The saved state of a checkpoint; `None` when it has no files.
fn state(reader: &mut ObjectReader, entry: CheckpointCommit, is_autosave: bool) -> Result<Option<FileState>, Error> {
    let Some(snapshot) = entry.snapshot_commit() else {
        return Ok(None);
    };
    let (tree, parents) = reader
        .commit_parts(snapshot)
        .map_err(Error::damaged(entry.id.to_string()))?;
    let head = parents.first().copied().unwrap_or(snapshot);
    Ok(Some(FileState {
        entry,
        snapshot,
        tree,
        head,
        is_autosave,
    }))
}

/// The autosaves of the session of a checkpoint that can still be read, latest first.
fn autosaves_of(scene: &Scene<'_>, reader: &mut ObjectReader, of: ObjectId) -> Result<Vec<FileState>, Error> {
    let Ok(tip) = checkpoint::load(scene.repo, of) else {
        return Ok(Vec::new());
    };
    let mut seen = HashSet::new();
    let mut states = Vec::new();
    for (_, id) in autosave::history(scene.repo, &tip.document.session.id)? {
        if !seen.insert(id) {
            continue;
        }
        // git lets what only a reflog names expire.
        let Ok(entry) = reader.checkpoint(id) else { continue };
        if let Ok(Some(state)) = state(reader, entry, true) {
            states.push(state);
        }
    }
    states.sort_by_key(|state| std::cmp::Reverse(state.entry.time));
    Ok(states)
}

//! The data of a page about a checkpoint: what an export has, the checkpoints before it, its files against their commit,
//! and what changed since.

use super::{
    Error, Scene, diff,
    export::{self, ExportScope, ExportedCheckpoint},
    list, resume, select,
};
use crate::{
    model::{report::ChangeReport, selector::Selector},
    store::{
        checkpoint::{Checkpoint, CheckpointCommit, object_id},
        patch::PatchOptions,
    },
};

/// A checkpoint with what is around it.
#[derive(Debug)]
pub struct Overview {
    /// The checkpoint.
    pub exported: ExportedCheckpoint,
    /// It and the ones before it, latest first.
    pub timeline: Vec<CheckpointCommit>,
    /// Whether there are older ones.
    pub has_older: bool,
    /// The changes since, for the latest checkpoint of a session here.
    pub changes: Option<ChangeReport>,
    /// A patch from the commit that was checked out to the files, as git writes it; empty where there was none.
    pub patch: Vec<u8>,
}

/// Reads it, with at most `limit` checkpoints.
pub fn overview(scene: &Scene<'_>, selector: &Selector, scope: ExportScope, limit: usize) -> Result<Overview, Error> {
    let exported = export::export(scene, selector, scope)?;
    let (session, id) = select::commit(scene, selector)?;
    let mut timeline = Vec::new();
    let log = list::log(scene, Some(selector), Some(limit), None, |entry| timeline.push(entry));
    let has_older = log.is_ok_and(|log| log.more);
    let is_tip = session
        .as_ref()
        .is_some_and(|name| exported.session.as_ref() == Some(name))
        && timeline.first().is_some_and(|first| first.id == id);
    let changes = match session.filter(|_| is_tip) {
        Some(name) => resume::preview(scene, &name)
            .ok()
            .filter(|outcome| outcome.is_tip && outcome.checkpoint.entry.id == id)
            .map(|outcome| outcome.report),
        None => None,
    };
    let patch = patch(scene, &exported.checkpoint).unwrap_or_default();
    Ok(Overview {
        exported,
        timeline,
        has_older,
        changes,
        patch,
    })
}

/// A commit that is not here any more, or a checkpoint without files, gives no patch.
fn patch(scene: &Scene<'_>, checkpoint: &Checkpoint) -> Result<Vec<u8>, Error> {
    match &checkpoint.document.git.head {
        Some(head) => Ok(diff::from_commit(scene, object_id(head), checkpoint, &PatchOptions::default())?.text),
        None => Ok(Vec::new()),
    }
}

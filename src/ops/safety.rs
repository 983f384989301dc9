//! Safety checkpoints: the state before files are changed, on a ref of the undo list.
//!
//! A checkpoint like any other, made by the same means as a save's: its parent is the latest checkpoint of the current
//! session, or where there is none the start of a session of its own. No session's chain gets longer by it.
#![expect(clippy::single_match_else, reason = "both cases are equals here, none is the rest")]

use super::{
    Error, Scene, chat,
    compose::{self, CurrentSnapshot, Predecessor},
    ids, placement, session_choice,
};
use crate::{
    model::{document::CheckpointKind, name::ShortName},
    os::CleanupFailure,
    store::{
        ObjectId,
        checkpoint::{self, People, Siblings, WrittenCheckpoint},
        objects::{SealedObjects, Writer},
        steps, undo,
    },
};

/// A safety checkpoint that is in place.
#[derive(Clone, Copy, Debug)]
pub struct Safety {
    /// Its number in the undo list.
    pub n: u64,
    /// Its commit.
    pub id: ObjectId,
}

/// Writes the safety checkpoint of the present. It is on no ref yet.
pub(super) fn write(
    scene: &Scene<'_>,
    writer: &Writer,
    present: &CurrentSnapshot,
    summary: &str,
    people: &People,
) -> Result<WrittenCheckpoint, Error> {
    // A damaged session is no reason to refuse its repair; the files are what counts here.
    let chosen = match session_choice::session_for_command(scene) {
        Err(Error::Damaged { .. }) => None,
        found => found?,
    };
    let mut siblings = Siblings::default();
    let (mut document, before, mut needs) = match &chosen {
        Some(chosen) => {
            let tip = &chosen.tip;
            let mut subject = session_choice::carried(tip, &chosen.name);
            session_choice::with_draft(scene, tip, &mut subject)?;
            let mut document = compose::document(scene, subject.session, CheckpointKind::Safety, present.facts.clone());
            document.record = subject.record;
            document.folded.clone_from(&tip.document.folded);
            document.restored_from.clone_from(&tip.document.restored_from);
            document.put_aside.clone_from(&tip.document.put_aside);
            chat::take_over(&mut document, &tip.document);
            let (previous, _) =
                checkpoint::siblings(scene.repo, &tip.entry).map_err(Error::damaged(chosen.name.as_str()))?;
            for kept in chat::SIBLINGS.into_iter().chain([steps::DIRECTORY]) {
                siblings.keep(&previous, kept);
            }
            (document, Predecessor::from(chosen), Vec::new())
        }
        None => {
            let session = compose::new_session(scene, ShortName::slug("safety", &ids::item_id()?))?;
            let (start, written) = compose::write_start(scene, writer, session.clone(), present.facts.clone(), people)?;
            let document = compose::document(scene, session, CheckpointKind::Safety, start.git);
            let before = Predecessor {
                id: written.id,
                digest: written.digest,
                checkpoint: None,
            };
            (document, before, written.needs)
        }
    };
    document.previous = Some(before.digest.clone());
    document.record.summary = Some(summary.to_owned());
    let files = (present, &before);
    let mut written = compose::write(scene.repo, writer, &mut document, &mut siblings, files, people)?;
    written.needs.append(&mut needs);
    Ok(written)
}

/// Puts a safety checkpoint on its ref. The objects of all writers are checked to be there still. Gives the files of ours
/// that could not be removed.
pub(super) fn put(
    scene: &Scene<'_>,
    n: u64,
    written: &WrittenCheckpoint,
    sealed: Vec<SealedObjects>,
) -> Result<(Safety, Vec<CleanupFailure>), Error> {
    let name = undo::ref_name(scene.repo, n);
    let left = placement::on_ref(scene, &name, None, written, sealed, "checkpoint: safety")?;
    // For speed alone: the next save fails if it cannot be done.
    let _ = crate::store::objects::consolidate(scene.repo);
    Ok((Safety { n, id: written.id }, left))
}

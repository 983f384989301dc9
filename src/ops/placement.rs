//! Putting a written checkpoint on its session's ref.

use super::{Error, Scene, compose};
use crate::{
    model::{document::CheckpointKind, name::ShortName},
    os::CleanupFailure,
    store::{
        self, ObjectId,
        checkpoint::WrittenCheckpoint,
        objects::SealedObjects,
        refs::{self, ExpectedValue, RefUpdate},
        session,
    },
};

/// Why a checkpoint is not on its ref.
pub(super) struct PlacementError {
    /// The reason.
    pub(super) error: Box<Error>,
    /// Its objects, if they are still protected: the next try may rely on them while this is held.
    pub(super) sealed: Vec<SealedObjects>,
}

impl From<store::Error> for PlacementError {
    fn from(error: store::Error) -> Self {
        let (error, sealed) = (Box::new(error.into()), Vec::new());
        Self { error, sealed }
    }
}

impl From<PlacementError> for Error {
    fn from(failed: PlacementError) -> Self {
        *failed.error
    }
}

/// Moves a session's ref from `old` (absent for a new session) to a checkpoint whose objects are durable, and checks
/// that they are still there.
///
/// A `git gc --prune=now` at the same moment may take objects that existed before and that no ref named. Then, and when
/// that cannot be determined, the ref goes back to where it was; the caller writes again. An error comes with the
/// objects if they are still protected. Gives the files of ours that could not be removed.
pub(super) fn tip(
    scene: &Scene<'_>,
    name: &ShortName,
    old: Option<ObjectId>,
    new: &WrittenCheckpoint,
    sealed: SealedObjects,
    kind: CheckpointKind,
) -> Result<Vec<CleanupFailure>, PlacementError> {
    let message = format!("checkpoint: {}", kind.word());
    on_ref(scene, &session::ref_name(name), old, new, vec![sealed], &message)
}

/// The same for any ref, and for objects that were written in several goes.
pub(super) fn on_ref(
    scene: &Scene<'_>,
    name: &str,
    old: Option<ObjectId>,
    new: &WrittenCheckpoint,
    sealed: Vec<SealedObjects>,
    message: &str,
) -> Result<Vec<CleanupFailure>, PlacementError> {
    let committer = compose::people(scene).committer;
    let edit = |from: Option<ObjectId>, to: Option<ObjectId>, message: &str| RefUpdate {
        name: name.to_owned(),
        expected: from.map_or(ExpectedValue::Absent, ExpectedValue::Is),
        new: to,
        message: message.to_owned(),
    };
    let forward = edit(old, Some(new.id), message);
    let mut left = match refs::update(scene.repo, &[forward], &committer, scene.wait) {
        Ok(left) => left,
        Err(error) => {
            let error = Box::new(error.into());
            return Err(PlacementError { error, sealed });
        }
    };
    let mut needed = new.needs.clone();
    for sealed in &sealed {
        needed.extend_from_slice(sealed.relied_on());
        needed.extend_from_slice(sealed.written());
    }
    if let Err(error) = refs::verify_present(scene.repo, &needed) {
        let back = edit(
            Some(new.id),
            old,
            "checkpoint: taken back, its objects are not all there",
        );
        refs::update(scene.repo, &[back], &committer, scene.wait)?;
        return Err(error.into());
    }
    left.extend(sealed.into_iter().filter_map(SealedObjects::release));
    Ok(left)
}

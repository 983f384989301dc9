//! Putting a written checkpoint on its session's ref.

use super::{Error, Scene, compose};
use crate::{
    model::{document::Kind, name::Name},
    os::Leftover,
    store::{
        self, ObjectId,
        checkpoint::Written,
        objects::Sealed,
        refs::{self, Edit, Expected},
        session,
    },
};

/// Moves a session's ref from `old` (absent for a new session) to a checkpoint whose objects are durable, and checks
/// that they are still there.
///
/// A `git gc --prune=now` at the same moment may take objects that existed before and that no ref named. Then the ref
/// goes back to where it was, and the caller writes again. An error comes with the objects if they are still protected.
/// Gives the files of ours that could not be removed.
pub(super) fn tip(
    scene: &Scene<'_>,
    name: &Name,
    old: Option<ObjectId>,
    new: &Written,
    sealed: Sealed,
    kind: Kind,
) -> Result<Vec<Leftover>, (Error, Option<Sealed>)> {
    let committer = compose::people(scene).committer;
    let edit = |from: Option<ObjectId>, to: Option<ObjectId>, message: String| Edit {
        name: session::ref_name(name),
        expected: from.map_or(Expected::Absent, Expected::Is),
        new: to,
        message,
    };
    let forward = edit(old, Some(new.id), format!("checkpoint: {}", kind.word()));
    let mut left = match refs::update(scene.repo, &[forward], &committer, scene.wait) {
        Ok(left) => left,
        Err(error) => return Err((error.into(), Some(sealed))),
    };
    let needed: Vec<ObjectId> = [new.needs.as_slice(), sealed.relied_on(), sealed.written()].concat();
    if let Err(error) = refs::verify_present(scene.repo, &needed) {
        if matches!(error, store::Error::Vanished { .. }) {
            let back = edit(
                Some(new.id),
                old,
                "checkpoint: taken back, its objects were collected".to_owned(),
            );
            if let Err(error) = refs::update(scene.repo, &[back], &committer, scene.wait) {
                return Err((error.into(), None));
            }
        }
        return Err((error.into(), None));
    }
    left.extend(sealed.release());
    Ok(left)
}

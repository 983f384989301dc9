//! Putting a written checkpoint on its session's ref.

use super::{Error, Scene, compose};
use crate::{
    model::{document::Kind, name::Name},
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
/// goes back to where it was, and the caller writes again.
pub(super) fn tip(
    scene: &Scene<'_>,
    name: &Name,
    old: Option<ObjectId>,
    new: &Written,
    sealed: Sealed,
    kind: Kind,
) -> Result<(), Error> {
    let message = format!("checkpoint: {}", kind.word());
    on_ref(scene, &session::ref_name(name), old, new, vec![sealed], &message)
}

/// The same for any ref, and for objects that were written in several goes.
pub(super) fn on_ref(
    scene: &Scene<'_>,
    name: &str,
    old: Option<ObjectId>,
    new: &Written,
    sealed: Vec<Sealed>,
    message: &str,
) -> Result<(), Error> {
    let committer = compose::people(scene).committer;
    let edit = |from: Option<ObjectId>, to: Option<ObjectId>, message: &str| Edit {
        name: name.to_owned(),
        expected: from.map_or(Expected::Absent, Expected::Is),
        new: to,
        message: message.to_owned(),
    };
    refs::update(scene.repo, &[edit(old, Some(new.id), message)], &committer, scene.wait)?;
    let mut needed = new.needs.clone();
    for sealed in &sealed {
        needed.extend_from_slice(sealed.relied_on());
        needed.extend_from_slice(sealed.written());
    }
    if let Err(error) = refs::verify_present(scene.repo, &needed) {
        if matches!(error, store::Error::Vanished { .. }) {
            let back = edit(Some(new.id), old, "checkpoint: taken back, its objects were collected");
            refs::update(scene.repo, &[back], &committer, scene.wait)?;
        }
        return Err(error.into());
    }
    for sealed in sealed {
        sealed.release()?;
    }
    Ok(())
}

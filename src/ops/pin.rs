//! `pin` and `unpin`: checkpoints that a prune keeps.

use super::{Error, Scene, select};
use crate::{
    model::{id::Digest, name::ShortName, selector::Selector},
    store::{ObjectId, pins},
};

/// A checkpoint that is pinned now, or is not any more.
#[derive(Debug)]
pub struct PinOutcome {
    /// Its commit.
    pub id: ObjectId,
    /// Its digest, by which it is known.
    pub digest: Digest,
    /// The session it was found through.
    pub session: Option<ShortName>,
    /// Whether that is new.
    pub changed: bool,
}

/// Pins a checkpoint, or takes its pin away; in a dry run only finds out whether that would change anything.
pub fn pin(scene: &Scene<'_>, selector: &Selector, pinned: bool, dry_run: bool) -> Result<PinOutcome, Error> {
    let selected = select::checkpoint(scene, selector)?;
    let digest = selected.checkpoint.digest.clone();
    let changed = if dry_run {
        pins::read(scene.repo)?.contains(&digest) != pinned
    } else {
        pins::update(scene.repo, scene.wait, |pins| {
            if pinned {
                pins.insert(digest.clone())
            } else {
                pins.remove(&digest)
            }
        })?
    };
    Ok(PinOutcome {
        id: selected.checkpoint.entry.id,
        digest,
        session: selected.session,
        changed,
    })
}

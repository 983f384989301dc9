//! Stand-in.
use super::{Error, Scene, compose::Present};
use crate::{model::report::*, store::{Repository, checkpoint::Checkpoint}};
pub(super) fn since(scene: &Scene<'_>, _overlay: &Repository, saved: &Checkpoint, _present: &Present) -> Result<ChangeReport, Error> {
    let pair = || Pair { then: String::new(), now: String::new() };
    Ok(ChangeReport { drift: Drift::default(), age: Age { verdict: Verdict::Same, saved_at: saved.document.created_at, now: scene.now, seconds: 0, limit: None },
        place: Place { verdict: Verdict::Same, is: PlaceIs::Same, host: pair(), worktree: pair(), path: pair() },
        branch: None, commits: None, files: None, saved: None, worktree: None, upstream: None, operation: None, stash: None, failed: vec![] })
}

//! Which session is current, where a session gets another identity and name.

use super::{Error, Scene};
use crate::{
    model::name::ShortName,
    store::{
        self,
        current::{self, CurrentPointer, SessionRef},
    },
};

/// Old and new pointer to the current session.
pub(super) fn follow(
    scene: &Scene<'_>,
    old: &str,
    new: &str,
    name: &ShortName,
) -> Result<(CurrentPointer, CurrentPointer), Error> {
    let before = current::read_to_replace(scene.repo)?;
    let moved = SessionRef {
        id: new.to_owned(),
        name: name.clone(),
    };
    let after = before.replaced(old, &moved);
    Ok((before, after))
}

/// The same in the other working trees. One that cannot be written stays with the old name, and reports it at its next save.
pub(super) fn follow_elsewhere(scene: &Scene<'_>, old: &str, new: &str, name: &ShortName) {
    let here = store::worktree_id(scene.repo);
    for id in store::worktree_ids(scene.repo) {
        if id == here {
            continue;
        }
        let Some(path) = store::worktree_path(scene.repo, &id) else {
            continue;
        };
        let Ok(repo) = store::open_worktree(scene.repo, &path) else {
            continue;
        };
        let there = Scene {
            repo: &repo,
            index: None,
            ..*scene
        };
        if let Ok((before, after)) = follow(&there, old, new, name)
            && before != after
        {
            let _ = current::write(&repo, &after);
        }
    }
}

//! Pulled changes that a save takes back: a pull moves the session and leaves the files as they are, and the next
//! checkpoint has the files of the working tree.

use crate::{
    model::{name::ShortName, path::RepoPath},
    ops::{Error, Scene},
    store::{
        ObjectId, Repository,
        checkpoint::{self, Checkpoint, object_id},
        refs, session, tree,
    },
};

/// The paths that pulled checkpoints changed and that the current files, the tree `now`, have as they were before the pull.
/// None where something was saved since; `repo` reads the tree.
pub(super) fn stale(
    scene: &Scene<'_>,
    repo: &Repository,
    name: &ShortName,
    tip: &Checkpoint,
    now: ObjectId,
) -> Result<Vec<RepoPath>, Error> {
    let Some(pulled) = tree_of(tip).filter(|pulled| *pulled != now) else {
        return Ok(Vec::new());
    };
    // Without a reflog nothing shows a pull.
    let log = refs::reflog(scene.repo, &session::ref_name(name)).unwrap_or_default();
    let mut at = tip.entry.id;
    let mut paths = Vec::new();
    for entry in log {
        if entry.new != at || !entry.message.starts_with(session::PULLED) {
            break;
        }
        let Some(old) = entry.old else { break };
        at = old;
        // One that was pruned since shows nothing.
        let Some(before) = checkpoint::load(scene.repo, old).ok().as_ref().and_then(tree_of) else {
            continue;
        };
        for change in tree::diff(repo, Some(before), Some(pulled), tree::Renames::Off)? {
            if tree::entry(repo, now, &change.path)? == change.old {
                paths.push(change.path);
            }
        }
    }
    paths.sort();
    paths.dedup();
    Ok(paths)
}

fn tree_of(checkpoint: &Checkpoint) -> Option<ObjectId> {
    let snapshot = checkpoint.document.snapshot.as_ref()?;
    Some(object_id(&snapshot.tree))
}

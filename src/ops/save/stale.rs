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
    let Some(pulled) = trees_of(scene, tip)?.filter(|(pulled, _)| *pulled != now) else {
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
        let Ok(before) = checkpoint::load(scene.repo, old) else {
            continue;
        };
        let Some(before) = trees_of(scene, &before)? else {
            continue;
        };
        for change in tree::diff(repo, Some(before.0), Some(pulled.0), tree::Renames::Off)? {
            // Uncommitted work that the pulled checkpoint is without, as both commits have the file alike: to get that state
            // would remove the work.
            let committed = [before.1, pulled.1].map(|head| tree::entry(repo, head, &change.path));
            let [old, new] = committed;
            let is_lacking = change.new == new? && change.new == old?;
            if !is_lacking && tree::entry(repo, now, &change.path)? == change.old {
                paths.push(change.path);
            }
        }
    }
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// The trees of the files and of HEAD.
fn trees_of(scene: &Scene<'_>, checkpoint: &Checkpoint) -> Result<Option<(ObjectId, ObjectId)>, Error> {
    let Some(snapshot) = &checkpoint.document.snapshot else {
        return Ok(None);
    };
    let head = checkpoint.document.git.head.as_ref().map(object_id);
    Ok(Some((object_id(&snapshot.tree), tree::tree_of(scene.repo, head)?)))
}

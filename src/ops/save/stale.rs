//! Pulled changes that a save takes back: a pull moves the session and leaves the files as they are, and the next
//! checkpoint has the files of the working tree. An edit of a file that the pull changed is made from the version before.

use crate::{
    model::name::ShortName,
    ops::{Error, Scene, compose::CurrentSnapshot, lacking, put_aside, receipt::StalePath, returned},
    store::{
        ObjectId,
        checkpoint::{Checkpoint, object_id},
        merge::Trees,
        objects::Writer,
        tree,
    },
};

/// The paths that pulled checkpoints changed and that the current files have without that change: as they were before the
/// pull, or with an edit of that version. None where something was saved since; `writer` has the current files.
pub(super) fn stale(
    scene: &Scene<'_>,
    writer: &Writer,
    name: &ShortName,
    tip: &Checkpoint,
    present: &CurrentSnapshot,
) -> Result<Vec<StalePath>, Error> {
    let (Some(snapshot), Some(pulled)) = (&present.snapshot, trees_of(scene, tip)?) else {
        return Ok(Vec::new());
    };
    let repo = &writer.overlay(scene.repo);
    let now = snapshot.tree;
    if pulled.0 == now {
        return Ok(Vec::new());
    }
    let head = tree::tree_of(scene.repo, present.facts.head.as_ref().map(object_id))?;
    // What was brought here and edited then was made from it.
    let is_brought = put_aside::was_here(scene, tip)?;
    let mut paths = Vec::new();
    for before in lacking::pulled_over(scene, name, tip) {
        let Some(before) = trees_of(scene, &before)? else {
            continue;
        };
        let mut edited = Vec::new();
        for change in tree::diff(repo, Some(before.0), Some(pulled.0), tree::Renames::Off)? {
            // Uncommitted work that the pulled checkpoint is without, as both commits have the file alike: to get that state
            // would remove the work.
            let committed = [before.1, pulled.1].map(|head| tree::entry(repo, head, &change.path));
            let [old, new] = committed;
            let is_lacking = change.new == new? && change.new == old?;
            let is_skipped = || snapshot.lists.skipped.iter().any(|skipped| skipped.path == change.path);
            let current = tree::entry(repo, now, &change.path)?;
            if is_lacking || current == change.new || is_skipped() {
                continue;
            }
            if current == change.old {
                paths.push(StalePath {
                    path: change.path,
                    is_edited: false,
                });
            } else if !is_brought && tree::entry(repo, head, &change.path)? != change.new {
                edited.push(change.path);
            }
        }
        let trees = Trees {
            base: Some(before.0),
            ours: Some(now),
            theirs: Some(pulled.0),
        };
        let edited = lacking::among(scene.repo, writer, trees, &edited)?.into_iter();
        paths.extend(edited.map(|path| StalePath { path, is_edited: true }));
    }
    if !paths.is_empty() {
        // What was purged is not to come back.
        let purged = returned::purged(scene, tip.entry.id)?;
        paths.retain(|stale| !purged.contains(&stale.path));
    }
    // Of two pulls, the file may be as before one of them.
    paths.sort_by(|a, b| (&a.path, a.is_edited).cmp(&(&b.path, b.is_edited)));
    paths.dedup_by(|a, b| a.path == b.path);
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

//! The files at the moments of a step: taken without storing them, and compared.

use super::super::{Error, Scene, compose};
use crate::{
    model::{
        change::{ChangeKind, TreeChange},
        step::{FileStates, StepOutput},
    },
    store::{
        self, ObjectId, Repository,
        checkpoint::{self, object_id, oid},
        objects::Writer,
        refs,
        tree::{self, Renames},
    },
};

/// The most files that are listed as a step's outputs.
const OUTPUTS: usize = 200;

/// The files now; `None` without a working tree. The writer keeps their trees for comparing.
pub(super) fn now(scene: &Scene<'_>, writer: &Writer) -> Result<Option<FileStates>, Error> {
    if !store::has_work_tree(scene.repo) {
        return Ok(None);
    }
    let snapshot = compose::snapshot(scene, writer, &[])?;
    let head = refs::head(scene.repo)?.id;
    let overlay = writer.overlay(scene.repo);
    let changes = tree::diff(
        &overlay,
        head_tree(scene.repo, head)?,
        Some(snapshot.tree),
        Renames::Off,
    )?;
    Ok(Some(FileStates::new(oid(snapshot.tree), head.map(oid), &changes)))
}

fn head_tree(repo: &Repository, head: Option<ObjectId>) -> Result<Option<ObjectId>, Error> {
    let tree = head.map(|head| checkpoint::tree_of(repo, head)).transpose();
    tree.map_err(Error::damaged("HEAD"))
}

/// Paths that differ between two states whose trees the overlay has; `None` when they cannot be determined.
pub(in crate::ops) fn differing(
    overlay: &Repository,
    then: &FileStates,
    now: &FileStates,
) -> Option<Vec<crate::model::path::RepoPath>> {
    if then.tree == now.tree {
        return Some(Vec::new());
    }
    // The tree itself may be there: a checkpoint was made at that moment.
    let stored = tree::diff(
        overlay,
        Some(object_id(&then.tree)),
        Some(object_id(&now.tree)),
        Renames::Off,
    );
    if let Ok(changes) = stored {
        return Some(changes.into_iter().map(|change| change.path).collect());
    }
    let head = head_tree(overlay, then.head.as_ref().map(object_id)).ok()?;
    let changes = tree::diff(overlay, head, Some(object_id(&now.tree)), Renames::Off).ok()?;
    then.differing(&changes)
}

/// The files that changed between two moments whose trees the overlay has, as outputs, and how many more there are.
pub(super) fn outputs(
    overlay: &Repository,
    before: &FileStates,
    after: &FileStates,
) -> Result<(Vec<StepOutput>, u64), Error> {
    let changes = tree::diff(
        overlay,
        Some(object_id(&before.tree)),
        Some(object_id(&after.tree)),
        Renames::Off,
    )?;
    let output = |change: &TreeChange| StepOutput {
        path: change.path.clone(),
        change: match change.kind {
            ChangeKind::Added => "created",
            ChangeKind::Deleted => "deleted",
            _ => "modified",
        }
        .to_owned(),
        text: None,
    };
    let more = changes.len().saturating_sub(OUTPUTS) as u64;
    Ok((changes.iter().take(OUTPUTS).map(output).collect(), more))
}

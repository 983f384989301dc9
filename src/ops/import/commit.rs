//! The end of an import: all refs move in one go, and how to take it back is noted.

use super::{
    super::{
        Error, Scene,
        ref_transaction::{Aftermath, UndoableRefTransaction},
    },
    ImportItem, ImportStatus,
};
use crate::store::{ObjectId, lock, objects::Writer, refs::RefUpdate};

/// Makes the objects durable, moves all refs, checks that the objects are still there, and notes how to take it back.
pub(super) fn commit(
    scene: &Scene<'_>,
    writer: Writer,
    edits: &[RefUpdate],
    needs: &[ObjectId],
    items: &[ImportItem],
) -> Result<Aftermath, Error> {
    let names: Vec<&str> = items
        .iter()
        .filter(|item| matches!(item.what, ImportStatus::New | ImportStatus::Grown))
        .map(|item| item.name.as_str())
        .collect();
    let what = match names.as_slice() {
        [name] => format!("imported session {name}"),
        names => format!("imported {} sessions", names.len()),
    };
    let _worktree = lock::worktree(scene.repo, scene.wait)?;
    UndoableRefTransaction {
        operation: "import",
        what,
        edits,
        sealed: Some(writer.finish()?),
        needs,
        ..UndoableRefTransaction::default()
    }
    .run(scene)
}

//! The end of an import: all refs move in one go, and how to take it back is noted.

use super::{
    super::{
        Error, Scene,
        deed::{Aftermath, Deed},
    },
    Item, What,
};
use crate::store::{ObjectId, lock, objects::Writer, refs::Edit};

/// Makes the objects durable, moves all refs, checks that the objects are still there, and notes how to take it back.
pub(super) fn commit(
    scene: &Scene<'_>,
    writer: Writer,
    edits: &[Edit],
    needs: &[ObjectId],
    items: &[Item],
) -> Result<Aftermath, Error> {
    let names: Vec<&str> = items
        .iter()
        .filter(|item| matches!(item.what, What::New | What::Grown))
        .map(|item| item.name.as_str())
        .collect();
    let what = match names.as_slice() {
        [name] => format!("imported session {name}"),
        names => format!("imported {} sessions", names.len()),
    };
    let _worktree = lock::worktree(scene.repo, scene.wait)?;
    Deed {
        operation: "import",
        what,
        edits,
        sealed: Some(writer.finish()?),
        needs,
        ..Deed::default()
    }
    .run(scene)
}

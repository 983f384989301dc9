//! The end of an import: all refs move in one go, and how to take it back is noted.

use super::{
    super::{Error, Scene, compose, undo as taking_back},
    Item, What,
};
use crate::store::{
    self, ObjectId,
    checkpoint::oid,
    objects::Writer,
    refs::{self, Edit, Expected},
};

/// Makes the objects durable, moves all refs, checks that the objects are still there, and notes how to take it back.
pub(super) fn commit(
    scene: &Scene<'_>,
    writer: Writer,
    edits: &[Edit],
    needs: &[ObjectId],
    items: &[Item],
) -> Result<(), Error> {
    let sealed = writer.finish()?;
    let committer = compose::people(scene).committer;
    refs::update(scene.repo, edits, &committer, scene.wait)?;
    let needed = [needs, sealed.relied_on(), sealed.written()].concat();
    if let Err(error) = refs::verify_present(scene.repo, &needed) {
        if matches!(error, store::Error::Vanished { .. }) {
            let back: Vec<Edit> = edits.iter().map(back).collect();
            refs::update(scene.repo, &back, &committer, scene.wait)?;
        }
        return Err(error.into());
    }
    sealed.release();
    let moves = edits.iter().map(|edit| {
        let old = match edit.expected {
            Expected::Is(id) => Some(oid(id)),
            _ => None,
        };
        (edit.name.clone(), old, edit.new.map(oid))
    });
    let names: Vec<&str> = items
        .iter()
        .filter(|item| matches!(item.what, What::New | What::Grown))
        .map(|item| item.name.as_str())
        .collect();
    let what = match names.as_slice() {
        [name] => format!("imported session {name}"),
        names => format!("imported {} sessions", names.len()),
    };
    taking_back::note_refs(scene, "import", what, moves.collect(), None)
}

/// The edit that takes another one back.
fn back(edit: &Edit) -> Edit {
    Edit {
        name: edit.name.clone(),
        expected: edit.new.map_or(Expected::Absent, Expected::Is),
        new: match edit.expected {
            Expected::Is(id) => Some(id),
            _ => None,
        },
        message: "checkpoint: taken back, its objects were collected".to_owned(),
    }
}

//! Changes of the record that wait for a save in a session which an undo takes away.

use super::{
    super::{Error, Scene, session_choice},
    RefEdit, UndoRequest, parted,
};
use crate::{
    model::name::ShortName,
    store::{
        chat,
        checkpoint::{self, object_id},
        draft, session,
        undo::UndoEntry,
    },
};

/// Fails where a session would go with changes that only its draft has: its checkpoints are kept for a redo, and a redo is
/// possible for as long as no other command comes.
pub(super) fn check(
    scene: &Scene<'_>,
    entry: &UndoEntry,
    edits: &[RefEdit],
    request: &UndoRequest,
) -> Result<(), Error> {
    let identity = |id: &crate::model::id::Oid| {
        // Who cannot read it may undo it.
        let found = checkpoint::load(scene.repo, object_id(id)).ok()?;
        Some((found.document.session.id.clone(), found))
    };
    for (full, from, to) in edits {
        let (Some(name), Some(from), None) = (full.strip_prefix(session::PREFIX), from, to) else {
            continue;
        };
        let (Ok(name), Some((id, tip))) = (ShortName::new(name), identity(from)) else {
            continue;
        };
        // It stays under another name, or its draft moves to the session that it was part of.
        let stays = edits
            .iter()
            .filter_map(|(_, _, to)| identity(to.as_ref()?))
            .any(|(other, _)| other == id);
        if stays || parted::source(entry, &tip).is_some() {
            continue;
        }
        let notes = session_choice::waiting(&draft::read(scene.repo, &id)?, &tip, &name);
        let messages = chat::read(scene.repo, &id)?.after(&tip.document.folded).count();
        let count = notes + messages;
        if count == 0 {
            continue;
        }
        let changes = if count == 1 {
            "change that is"
        } else {
            "changes that are"
        };
        let older = if request.older { " --older" } else { "" };
        let save = format!("save them first, and it stays: git checkpoint save --session {name}");
        return Err(Error::ChangedSince {
            what: format!("undo '{}'", entry.what),
            why: format!("session '{name}' has {count} {changes} not saved"),
            remedies: (vec![save], format!("git checkpoint undo{older} --force")).into(),
        });
    }
    Ok(())
}

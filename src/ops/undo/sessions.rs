//! Sessions that come back by an undo or redo, or go to the trash again.

use std::collections::BTreeMap;

use super::{
    super::{Error, Scene, session_choice, trash},
    RefEdit,
};
use crate::{
    model::name::ShortName,
    store::{
        checkpoint::{self, object_id},
        session,
    },
};

/// A session that would come back although another one continues it by now, with that one: both would have one draft and
/// one chat.
pub(super) fn continued_elsewhere(scene: &Scene<'_>, edits: &[RefEdit]) -> Result<Option<(String, ShortName)>, Error> {
    let goes = |name: &ShortName| {
        let full = session::ref_name(name);
        edits.iter().any(|(edited, _, to)| *edited == full && to.is_none())
    };
    let mut coming = BTreeMap::new();
    for (full, from, to) in edits {
        let (Some(name), None, Some(to)) = (full.strip_prefix(session::PREFIX), from, to) else {
            continue;
        };
        // Who cannot read it may bring it back.
        if let Ok(found) = checkpoint::load(scene.repo, object_id(to)) {
            coming.insert(found.document.session.id, name.to_owned());
        }
    }
    if coming.is_empty() {
        return Ok(None);
    }
    let twins = session_choice::identified(scene, |id| coming.contains_key(id))?;
    let mut twins = twins.into_iter().map(|(id, twin, _)| (coming[&id].clone(), twin));
    Ok(twins.find(|(name, twin)| twin.as_str() != name && !goes(twin)))
}

/// The messages with which sessions get into the trash again, by the begin of the names of their refs there: as with
/// the command that deleted them, which names them.
pub(super) fn deletions(edits: &[RefEdit]) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    for (full, from, to) in edits {
        let (Some(name), Some(_), None) = (full.strip_prefix(session::PREFIX), from, to) else {
            continue;
        };
        let is_trash = |edit: &&RefEdit| edit.0.starts_with(trash::TRASH) && edit.1.is_none() && edit.2 == *from;
        let kept = edits.iter().find(is_trash);
        if let Some((session, _)) = kept.and_then(|(full, ..)| full.rsplit_once('/')) {
            out.insert(format!("{session}/"), trash::deletion(name));
        }
    }
    out
}

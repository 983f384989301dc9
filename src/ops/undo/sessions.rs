//! Sessions that go to the trash again by an undo or redo.

use std::collections::BTreeMap;

use super::{super::trash, RefEdit};
use crate::store::session;

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

//! Actions that `undo --older` passes over: their sessions were changed elsewhere, as a fork in a working tree of its own.

use super::super::Scene;
use crate::{
    model::id::Oid,
    ops::{Error, session_choice},
    store::{
        checkpoint::oid,
        refs, session,
        undo::{Effect, UndoEntry, UndoList},
    },
};

/// An action that stays, as a session that it made or moved has changed since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PassedEntry {
    /// Description of the action.
    pub what: String,
    /// The session.
    pub session: String,
}

/// The latest action that is not passed over, and those that are. Where all are, it is the latest one, which cannot be undone.
pub(super) fn entry<'l>(
    scene: &Scene<'_>,
    list: &'l UndoList,
) -> Result<Option<(&'l UndoEntry, Vec<PassedEntry>)>, Error> {
    let mut passed = Vec::new();
    let mut done: Vec<&UndoEntry> = list.entries().filter_map(|(entry, is)| is.then_some(entry)).collect();
    let latest = done.last().copied();
    while let Some(entry) = done.pop() {
        match moved_on(scene, entry)? {
            Some(session) => passed.push(PassedEntry {
                what: entry.what.clone(),
                session,
            }),
            None => return Ok(Some((entry, passed))),
        }
    }
    Ok(latest.map(|latest| (latest, Vec::new())))
}

/// The session that has changed since an action which concerns neither the current session nor files here.
pub(super) fn moved_on(scene: &Scene<'_>, entry: &UndoEntry) -> Result<Option<String>, Error> {
    let is_here = |effect: &Effect| matches!(effect, Effect::Record { .. } | Effect::Current { .. });
    if entry.files_before().is_some() || entry.effects.iter().any(is_here) {
        return Ok(None);
    }
    let current = session_choice::session_for_command(scene)?.map(|chosen| chosen.name.to_string());
    let mut moved = None;
    for effect in &entry.effects {
        let Effect::Ref {
            name, new: Some(new), ..
        } = effect
        else {
            continue;
        };
        let Some(session) = name.strip_prefix(session::PREFIX) else {
            continue;
        };
        if current.as_deref() == Some(session) {
            return Ok(None);
        }
        let now: Option<Oid> = refs::read(scene.repo, name)?.map(oid);
        if now.is_some_and(|now| now != *new) {
            moved = Some(session.to_owned());
        }
    }
    Ok(moved)
}

//! The end of a merge or apply in conflict: checkpoints that were saved meanwhile leave the session with it.

use super::super::{Error, Scene};
use crate::{
    model::id::Oid,
    store::{
        ObjectId,
        checkpoint::{object_id, oid},
        refs, session,
        undo::{Effect, UndoEntry, UndoList},
    },
};

/// Checkpoints that were saved after a merge and are not on their session any more once it is aborted. A ref of the undo
/// list keeps them, and a redo brings them back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbandonedCheckpoints {
    /// The session.
    pub session: String,
    /// The latest of them.
    pub latest: ObjectId,
    /// How many there are.
    pub count: usize,
}

/// The entry to undo: that of the merge or apply of this number. Fails if a later entry changed the same files or refs.
pub(super) fn entry(list: &UndoList, n: u64) -> Result<UndoEntry, Error> {
    let nothing = Error::NothingTo { what: "abort" };
    let Some((entry, None)) = list.entry(n) else {
        return Err(nothing);
    };
    let names = |entry: &UndoEntry| -> Vec<String> {
        let name = |effect: &Effect| match effect {
            Effect::Ref { name, .. } => Some(name.clone()),
            _ => None,
        };
        entry.effects.iter().filter_map(name).collect()
    };
    let own = names(entry);
    let is_in_the_way =
        |later: &UndoEntry| later.files_before().is_some() || names(later).iter().any(|name| own.contains(name));
    let later = list.entries().filter(|(later, is_done)| *is_done && later.n > n);
    match later
        .map(|(later, _)| later)
        .filter(|later| is_in_the_way(later))
        .last()
    {
        Some(later) => Err(Error::ChangedSince {
            what: format!("go back to before '{}'", entry.what),
            why: format!("'{}' came after it", later.what),
            remedies: vec!["undo that first: git checkpoint undo".to_owned()].into(),
        }),
        None => Ok(entry.clone()),
    }
}

/// Lets an entry that is aborted end at the latest checkpoints of its sessions, where those were saved after it. For an
/// undo, which `aborts` nothing, that is a reason to refuse.
pub(super) fn extend(
    scene: &Scene<'_>,
    entry: &mut UndoEntry,
    aborts: bool,
) -> Result<Vec<AbandonedCheckpoints>, Error> {
    let mut out = Vec::new();
    for effect in entry.effects.iter_mut().filter(|_| aborts) {
        let Effect::Ref {
            name,
            old: Some(_),
            new: Some(new),
        } = effect
        else {
            continue;
        };
        let Some(session) = name.strip_prefix(session::PREFIX) else {
            continue;
        };
        let Some(now) = refs::read(scene.repo, name)?.filter(|now| oid(*now) != *new) else {
            continue;
        };
        if let Some(count) = since(scene, now, new) {
            out.push(AbandonedCheckpoints {
                session: session.to_owned(),
                latest: now,
                count,
            });
            *new = oid(now);
        }
    }
    Ok(out)
}

/// How many checkpoints of a chain came after one of them; `None` if that is not in it.
fn since(scene: &Scene<'_>, tip: ObjectId, from: &Oid) -> Option<usize> {
    let from = object_id(from);
    session::chain(scene.repo, tip)
        .map_while(Result::ok)
        .position(|entry| entry.id == from)
}

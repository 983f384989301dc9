//! The end of a merge or apply in conflict: checkpoints that were saved meanwhile leave the session with it.

use super::super::{Error, Scene, plan_runner::PlanOperation};
use crate::{
    model::{document::CheckpointKind, id::Oid},
    store::{
        ObjectId,
        checkpoint::{self, object_id, oid},
        merge_state, refs, session,
        undo::{self, Effect, UndoEntry, UndoList},
    },
};

/// The checkpoints after those of an action that leave their session with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AbandonRule {
    /// None: they are a reason to refuse.
    Nothing,
    /// Those until the conclusion of a merge, with that, where it is the latest checkpoint.
    Concluded,
    /// All, where a merge or apply is aborted.
    All,
}

impl AbandonRule {
    /// The rule for an undo that aborts a merge or apply, or that is forced.
    pub(super) fn of(aborts: bool, is_forced: bool) -> Self {
        match (aborts, is_forced) {
            (true, _) => Self::All,
            (_, true) => Self::Concluded,
            _ => Self::Nothing,
        }
    }
}

/// Checkpoints that were saved after a merge and are not on their session any more once it is aborted or undone. A ref of
/// the undo list keeps them, and a redo brings them back.
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

/// How many checkpoints would leave their session with a merge or apply that is aborted.
pub fn saved_since(scene: &Scene<'_>, n: u64) -> Result<usize, Error> {
    let mut entry = entry(&undo::read(scene.repo)?, n)?;
    shorten(&mut entry);
    let abandoned = extend(scene, &mut entry, AbandonRule::All)?;
    Ok(abandoned.iter().map(|abandoned| abandoned.count).sum())
}

/// Lets an entry end where the action itself left its sessions: what an earlier undo took with it was brought back by a redo, and
/// leaves again only if that is asked for again.
pub(super) fn shorten(entry: &mut UndoEntry) {
    for effect in &mut entry.effects {
        if let Effect::Ref { name, new, .. } = effect
            && let Some(own) = entry.extended.get(name)
        {
            *new = Some(own.clone());
        }
    }
}

/// Lets an entry end at the latest checkpoints of its sessions, where those were saved after it and leave with it.
pub(super) fn extend(
    scene: &Scene<'_>,
    entry: &mut UndoEntry,
    rule: AbandonRule,
) -> Result<Vec<AbandonedCheckpoints>, Error> {
    let mut out = Vec::new();
    let is_merge = entry.operation == PlanOperation::Merge.word();
    let count = |now: ObjectId, new: &Oid| match rule {
        AbandonRule::All => since(scene, now, new),
        AbandonRule::Concluded if is_merge => since_merge(scene, now, new),
        AbandonRule::Concluded | AbandonRule::Nothing => None,
    };
    for effect in &mut entry.effects {
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
        if let Some(count) = count(now, new) {
            out.push(AbandonedCheckpoints {
                session: session.to_owned(),
                latest: now,
                count,
            });
            entry.extended.entry(name.clone()).or_insert_with(|| new.clone());
            *new = oid(now);
        }
    }
    Ok(out)
}

/// How many checkpoints came after a merge, of which the latest has its resolution; `None` if that is not so, or another
/// merge is among them.
pub(super) fn since_merge(scene: &Scene<'_>, tip: ObjectId, merge: &Oid) -> Option<usize> {
    let load = |id| Some(checkpoint::load(scene.repo, id).ok()?.document);
    load(tip).filter(|document| document.trigger.as_deref() == Some(merge_state::CONCLUSION))?;
    let merge = object_id(merge);
    for (count, entry) in session::chain(scene.repo, tip).enumerate() {
        let id = entry.ok()?.id;
        if id == merge {
            return Some(count);
        }
        load(id).filter(|document| document.kind != CheckpointKind::Merge)?;
    }
    None
}

/// How many checkpoints of a chain came after one of them; `None` if that is not in it.
fn since(scene: &Scene<'_>, tip: ObjectId, from: &Oid) -> Option<usize> {
    let from = object_id(from);
    session::chain(scene.repo, tip)
        .map_while(Result::ok)
        .position(|entry| entry.id == from)
}

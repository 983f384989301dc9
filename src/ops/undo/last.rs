//! Whether the latest command is the one that undo comes to.

use super::super::{Error, Scene, ref_transaction::standing as standing_of};
use crate::{
    model::id::Oid,
    store::{
        self,
        checkpoint::{self, Checkpoint, object_id},
        current,
        undo::{Effect, UndoEntry},
    },
};

/// How many checkpoints since an entry of the list are looked at.
const LOOKED_AT: usize = 100;

/// The latest checkpoint since an entry that was saved in this working tree, from a tip back to where the session was then. Of
/// what cannot be read nothing is known, and it counts.
fn latest_here(scene: &Scene<'_>, tip: &Checkpoint, before: Option<&Oid>, entry: &UndoEntry) -> Option<Checkpoint> {
    let here = store::worktree_id(scene.repo);
    let mut next = Some(tip.clone());
    for _ in 0..LOOKED_AT {
        let one = next?;
        if before.is_some_and(|before| object_id(before) == one.entry.id) || one.document.created_at < entry.at {
            return None;
        }
        let document = &one.document;
        if document.host == scene.host && document.worktree.id == here {
            return Some(one);
        }
        next = match one.previous() {
            Some(previous) => match checkpoint::load(scene.repo, previous) {
                Ok(previous) => Some(previous),
                Err(_) => return Some(one),
            },
            None => None,
        };
    }
    Some(tip.clone())
}

/// Fails if a command came since that is not on the list: `undo` may mean that one.
pub(super) fn check(scene: &Scene<'_>, entry: &UndoEntry) -> Result<(), Error> {
    let Some(standing) = &entry.standing else {
        return Ok(());
    };
    let now = current::read(scene.repo)?;
    let now = standing_of(scene, &now, &[]);
    if (&now.session, &now.tip) == (&standing.session, &standing.tip) {
        return Ok(());
    }
    let is_own = |tip: &Oid| {
        let made = |effect: &Effect| matches!(effect, Effect::Ref { new: Some(new), .. } if new == tip);
        entry.effects.iter().any(made)
    };
    let tip = now.tip.as_ref().filter(|tip| !is_own(tip)).map(object_id);
    let tip = tip.and_then(|tip| checkpoint::load(scene.repo, tip).ok());
    // A session that was only switched to has a latest checkpoint from before.
    let is_new = |tip: &Checkpoint| {
        let is_same = now.session == standing.session;
        now.tip != standing.tip && (is_same || tip.document.created_at >= entry.at)
    };
    let command = match &tip {
        // Each working tree has an undo list of its own.
        Some(tip) if is_new(tip) => match latest_here(scene, tip, standing.tip.as_ref(), entry) {
            Some(latest) => latest.document.kind.word(),
            None => return Ok(()),
        },
        // The branch decides which session is current; git changed it.
        _ if standing.branch.is_some() && now.branch != standing.branch => return Ok(()),
        _ => "switch",
    };
    Err(Error::NotLast {
        command,
        last: entry.what.clone(),
        at: entry.at,
    })
}

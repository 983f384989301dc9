//! Whether the latest command is the one that undo comes to.

use super::super::{Error, Scene, ref_transaction::standing as standing_of};
use crate::{
    model::id::Oid,
    store::{
        checkpoint::{self, object_id},
        current,
        undo::{Effect, UndoEntry},
    },
};

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
    let is_new = |tip: &checkpoint::Checkpoint| {
        let is_same = now.session == standing.session;
        now.tip != standing.tip && (is_same || tip.document.created_at >= entry.at)
    };
    let command = match &tip {
        Some(tip) if is_new(tip) => tip.document.kind.word(),
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

//! Checkpoints whose commits another tool rewrote, written again with what the commits have.
//!
//! Each document then names the files and HEAD of its own commits, has a digest of its own, and `pruned.jsonl` next to it
//! names what it was: so as a purge leaves it.

use std::collections::{BTreeSet, HashSet};

use super::{ChangedRef, chain::Rewriter, follow_up::PurgeFollowUp, put};
use crate::{
    ops::{Error, Scene},
    store::{
        ObjectId,
        checkpoint::{self, oid},
        objects::Writer,
        refs, session,
    },
};

/// Namespaces of refs that belong to other tools.
const OTHERS: [&str; 2] = ["refs/checkpoints-remote/", "refs/checkpoints-incoming/"];

/// Anchors every chain of ours, or those of one ref and its autosaves; in a dry run only names them. Gives for each ref
/// that moves its name, what it was and what it is.
pub(in crate::ops) fn anchor(
    scene: &Scene<'_>,
    only: Option<&str>,
    dry_run: bool,
) -> Result<Vec<(String, ObjectId, ObjectId)>, Error> {
    let listed = refs::list(scene.repo, "refs/checkpoints")?;
    let is_meant = |name: &str| match only {
        Some(only) => name == only,
        None => !OTHERS.iter().any(|prefix| name.starts_with(prefix)),
    };
    let ours: Vec<_> = listed
        .into_iter()
        .filter_map(|(name, target)| Some((name, target.ok()?)))
        .filter(|(name, _)| is_meant(name))
        .collect();
    let mut known = HashSet::new();
    if !ours.iter().any(|(_, tip)| is_rewritten(scene, *tip, &mut known)) {
        return Ok(Vec::new());
    }
    let writer = if dry_run {
        Writer::memory(scene.repo)
    } else {
        Writer::durable(scene.repo)?
    };
    let (contents, drop) = (BTreeSet::new(), HashSet::new());
    let mut rewriter = Rewriter::new(scene.repo, &writer, None, None, &contents, &drop);
    let mut moved = Vec::new();
    for (name, tip) in ours {
        // A damaged one stays for those who bring it back.
        if let Ok(now) = rewriter.tip(tip)
            && now != tip
        {
            moved.push((name, tip, now));
        }
    }
    let mut rest = rewriter.into_rest();
    if dry_run || moved.is_empty() {
        return Ok(moved);
    }
    let edits: Vec<_> = moved
        .iter()
        .map(|(name, old, new)| ChangedRef {
            name: name.clone(),
            old: oid(*old),
            new: Some(oid(*new)),
        })
        .collect();
    rest.moved = PurgeFollowUp::moves(&edits);
    put(scene, &edits, writer, &rest)?;
    rest.finish(scene)?;
    Ok(moved)
}

/// Whether another tool rewrote a checkpoint of a chain. `known` are those that were looked at and are not.
fn is_rewritten(scene: &Scene<'_>, tip: ObjectId, known: &mut HashSet<ObjectId>) -> bool {
    let chain = session::chain(scene.repo, tip).map_while(Result::ok);
    chain
        .take_while(|entry| known.insert(entry.id))
        .any(|entry| checkpoint::load_compared(scene.repo, entry.id).is_ok_and(|found| found.is_rewritten))
}

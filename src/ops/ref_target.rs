//! Whether a ref may be pointed at a commit that an earlier command left: it and everything that it needs is there.
//!
//! What the trash or another ref of ours holds git keeps whole. Else it may have been collected, all of it or a part.

use super::{
    Scene,
    verify::{self, chain::ChainWalk},
};
use crate::store::{ObjectId, checkpoint, refs, session};

/// What is missing of a commit to which the ref of this name is to move.
pub(super) fn missing(scene: &Scene<'_>, name: &str, id: ObjectId) -> Option<String> {
    if !name.starts_with("refs/checkpoints") {
        let read = checkpoint::commit_parts(scene.repo, id);
        return read.err().map(|fault| fault.to_string());
    }
    // Who cannot read it may keep it.
    if let Err(fault) = checkpoint::load(scene.repo, id)
        && !(fault.is_encrypted() || fault.is_newer())
    {
        return Some(fault.to_string());
    }
    let held = refs::list(scene.repo, "refs/checkpoints").unwrap_or_default();
    if held.iter().any(|(_, target)| *target == Ok(id)) {
        return None;
    }
    let mut chain = ChainWalk::default();
    chain.begin(id);
    while let Some(id) = chain.advance() {
        let entry = match checkpoint::entry(scene.repo, id) {
            Ok(entry) => entry,
            Err(fault) => return Some(fault.to_string()),
        };
        let needs = [Some(entry.tree), entry.snapshot_commit()];
        if let Some(id) = needs.into_iter().flatten().find(|id| !refs::is_stored(scene.repo, *id)) {
            return Some(format!("object '{id}' of checkpoint '{}' is missing", entry.id));
        }
        if let Some(merged) = entry.merged_commit() {
            chain.push(merged, None);
        }
        chain.follow(session::before(&entry));
    }
    verify::missing(scene, id)
}

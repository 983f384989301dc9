//! `list --autosaves`: the autosaves that can still be read.

use std::collections::HashSet;

use super::{Error, Scene};
use crate::store::{ObjectId, autosave, checkpoint::CheckpointCommit, refs, scan::ObjectReader};

/// An autosave in the list.
#[derive(Debug)]
pub struct ListedAutosave {
    /// Its commit.
    pub entry: CheckpointCommit,
    /// The working tree it was made in.
    pub worktree: String,
    /// Whether its ref points to it.
    pub is_latest: bool,
}

/// The autosaves of all sessions and working trees, latest first.
pub fn autosaves(scene: &Scene<'_>) -> Result<Vec<ListedAutosave>, Error> {
    let mut reader = ObjectReader::of(scene.repo);
    let mut out = Vec::new();
    for (full, target) in refs::list(scene.repo, autosave::PREFIX)? {
        let worktree = full.rsplit('/').next().unwrap_or_default().to_owned();
        let latest = target.ok();
        let logged = refs::reflog(scene.repo, &full)?.into_iter().map(|entry| entry.new);
        let mut seen = HashSet::new();
        let ids: Vec<ObjectId> = latest.into_iter().chain(logged).filter(|id| seen.insert(*id)).collect();
        for id in ids {
            // git lets what only a reflog names expire.
            if let Ok(entry) = reader.checkpoint(id) {
                out.push(ListedAutosave {
                    entry,
                    worktree: worktree.clone(),
                    is_latest: latest == Some(id),
                });
            }
        }
    }
    out.sort_by_key(|row| std::cmp::Reverse(row.entry.time));
    Ok(out)
}

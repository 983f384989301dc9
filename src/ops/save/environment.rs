//! Environment files with values that a checkpoint has: git tracks them, so they are saved like every other file.

use crate::{
    model::path::RepoPath,
    ops::{Error, Scene, ids::short, receipt::CheckpointReceipt},
    secrets,
    store::{
        checkpoint::{self, object_id},
        incoming::{self, LimitedBlob},
        tree,
    },
};

/// Where such files are looked for in the first checkpoint of a session, besides what differs from HEAD: of a later one only
/// what changed since the one before is looked at.
const USUAL: &[&str] = &[
    ".env",
    ".env.dev",
    ".env.development",
    ".env.local",
    ".env.prod",
    ".env.production",
    ".env.staging",
    ".env.test",
];

/// Environment files with values whose content is new in a checkpoint. None where `checkpoint.saveSecrets` is on.
pub fn environment_files(scene: &Scene<'_>, receipt: &CheckpointReceipt) -> Result<Vec<RepoPath>, Error> {
    let Some(snapshot) = receipt
        .document
        .snapshot
        .as_ref()
        .filter(|_| !scene.settings.save_secrets)
    else {
        return Ok(Vec::new());
    };
    let new = object_id(&snapshot.tree);
    let damaged = |id| Error::damaged(short(id));
    let before = match receipt.parent {
        Some(parent) => checkpoint::entry(scene.repo, parent)
            .map_err(damaged(parent))?
            .snapshot_commit(),
        None => None,
    };
    let head = receipt.document.git.head.as_ref().map(object_id);
    let base = tree::tree_of(scene.repo, before.or(head))?;
    let changes = tree::diff(scene.repo, Some(base), Some(new), tree::Renames::Off)?;
    let changed = changes
        .into_iter()
        .filter_map(|change| Some((change.path, change.new?)));
    let mut found: Vec<_> = changed.filter(|(path, _)| is_environment(path)).collect();
    if before.is_none() {
        for name in USUAL {
            let path = RepoPath::new(name.as_bytes());
            if let Some(entry) = tree::entry(scene.repo, new, &path)?
                && found.iter().all(|(known, _)| *known != path)
            {
                found.push((path, entry));
            }
        }
    }
    let mut out = Vec::new();
    for (path, entry) in found {
        // The commit of a submodule and a symlink have no values.
        if entry.mode & 0o170_000 != 0o100_000 {
            continue;
        }
        let content = incoming::limited_blob(scene.repo, object_id(&entry.id), secrets::file::MAX_FILE)?;
        if let LimitedBlob::Content(content) = content
            && secrets::file::kind_of(name(&path), &content).is_some()
        {
            out.push(path);
        }
    }
    out.sort();
    Ok(out)
}

fn is_environment(path: &RepoPath) -> bool {
    secrets::file::is_environment_name(name(path))
}

fn name(path: &RepoPath) -> &[u8] {
    path.as_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

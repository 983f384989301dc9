//! Environment files with values that a checkpoint has: git tracks them, so they are saved like every other file.

use crate::{
    model::{change::TreeEntryInfo, document::Document, path::RepoPath},
    ops::{Error, Scene},
    secrets,
    store::{
        Repository,
        checkpoint::{Checkpoint, object_id},
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

/// Environment files whose content is new in a checkpoint after `before`, by name alone. `repo` reads the trees of the
/// checkpoint. None where `checkpoint.saveSecrets` is on.
pub(super) fn candidates(
    scene: &Scene<'_>,
    repo: &Repository,
    document: &Document,
    before: Option<&Checkpoint>,
) -> Result<Vec<(RepoPath, TreeEntryInfo)>, Error> {
    let Some(snapshot) = document.snapshot.as_ref().filter(|_| !scene.settings.save_secrets) else {
        return Ok(Vec::new());
    };
    let new = object_id(&snapshot.tree);
    let saved = before.and_then(|before| match &before.document.snapshot {
        Some(saved) => Some(object_id(&saved.tree)),
        None => before.entry.snapshot_commit(),
    });
    let base = tree::tree_of(repo, saved.or(document.git.head.as_ref().map(object_id)))?;
    let changes = tree::diff(repo, Some(base), Some(new), tree::Renames::Off)?;
    let changed = changes
        .into_iter()
        .filter_map(|change| Some((change.path, change.new?)));
    let mut found: Vec<_> = changed.filter(|(path, _)| is_environment(path)).collect();
    if saved.is_none() {
        for name in USUAL {
            let path = RepoPath::new(name.as_bytes());
            if let Some(entry) = tree::entry(repo, new, &path)?
                && found.iter().all(|(known, _)| *known != path)
            {
                found.push((path, entry));
            }
        }
    }
    Ok(found)
}

/// Which of these have values. Their content is stored by now.
pub(super) fn with_values(
    scene: &Scene<'_>,
    candidates: Vec<(RepoPath, TreeEntryInfo)>,
) -> Result<Vec<RepoPath>, Error> {
    let mut out = Vec::new();
    for (path, entry) in candidates {
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

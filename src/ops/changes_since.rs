//! Changes of the files since a safety checkpoint: for an operation that was interrupted, whose earlier part only the
//! disk remembers, and whose journal, of an older version, does not name the paths.

use std::collections::{BTreeSet, HashSet};

use super::Error;
use crate::{
    model::path::RepoPath,
    store::{ObjectId, Repository, tree},
    worktree::snapshot::Snapshot,
};

use super::target_state::TargetState;

/// Every path that is not as it was; directories that came or went among them.
pub(super) fn changes(repo: &Repository, before: &TargetState, now: &Snapshot) -> Result<Vec<RepoPath>, Error> {
    let mut paths: BTreeSet<RepoPath> = tree::diff(repo, Some(before.tree), Some(now.tree), tree::Renames::Off)?
        .into_iter()
        .map(|change| change.path)
        .collect();
    let differ = |a: &[(RepoPath, u32)], b: &[(RepoPath, u32)]| -> Vec<RepoPath> {
        let b: HashSet<_> = b.iter().collect();
        let only = a.iter().filter(|entry| !b.contains(entry));
        only.map(|(path, _)| path.clone()).collect()
    };
    paths.extend(differ(&before.lists.modes, &now.lists.modes));
    paths.extend(differ(&now.lists.modes, &before.lists.modes));
    let mut directories: BTreeSet<RepoPath> = BTreeSet::new();
    let (then, is) = (&before.lists.empty_dirs, &now.lists.empty_dirs);
    directories.extend(then.iter().chain(is).cloned());
    for path in paths.iter().chain(then).chain(is) {
        let bytes = path.as_bytes();
        let slashes = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        directories.extend(slashes.map(|(at, _)| RepoPath::from(&bytes[..at])));
    }
    let mut found = Vec::new();
    for path in paths {
        let entry = tree::entry(repo, now.tree, &path)?;
        // Where a file became a directory, what is in the directory is listed by itself.
        if entry.is_some() || !is_directory(repo, now.tree, is, &path)? {
            found.push(path);
        }
    }
    for directory in directories {
        let was = is_directory(repo, before.tree, then, &directory)?;
        match (was, is_directory(repo, now.tree, is, &directory)?) {
            (false, true) => found.push(directory),
            (true, false) if tree::entry(repo, now.tree, &directory)?.is_none() => found.push(directory),
            _ => {}
        }
    }
    Ok(found)
}

/// Whether there is a directory at a path, with files or without.
fn is_directory(repo: &Repository, tree: ObjectId, empty: &[RepoPath], path: &RepoPath) -> Result<bool, Error> {
    let inside = |other: &RepoPath| {
        let rest = other.as_bytes().strip_prefix(path.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    };
    Ok(empty.iter().any(inside) || tree::has_directory(repo, tree, path)?)
}

//! Content that this program wrote into the files of `checkpoint.exportTo`: a file that still is as it was written is the
//! program's own, and neither a user's work nor a change of the project.

use std::collections::BTreeMap;

use super::{Error, Repository, paths};
use crate::{
    model::{id::Digest, json, path::RepoPath},
    os,
};

/// The file with the digest of what was written last, for each path below the top of the working tree.
const FILE: &str = "exports";

fn read(repo: &Repository) -> BTreeMap<String, Digest> {
    let bytes = os::read_regular(&paths::worktree_private_path(repo).join(FILE)).unwrap_or_default();
    // What cannot be read counts as empty: then no file is the program's own.
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Whether these bytes are what was written to a path last.
pub fn is_own(repo: &Repository, path: &str, bytes: &[u8]) -> bool {
    read(repo).get(path).is_some_and(|digest| *digest == Digest::of(bytes))
}

/// Notes what is about to be written to a path.
pub fn note(repo: &Repository, path: &str, bytes: &[u8]) -> Result<(), Error> {
    let mut all = read(repo);
    all.insert(path.to_owned(), Digest::of(bytes));
    let file = paths::worktree_private_dir(repo)?.join(FILE);
    os::replace(&file, &json::to_bytes(&all), paths::sharing(repo), false).map_err(Error::io("write", &file))
}

/// The paths whose files are as this program wrote them.
pub fn own(repo: &Repository) -> Vec<RepoPath> {
    let Some(top) = repo.workdir() else { return Vec::new() };
    let is_own = |(path, digest): &(String, Digest)| {
        os::read_regular(&top.join(path)).is_ok_and(|bytes| Digest::of(&bytes) == *digest)
    };
    let all = read(repo).into_iter().filter(is_own);
    all.map(|(path, _)| RepoPath::from(path.as_bytes())).collect()
}

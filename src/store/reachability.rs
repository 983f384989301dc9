//! Which objects something still reaches, in git's own word: the question after a purge.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};

use super::{Error, ObjectId, Repository, git};

/// Whether an object is in the repository.
pub fn is_here(repo: &Repository, id: &ObjectId) -> bool {
    repo.has_object(id)
}

/// Those of these objects that a ref, a reflog, HEAD or the index of any working tree still leads to.
///
/// git walks everything for it, some seconds for a large project; it ends early when all have been met.
pub fn still_reached(repo: &Repository, ids: &BTreeSet<ObjectId>) -> Result<BTreeSet<ObjectId>, Error> {
    let mut found = BTreeSet::new();
    if ids.is_empty() {
        return Ok(found);
    }
    let walk = ["--objects", "--no-object-names", "--missing=allow-any"];
    let mut running = git(repo)
        .arg("rev-list")
        .args(walk)
        .args(["--all", "--reflog", "--indexed-objects"])
        .start()?;
    drop(running.stdin.take());
    if let Some(pipe) = running.stdout.take() {
        for line in BufReader::new(pipe).lines() {
            let line = line.map_err(Error::io("read the output of", "git rev-list"))?;
            if let Ok(id) = ObjectId::from_hex(line.trim().as_bytes())
                && ids.contains(&id)
            {
                found.insert(id);
                if found.len() == ids.len() {
                    // Dropping it ends the child.
                    return Ok(found);
                }
            }
        }
    }
    running.finish()?;
    Ok(found)
}

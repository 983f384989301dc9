//! Which objects something still reaches, in git's own word: the question after a purge.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};

use super::{Error, ObjectId, Repository, git, refs};

/// Whether an object is in the repository.
pub fn is_here(repo: &Repository, id: &ObjectId) -> bool {
    repo.has_object(id)
}

/// Those of these objects that something other than our own refs and their reflogs leads to: the project's refs, their
/// reflogs, HEAD or the index.
pub fn reached_by_project(repo: &Repository, ids: &BTreeSet<ObjectId>) -> Result<BTreeSet<ObjectId>, Error> {
    const PROJECT: [&str; 2] = ["--exclude=refs/checkpoints*", "--all"];
    if ids.is_empty() {
        return Ok(BTreeSet::new());
    }
    // The option for all reflogs cannot leave out those of our refs. Without a commit there is no HEAD to name.
    let head = refs::head(repo)?.id.map(|_| "HEAD");
    let logs = ["rev-list", "--walk-reflogs"].into_iter().chain(PROJECT).chain(head);
    let logged = git(repo).args(logs).text()?;
    let starts = [PROJECT[0], PROJECT[1], "--indexed-objects", "--stdin"];
    reached(repo, ids, &starts, &logged)
}

/// Those of these objects that a ref, a reflog, HEAD or the index of any working tree still leads to.
///
/// git walks everything for it, some seconds for a large project; it ends early when all have been met.
pub fn still_reached(repo: &Repository, ids: &BTreeSet<ObjectId>) -> Result<BTreeSet<ObjectId>, Error> {
    reached(repo, ids, &["--all", "--reflog", "--indexed-objects"], "")
}

/// Those of these objects that git walks to from these starts, and from those that it reads.
fn reached(
    repo: &Repository,
    ids: &BTreeSet<ObjectId>,
    starts: &[&str],
    input: &str,
) -> Result<BTreeSet<ObjectId>, Error> {
    let mut found = BTreeSet::new();
    if ids.is_empty() {
        return Ok(found);
    }
    let walk = ["--objects", "--no-object-names", "--missing=allow-any"];
    let mut running = git(repo)
        .arg("rev-list")
        .args(walk)
        .args(starts.iter().copied())
        .start()?;
    if let Some(mut pipe) = running.stdin.take() {
        pipe.write_all(input.as_bytes())
            .map_err(Error::io("write the input of", "git rev-list"))?;
    }
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

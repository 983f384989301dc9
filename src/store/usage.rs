//! How much room objects take on disk, as git counts it.

use super::{Error, ObjectId, Repository, git};

/// The bytes on disk of the objects that these trees and commits lead to and that neither `kept`, the index nor any ref
/// outside of ours does. Rounded by what deltas and packs share; `None` where git cannot tell (before 2.31).
pub fn only(repo: &Repository, from: &[ObjectId], kept: &[ObjectId]) -> Result<Option<u64>, Error> {
    if from.is_empty() {
        return Ok(Some(0));
    }
    let mut input = String::new();
    for id in from {
        input.push_str(&format!("{id}\n"));
    }
    for id in kept {
        input.push_str(&format!("^{id}\n"));
    }
    let output = git(repo)
        .args(["rev-list", "--objects", "--disk-usage", "--stdin", "--not"])
        .args(["--exclude=refs/checkpoints*", "--all", "--indexed-objects"])
        .input(input)
        .accept([128, 129])
        .run()
        .map_err(Error::from)?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse().ok())
}

//! Branches and their refs: the one that is worked on, short names, upstreams, and the commits that they lead to.

use gix::bstr::ByteSlice;

use super::{Error, Kind, ObjectId, Repository, refs, tree};
use crate::os;

/// The short name of the branch that is worked on: the one checked out, else the one that is being rebased; `None` on a
/// detached HEAD.
pub fn active(repo: &Repository) -> Result<Option<String>, Error> {
    if let Some(branch) = refs::head_branch(repo)?.as_deref().map(short) {
        return Ok(Some(branch));
    }
    let rebased = ["rebase-merge", "rebase-apply"].iter().find_map(|directory| {
        let name = os::read_regular(&repo.git_dir().join(directory).join("head-name")).ok()?;
        let name = name.trim().strip_prefix(b"refs/heads/")?.to_str_lossy().into_owned();
        Some(name)
    });
    Ok(rebased)
}

/// A ref's name as people write it.
pub fn short(name: &str) -> String {
    let shortened = ["refs/heads/", "refs/remotes/", "refs/"]
        .into_iter()
        .find_map(|prefix| name.strip_prefix(prefix));
    shortened.unwrap_or(name).to_owned()
}

/// The full name of the ref that follows the upstream of a branch, whether or not it exists.
pub fn upstream(repo: &Repository, branch: &str) -> Option<String> {
    let name = branch.strip_prefix("refs/heads/")?;
    let config = repo.config_snapshot();
    let remote = config.string(format!("branch.{name}.remote").as_str())?;
    let merge = config.string(format!("branch.{name}.merge").as_str())?;
    if remote == "." {
        return Some(merge.to_string());
    }
    let full: gix::refs::FullName = branch.try_into().ok()?;
    let tracking = repo.branch_remote_tracking_ref_name(full.as_ref(), gix::remote::Direction::Fetch)?;
    Some(tracking.ok()?.as_bstr().to_string())
}

/// The commit that a ref leads to, through symbolic refs and tags; `None` if it does not exist.
pub fn resolve(repo: &Repository, name: &str) -> Result<Option<ObjectId>, Error> {
    let mut name = name.to_owned();
    // As many steps as git allows.
    for _ in 0..5 {
        match refs::read(repo, &name) {
            Ok(None) => return Ok(None),
            Ok(Some(id)) => {
                return tree::peel(repo, id, Kind::Commit).map(Some);
            }
            Err(Error::Damaged {
                damage: refs::RefDamage::Symbolic(target),
                ..
            }) => name = target,
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Whether `git branch -d` deletes a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BranchDeletion {
    /// Whether it refuses, because the branch is not merged into what it compares it with.
    pub is_refused: bool,
    /// How many commits no other branch and no tag leads to.
    pub only_there: usize,
}

/// Effect of `git branch -d` on a branch, by its short name. Where git cannot say, it is not refused.
pub fn deletion(repo: &Repository, branch: &str) -> BranchDeletion {
    let full = format!("refs/heads/{branch}");
    let count = |others: &[String]| {
        let line = super::git(repo)
            .args(["rev-list", "--count", &full, "--not"])
            .args(others);
        let counted = line.run().ok()?.stdout;
        counted.to_str().ok()?.trim().parse::<usize>().ok()
    };
    let merged_into = upstream(repo, &full).unwrap_or_else(|| "HEAD".to_owned());
    let is_refused = count(&[merged_into]).is_some_and(|commits| commits > 0);
    let others = [&format!("--exclude={branch}"), "--branches", "--remotes", "--tags"];
    BranchDeletion {
        is_refused,
        only_there: count(&others.map(str::to_owned)).unwrap_or(0),
    }
}

//! State of the repository: HEAD, branch, upstream, an operation in progress, the stash.
//!
//! The part of a document's `git` member that needs no look at the files. Everything is read from the repository's own
//! files (in reftable repositories by git); histories are walked only to count ahead and behind, and not to the end.

use std::collections::BTreeSet;

use gix::bstr::ByteSlice;

use super::checkpoint::{self, oid};
use super::history::subject;
use super::tree::{self, Renames};
use super::{Error, ObjectId, Repository, graph, operation, refs};
use crate::model::change::ChangeKind;
use crate::model::facts::{BoundedList, GitFacts, PathRename};
use crate::model::list::IndexConflict;
use crate::model::path::RepoPath;
use crate::os;

/// Commits looked at to count ahead and behind. Reading a thousand takes some 7 ms without a commit-graph; a save has 15
/// for everything.
const COUNTED: usize = 1000;

/// The facts, without what concerns the files; with the tree of the index and its unmerged stages (sorted) also what is
/// staged.
///
/// An error means that HEAD or the index's tree cannot be read. What is wrong with the upstream only leaves its counts
/// out: that is no reason for a save to fail.
pub fn git_facts(repo: &Repository, index: Option<(ObjectId, &[IndexConflict])>) -> Result<GitFacts, Error> {
    let head = refs::head(repo)?;
    let mut facts = GitFacts {
        branch: head.branch.as_deref().map(short),
        head: head.id.map(oid),
        operation: operation::unfinished(repo)?.map(|unfinished| unfinished.operation),
        stash_count: refs::reflog(repo, "refs/stash")?.len() as u64,
        ..GitFacts::default()
    };
    if let Some(id) = head.id {
        let commit = checkpoint::head(repo, id).map_err(|fault| Error::Head(Box::new(fault)))?;
        facts.head_subject = Some(subject(&commit));
    }
    if let Some(name) = head.branch.as_deref().and_then(|branch| upstream(repo, branch)) {
        facts.upstream = Some(short(&name));
        let tip = resolve(repo, &name).ok().flatten();
        facts.upstream_head = tip.map(oid);
        if let (Some(head), Some(tip)) = (head.id, tip)
            && let Ok(relation) = graph::relation(repo, head, tip, COUNTED)
        {
            facts.ahead = Some(relation.ahead.len() as u64);
            facts.behind = Some(relation.behind.len() as u64);
            facts.ahead_behind_at_least = !relation.complete;
        }
    }
    if let Some((tree, unmerged)) = index {
        let unmerged: BTreeSet<&RepoPath> = unmerged.iter().map(|conflict| &conflict.path).collect();
        let staged = staged(repo, head.id, tree, |path| unmerged.contains(path))?;
        facts.staged = staged.all;
        facts.staged_added = staged.added;
        facts.staged_deleted = staged.deleted;
        facts.renamed = staged.renamed;
    }
    facts.settle();
    Ok(facts)
}

/// The short name of the branch that is worked on: the one checked out, else the one that is being rebased; `None` on a
/// detached HEAD.
pub fn branch(repo: &Repository) -> Result<Option<String>, Error> {
    if let Some(branch) = refs::head(repo)?.branch.as_deref().map(short) {
        return Ok(Some(branch));
    }
    let rebased = ["rebase-merge", "rebase-apply"].iter().find_map(|directory| {
        let name = os::read_regular(&repo.git_dir().join(directory).join("head-name")).ok()?;
        let name = name.trim().strip_prefix(b"refs/heads/")?.to_str_lossy().into_owned();
        Some(name)
    });
    Ok(rebased)
}

/// The paths whose index entry differs from HEAD.
#[derive(Default)]
struct StagedPaths {
    all: BoundedList<RepoPath>,
    added: BoundedList<RepoPath>,
    deleted: BoundedList<RepoPath>,
    /// Renames with unchanged content.
    renamed: BoundedList<PathRename>,
}

/// What is staged. Unmerged paths are not; `unmerged` shows them.
fn staged(
    repo: &Repository,
    head: Option<ObjectId>,
    index_tree: ObjectId,
    unmerged: impl Fn(&RepoPath) -> bool,
) -> Result<StagedPaths, Error> {
    let changes = tree::diff(repo, head, Some(index_tree), Renames::Exact)?;
    let mut staged = StagedPaths::default();
    for change in changes.into_iter().filter(|change| !unmerged(&change.path)) {
        match (change.kind, change.from) {
            (ChangeKind::Renamed, Some(from)) => staged.renamed.push(PathRename {
                from,
                to: change.path.clone(),
            }),
            (ChangeKind::Added, _) => staged.added.push(change.path.clone()),
            (ChangeKind::Deleted, _) => staged.deleted.push(change.path.clone()),
            _ => {}
        }
        staged.all.push(change.path);
    }
    Ok(staged)
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
                return tree::peel(repo, id, super::Kind::Commit).map(Some);
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

//! State of the repository: HEAD, branch, upstream, an operation in progress, the stash.
//!
//! The part of a document's `git` member that needs no look at the files. Everything is read from the repository's own
//! files (in reftable repositories by git); histories are walked only to count ahead and behind, and not to the end.

use std::collections::BTreeSet;

use super::checkpoint::{self, oid};
use super::history::subject;
use super::tree::{self, Renames};
use super::{Error, ObjectId, Repository, branches, graph, operation, refs};
use crate::model::change::ChangeKind;
use crate::model::facts::{BoundedList, GitFacts, PathRename};
use crate::model::list::IndexConflict;
use crate::model::path::RepoPath;

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
        branch: head.branch.as_deref().map(branches::short),
        head: head.id.map(oid),
        operation: operation::unfinished(repo)?.map(|unfinished| unfinished.operation),
        stash_count: refs::reflog(repo, "refs/stash")?.len() as u64,
        ..GitFacts::default()
    };
    if let Some(id) = head.id {
        let commit = checkpoint::head(repo, id).map_err(|fault| Error::Head(Box::new(fault)))?;
        facts.head_subject = Some(subject(&commit));
    }
    if let Some(name) = head
        .branch
        .as_deref()
        .and_then(|branch| branches::upstream(repo, branch))
    {
        facts.upstream = Some(branches::short(&name));
        let tip = branches::resolve(repo, &name).ok().flatten();
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

/// The paths whose index entry differs from HEAD.
#[derive(Default)]
struct StagedPaths {
    all: BoundedList<RepoPath>,
    added: BoundedList<RepoPath>,
    deleted: BoundedList<RepoPath>,
    /// Renames with unchanged content.
    renamed: BoundedList<PathRename>,
}

/// The staged changes. Unmerged paths are none of them; `unmerged` shows them.
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

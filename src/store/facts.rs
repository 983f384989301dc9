//! Stand-in.
use super::{Error, ObjectId, Repository, checkpoint::oid, refs};
use crate::model::facts::GitFacts;
/// Facts.
pub fn git_facts(repo: &Repository, index_tree: Option<ObjectId>) -> Result<GitFacts, Error> {
    let head = refs::head(repo)?;
    let mut facts = GitFacts { branch: head.branch.as_ref().map(|b| b.strip_prefix("refs/heads/").unwrap_or(b).to_owned()), head: head.id.map(oid), ..GitFacts::default() };
    if let (Some(id), Some(index)) = (head.id, index_tree) {
        let tree = super::checkpoint::tree_of(repo, id).ok();
        facts.staged = super::tree::diff(repo, tree, Some(index), super::tree::Renames::Exact)?.into_iter().map(|c| c.path).collect();
    }
    facts.settle();
    Ok(facts)
}
/// Branch.
pub fn branch(repo: &Repository) -> Result<Option<String>, Error> {
    Ok(refs::head(repo)?.branch.map(|b| b.strip_prefix("refs/heads/").unwrap_or(&b).to_owned()))
}

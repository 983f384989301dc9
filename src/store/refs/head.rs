//! What `HEAD` is, also where gix cannot read it.

use gix::ObjectId;

use crate::store::{Error, Repository, git, uses_reftable};

/// `HEAD` of a work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The full name of the branch (`refs/heads/main`); `None` when detached.
    pub branch: Option<String>,
    /// The commit; `None` when the branch has none yet.
    pub id: Option<ObjectId>,
}

/// Reads `HEAD`.
pub fn head(repo: &Repository) -> Result<Head, Error> {
    if uses_reftable(repo) {
        let name = git(repo).args(["symbolic-ref", "--quiet", "HEAD"]).accept([1]).text()?;
        let id = git(repo)
            .args(["rev-parse", "--quiet", "--verify", "HEAD^{commit}"])
            .accept([1])
            .text()?;
        let id = if id.is_empty() {
            None
        } else {
            Some(super::reftable::id(&id)?)
        };
        return Ok(Head {
            branch: (!name.is_empty()).then_some(name),
            id,
        });
    }
    let head = repo.head().map_err(Error::gix("read HEAD"))?;
    let branch = head.referent_name().map(|name| name.as_bstr().to_string());
    let id = match head.kind {
        gix::head::Kind::Unborn(_) => None,
        _ => Some(repo.head_id().map_err(Error::gix("read HEAD"))?.detach()),
    };
    Ok(Head { branch, id })
}

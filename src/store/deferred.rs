//! Deferred checkpoints: what hooks saved where the record of the session could not be read for want of a passphrase.
//!
//! They wait on a ref of their own for each session and working tree, each with the one before it as its first parent; that
//! of the oldest is the session's latest checkpoint of its time. The next save with the key puts them on the session.

use super::{
    Error, ObjectId, Repository,
    checkpoint::{self, Fault},
    refs, worktree_id,
};

/// Where they wait.
pub const PREFIX: &str = "refs/checkpoints-deferred/";

/// Those of a session in one working tree.
#[derive(Clone, Debug)]
pub struct DeferredChain {
    /// Their ref.
    pub name: String,
    /// The latest.
    pub tip: ObjectId,
    /// All of them, the oldest first.
    pub ids: Vec<ObjectId>,
}

/// The ref of a session's deferred checkpoints in this working tree.
pub fn ref_name(repo: &Repository, session_id: &str) -> String {
    format!("{PREFIX}{session_id}/{}", worktree_id(repo))
}

/// The latest deferred checkpoint of a session in this working tree.
pub fn latest(repo: &Repository, session_id: &str) -> Result<Option<ObjectId>, Error> {
    refs::read(repo, &ref_name(repo, session_id))
}

/// Those of a session in all working trees. What is damaged ends a chain; `verify` reports it.
pub fn of_session(repo: &Repository, session_id: &str) -> Result<Vec<DeferredChain>, Error> {
    let mut out = Vec::new();
    for (name, target) in refs::list(repo, &format!("{PREFIX}{session_id}/"))? {
        let Ok(tip) = target else { continue };
        let mut ids = Vec::new();
        let mut next = Some(tip);
        while let Some(id) = next
            && let Some(before) = is_deferred(repo, id).unwrap_or_default()
        {
            ids.push(id);
            next = Some(before);
        }
        ids.reverse();
        out.push(DeferredChain { name, tip, ids });
    }
    Ok(out)
}

/// The checkpoint before a deferred one; `None` where this is none.
fn is_deferred(repo: &Repository, id: ObjectId) -> Result<Option<ObjectId>, Fault> {
    let (document, _) = checkpoint::public(repo, id)?;
    let before = checkpoint::entry(repo, id)?.parents.first().copied();
    Ok(before.filter(|_| document.included.is_some()))
}

//! Autosaves: the latest of each session and working tree on a ref of its own, the earlier ones in that ref's reflog.
//!
//! By identity, so that renaming the session loses none. git keeps what a reflog names until the entry expires
//! (`gc.reflogExpireUnreachable`, 30 days unless set otherwise).

use super::{Error, ObjectId, Repository, refs, worktree_id};

/// Where autosaves live.
pub const PREFIX: &str = "refs/checkpoints-autosave/";

/// The ref of a session's autosaves in this working tree.
pub fn ref_name(repo: &Repository, session_id: &str) -> String {
    format!("{PREFIX}{session_id}/{}", worktree_id(repo))
}

/// The latest autosave of a session in this working tree.
pub fn latest(repo: &Repository, session_id: &str) -> Result<Option<ObjectId>, Error> {
    refs::read(repo, &ref_name(repo, session_id))
}

/// The refs of a session's autosaves in all working trees.
pub fn refs_of(repo: &Repository, session_id: &str) -> Result<Vec<refs::RefListing>, Error> {
    refs::list(repo, &format!("{PREFIX}{session_id}/"))
}

/// When the autosaves of a session were made, in seconds since 1970, with their commits, as reflogs have it: those of
/// each working tree latest first.
pub fn history(repo: &Repository, session_id: &str) -> Result<Vec<(i64, ObjectId)>, Error> {
    let mut history = Vec::new();
    for (name, _) in refs_of(repo, session_id)? {
        let log = refs::reflog(repo, &name)?;
        history.extend(log.into_iter().map(|entry| (entry.who.time.seconds, entry.new)));
    }
    Ok(history)
}

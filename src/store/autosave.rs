//! Autosaves: the latest of each session and working tree on a ref of its own, the earlier ones in that ref's reflog.
//!
//! By identity, so that renaming the session loses none. git keeps what a reflog names until the entry expires
//! (`gc.reflogExpireUnreachable`, 30 days unless set otherwise).

use std::time::Duration;

use super::{
    Error, ObjectId, Repository,
    refs::{self, ExpectedValue, RefUpdate},
    worktree_id,
};

/// Where autosaves live.
pub const PREFIX: &str = "refs/checkpoints-autosave/";

/// The ref of a session's autosaves in this working tree.
pub fn ref_name(repo: &Repository, session_id: &str) -> String {
    ref_in(session_id, &worktree_id(repo))
}

/// The ref of a session's autosaves in the working tree of this name.
pub fn ref_in(session_id: &str, worktree: &str) -> String {
    format!("{PREFIX}{session_id}/{worktree}")
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

/// The most earlier autosaves that go along to another session: each is written durably.
const CARRIED: usize = 100;

/// Gives a ref that is not there yet the latest autosaves of another one, with the times at which they were made. A ref
/// that is deleted takes its reflog along.
pub fn copy_history(repo: &Repository, from: &str, to: &str, wait: Duration) -> Result<Option<ObjectId>, Error> {
    let mut at = None;
    let log = refs::reflog(repo, from)?;
    // What git has let expire and collected is passed over.
    let there = log.into_iter().filter(|entry| refs::is_stored(repo, entry.new));
    let latest: Vec<_> = there.take(CARRIED).collect();
    for entry in latest.into_iter().rev().filter(|entry| !entry.new.is_null()) {
        if at == Some(entry.new) {
            continue;
        }
        let edit = RefUpdate {
            name: to.to_owned(),
            expected: at.map_or(ExpectedValue::Absent, ExpectedValue::Is),
            new: Some(entry.new),
            message: entry.message,
        };
        refs::update(repo, &[edit], &entry.who, wait)?;
        at = Some(entry.new);
    }
    Ok(at)
}

//! Our locks: kernel locks on files that stay, so that a killed holder blocks no other process.
//!
//! They order our own processes only; against git the refs have git's lock files. All waits have an end.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Error, Repository, paths, percent};
use crate::os;

/// The name of the lock of automatic sharing.
const AUTOMATIC: &str = "push-queue";

/// The name of the lock of a command that changes files.
const OPERATION: &str = "operation.lock";

/// A lock, held until dropped.
#[derive(Debug)]
#[must_use]
pub struct HeldLock {
    lock: os::Lock,
}

impl HeldLock {
    /// The lock for a child, which keeps it until it ends, also if we are killed before.
    pub(super) fn shared(&self) -> Option<std::fs::File> {
        self.lock.shared()
    }
}

/// The lock of one session, by its identity or name: spans reading its tip to writing it.
pub fn session(repo: &Repository, id: &str, wait: Duration) -> Result<HeldLock, Error> {
    common(
        repo,
        &format!("session-{}", file_name(id)),
        &format!("session '{id}'"),
        wait,
    )
}

/// The lock of one session's draft.
pub fn draft(repo: &Repository, id: &str, wait: Duration) -> Result<HeldLock, Error> {
    common(
        repo,
        &format!("draft-{}", file_name(id)),
        &format!("the draft of session '{id}'"),
        wait,
    )
}

/// The lock of one session of a coding agent, by the name of its binding.
pub fn agent(repo: &Repository, name: &str, wait: Duration) -> Result<HeldLock, Error> {
    common(repo, &format!("agent-{name}"), "this session of an agent", wait)
}

/// The lock of the working tree of a fork while it is made, taken without waiting.
pub fn fork(repo: &Repository, session: &str, wait: Duration) -> Result<HeldLock, Error> {
    let what = format!("the working tree of fork '{session}'");
    common(repo, &format!("fork-{}", file_name(session)), &what, wait)
}

/// Whether the working tree of a fork is being made.
pub fn is_fork_busy(repo: &Repository, session: &str) -> bool {
    let name = format!("fork-{}", file_name(session));
    os::is_locked(&paths::private_path(repo).join("locks").join(name)).unwrap_or(false)
}

/// The lock of a compaction of a session's chat, taken without waiting.
pub fn compaction(repo: &Repository, id: &str) -> Result<HeldLock, Error> {
    let what = format!("a compaction of session '{id}'");
    common(repo, &format!("compact-{}", file_name(id)), &what, Duration::ZERO)
}

/// The lock of what is fetched from one remote, by its encoded name.
pub fn remote(repo: &Repository, encoded: &str, wait: Duration) -> Result<HeldLock, Error> {
    common(
        repo,
        &format!("remote-{}", file_name(encoded)),
        "what is fetched from this remote",
        wait,
    )
}

/// The lock of the process that pushes the queue.
pub fn automatic(repo: &Repository, wait: Duration) -> Result<HeldLock, Error> {
    common(repo, AUTOMATIC, "automatic sharing", wait)
}

/// Whether another process pushes the queue.
pub fn is_automatic_busy(repo: &Repository) -> bool {
    os::is_locked(&paths::private_path(repo).join("locks").join(AUTOMATIC)).unwrap_or(false)
}

/// The lock of this working tree: spans taking or restoring a snapshot.
pub fn worktree(repo: &Repository, wait: Duration) -> Result<HeldLock, Error> {
    let path = paths::worktree_private_dir(repo)?.join("worktree.lock");
    check_readable(repo)?;
    acquire(repo, path, "this working tree", wait)
}

/// Fails where the file of the current session is another user's: who changes anything must know which session it is.
pub(super) fn check_readable(repo: &Repository) -> Result<(), Error> {
    let path = paths::worktree_private_path(repo).join("current");
    match os::open_regular(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Err(Error::io("read", path)(error)),
        _ => Ok(()),
    }
}

/// The lock of a command that changes the files of this working tree, from its first to its last change. It shows others
/// that the command runs and was not interrupted. Taken before that of the working tree.
pub fn operation(repo: &Repository, wait: Duration) -> Result<HeldLock, Error> {
    let path = paths::worktree_private_dir(repo)?.join(OPERATION);
    acquire(repo, path, "this working tree", wait)
}

/// Whether a command changes the files of this working tree right now.
pub fn is_operation_running(repo: &Repository) -> bool {
    os::is_locked(&paths::worktree_private_path(repo).join(OPERATION)).unwrap_or(false)
}

/// The lock of the working tree whose private directory this is.
pub(super) fn worktree_at(repo: &Repository, directory: &Path, wait: Duration) -> Result<HeldLock, Error> {
    acquire(
        repo,
        directory.join("worktree.lock"),
        "a working tree of this repository",
        wait,
    )
}

/// A lock of the store itself, shared by all working trees.
pub(super) fn common(repo: &Repository, name: &str, what: &str, wait: Duration) -> Result<HeldLock, Error> {
    let directory = paths::own_directory(repo, paths::private_dir(repo)?.join("locks"))?;
    acquire(repo, directory.join(name), what, wait)
}

fn acquire(repo: &Repository, path: PathBuf, what: &str, wait: Duration) -> Result<HeldLock, Error> {
    match os::Lock::acquire(&path, paths::sharing(repo), wait) {
        Ok(Some(lock)) => Ok(HeldLock { lock }),
        Ok(None) => Err(Error::Busy {
            what: what.to_owned(),
            waited: wait,
        }),
        Err(error) => Err(Error::io("lock", path)(error)),
    }
}

/// The name with everything but lower-case letters, digits, `.`, `_` and `-` as `%` and two digits.
pub(super) fn file_name(name: &str) -> String {
    percent::encode(name, |byte, first| match byte {
        b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' => true,
        b'.' => !first,
        _ => false,
    })
}

/// The name that [`file_name`] was given, or `None` for what it never gives.
pub(super) fn from_file_name(name: &str) -> Option<String> {
    percent::decode(name, file_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_read_back() {
        for name in ["refs/checkpoints/a.b-c_d", "..", "A/ü", ".x", "", "%41"] {
            assert_eq!(from_file_name(&file_name(name)).as_deref(), Some(name));
            assert!(!file_name(name).contains('/') && !file_name(name).starts_with('.'));
        }
        assert_eq!(from_file_name("%4"), None);
        assert_eq!(from_file_name("%é"), None);
        assert_eq!(from_file_name("A"), None);
    }
}

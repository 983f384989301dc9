//! The one module that writes refs: compare-and-swap, durable, with a reflog entry, and recoverable after a kill.
//!
//! The files are written here rather than through gix or git: neither syncs refs in the order a save needs, gix writes
//! a reflog line in several pieces and takes a damaged ref for an absent one, and both leave lock files of a killed
//! process that block the user. In reftable repositories git does it. Every change is made under one lock of ours.

mod files;
mod head;
mod journal;
mod lockfile;
mod packed;
mod reflog;
mod reftable;
mod swap;
mod unsynced;

use std::collections::BTreeSet;
use std::time::Duration;

use gix::ObjectId;

use super::objects::ObjectPresence;
use super::{Error, Repository, Signature, lock, uses_reftable};
use crate::os::{self, CleanupFailure};
pub use head::{Head, head, head_branch};

/// One change of one ref.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefUpdate {
    /// The full name, `refs/...`, of a ref that all working trees share.
    pub name: String,
    /// Expected old value.
    pub expected: ExpectedValue,
    /// New value; `None` deletes the ref and its reflog.
    pub new: Option<ObjectId>,
    /// The text of the reflog entry; line ends become spaces.
    pub message: String,
}

impl RefUpdate {
    /// The update that takes this one back, because the objects that it relies on are not all there.
    #[must_use]
    pub fn reversed(&self) -> Self {
        Self {
            name: self.name.clone(),
            expected: self.new.map_or(ExpectedValue::Absent, ExpectedValue::Is),
            new: match self.expected {
                ExpectedValue::Is(id) => Some(id),
                _ => None,
            },
            message: "checkpoint: taken back, its objects are not all there".to_owned(),
        }
    }
}

/// Expected old value of a [`RefUpdate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedValue {
    /// It does not exist.
    Absent,
    /// It is this.
    Is(ObjectId),
    /// It is absent or anything readable.
    Any,
    /// Whatever it is, even damaged: for `repair` alone, which has moved the damaged file aside.
    Unreadable,
}

/// In what way a ref is damaged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RefDamage {
    /// The file is empty, as a power cut leaves it.
    #[error("it is empty")]
    Empty,
    /// The file holds no object id.
    #[error("it holds no object id")]
    Garbage,
    /// It names another ref, which ours never do.
    #[error("it points to the ref '{0}'")]
    Symbolic(String),
    /// The object it names does not exist.
    #[error("its object '{0}' does not exist")]
    Dangling(ObjectId),
    /// The file cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
}

/// Lock files of git untouched for some seconds: the process that made them was most likely killed, and git refuses
/// its work until they are removed.
pub fn left_locks(repo: &Repository) -> Vec<std::path::PathBuf> {
    let own = ["index.lock", "HEAD.lock"].map(|name| repo.git_dir().join(name));
    let shared = ["packed-refs.lock", "config.lock", "shallow.lock"].map(|name| repo.common_dir().join(name));
    let is_old = |path: &std::path::PathBuf| os::age(path).is_some_and(|age| age.as_secs() >= 10);
    own.into_iter().chain(shared).filter(is_old).collect()
}

/// A ref's name with what it is.
pub type RefListing = (String, Result<ObjectId, RefDamage>);

/// One line of a reflog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReflogEntry {
    /// Old value; `None` where the entry records its creation.
    pub old: Option<ObjectId>,
    /// New value.
    pub new: ObjectId,
    /// Who changed it, and when.
    pub who: Signature,
    /// The text.
    pub message: String,
}

/// The value of a ref; `None` if it does not exist. A damaged one is [`Error::Damaged`], never absent.
pub fn read(repo: &Repository, name: &str) -> Result<Option<ObjectId>, Error> {
    match read_unproved(repo, name)?.map(|id| proved(repo, id)) {
        None => Ok(None),
        Some(Ok(id)) => Ok(Some(id)),
        Some(Err(damage)) => Err(Error::Damaged {
            name: name.to_owned(),
            damage,
        }),
    }
}

/// The same, without a check whether its object exists.
pub(super) fn read_unproved(repo: &Repository, name: &str) -> Result<Option<ObjectId>, Error> {
    check_name(name)?;
    let value = if uses_reftable(repo) {
        reftable::read(repo, name)?
    } else {
        files::read(repo, name)?
    };
    value.transpose().map_err(|damage| Error::Damaged {
        name: name.to_owned(),
        damage,
    })
}

/// The refs whose names begin with `prefix` (`refs/checkpoints/`, with the slash), sorted by name, damaged ones too.
pub fn list(repo: &Repository, prefix: &str) -> Result<Vec<RefListing>, Error> {
    let found = list_unproved(repo, prefix)?;
    Ok(found
        .into_iter()
        .map(|(name, value)| (name, value.and_then(|id| proved(repo, id))))
        .collect())
}

/// The lowest number above those that refs below `prefix` have as their last component, for a ref of its own.
pub fn next_number(repo: &Repository, prefix: &str) -> Result<u64, Error> {
    let taken = list(repo, prefix)?;
    let numbers = taken
        .iter()
        .filter_map(|(full, _)| full.strip_prefix(prefix)?.parse::<u64>().ok());
    Ok(numbers.max().unwrap_or(0) + 1)
}

/// The same, without a check whether their objects exist: for callers that read the objects anyhow.
pub(super) fn list_unproved(repo: &Repository, prefix: &str) -> Result<Vec<RefListing>, Error> {
    if prefix != "refs/" {
        check_name(prefix.trim_end_matches('/'))?;
    }
    if uses_reftable(repo) {
        reftable::list(repo, prefix)
    } else {
        files::list(repo, prefix)
    }
}

/// The names of the refs of [`list`]; what they are is not read.
pub fn names(repo: &Repository, prefix: &str) -> Result<BTreeSet<String>, Error> {
    check_name(prefix.trim_end_matches('/'))?;
    if uses_reftable(repo) {
        let listed = reftable::list(repo, prefix)?.into_iter();
        return Ok(listed.map(|(name, _)| name).collect());
    }
    files::names(repo, prefix)
}

/// Value of a ref, if its object exists.
pub(super) fn proved(repo: &Repository, id: ObjectId) -> Result<ObjectId, RefDamage> {
    if repo.has_object(id) || ObjectPresence::finds(repo, &id) {
        Ok(id)
    } else {
        Err(RefDamage::Dangling(id))
    }
}

/// Whether the object that a ref is to name is there.
pub fn is_stored(repo: &Repository, id: ObjectId) -> bool {
    proved(repo, id).is_ok()
}

/// Makes all the changes or, if one cannot be made, none; creations and moves first, deletions last.
///
/// `who` and its time go into the reflogs. `wait` bounds the wait for our own lock and for git's lock files. A caller
/// that loses the race gets [`Error::Moved`], reads again and retries. When this returns, the changes are on the disk.
/// A kill leaves none of them, or something that the next call of this or of [`recover`] completes. Gives the files of
/// ours that could not be removed after the changes were made.
pub fn update(
    repo: &Repository,
    edits: &[RefUpdate],
    who: &Signature,
    wait: Duration,
) -> Result<Vec<CleanupFailure>, Error> {
    for edit in edits {
        check_name(&edit.name)?;
    }
    if edits.is_empty() {
        return Ok(Vec::new());
    }
    if edits.iter().any(|edit| edit.new.is_some()) {
        unsynced::sync_young(repo)?;
    }
    let _held = hold(repo, wait)?;
    let left = if uses_reftable(repo) {
        reftable::update(repo, edits, who, wait).map(|()| Vec::new())
    } else {
        journal::recover(repo)?;
        swap::apply(repo, edits, who, wait)
    }?;
    os::trace::changed();
    Ok(left)
}

/// Completes or takes back what a killed process of ours left of a change of refs: lock files, reflog lines, a change
/// of several refs. Costs one look at a directory when there is nothing to do.
pub fn recover(repo: &Repository, wait: Duration) -> Result<(), Error> {
    if uses_reftable(repo) || !journal::pending(repo)? {
        return Ok(());
    }
    let _held = hold(repo, wait)?;
    journal::recover(repo)
}

fn hold(repo: &Repository, wait: Duration) -> Result<lock::HeldLock, Error> {
    lock::common(repo, "refs", "the refs of checkpoints", wait)
}

/// The reflog of a ref, latest first; empty if it has none.
pub fn reflog(repo: &Repository, name: &str) -> Result<Vec<ReflogEntry>, Error> {
    if name != "HEAD" {
        check_name(name)?;
    }
    if uses_reftable(repo) {
        reftable::reflog(repo, name)
    } else {
        reflog::read(repo, name)
    }
}

/// The same, read as they are asked for: what needs the latest few costs as much in a long log as in a short one. Where the
/// log cannot be read further they end, so that this is for what shows nothing wrong without them.
pub fn latest_in_reflog(repo: &Repository, name: &str) -> Result<impl Iterator<Item = ReflogEntry> + use<>, Error> {
    if name != "HEAD" {
        check_name(name)?;
    }
    let (in_file, in_table) = if uses_reftable(repo) {
        (None, reftable::reflog(repo, name)?)
    } else {
        (reflog::latest(repo, name)?, Vec::new())
    };
    Ok(in_file.into_iter().flatten().chain(in_table))
}

/// When the reflog of a ref was written last, as the file system knows it: finer than the seconds in it. `None` where
/// there is no such file.
pub fn reflog_moved(repo: &Repository, name: &str) -> Option<std::time::SystemTime> {
    let file = repo.common_dir().join("logs").join(name);
    file.metadata().ok()?.modified().ok()
}

/// Forgets what refs were before: of each reflog one line is left, with what the ref is.
///
/// A kill leaves each log as it was or as it is to be.
pub fn forget_logs(
    repo: &Repository,
    names: &[String],
    who: &Signature,
    message: &str,
    wait: Duration,
) -> Result<(), Error> {
    for name in names {
        check_name(name)?;
    }
    if names.is_empty() {
        return Ok(());
    }
    let _held = hold(repo, wait)?;
    if uses_reftable(repo) {
        return reftable::forget_logs(repo, names);
    }
    journal::recover(repo)?;
    for name in names {
        match read(repo, name)? {
            Some(id) => reflog::replace(repo, name, id, who, message)?,
            None => reflog::remove(repo, name)?,
        }
    }
    Ok(())
}

/// Takes the lines out of reflogs whose values `is_gone` names, so that they keep nothing from a collection of garbage.
///
/// The current value of a ref stays in its log. A kill leaves each log as it was or as it is to be.
pub fn drop_from_logs(
    repo: &Repository,
    names: &[String],
    is_gone: &dyn Fn(&ObjectId) -> bool,
    wait: Duration,
) -> Result<(), Error> {
    for name in names {
        check_name(name)?;
    }
    if names.is_empty() {
        return Ok(());
    }
    let _held = hold(repo, wait)?;
    if !uses_reftable(repo) {
        journal::recover(repo)?;
    }
    for name in names {
        let Ok(Some(now)) = read_unproved(repo, name) else {
            continue;
        };
        let drops = |id: &ObjectId| *id != now && is_gone(id);
        if uses_reftable(repo) {
            reftable::drop_from_log(repo, name, &drops)?;
        } else {
            reflog::drop_lines(repo, name, &drops)?;
        }
    }
    Ok(())
}

/// Removes the lock files that a git that was killed left below `prefix` (with its slash): a namespace that only this
/// program writes, while the lock of ours is held under which it does. No ref of ours is called `*.lock`.
pub fn remove_locks(repo: &Repository, prefix: &str) -> Result<(), Error> {
    let directory = repo.common_dir().join(prefix);
    let entries = match std::fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io("read", directory)(error)),
    };
    for entry in entries {
        let path = entry.map_err(Error::io("read", &directory))?.path();
        if path.extension().is_some_and(|end| end == "lock") {
            std::fs::remove_file(&path).map_err(Error::io("remove", path))?;
        }
    }
    Ok(())
}

/// Checks that objects which were there before a save are still there after its ref is in place, and freshens them.
///
/// Otherwise, by a `gc --prune=now` at that moment, [`Error::Vanished`]: store everything again with
/// [`Writer::rewriting`](super::objects::Writer::rewriting) and retry.
pub fn verify_present(repo: &Repository, ids: &[ObjectId]) -> Result<(), Error> {
    if ids.is_empty() {
        return Ok(());
    }
    let mut present = ObjectPresence::new(repo)?;
    let gone: Vec<_> = ids.iter().filter(|id| !present.has(id)).copied().collect();
    if gone.is_empty() {
        Ok(())
    } else {
        Err(Error::Vanished { ids: gone })
    }
}

/// Takes names of refs that all working trees share, valid for git.
fn check_name(name: &str) -> Result<(), Error> {
    let own = ["refs/bisect/", "refs/worktree/", "refs/rewritten/"];
    let shared = name.starts_with("refs/") && !own.iter().any(|prefix| name.starts_with(prefix));
    if shared && gix::validate::reference::name(name.into()).is_ok() {
        return Ok(());
    }
    Err(Error::RefName { name: name.to_owned() })
}

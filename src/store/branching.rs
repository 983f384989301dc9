//! Whether a branch was made from the one that a session is on: then it keeps the session.

use gix::bstr::ByteSlice;

use super::{Error, ObjectId, Repository, branches, checkpoint, graph, history, paths, refs, session};
use crate::model::{document::CheckpointKind, path::RepoPath, session::SessionRef};

/// How many commits are walked to find out whether one comes before another.
const WALKED: usize = 10_000;

/// How a branch came to be, seen from the branch of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BranchOrigin {
    /// It is that branch under another name, or was made from it before anything was saved there: the session moves along.
    Moved,
    /// It was made from that branch after the session began.
    MadeFrom,
    /// It has nothing to do with that branch.
    Unrelated,
}

/// How the branch `here` came to be, seen from the branch `home` of a session. It is made from it by `switch -c` or the
/// like, on what the session saved or what was committed since. The reflogs of the branch and of HEAD are the evidence;
/// where none is kept, a branch on the session's last known commit counts as made from it.
pub(super) fn origin(
    repo: &Repository,
    session: &SessionRef,
    home: Option<&str>,
    here: &str,
) -> Result<BranchOrigin, Error> {
    let log = refs::reflog(repo, &format!("refs/heads/{here}"))?;
    if let Some(home) = home {
        let home = format!("refs/heads/{home}");
        let mut entries = log.iter();
        if branches::resolve(repo, &home).ok().flatten().is_none()
            && entries.any(|entry| history::is_rename(entry.message.as_bytes().as_bstr(), &home))
            && is_session(repo, session)?
        {
            return Ok(BranchOrigin::Moved);
        }
    }
    if !is_made_from(repo, session, home, here)? {
        return Ok(BranchOrigin::Unrelated);
    }
    let tip = session::tip(repo, &session.name)?.and_then(|tip| checkpoint::load(repo, tip).ok());
    let is_only_started = tip.is_some_and(|tip| tip.document.kind == CheckpointKind::Start);
    Ok(if is_only_started {
        BranchOrigin::Moved
    } else {
        BranchOrigin::MadeFrom
    })
}

/// Whether another session was saved last on a branch in this working tree, and has not ended.
pub(super) fn has_other(repo: &Repository, session: &SessionRef, here: &str) -> Result<bool, Error> {
    let worktree = paths::worktree_id(repo);
    let path = repo.workdir().unwrap_or_else(|| repo.git_dir());
    let path = RepoPath::new(path.as_os_str().as_encoded_bytes()).quoted();
    for other in session::all(repo)? {
        let Ok(tip) = other.tip else { continue };
        let trailers = &tip.trailers;
        let is_open = trailers.status.is_some_and(|status| !status.is_finished());
        let is_candidate = is_open && trailers.branch.as_deref() == Some(here);
        if !is_candidate || trailers.kind == Some(CheckpointKind::Import) {
            continue;
        }
        // Damage is reported where the session is used.
        let Ok(tip) = checkpoint::load(repo, tip.id) else {
            continue;
        };
        let document = &tip.document;
        let is_of_here = document.worktree.id == worktree && document.worktree.path == path;
        if is_of_here && document.session.id != session.id {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Names that a branch had before it was renamed and that no branch has now, the latest first. Without a reflog none is
/// known.
pub fn former_names(repo: &Repository, branch: &str) -> Vec<String> {
    let log = refs::reflog(repo, &format!("refs/heads/{branch}")).unwrap_or_default();
    let renamed = log.iter().filter_map(|entry| {
        let (from, _) = entry.message.strip_prefix("Branch: renamed ")?.split_once(" to ")?;
        from.strip_prefix("refs/heads/")
    });
    let is_gone = |name: &&str| matches!(branches::resolve(repo, &format!("refs/heads/{name}")), Ok(None));
    renamed
        .filter(|name| *name != branch)
        .filter(is_gone)
        .map(str::to_owned)
        .collect()
}

/// Whether a saved branch is this one, also under a former name.
pub fn is_branch(repo: &Repository, saved: Option<&str>, branch: Option<&str>) -> bool {
    match (saved, branch) {
        _ if saved == branch => true,
        (Some(saved), Some(branch)) => former_names(repo, branch).iter().any(|name| name == saved),
        _ => false,
    }
}

/// Whether the session of a name is the one that is meant.
pub(super) fn is_session(repo: &Repository, session: &SessionRef) -> Result<bool, Error> {
    let tip = session::tip(repo, &session.name)?.and_then(|tip| checkpoint::load(repo, tip).ok());
    Ok(tip.is_some_and(|tip| tip.document.session.id == session.id))
}

fn is_made_from(repo: &Repository, session: &SessionRef, home: Option<&str>, here: &str) -> Result<bool, Error> {
    let tip = session::tip(repo, &session.name)?.and_then(|tip| checkpoint::load(repo, tip).ok());
    let Some(tip) = tip.filter(|tip| tip.document.session.id == session.id) else {
        return Ok(false);
    };
    let last = tip.document.git.head.as_ref().map(checkpoint::object_id);
    let full = |branch: &str| format!("refs/heads/{branch}");
    let home_tip = match home {
        Some(home) => branches::resolve(repo, &full(home)).ok().flatten(),
        None => None,
    };
    let log = refs::reflog(repo, &full(here))?;
    let now = refs::head(repo)?.id;
    let Some(created) = log.last() else {
        // Of an unborn branch there is no log, and the session has no commit either.
        return Ok(now == last);
    };
    let since = tip.document.session.created_at.unix();
    if created.old.is_some() || created.who.time.seconds < since || !is_from(&created.message, home, created.new) {
        return Ok(false);
    }
    if came_from(repo, here, created.who.time.seconds)?
        .is_some_and(|from| Some(from.as_str()) != home && ObjectId::from_hex(from.as_bytes()).is_err())
    {
        return Ok(false);
    }
    Ok(Some(created.new) == last || is_between(repo, last, created.new, home_tip)?)
}

/// Whether a branch was made at HEAD or at the branch itself, by the text of its first reflog entry.
fn is_from(message: &str, home: Option<&str>, new: ObjectId) -> bool {
    let Some(from) = message.strip_prefix("branch: Created from ") else {
        // A branch whose reflog begins with other words was not made from HEAD: a first commit, a clone, a fetch.
        return message.is_empty();
    };
    let name = from.strip_prefix("refs/heads/").unwrap_or(from);
    let is_id = || from.len() >= 4 && new.to_string().starts_with(from);
    from == "HEAD" || from == "@" || Some(name) == home || is_id()
}

/// Branch that was checked out when a branch was made, where the reflogs of both show it.
pub(super) fn made_on(repo: &Repository, here: &str) -> Result<Option<String>, Error> {
    let log = refs::reflog(repo, &format!("refs/heads/{here}"))?;
    match log.last() {
        Some(created) if created.old.is_none() => came_from(repo, here, created.who.time.seconds),
        _ => Ok(None),
    }
}

/// Branch that was checked out before the latest checkout of this one.
pub(super) fn left(repo: &Repository, here: &str) -> Result<Option<String>, Error> {
    let log = refs::reflog(repo, "HEAD")?;
    let from = log.iter().find_map(|entry| {
        let (from, to) = entry
            .message
            .strip_prefix("checkout: moving from ")?
            .rsplit_once(" to ")?;
        (to == here && from != here).then(|| from.to_owned())
    });
    Ok(from)
}

/// Branch that was checked out before the first checkout of this one since it was made.
fn came_from(repo: &Repository, here: &str, since: i64) -> Result<Option<String>, Error> {
    let log = refs::reflog(repo, "HEAD")?;
    let moves = log.iter().rev().filter(|entry| entry.who.time.seconds >= since);
    let mut from = moves.filter_map(|entry| {
        let (from, to) = entry
            .message
            .strip_prefix("checkout: moving from ")?
            .rsplit_once(" to ")?;
        (to == here).then(|| from.to_owned())
    });
    Ok(from.next())
}

/// Whether a commit was made on the session's branch after the session's last known one.
fn is_between(
    repo: &Repository,
    last: Option<ObjectId>,
    commit: ObjectId,
    home_tip: Option<ObjectId>,
) -> Result<bool, Error> {
    let (Some(last), Some(home_tip)) = (last, home_tip) else {
        return Ok(false);
    };
    let comes_before = |old, new| Ok::<_, Error>(graph::is_ancestor(repo, old, new, WALKED)? == Some(true));
    Ok(comes_before(last, commit)? && comes_before(commit, home_tip)?)
}

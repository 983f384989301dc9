//! The current session of each branch of a working tree: `<git-dir>/checkpoint/current`.
//!
//! A file, not a symbolic ref: a dangling ref would make `git fsck` fail, a push of all refs would publish it, and
//! `git worktree prune` removes the file with its working tree. A session is named by identity, so that it survives a
//! renaming; the name next to it is where to look first.
//!
//! Which session is current follows from the branch that is checked out. A detached HEAD keeps the session that was
//! current last, a rebase the one of the branch that is rebased. A file without branches, as older versions wrote it,
//! says which session was current; it belongs to the branch that its latest checkpoint was saved on.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{
    Error, OwnFile, Repository, branches,
    branching::{self, BranchOrigin},
    checkpoint, lock, paths, session, sharing, worktree_private_dir, worktree_private_path,
};
pub use crate::model::session::SessionRef;
use crate::{model::json, os};

/// The content of the file, read for the branch that is checked out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurrentPointer {
    /// The session being worked in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionRef>,
    /// The one before it, for the selector `-`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<SessionRef>,
    /// The branch that `session` is current on; absent on a detached HEAD and in files of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    /// The sessions that are current on branches.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    branches: BTreeMap<String, SessionRef>,
    /// The fork that the working tree was made for, whichever session is current.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<SessionRef>,
    /// One that is about to be made: it is the current one as soon as its ref is there. Never seen outside of here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    begun: Option<Box<SessionRef>>,
    /// The session of another branch that was current last, where this branch has none.
    #[serde(skip)]
    pub elsewhere: Option<Elsewhere>,
    /// Branch that the session came from, where the one checked out was made from it or is it under another name.
    #[serde(skip)]
    followed: Option<FollowedBranch>,
}

/// Branch that a session followed to another one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FollowedBranch {
    /// The branch; `None` for a detached HEAD.
    home: Option<String>,
    /// Whether the session leaves it.
    moves: bool,
}

/// A session that is current on another branch than the one checked out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The session.
    pub session: SessionRef,
    /// Its branch; `None` for a detached HEAD.
    pub branch: Option<String>,
}

impl CurrentPointer {
    /// The file's content after this session has become current on the branch that is checked out.
    #[must_use]
    pub fn switched_to(&self, session: SessionRef) -> Self {
        let mut after = self.clone();
        after.begun = None;
        after.elsewhere = None;
        after.followed = None;
        match (&self.session, &self.followed) {
            (Some(old), _) if old.id != session.id => after.previous = Some(old.clone()),
            (Some(_), Some(followed)) if followed.moves => {
                after.branches.retain(|_, other| other.id != session.id);
            }
            // It is current on both branches: switching back continues it.
            (Some(old), Some(FollowedBranch { home: Some(home), .. })) => {
                after.branches.entry(home.clone()).or_insert_with(|| old.clone());
            }
            _ => {}
        }
        if let Some(branch) = &self.branch {
            after.branches.insert(branch.clone(), session.clone());
        }
        after.session = Some(session);
        after
    }

    /// The file's content in a working tree that was made for this fork, which is current there.
    #[must_use]
    pub fn made_for(&self, fork: SessionRef) -> Self {
        Self {
            fork: Some(fork.clone()),
            ..self.switched_to(fork)
        }
    }

    /// The file's content after this session has ended being current, on every branch.
    #[must_use]
    pub fn left(&self, id: &str) -> Self {
        let mut after = self.clone();
        after.begun = None;
        after.branches.retain(|_, session| session.id != id);
        if let Some(old) = after.session.take_if(|session| session.id == id) {
            after.previous = Some(old);
        }
        after
    }

    /// The file's content after a session has got another name or identity.
    #[must_use]
    pub fn replaced(&self, id: &str, by: &SessionRef) -> Self {
        let mut after = self.clone();
        let entries = [&mut after.session, &mut after.previous, &mut after.fork];
        let entries = entries.into_iter().flatten();
        for entry in entries.chain(after.branches.values_mut()) {
            if entry.id == id {
                *entry = by.clone();
            }
        }
        after
    }

    /// The file's content after a session became that of the branch that is checked out alone.
    #[must_use]
    pub fn only_here(&self, id: &str) -> Self {
        let mut after = self.clone();
        let here = self.branch.as_ref();
        after
            .branches
            .retain(|branch, session| session.id != id || Some(branch) == here);
        if let (Some(branch), Some(session)) = (here, self.session.as_ref().filter(|session| session.id == id)) {
            after.branches.insert(branch.clone(), session.clone());
        }
        after
    }

    /// The file's content after the change from one content to another was made to it again, or taken back: each branch
    /// that has what it had before the change gets what it had after it. Another session that became current since stays.
    #[must_use]
    pub fn with_change(&self, from: &Self, to: &Self) -> Self {
        let mut after = self.clone();
        for branch in from.branches.keys().chain(to.branches.keys()) {
            if self.branches.get(branch) == from.branches.get(branch) {
                match to.branches.get(branch) {
                    Some(session) => after.branches.insert(branch.clone(), session.clone()),
                    None => after.branches.remove(branch),
                };
            }
        }
        if self.session == from.session && (self.branch == from.branch || from.branch.is_none()) {
            after.session.clone_from(&to.session);
            after.previous.clone_from(&to.previous);
            if let (Some(branch), None) = (&self.branch, &from.branch) {
                match &to.session {
                    Some(session) => after.branches.insert(branch.clone(), session.clone()),
                    None => after.branches.remove(branch),
                };
            }
        }
        after
    }

    /// Whether a session has become current on a branch, and not only followed to it.
    pub fn is_current_on(&self, branch: &str, id: &str) -> bool {
        self.branches.get(branch).is_some_and(|session| session.id == id)
    }

    /// Whether a session is current on any branch.
    pub fn has_any(&self) -> bool {
        self.session.is_some() || !self.branches.is_empty()
    }

    /// The content as seen from the branch that is checked out.
    fn on(mut self, repo: &Repository, here: Option<String>) -> Result<Self, Error> {
        let Some(here) = here else {
            // Of the branches nothing changes on a detached HEAD.
            self.branch = None;
            return Ok(self);
        };
        let mut last = self.session.clone();
        if let Some(session) = self.branches.get(&here) {
            self.session = Some(session.clone());
        } else if let Some((home, session)) = self.before_renaming(repo, &here)? {
            self.session = Some(session);
            self.followed = Some(FollowedBranch {
                home: Some(home),
                moves: true,
            });
        } else if self.branch.as_ref() != Some(&here)
            && let Some((home, session)) = self.source(repo, &here)?
            && home.as_ref() != Some(&here)
        {
            let mut origin = branching::origin(repo, &session, home.as_deref(), &here)?;
            // A branch that has a session of its own, though paused, is not new.
            if origin == BranchOrigin::MadeFrom && branching::has_other(repo, &session, &here)? {
                origin = BranchOrigin::Unrelated;
            }
            match origin {
                BranchOrigin::Unrelated if last.is_none() => {}
                BranchOrigin::Unrelated => {
                    let (home, session) = self.left_last(repo, &here)?.unwrap_or((home, session));
                    last = Some(session.clone());
                    self.elsewhere = Some(Elsewhere { session, branch: home });
                    self.session = None;
                }
                origin => {
                    let moves = origin == BranchOrigin::Moved;
                    self.followed = Some(FollowedBranch { home, moves });
                    self.session = Some(session);
                }
            }
        }
        if let Some(last) = last.filter(|last| self.session.as_ref().is_none_or(|session| session.id != last.id)) {
            self.previous = Some(last);
        }
        self.branch = Some(here);
        Ok(self)
    }

    /// The session that a branch without one may continue, with its branch: that of the branch from which this one was made, as
    /// the reflog of HEAD has it, else the one that was current last.
    fn source(&self, repo: &Repository, here: &str) -> Result<Option<(Option<String>, SessionRef)>, Error> {
        if let Some(found) = self.on_visited(branching::made_on(repo, here)?) {
            return Ok(Some(found));
        }
        let last = self.session.clone();
        Ok(last.map(|session| (self.home(repo, &session), session)))
    }

    /// The session of the branch that was checked out before this one, with that branch.
    fn left_last(&self, repo: &Repository, here: &str) -> Result<Option<(Option<String>, SessionRef)>, Error> {
        Ok(self.on_visited(branching::left(repo, here)?))
    }

    fn on_visited(&self, branch: Option<String>) -> Option<(Option<String>, SessionRef)> {
        let branch = branch?;
        let session = self.branches.get(&branch)?.clone();
        Some((Some(branch), session))
    }

    /// The session of a branch whose name was another one, and that name: it may have been renamed while another one was
    /// checked out.
    fn before_renaming(&self, repo: &Repository, here: &str) -> Result<Option<(String, SessionRef)>, Error> {
        for name in branching::former_names(repo, here) {
            if let Some(session) = self.branches.get(&name)
                && branching::is_session(repo, session)?
            {
                return Ok(Some((name, session.clone())));
            }
        }
        Ok(None)
    }

    /// The session that is current on a branch by the file alone, also on one that is not checked out.
    pub fn on_branch(&self, branch: &str) -> Option<&SessionRef> {
        self.branches.get(branch)
    }

    /// The branch that the session that was current last belongs to.
    fn home(&self, repo: &Repository, session: &SessionRef) -> Option<String> {
        let of_file = || {
            let mut entries = self.branches.iter();
            entries
                .find(|(_, other)| other.id == session.id)
                .map(|(branch, _)| branch.clone())
        };
        let of_tip = || {
            let tip = session::tip(repo, &session.name).ok().flatten()?;
            checkpoint::load(repo, tip).ok()?.document.git.branch
        };
        self.branch.clone().or_else(of_file).or_else(of_tip)
    }
}

/// Reads the file for the branch that is checked out. An absent one means that no session is current, and so does one of
/// another user, which is noted.
pub fn read(repo: &Repository) -> Result<CurrentPointer, Error> {
    let current = written(repo)?;
    let mut current = current.on(repo, branches::active(repo)?)?;
    match current.begun.take() {
        Some(begun) if exists(repo, &begun) => Ok(current.switched_to(*begun)),
        _ => Ok(current),
    }
}

/// Whether a session that was about to be made was made. A damaged one is looked at when it is used.
fn exists(repo: &Repository, session: &SessionRef) -> bool {
    let tip = session::tip(repo, &session.name).ok().flatten();
    let tip = tip.and_then(|tip| checkpoint::load(repo, tip).ok());
    tip.is_some_and(|tip| tip.document.session.id == session.id)
}

/// The file as it is.
fn written(repo: &Repository) -> Result<CurrentPointer, Error> {
    let path = worktree_private_path(repo).join("current");
    let bytes = os::notices::if_readable(os::read_regular(&path), &path).map_err(Error::io("read", &path))?;
    let Some(bytes) = bytes else {
        return Ok(CurrentPointer::default());
    };
    serde_json::from_slice(&bytes).map_err(Error::malformed(OwnFile::Current, path))
}

/// Pointer of a branch according to the file alone.
pub(super) enum BranchPointer {
    /// This session is current.
    Session(SessionRef),
    /// None is.
    None,
    /// It depends on how the branch was made.
    Unclear,
}

/// Reads the text of the file for a branch, without looking at anything else.
pub(super) fn known(text: &[u8], here: &str) -> BranchPointer {
    let Ok(current) = serde_json::from_slice::<CurrentPointer>(text) else {
        return BranchPointer::Unclear;
    };
    if current.begun.is_some() {
        return BranchPointer::Unclear;
    }
    if let Some(session) = current.branches.get(here) {
        return BranchPointer::Session(session.clone());
    }
    let is_first = current.session.is_none() && current.branches.is_empty();
    if is_first || current.branch.as_deref() == Some(here) {
        BranchPointer::None
    } else {
        BranchPointer::Unclear
    }
}

/// Whether a session is current on any branch of this working tree; looks at one small file.
pub fn is_any(repo: &Repository) -> bool {
    written(repo).is_ok_and(|current| current.has_any() || current.begun.is_some())
}

/// The current sessions of all branches and working trees of this repository. What cannot be read is left out.
pub fn all(repo: &Repository) -> Vec<SessionRef> {
    let common = repo.common_dir();
    let linked = std::fs::read_dir(common.join("worktrees"))
        .into_iter()
        .flatten()
        .flatten();
    let directories = linked.map(|entry| entry.path()).chain([common.to_owned()]);
    directories
        .filter_map(|directory| os::read_regular(&directory.join("checkpoint").join("current")).ok())
        .filter_map(|bytes| serde_json::from_slice::<CurrentPointer>(&bytes).ok())
        .flat_map(|current| current.session.into_iter().chain(current.branches.into_values()))
        .collect()
}

/// The roots of the other working trees of this repository in which a session is current. What cannot be read is left out.
pub fn other_worktrees(repo: &Repository, session_id: &str) -> Vec<PathBuf> {
    let here = paths::worktree_id(repo);
    let others = paths::worktree_ids(repo).into_iter().filter(|id| *id != here);
    let common = repo.common_dir();
    let is_there = |id: &String| {
        let directory = match id.strip_prefix("linked-") {
            Some(name) => common.join("worktrees").join(name),
            None => common.to_owned(),
        };
        let bytes = os::read_regular(&directory.join("checkpoint").join("current")).ok();
        let current = bytes.and_then(|bytes| serde_json::from_slice::<CurrentPointer>(&bytes).ok());
        current
            .and_then(|current| current.session)
            .is_some_and(|session| session.id == session_id)
    };
    let there = others.filter(is_there);
    there.filter_map(|id| paths::worktree_path(repo, &id)).collect()
}

/// Reads the file for replacing it: what cannot be understood says nothing. A file that may not be read is an error.
pub fn read_to_replace(repo: &Repository) -> Result<CurrentPointer, Error> {
    lock::check_readable(repo)?;
    read_if_understood(repo)
}

/// Reads the file for showing what is in it: what cannot be understood says nothing.
pub fn read_if_understood(repo: &Repository) -> Result<CurrentPointer, Error> {
    match read(repo) {
        Err(Error::Malformed { .. }) => Ok(CurrentPointer::default()),
        // Which branch is checked out is not known: as on a detached HEAD, the last session stays.
        Err(error) if error.is_about_head() => written(repo)?.on(repo, None),
        other => other,
    }
}

/// Notes that a session that is about to be made will be current: a kill after it is made leaves it so, and one
/// before, `now` as it was.
pub fn begin(repo: &Repository, now: &CurrentPointer, session: &SessionRef) -> Result<(), Error> {
    let mut begun = now.clone();
    begun.begun = Some(Box::new(session.clone()));
    write(repo, &begun)
}

/// Writes the file in one step; does nothing when it has this already.
pub fn write(repo: &Repository, current: &CurrentPointer) -> Result<(), Error> {
    let mut current = current.clone();
    (current.elsewhere, current.followed) = (None, None);
    let current = &current;
    if written(repo).is_ok_and(|now| now == *current) {
        return Ok(());
    }
    let path = worktree_private_dir(repo)?.join("current");
    os::replace(&path, &json::to_bytes(current), sharing(repo), true).map_err(Error::io("write", path))?;
    os::trace::changed();
    Ok(())
}

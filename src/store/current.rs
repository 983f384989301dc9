//! The current session of a working tree: `<git-dir>/checkpoint/current`.
//!
//! A file, not a symbolic ref: a dangling ref would make `git fsck` fail, a push of all refs would publish it, and
//! `git worktree prune` removes the file with its working tree. The session is named by identity, so that it survives a
//! renaming; the name beside it is where to look first.

use serde::{Deserialize, Serialize};

use super::{Error, Repository, checkpoint, session, sharing, worktree_private_dir, worktree_private_path};
use crate::{
    model::{json, name::ShortName},
    os,
};

/// Pointer to the current session, as in its file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CurrentPointer {
    /// The session being worked in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionRef>,
    /// The one before it, for the selector `-`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<SessionRef>,
    /// One that is about to be made: it is the current one as soon as its ref is there. Never seen outside of here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    begun: Option<Box<SessionRef>>,
}

/// A session by identity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRef {
    /// Its identity.
    pub id: String,
    /// The name it had.
    pub name: ShortName,
}

impl CurrentPointer {
    /// The file's content after this session has become current.
    #[must_use]
    pub fn switched_to(&self, session: SessionRef) -> Self {
        match &self.session {
            Some(old) if old.id != session.id => Self {
                previous: Some(old.clone()),
                session: Some(session),
                begun: None,
            },
            _ => Self {
                session: Some(session),
                previous: self.previous.clone(),
                begun: None,
            },
        }
    }

    /// The file's content after this session has ended being current; unchanged when another one is.
    #[must_use]
    pub fn left(&self, id: &str) -> Self {
        match &self.session {
            Some(old) if old.id == id => Self {
                session: None,
                previous: Some(old.clone()),
                begun: None,
            },
            _ => self.clone(),
        }
    }
}

/// Action named in errors about a file that cannot be parsed.
const UNDERSTAND: &str = "understand";

/// Reads the file. An absent one says that no session is current; an unreadable one is an error.
pub fn read(repo: &Repository) -> Result<CurrentPointer, Error> {
    let mut current = written(repo)?;
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
    match os::read_regular(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| Error::Io {
            action: UNDERSTAND,
            path,
            source: std::io::Error::new(std::io::ErrorKind::InvalidData, error),
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(CurrentPointer::default()),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// The current sessions of all working trees of this repository. What cannot be read is left out.
pub fn all(repo: &Repository) -> Vec<SessionRef> {
    let common = repo.common_dir();
    let linked = std::fs::read_dir(common.join("worktrees"))
        .into_iter()
        .flatten()
        .flatten();
    let directories = linked.map(|entry| entry.path()).chain([common.to_owned()]);
    directories
        .filter_map(|directory| os::read_regular(&directory.join("checkpoint").join("current")).ok())
        .filter_map(|bytes| serde_json::from_slice::<CurrentPointer>(&bytes).ok()?.session)
        .collect()
}

/// Reads the file for replacing it: what cannot be understood says nothing. A file that may not be read is an error.
pub fn read_to_replace(repo: &Repository) -> Result<CurrentPointer, Error> {
    match read(repo) {
        Err(Error::Io { action: UNDERSTAND, .. }) => Ok(CurrentPointer::default()),
        other => other,
    }
}

/// Says that a session that is about to be made will be current: whoever is killed after making it leaves it so, and
/// before, `now` as it was.
pub fn begin(repo: &Repository, now: &CurrentPointer, session: &SessionRef) -> Result<(), Error> {
    let mut begun = now.clone();
    begun.begun = Some(Box::new(session.clone()));
    write(repo, &begun)
}

/// Writes the file in one step; does nothing when it says this already.
pub fn write(repo: &Repository, current: &CurrentPointer) -> Result<(), Error> {
    if written(repo).is_ok_and(|now| now == *current) {
        return Ok(());
    }
    let path = worktree_private_dir(repo)?.join("current");
    os::replace(&path, &json::to_bytes(current), sharing(repo), true).map_err(Error::io("write", path))?;
    os::trace::changed();
    Ok(())
}

//! What was last learned of a remote and is in no tracking ref: when all of its sessions were listed, and which of them it
//! has no more although the tracking ref keeps what it had, or were refused. `<common>/checkpoint/remotes/<name>.json`.
//!
//! Not synced: the next fetch finds it out again.

use std::{collections::BTreeMap, path::PathBuf};

use serde::{Deserialize, Serialize};

use super::{Error, ObjectId, Repository, paths::own_directory, private_dir, private_path, remote::encoded, sharing};
use crate::{
    model::{json, name::ShortName},
    os,
};

/// The directory of the files.
const DIRECTORY: &str = "remotes";

/// The state of a remote as it was last learned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RemoteState {
    /// When its sessions were last listed, in seconds since 1970.
    pub listed: Option<i64>,
    /// Sessions that it had and has no more, each with the value that the tracking ref has, or had before a deletion from
    /// here removed it.
    deleted: BTreeMap<String, String>,
    /// Sessions that it has and that were not safe to use when they were last fetched, each with the reason.
    pub refused: BTreeMap<String, String>,
    /// Sessions that it has as something that the tracking ref does not follow, each with the latest checkpoint there: what
    /// a fetch reported and no `--follow` accepted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    unfollowed: BTreeMap<String, String>,
    /// Sessions whose tracking refs a purge removed, so that the remote still has what was purged. Each with commits of the
    /// project that it has.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    purged: BTreeMap<String, Vec<String>>,
}

impl RemoteState {
    /// The state of a remote; the default where nothing is known.
    pub fn of(repo: &Repository, remote: &str) -> Self {
        let path = private_path(repo).join(DIRECTORY).join(file(remote));
        let bytes = os::read_regular(&path).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    /// The value that the tracking ref of a session had when the remote was found not to have it any more, or when it was
    /// deleted there from here.
    pub fn deleted_tip(&self, session: &str) -> Option<ObjectId> {
        ObjectId::from_hex(self.deleted.get(session)?.as_bytes()).ok()
    }

    /// Whether the remote deleted a session; `tracking` is the value of its tracking ref.
    pub fn is_deleted(&self, session: &str, tracking: ObjectId) -> bool {
        self.deleted_tip(session) == Some(tracking)
    }

    /// The names of sessions that it had and has no more; of some the tracking ref may say something else by now.
    pub fn deleted(&self) -> impl Iterator<Item = ShortName> {
        self.deleted
            .keys()
            .filter_map(|name| ShortName::new(name.as_str()).ok())
    }

    /// Whether the remote has what was purged here of a session, as it was last seen.
    pub fn has_purged(&self, session: &str) -> bool {
        self.purged.contains_key(session)
    }

    /// Commits of the project that the remote has with sessions whose tracking refs were purged.
    pub fn purged_commits(&self) -> impl Iterator<Item = ObjectId> {
        let ids = self.purged.values().flatten();
        ids.filter_map(|id| ObjectId::from_hex(id.as_bytes()).ok())
    }

    /// Notes that the tracking ref of a session was purged, and commits of the project that the remote has with it.
    pub fn set_purged(&mut self, session: &str, commits: &[ObjectId]) {
        let commits = commits.iter().map(ToString::to_string).collect();
        self.purged.insert(session.to_owned(), commits);
    }

    /// Notes whether the remote has a session, as it was now seen.
    pub fn set(&mut self, session: &ShortName, deleted: Option<ObjectId>) {
        self.purged.remove(session.as_str());
        self.unfollowed.remove(session.as_str());
        match deleted {
            Some(tracking) => drop(self.deleted.insert(session.to_string(), tracking.to_string())),
            None => drop(self.deleted.remove(session.as_str())),
        }
    }

    /// Whether a fetch reported already that the remote has this as the latest checkpoint of a session, and was not to follow.
    pub fn is_unfollowed(&self, session: &str, there: ObjectId) -> bool {
        let known = self.unfollowed.get(session);
        known.and_then(|known| ObjectId::from_hex(known.as_bytes()).ok()) == Some(there)
    }

    /// Notes what the remote has of a session where the tracking ref does not follow.
    pub fn set_unfollowed(&mut self, session: &ShortName, there: ObjectId) {
        self.unfollowed.insert(session.to_string(), there.to_string());
    }

    /// Changes the state of a remote.
    pub fn update(repo: &Repository, remote: &str, change: impl FnOnce(&mut Self)) -> Result<(), Error> {
        let before = Self::of(repo, remote);
        let mut after = before.clone();
        change(&mut after);
        if after == before {
            return Ok(());
        }
        let directory = own_directory(repo, private_dir(repo)?.join(DIRECTORY))?;
        let path = directory.join(file(remote));
        os::replace(&path, &json::to_bytes(&after), sharing(repo), false).map_err(Error::io("write", path))
    }
}

fn file(remote: &str) -> PathBuf {
    PathBuf::from(format!("{}.json", encoded(remote)))
}

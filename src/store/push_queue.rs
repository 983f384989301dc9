//! The queue of automatic sharing: sessions that wait to be pushed, one small file each, and how the last attempt ended.
//!
//! A save adds a file after its ref has moved and waits for no one. The process that pushes sets the file aside, looks at
//! the ref once more and only then lets it go, so a save at any moment stays in the queue. A file that is left behind costs a
//! look at the remote, and a lost one is made again by the next save; so none of it is synced.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Error, ObjectId, Repository, paths::own_directory, private_dir, private_path, sharing};
use crate::{
    model::{id::Oid, json, name::ShortName, time::Timestamp},
    os,
};

/// The directory of the queue.
const QUEUE: &str = "push-queue";
/// The file with the end of the last attempt.
const STATE: &str = "push-queue.json";
/// The end of the name of a file whose session is being looked at once more.
const ASIDE: &str = "+";

/// How automatic sharing goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SharingState {
    /// Failures in a row.
    pub failures: u32,
    /// When the last one was.
    pub failed_at: Option<Timestamp>,
    /// Why it failed.
    pub why: Option<String>,
    /// Whether a command has reported that.
    pub reported: bool,
    /// Sessions that the remote did not take, each with the reason.
    pub refused: Vec<(String, String)>,
    /// Those of them that diverged and wait for a person to merge them.
    pub diverged: Vec<String>,
    /// The ways on for sessions that the remote has under another name, each with its command.
    pub ways: Vec<(String, Vec<String>)>,
    /// Sessions whose record was merged with that of the remote, with the checkpoint that was merged in.
    pub merged: Vec<MergedRecord>,
    /// When sessions were last fetched, or when that was last tried.
    pub fetched_at: Option<Timestamp>,
    /// Why the last fetch failed.
    pub fetch_failure: Option<String>,
}

impl SharingState {
    /// The ways on for a session that the remote did not take.
    pub fn ways_of(&self, session: &str) -> Option<&[String]> {
        let mut ways = self.ways.iter();
        ways.find(|(name, _)| name == session).map(|(_, ways)| ways.as_slice())
    }
}

/// A session whose record was merged automatically; its files were not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergedRecord {
    /// Its name.
    pub session: ShortName,
    /// The remote's checkpoint.
    pub theirs: Oid,
    /// Whether a command has reported it.
    #[serde(default)]
    pub reported: bool,
}

/// A session in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedSession {
    /// Its name when it was added.
    pub name: ShortName,
    /// Its latest checkpoint then; `None` where the file does not say.
    pub tip: Option<ObjectId>,
}

/// Adds a session.
pub fn add(repo: &Repository, name: &ShortName, tip: ObjectId) -> Result<(), Error> {
    let directory = own_directory(repo, private_dir(repo)?.join(QUEUE))?;
    let path = directory.join(name.as_str());
    let text = format!("{tip}\n");
    os::replace(&path, text.as_bytes(), sharing(repo), false).map_err(Error::io("write", path))
}

/// The sessions that wait, by name.
pub fn list(repo: &Repository) -> Vec<QueuedSession> {
    let entries = std::fs::read_dir(private_path(repo).join(QUEUE));
    let mut all: Vec<_> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let file = entry.file_name();
            let name = ShortName::new(file.to_str()?.trim_end_matches(ASIDE)).ok()?;
            let text = os::read_regular(&entry.path()).unwrap_or_default();
            let tip = ObjectId::from_hex(text.trim_ascii_end()).ok();
            Some(QueuedSession { name, tip })
        })
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all.dedup_by(|a, b| a.name == b.name);
    all
}

/// Takes a session out, unless `is_done` finds that there is more to push by now.
pub fn settle(repo: &Repository, name: &ShortName, is_done: impl FnOnce() -> Option<ObjectId>) -> Result<(), Error> {
    let path = path_of(repo, name.as_str());
    let aside = path_of(repo, &format!("{name}{ASIDE}"));
    match std::fs::rename(&path, &aside) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::io("rename", path)(error)),
        _ => {}
    }
    if let Some(tip) = is_done() {
        add(repo, name, tip)?;
    }
    match std::fs::remove_file(&aside) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", aside)(error)),
        _ => Ok(()),
    }
}

fn path_of(repo: &Repository, file: &str) -> PathBuf {
    private_path(repo).join(QUEUE).join(file)
}

/// How the last attempts ended; the default where there was none, or where it cannot be read.
pub fn state(repo: &Repository) -> SharingState {
    let bytes = os::read_regular(&private_path(repo).join(STATE)).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Notes how the last attempts ended.
pub fn note(repo: &Repository, state: &SharingState) -> Result<(), Error> {
    let path = private_dir(repo)?.join(STATE);
    os::replace(&path, &json::to_bytes(state), sharing(repo), false).map_err(Error::io("write", path))
}

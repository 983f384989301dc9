//! The state of a bisection of a working tree, and the working tree that it tests in.
//!
//! The state is `<git-dir>/checkpoint/bisect/state.json`; it is written before the working tree is made and removed after
//! it, so that whatever a kill leaves is known. The working tree is a linked one below the common directory: the user's
//! files, index, HEAD and bisect refs are not touched.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{Error, ObjectId, OwnFile, Repository, lock, paths, private_dir, private_path, sharing, worktree_id};
use crate::{
    model::{id::Oid, json},
    os,
};

/// The directory of the state, below the private one of the working tree.
const DIRECTORY: &str = "bisect";

/// How the name of a working tree begins.
const NAME: &str = "checkpoint-bisect-";

/// How often a directory is removed again that something still writes to.
const TRIES: u32 = 50;

/// Verdict about a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BisectVerdict {
    /// It works.
    Good,
    /// It does not.
    Bad,
    /// It cannot be tested.
    Skip,
}

impl BisectVerdict {
    /// The word that is stored and shown.
    pub fn word(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Skip => "skip",
        }
    }
}

/// A bisection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BisectState {
    /// The session as it is shown.
    pub session: String,
    /// The checkpoint that the list of states begins with.
    pub from: Oid,
    /// Verdicts in the order in which they were given.
    pub verdicts: Vec<(Oid, BisectVerdict)>,
    /// The checkpoint that is to be tested.
    pub current: Option<Oid>,
    /// Whether `run` began it, which then ends it as well.
    pub is_automatic: bool,
}

/// The lock of the bisection of this working tree; its holder may change or remove the bisection.
pub fn lock(repo: &Repository, wait: Duration) -> Result<lock::HeldLock, Error> {
    let what = "the bisection of this working tree";
    lock::common(repo, &format!("bisect-{}", worktree_id(repo)), what, wait)
}

fn state_path(repo: &Repository) -> PathBuf {
    super::worktree_private_path(repo).join(DIRECTORY).join("state.json")
}

/// The working tree of a bisection.
pub fn work_tree(repo: &Repository) -> PathBuf {
    private_path(repo)
        .join(DIRECTORY)
        .join(format!("{NAME}{}", worktree_id(repo)))
}

/// The bisection of this working tree; `None` when there is none.
pub fn read(repo: &Repository) -> Result<Option<BisectState>, Error> {
    let path = state_path(repo);
    match os::read_regular(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(Error::malformed(OwnFile::Bisect, path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// Writes it.
pub fn write(repo: &Repository, state: &BisectState) -> Result<(), Error> {
    let directory = super::worktree_private_dir(repo)?.join(DIRECTORY);
    os::private_dir(&directory, sharing(repo)).map_err(Error::io("create", &directory))?;
    let path = directory.join("state.json");
    os::replace(&path, &json::to_bytes(state), sharing(repo), false).map_err(Error::io("write", path))?;
    os::trace::changed();
    Ok(())
}

/// Brings the working tree to a commit; makes it if there is none.
///
/// Each child of git keeps the lock: one that outlives us is waited for before its files are removed.
pub fn check_out(repo: &Repository, commit: ObjectId, lock: &lock::HeldLock) -> Result<PathBuf, Error> {
    let path = work_tree(repo);
    let commit = commit.to_string();
    if !path.join(".git").exists() {
        remove_work_tree(repo, &path)?;
        let directory = private_dir(repo)?.join(DIRECTORY);
        os::private_dir(&directory, sharing(repo)).map_err(Error::io("create", &directory))?;
        // Without a checkout: a sparse one would be taken over from the user's working tree.
        super::git(repo)
            .holding(lock.shared())
            .args(["worktree", "add", "--quiet", "--detach", "--no-checkout"])
            .arg(&path)
            .arg(&commit)
            .run()?;
    }
    let there = super::open_worktree(repo, &path)?;
    let git = || {
        let git = super::git(&there).holding(lock.shared());
        git.config("core.sparseCheckout=false")
    };
    git()
        .args(["checkout", "--quiet", "--force", "--detach", &commit])
        .run()?;
    // What a test left would be a part of the next one; what is ignored, such as a build, makes the next one faster.
    git().args(["clean", "--quiet", "-ffd"]).run()?;
    Ok(path)
}

/// Removes what an interrupted `run` left, and working trees of bisections in linked working trees that are gone. Gives
/// whether there was something.
pub fn sweep(repo: &Repository, wait: Duration) -> Result<bool, Error> {
    let mut found = sweep_orphans(repo)?;
    let is_left = || -> Result<bool, Error> {
        Ok(match read(repo)? {
            Some(state) => state.is_automatic,
            None => is_left(repo),
        })
    };
    if is_left()? {
        let _lock = lock(repo, wait)?;
        // The one that was seen may have ended meanwhile.
        if is_left()? {
            remove(repo)?;
            found = true;
        }
    }
    Ok(found)
}

fn sweep_orphans(repo: &Repository) -> Result<bool, Error> {
    let directory = private_path(repo).join(DIRECTORY);
    let Ok(entries) = fs::read_dir(&directory) else {
        return Ok(false);
    };
    let known = paths::worktree_ids(repo);
    let mut found = false;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let id = name.to_str().and_then(|name| name.strip_prefix(NAME));
        if id.is_some_and(|id| !known.iter().any(|known| known == id)) {
            remove_work_tree(repo, &entry.path())?;
            found = true;
        }
    }
    let _ = fs::remove_dir(directory);
    Ok(found)
}

/// Whether a kill left something without a state: an empty directory, or one that was about to be written.
fn is_left(repo: &Repository) -> bool {
    work_tree(repo).exists() || super::worktree_private_path(repo).join(DIRECTORY).exists()
}

/// Removes the working tree and the state, whatever of them there is.
pub fn remove(repo: &Repository) -> Result<(), Error> {
    remove_work_tree(repo, &work_tree(repo))?;
    let path = state_path(repo);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::io("remove", path)(error)),
        Err(_) => {}
        Ok(()) => os::trace::changed(),
    }
    // Removed where they are empty: other working trees may have theirs next to this one.
    for directory in [private_path(repo), super::worktree_private_path(repo)] {
        let directory = directory.join(DIRECTORY);
        os::sweep_replacements(&directory);
        let _ = fs::remove_dir(directory);
    }
    Ok(())
}

fn remove_work_tree(repo: &Repository, path: &Path) -> Result<(), Error> {
    remove_directory(path)?;
    let all = repo.common_dir().join("worktrees");
    let Ok(entries) = fs::read_dir(&all) else { return Ok(()) };
    for entry in entries.flatten() {
        if is_of(&entry.path(), path) {
            remove_directory(&entry.path())?;
        }
    }
    // As git does when the last linked worktree goes.
    let _ = fs::remove_dir(all);
    Ok(())
}

/// Whether git's own directory of a linked worktree belongs to the one at this path; one that git had begun to make, too.
fn is_of(directory: &Path, path: &Path) -> bool {
    let real = |path: &Path| {
        path.parent()
            .and_then(|parent| parent.canonicalize().ok())
            .unwrap_or_default()
    };
    let name = path.file_name().unwrap_or_default();
    if let Ok(text) = fs::read_to_string(directory.join("gitdir")) {
        let noted = Path::new(text.trim_end())
            .parent()
            .map(Path::to_owned)
            .unwrap_or_default();
        noted.file_name() == Some(name) && (noted == path || real(&noted) == real(path))
    } else {
        let stem = directory.file_name().unwrap_or_default().as_encoded_bytes();
        let rest = stem.strip_prefix(name.as_encoded_bytes());
        rest.is_some_and(|rest| rest.iter().all(u8::is_ascii_digit))
    }
}

/// Removes a directory that a test which was cut off may still write to.
fn remove_directory(path: &Path) -> Result<(), Error> {
    let mut tries = 0;
    loop {
        let removed = fs::remove_dir_all(path);
        tries += 1;
        match removed {
            Ok(()) => return paths_gone(path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if tries >= TRIES => return Err(Error::io("remove", path)(error)),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

fn paths_gone(path: &Path) -> Result<(), Error> {
    path.parent()
        .map_or(Ok(()), |parent| os::sync_dir(parent).map_err(Error::io("sync", parent)))
}

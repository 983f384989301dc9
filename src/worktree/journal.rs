//! The journal of a restore: what was being done, so that a later command can finish it or go back.
//!
//! Written whole and durably before the first file changes, removed when all is done. It names commits, and the paths
//! that are to change: the plan is made anew from the disk as it then is. It also has what finds our leftovers: the
//! token in the names of temporary files, and the directories they may be in.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::path::RepoPath;
use crate::model::time::Timestamp;
use crate::os;
use crate::store::{self, Error, OwnFile, Repository};

/// The form of the file; another one is left alone.
const VERSION: u32 = 1;
/// Its name in a working tree's private directory.
const FILE: &str = "restore.journal";

/// How the names of temporary files begin that a restore makes next to the files that it replaces.
pub const TEMPORARY: &str = ".checkpoint-restore-";

/// Whether a path, by its name, is that of such a file: of an operation under way, or left by one that was killed.
pub fn is_temporary(path: &[u8]) -> bool {
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    name.starts_with(TEMPORARY.as_bytes())
}

/// An unfinished restore.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Journal {
    version: u32,
    /// Makes our temporary files and locks known.
    pub token: String,
    /// When it began.
    pub started_at: Timestamp,
    /// The directories in which there may be temporary files, without a slash at the end.
    #[serde(rename = "folders")]
    pub directories: Vec<RepoPath>,
    /// Every path that is created, changed or deleted; `None` in a journal of an older version.
    #[serde(default)]
    pub paths: Option<Vec<RepoPath>>,
    /// Everything else, by the operation that restores.
    pub what: Value,
}

impl Journal {
    /// A journal for the execution of a plan that changes these paths, with temporary files in these directories.
    pub fn new(
        token: String,
        started_at: Timestamp,
        mut directories: Vec<RepoPath>,
        mut paths: Vec<RepoPath>,
        what: Value,
    ) -> Self {
        directories.sort();
        paths.sort();
        Self {
            version: VERSION,
            token,
            started_at,
            directories,
            paths: Some(paths),
            what,
        }
    }

    /// Adds the directories and paths of an earlier journal of the same operation.
    pub fn add(&mut self, earlier: &Self) {
        self.directories.extend(earlier.directories.iter().cloned());
        self.directories.sort();
        self.directories.dedup();
        self.paths = self.paths.take().zip(earlier.paths.clone()).map(|(mut paths, more)| {
            paths.extend(more);
            paths.sort();
            paths.dedup();
            paths
        });
    }
}

fn path(repo: &Repository) -> PathBuf {
    store::worktree_private_path(repo).join(FILE)
}

/// Whether there is an unfinished restore in the working tree whose private directory this is.
pub fn is_in(directory: &std::path::Path) -> bool {
    directory.join(FILE).exists()
}

/// The unfinished restore of this working tree, if there is one.
pub fn read(repo: &Repository) -> Result<Option<Journal>, Error> {
    let path = path(repo);
    let bytes = os::notices::if_readable(fs::read(&path), &path).map_err(Error::io("read", &path))?;
    let Some(bytes) = bytes else {
        return Ok(None);
    };
    let journal: Journal = serde_json::from_slice(&bytes).map_err(Error::malformed(OwnFile::Journal, &path))?;
    if journal.version != VERSION {
        return Err(Error::malformed(OwnFile::NewerJournal, &path)(
            "a newer version wrote it",
        ));
    }
    Ok(Some(journal))
}

/// Writes the journal; when this returns it is on the disk.
pub fn write(repo: &Repository, journal: &Journal) -> Result<(), Error> {
    store::worktree_private_dir(repo)?;
    let path = path(repo);
    let fresh = path.with_extension("journal.tmp");
    let sharing = store::sharing(repo);
    let text = serde_json::to_vec(journal).map_err(|error| Error::io("write", &path)(io::Error::other(error)))?;
    let written = os::private_file(&fresh, sharing).and_then(|mut file| {
        file.set_len(0)?;
        file.write_all(&text)?;
        os::sync(&file)
    });
    written.map_err(Error::io("write", &fresh))?;
    let another = path.exists();
    fs::rename(&fresh, &path).map_err(Error::io("write", &path))?;
    let synced = path.parent().map_or(Ok(()), os::sync_dir);
    if synced.is_err() && !another {
        // Nothing was begun, so nothing is there to be gone on with.
        let _ = fs::remove_file(&path);
    }
    synced.map_err(Error::io("write", &path))
}

/// Removes the journal: the restore is finished.
pub fn remove(repo: &Repository) -> Result<(), Error> {
    let path = path(repo);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// How the names of temporary files begin that an interrupted restore of this working tree may have left; `None` if
/// none was interrupted, or its journal cannot be read, which its reader reports.
pub fn leftovers_begin(repo: &Repository) -> Option<Vec<u8>> {
    let journal = read(repo).ok().flatten()?;
    Some(format!("{TEMPORARY}{}-", journal.token).into_bytes())
}

/// Temporary files of this restore that a snapshot does not see because rules ignore them. Paths from the root.
pub fn leftovers(repo: &Repository, journal: &Journal) -> Result<Vec<RepoPath>, Error> {
    let root = store::work_tree(repo)?;
    let root = os::dir::Dir::open(root).map_err(Error::io("open", root))?;
    let start = format!("{TEMPORARY}{}-", journal.token);
    let mut found = Vec::new();
    let mut names = os::dir::DirNames::default();
    for directory in &journal.directories {
        let directory = directory.as_bytes();
        // A directory that is gone has nothing in it.
        if root.below(directory).and_then(|dir| dir.read(&mut names)).is_err() {
            continue;
        }
        for at in 0..names.len() {
            let name = names.name(at);
            if name.starts_with(start.as_bytes()) {
                let slash: &[u8] = if directory.is_empty() { b"" } else { b"/" };
                found.push(RepoPath::new([directory, slash, name].concat()));
            }
        }
    }
    Ok(found)
}

//! Objects that a repository holds in memory, put where a git child can read them.
//!
//! The present files are hashed into memory by commands that only look; git's own patches of them need objects in a
//! directory. It is a directory of ours next to the repository's, read with the real one as its alternate, and removed
//! again; where nothing can be written, one in the system's directory for temporary files. Nothing in it is made
//! durable. One of ours whose owner was killed is removed by the next.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Error, Kind, ObjectId, Repository, paths};
use crate::git::Git;
use crate::os;

/// The name of the directory that holds all of them.
const ALL: &str = "spilled";
/// How often a directory is made anew that another process removed.
const TRIES: usize = 10;

/// The directory, removed when this is dropped.
#[derive(Debug)]
pub struct SpillDirectory {
    directory: PathBuf,
    _alive: os::Lock,
}

impl SpillDirectory {
    /// Writes the objects out; `None` when the repository holds none in memory.
    pub fn new(repo: &Repository) -> Result<Option<Self>, Error> {
        if repo.objects.num_objects_in_memory() == 0 {
            return Ok(None);
        }
        Self::writable(repo).map(Some)
    }

    /// The same, also for a repository that holds none: a child writes new objects there.
    pub fn writable(repo: &Repository) -> Result<Self, Error> {
        let objects = repo.clone().objects.take_object_memory();
        let sharing = paths::sharing(repo);
        let directory = match own(repo, sharing) {
            // Users who may only read the repository may look even so.
            Err(Error::Io { source, .. }) if is_read_only(&source) => os::temporary_dir().map_err(Error::io(
                "create a directory for temporary files next to",
                paths::private_path(repo),
            ))?,
            directory => directory?,
        };
        let lock = lock_path(&directory);
        let alive = os::Lock::acquire(&lock, sharing, Duration::ZERO).map_err(Error::io("lock", &lock))?;
        let busy = || Error::io("lock", &lock)(io::Error::other("another process holds it"));
        let spilled = Self {
            _alive: alive.ok_or_else(busy)?,
            directory,
        };
        let read = std::iter::once(paths::objects_dir(repo)).chain(paths::further_object_dirs(repo));
        read_also(&spilled.directory, read)?;
        for (id, (kind, data)) in objects.iter().flat_map(|objects| objects.iter()) {
            spilled.write(*id, *kind, data)?;
        }
        Ok(spilled)
    }

    /// A file of the child's own in the directory.
    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Lets a child read the objects.
    pub fn show(&self, git: Git) -> Git {
        git.objects(&self.directory)
    }

    fn write(&self, id: ObjectId, kind: Kind, data: &[u8]) -> Result<(), Error> {
        let hex = id.to_string();
        let directory = self.directory.join(&hex[..2]);
        fs::create_dir_all(&directory).map_err(Error::io("create", &directory))?;
        let path = directory.join(&hex[2..]);
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        let compressed = encoder
            .write_all(&gix::objs::encode::loose_header(kind, data.len() as u64))
            .and_then(|()| encoder.write_all(data))
            .and_then(|()| encoder.finish());
        compressed
            .and_then(|bytes| fs::write(&path, bytes))
            .map_err(Error::io("write", path))
    }
}

impl Drop for SpillDirectory {
    fn drop(&mut self) {
        // What stays behind is swept by the next.
        let _ = fs::remove_dir_all(&self.directory);
        // The directory of all goes with the last one.
        let _ = self
            .directory
            .parent()
            .filter(|all| all.ends_with(ALL))
            .map(fs::remove_dir);
    }
}

/// Names the directories where all other objects are.
pub(super) fn read_also(directory: &Path, others: impl Iterator<Item = PathBuf>) -> Result<(), Error> {
    let mut lines = Vec::new();
    for other in others {
        let other = std::path::absolute(&other).unwrap_or(other);
        lines.extend_from_slice(other.as_os_str().as_encoded_bytes());
        lines.push(b'\n');
    }
    let info = directory.join("info");
    fs::create_dir_all(&info).map_err(Error::io("create", &info))?;
    let file = info.join("alternates");
    fs::write(&file, lines).map_err(Error::io("write", file))
}

/// A new directory among ours; those whose owners are gone are removed.
fn own(repo: &Repository, sharing: os::Sharing) -> Result<PathBuf, Error> {
    let all = paths::private_dir(repo)?.join(ALL);
    let mut left = TRIES;
    loop {
        os::private_dir(&all, sharing).map_err(Error::io("create", &all))?;
        sweep(&all, sharing);
        let directory = all.join(os::random_token().map_err(Error::io("name", &all))?);
        match os::private_dir(&directory, sharing) {
            Ok(()) => return Ok(directory),
            // Another process removed it with its own.
            Err(error) if error.kind() == io::ErrorKind::NotFound && left > 0 => left -= 1,
            Err(error) => return Err(Error::io("create", &directory)(error)),
        }
    }
}

fn is_read_only(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied
    )
}

fn lock_path(directory: &Path) -> PathBuf {
    directory.join("lock")
}

/// Removes the directories whose owners are gone.
fn sweep(all: &Path, sharing: os::Sharing) {
    let directories = fs::read_dir(all)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    for directory in directories {
        // Without a lock file it is about to get one, or to go.
        let lock = lock_path(&directory);
        if lock.exists() && matches!(os::Lock::acquire(&lock, sharing, Duration::ZERO), Ok(Some(_))) {
            let _ = fs::remove_dir_all(&directory);
        }
    }
}

//! Putting a finished pack into the repository, durably, and what a killed process leaves behind.
//!
//! Order: pack and index written and synced under temporary names, a `.keep` next to the final name, both renamed, the
//! directory synced. Until the index has its name git sees nothing; from then until our ref exists, the `.keep` stops a
//! `gc --prune=now` from throwing the unnamed objects away. Every file of ours that is not final is locked by its
//! living owner, so a lock that can be had proves that its owner is gone and the file may go too.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use gix::ObjectId;

use super::body::FinishedPack;
use super::{name, pack};
use crate::os::{self, CleanupFailure, Sharing};
use crate::store::Error;

/// Starts the names of our temporary files. Not `tmp_`: `git gc --prune=now` removes those of living processes.
const TEMP_PREFIX: &str = "checkpoint_tmp_";
/// Text of our `.keep` files, for people who read one.
const KEEP_TEXT: &[u8] = b"git-checkpoint: objects of a save that is not finished\n";

/// A temporary file in a directory of packs, removed on drop unless it was given its final name.
pub(super) struct TempFile {
    file: File,
    path: PathBuf,
    named: bool,
}

impl TempFile {
    /// Creates a read-only file, open for reading and writing here, and locks it.
    pub(super) fn create(directory: &Path, sharing: Sharing) -> Result<Self, Error> {
        loop {
            let token = os::random_token().map_err(Error::io("create a file in", directory))?;
            let path = directory.join(format!("{TEMP_PREFIX}{token}"));
            match create_locked(&path, 0o444) {
                Ok(Some(file)) => {
                    let temp = Self {
                        file,
                        path,
                        named: false,
                    };
                    sharing
                        .apply(&temp.file)
                        .map_err(Error::io("set the mode of", &temp.path))?;
                    return Ok(temp);
                }
                // A sweeper was faster than our lock, and the file is gone.
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound && !directory.is_dir() => {
                    os::create_dir_durable(directory, sharing).map_err(Error::io("create", directory))?;
                }
                Err(error) => return Err(Error::io("create", path)(error)),
            }
        }
    }

    /// Bytes in the file so far.
    pub(super) fn len(&self) -> Result<u64, Error> {
        let metadata = self.file.metadata().map_err(Error::io("read", &self.path))?;
        Ok(metadata.len())
    }

    pub(super) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    fn sync(&self) -> Result<(), Error> {
        os::sync(&self.file).map_err(Error::io("write to the disk", &self.path))
    }

    fn rename(&mut self, target: &Path) -> Result<(), Error> {
        fs::rename(&self.path, target).map_err(Error::io("create", target))?;
        self.named = true;
        Ok(())
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if !self.named {
            // If this fails the next save sweeps it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Creates and locks a file; `None` if it was swept between the two.
fn create_locked(path: &Path, mode: u32) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    os::new_mode(&mut options, mode);
    let file = options.open(path)?;
    // A sweeper may hold the lock for a moment: to remove the file, which it cannot know to be new, or to leave it.
    match os::lock(&file).and_then(|()| os::links(&file)) {
        Ok(0) => Ok(None),
        Ok(_) => Ok(Some(file)),
        Err(error) => {
            let _ = fs::remove_file(path);
            Err(error)
        }
    }
}

/// A `.keep` of ours. Dropping it removes the file, which shows git that the pack is like any other.
pub(super) struct KeepFile {
    _file: File,
    path: PathBuf,
    armed: bool,
}

impl KeepFile {
    fn create(path: &Path, sharing: Sharing) -> Result<Self, Error> {
        loop {
            let Some(mut file) = create_locked(path, 0o600).map_err(Error::io("create", path))? else {
                continue;
            };
            let written = sharing.apply(&file).and_then(|()| file.write_all(KEEP_TEXT));
            let keep = Self {
                _file: file,
                path: path.to_owned(),
                armed: true,
            };
            written.map_err(Error::io("write", path))?;
            return Ok(keep);
        }
    }

    /// Removes it.
    pub(super) fn release(mut self) -> Option<CleanupFailure> {
        self.armed = false;
        CleanupFailure::of(fs::remove_file(&self.path), &self.path)
    }

    /// The name of the pack it protects, without directory and extension.
    pub(super) fn pack_name(&self) -> String {
        let stem = self.path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        stem.unwrap_or_default()
    }
}

impl Drop for KeepFile {
    fn drop(&mut self) {
        if self.armed {
            // What failed is reported already, and the next save sweeps this.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Takes back what was put in place, unless all of it was.
struct Undo<'a> {
    base: &'a Path,
    armed: bool,
}

impl Drop for Undo<'_> {
    fn drop(&mut self) {
        if self.armed {
            // The index first: without it git does not look at the pack.
            let _ = fs::remove_file(self.base.with_extension("idx"));
            let _ = fs::remove_file(self.base.with_extension("pack"));
        }
    }
}

/// Makes a pack durable and visible, under a `.keep`.
pub(super) fn place(closed: FinishedPack, directory: &Path, sharing: Sharing) -> Result<KeepFile, Error> {
    let FinishedPack {
        mut file,
        mut entries,
        checksum,
    } = closed;
    let mut bytes = pack::index(&mut entries, &checksum);
    let own = hash(checksum.kind(), &bytes)?;
    bytes.extend_from_slice(own.as_slice());
    let mut index = TempFile::create(directory, sharing)?;
    index.file.write_all(&bytes).map_err(Error::io("write", &index.path))?;
    // Both at once: the file system has one journal, and one commit of it then serves both.
    let (pack_synced, index_synced) = std::thread::scope(|scope| {
        let other = std::thread::Builder::new().spawn_scoped(scope, || index.sync());
        let pack = file.sync();
        match other {
            Ok(other) => (pack, other.join()),
            Err(_) => (pack, Ok(index.sync())),
        }
    });
    pack_synced?;
    index_synced.unwrap_or_else(|_| {
        Err(Error::io("write to the disk", &index.path)(io::Error::other(
            "a thread failed",
        )))
    })?;
    let base = directory.join(name::fresh(checksum.kind()).map_err(Error::io("create a file in", directory))?);
    let keep = KeepFile::create(&base.with_extension("keep"), sharing)?;
    let mut undo = Undo {
        base: &base,
        armed: true,
    };
    file.rename(&base.with_extension("pack"))?;
    index.rename(&base.with_extension("idx"))?;
    os::sync_dir(directory).map_err(Error::io("write to the disk", directory))?;
    undo.armed = false;
    drop(undo);
    Ok(keep)
}

fn hash(kind: gix::hash::Kind, bytes: &[u8]) -> Result<ObjectId, Error> {
    let mut hasher = gix::hash::hasher(kind);
    hasher.update(bytes);
    hasher.try_finalize().map_err(Error::gix("hash the pack"))
}

/// Removes what killed processes of ours left in a directory of packs. Anything else, and anything of a living process,
/// stays. Gives what could not be removed.
pub(super) fn sweep(directory: &Path) -> Result<Vec<CleanupFailure>, Error> {
    let mut left = Vec::new();
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(left),
        Err(error) => return Err(Error::io("read", directory)(error)),
    };
    let entries: Vec<_> = entries
        .map(|entry| Ok(entry?.file_name()))
        .collect::<io::Result<_>>()
        .map_err(Error::io("read", directory))?;
    let indexes: HashSet<&[u8]> = entries
        .iter()
        .filter_map(|name| name.as_encoded_bytes().strip_suffix(b".idx"))
        .collect();
    for name in &entries {
        let path = directory.join(name);
        let Some(name) = name.to_str() else {
            continue;
        };
        if name.starts_with(TEMP_PREFIX) {
            if let Some(_lock) = abandoned(&path) {
                left.extend(CleanupFailure::of(fs::remove_file(&path), &path));
            }
        } else if let Some(stem) = name.strip_suffix(".keep") {
            if name::is_ours(stem) {
                left.extend(sweep_keep(&path));
            }
        } else if let Some(stem) = name.strip_suffix(".pack")
            && !indexes.contains(stem.as_bytes())
            && name::is_ours(stem)
            && !path.with_extension("idx").exists()
        {
            left.extend(sweep_headless(&path));
        }
    }
    Ok(left)
}

/// The file, locked, if its owner is gone.
fn abandoned(path: &Path) -> Option<File> {
    let file = os::open_regular(path).ok()?;
    os::try_lock(&file).ok()?.then_some(file)
}

/// Removes a `.keep` on a pack of ours whose owner is gone. One with another text is a user's.
fn sweep_keep(path: &Path) -> Option<CleanupFailure> {
    let mut file = abandoned(path)?;
    let mut text = Vec::new();
    // Empty after a power cut: it is not synced, because it only matters while its owner lives.
    if file.read_to_end(&mut text).is_ok() && (text.is_empty() || text == KEEP_TEXT) {
        let headless = sweep_headless(&path.with_extension("pack"));
        return headless.or_else(|| CleanupFailure::of(fs::remove_file(path), path));
    }
    None
}

/// Removes a pack of ours that has no index and whose owner is gone.
fn sweep_headless(pack: &Path) -> Option<CleanupFailure> {
    if let Some(_lock) = abandoned(pack)
        && !pack.with_extension("idx").exists()
    {
        return CleanupFailure::of(fs::remove_file(pack), pack);
    }
    None
}

/// Removes a pack of ours whose objects are elsewhere. The index first, as git does: a pack without one is swept, an
/// index without a pack would be an error to every reader.
pub(super) fn remove(base: &Path) -> Result<(), Error> {
    for extension in ["idx", "pack", "rev", "bitmap", "mtimes"] {
        let path = base.with_extension(extension);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(Error::io("remove", path)(error)),
            _ => {}
        }
    }
    Ok(())
}

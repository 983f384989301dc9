//! Extent of a snapshot: its directories, and its inputs besides the files.
//!
//! For who wants to know whether another snapshot could find anything else. Names what there is to watch, watches nothing.

use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice;

use super::memory::watcher;
use super::settings::SnapshotSettings;
use super::walk::ScannedDirectory;
use super::{Attributes, Error, cache, ignore};
use crate::os;
use crate::os::dir::Dir;
use crate::store::Repository;

/// The directories that a snapshot looked through.
#[derive(Debug, Clone, Default)]
pub struct Extent {
    directories: ExtentDirectories,
    elsewhere: bool,
}

#[derive(Debug, Clone)]
enum ExtentDirectories {
    /// Each with its name and the position of the directory above it, which comes before it; the root first.
    Walked(Vec<(u32, Box<[u8]>)>),
    /// Those of the memory next to this cache, as long as it has this checksum.
    Remembered(PathBuf, u64),
}

impl Default for ExtentDirectories {
    fn default() -> Self {
        Self::Walked(Vec::new())
    }
}

impl Extent {
    /// From the directories of a walk, sorted by their numbers, which count from 0.
    pub(super) fn of(directories: Vec<ScannedDirectory>, elsewhere: bool) -> Self {
        let directories = directories
            .into_iter()
            .map(|directory| (directory.parent, directory.name));
        Self {
            directories: ExtentDirectories::Walked(directories.collect()),
            elsewhere,
        }
    }

    /// Of a snapshot that found everything as it was, where nothing reaches elsewhere: few want to know it, so that it is
    /// read only for them.
    pub(super) fn remembered(cache: &Path, memory: u64) -> Self {
        Self {
            directories: ExtentDirectories::Remembered(cache.to_owned(), memory),
            elsewhere: false,
        }
    }

    /// Whether something in them can change without a trace in them: a repository, or a file with another name.
    pub fn reaches_elsewhere(&self) -> bool {
        self.elsewhere
    }

    /// Their paths under `root`, each after the one that it is in; `None` if another snapshot was taken meanwhile.
    pub fn paths(&self, root: &Path) -> Option<Vec<PathBuf>> {
        let directories = match &self.directories {
            ExtentDirectories::Walked(directories) => directories,
            ExtentDirectories::Remembered(cache, memory) => {
                let directories = watcher::remembered_directories(cache, *memory)?;
                let path = |path: &Vec<u8>| match path.strip_suffix(b"/") {
                    Some(path) => root.join(os::os_string(path)),
                    None => root.to_owned(),
                };
                return Some(directories.iter().map(path).collect());
            }
        };
        let mut paths = Vec::<PathBuf>::with_capacity(directories.len());
        for (parent, name) in directories {
            let path = match paths.get(*parent as usize) {
                Some(above) => above.join(os::os_string(name)),
                None => root.to_owned(),
            };
            paths.push(path);
        }
        Some(paths)
    }
}

/// A digest of all that decides what a snapshot of unchanged files and an unchanged index is: the settings of git, the
/// rules that lie outside of the working tree, and which directory the working tree is.
pub fn surroundings(repo: &Repository) -> Result<u64, Error> {
    let root = repo.workdir().ok_or_else(|| Error::Bare {
        path: repo.git_dir().to_owned(),
    })?;
    let ignored = ignore::GlobalPatterns::read(repo, SnapshotSettings::of(repo)?.case())?.digest(&None);
    let attributes = Attributes::read(repo)?.digest();
    Ok(cache::digest((of_settings(repo, root)?, ignored, attributes)))
}

/// A digest of git's settings, and of which directory the working tree is.
pub(super) fn of_settings(repo: &Repository, root: &Path) -> Result<u64, Error> {
    let meta = Dir::open(root).and_then(|dir| dir.meta());
    let meta = meta.map_err(|source| Error::WorkTree {
        path: root.to_owned(),
        source,
    })?;
    let mut config = Vec::new();
    for section in repo.config_snapshot().plumbing().sections() {
        let header = section.header();
        // Who commits when, from the environment, decides nothing about files.
        let who = [&b"author"[..], b"commit", b"committer", b"user"];
        if header.name() != "gitoxide"
            || header
                .subsection_name()
                .is_none_or(|name| !who.contains(&name.as_bytes()))
        {
            section.write_to(&mut config).expect("writing to memory does not fail");
        }
    }
    Ok(cache::digest((root, meta.dev, meta.ino, config)))
}

//! The disk as it is while a plan is made: what lies at a path, and what lies in a directory that is in the way.

use std::io;
use std::path::Path;

use gix::bstr::ByteSlice;

use super::Error;
use super::paths::FileSystem;
use crate::os::dir::{Dir, DirNames, FileKind, Meta};

/// The working tree's root, and the directory that was looked at last.
pub(super) struct Disk {
    root: Dir,
    last: Option<(Vec<u8>, Dir)>,
    /// The highest directory that was last found not to be there, with what was found instead: nothing below it is there.
    missing: Option<(Vec<u8>, DiskEntry)>,
    /// Whether the file system finds a file by other names than its own: in another case, say.
    folds: bool,
    /// The directory whose names were read last.
    listed: Option<(Vec<u8>, DirNames)>,
    /// How many names the file has that was looked at last.
    pub(super) links: u64,
}

/// Entry on disk at a path.
#[derive(Debug, Clone, Copy)]
pub(super) enum DiskEntry {
    Nothing,
    /// A file, link or directory, or something that is none of them.
    Something(Meta),
    /// This many bytes of the path already lead to something that is not a directory.
    Blocked(usize),
}

/// Obstacle in a directory that is to be removed.
pub(super) enum DirectoryObstacle {
    File(Vec<u8>),
    /// A FIFO, socket or device.
    Special(Vec<u8>),
    /// Directories come after what is in them.
    Directory(Vec<u8>),
    /// A repository; not looked into.
    Repository(Vec<u8>),
}

impl Disk {
    pub(super) fn open(root: &Path, system: FileSystem) -> Result<Self, Error> {
        Ok(Self {
            root: Dir::open(root).map_err(Error::io("open", root))?,
            last: None,
            missing: None,
            folds: system.folds,
            listed: None,
            links: 1,
        })
    }

    /// Whether what is found at a path is called that, and not only found by it.
    pub(super) fn is_exact(&mut self, path: &[u8]) -> io::Result<bool> {
        if !self.folds {
            return Ok(true);
        }
        for path in std::iter::once(path).chain(directories_above(path)) {
            let (directory, name) = split(path);
            if self.listed.as_ref().is_none_or(|(known, _)| known != directory) {
                let mut names = DirNames::default();
                self.root.below(directory)?.read(&mut names)?;
                self.listed = Some((directory.to_vec(), names));
            }
            if self.listed.as_ref().is_some_and(|(_, names)| !is_listed(names, name)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The path of a directory that is found by this path and has another name in the directory that it is in.
    pub(super) fn other_name(&mut self, path: &[u8], system: FileSystem) -> io::Result<Option<Vec<u8>>> {
        let DiskEntry::Something(meta) = self.at(path)? else {
            return Ok(None);
        };
        let (directory, name) = split(path);
        let mut names = DirNames::default();
        self.root.below(directory)?.read(&mut names)?;
        if meta.kind != FileKind::Directory || is_listed(&names, name) {
            return Ok(None);
        }
        let key = system.key(name);
        let other = (0..names.len())
            .map(|at| names.name(at))
            .find(|other| system.key(other) == key);
        let slash: &[u8] = if directory.is_empty() { b"" } else { b"/" };
        Ok(other.map(|other| [directory, slash, other].concat()))
    }

    /// The directory of a path and its name in it; `None` if there is no such directory.
    pub(super) fn directory_of<'b>(&mut self, path: &'b [u8]) -> io::Result<Option<(&Dir, &'b [u8])>> {
        let (directory, name) = split(path);
        let known = self.last.take_if(|(known, _)| known == directory).map(|(_, dir)| dir);
        let dir = match known.map_or_else(|| self.root.below(directory), Ok) {
            Ok(dir) => dir,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let (_, dir) = self.last.insert((directory.to_vec(), dir));
        Ok(Some((dir, name)))
    }

    pub(super) fn at(&mut self, path: &[u8]) -> io::Result<DiskEntry> {
        if let Some((above, there)) = &self.missing
            && path.strip_prefix(&above[..]).is_some_and(|rest| rest.starts_with(b"/"))
        {
            return Ok(*there);
        }
        if let Some((dir, name)) = self.directory_of(path)? {
            return match dir.stat_with_links(name) {
                Ok((meta, links)) => {
                    self.links = links;
                    Ok(DiskEntry::Something(meta))
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(DiskEntry::Nothing),
                Err(error) => Err(error),
            };
        }
        self.instead_of(path)
    }

    /// Entry in place of the directory of a path.
    fn instead_of(&mut self, path: &[u8]) -> io::Result<DiskEntry> {
        let mut dir = self.root.below(b"")?;
        for (slash, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            let name = split(&path[..slash]).1;
            let there = match dir.directory(name) {
                Ok(next) => {
                    dir = next;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => DiskEntry::Nothing,
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => DiskEntry::Blocked(slash),
                Err(error) => return Err(error),
            };
            self.missing = Some((path[..slash].to_vec(), there));
            return Ok(there);
        }
        Ok(DiskEntry::Nothing)
    }

    /// Everything in the directory at `path`, and last the directory itself.
    pub(super) fn inside(&mut self, path: &[u8]) -> io::Result<Vec<DirectoryObstacle>> {
        let mut found = Vec::new();
        let dir = self.root.below(path)?;
        inside(&dir, path.to_vec(), &mut found)?;
        Ok(found)
    }
}

fn inside(dir: &Dir, path: Vec<u8>, found: &mut Vec<DirectoryObstacle>) -> io::Result<()> {
    let mut names = DirNames::default();
    dir.read(&mut names)?;
    if names.find(b".git").is_some() {
        found.push(DirectoryObstacle::Repository(path));
        return Ok(());
    }
    for at in 0..names.len() {
        let below = [&path, &b"/"[..], names.name(at)].concat();
        let kind = match names.kind(at) {
            FileKind::Unknown => dir.stat(names.name(at))?.kind,
            kind => kind,
        };
        match kind {
            FileKind::Directory => inside(&dir.directory(names.name(at))?, below, found)?,
            FileKind::Special => found.push(DirectoryObstacle::Special(below)),
            _ => found.push(DirectoryObstacle::File(below)),
        }
    }
    found.push(DirectoryObstacle::Directory(path));
    Ok(())
}

/// A path as its directory, without a slash at the end, and its name.
pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.rfind_byte(b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (b"", path),
    }
}

/// The directories that a path lies in, the nearest first.
pub(super) fn directories_above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut at = path;
    std::iter::from_fn(move || {
        at = split(at).0;
        (!at.is_empty()).then_some(at)
    })
}

/// Whether a listing has this name, also with its accents in the other form: file systems that keep them apart, or as they
/// were given, find it by both, and git knows one.
fn is_listed(names: &DirNames, name: &[u8]) -> bool {
    let composed = |name: &[u8]| {
        std::str::from_utf8(name)
            .ok()
            .map(|text| gix::utils::str::precompose(text.into()).into_owned())
    };
    names.find(name).is_some()
        || !name.is_ascii()
            && (0..names.len()).any(|at| composed(name).is_some_and(|own| composed(names.name(at)) == Some(own)))
}

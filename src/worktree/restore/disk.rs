//! The disk as it is while a plan is made: what lies at a path, and what lies in a folder that is in the way.

use std::io;
use std::path::Path;

use gix::bstr::ByteSlice;

use super::Error;
use crate::os::dir::{Dir, Kind, Meta, Names};

/// The work tree's root, and the folder that was looked at last.
pub(super) struct Disk {
    root: Dir,
    last: Option<(Vec<u8>, Dir)>,
    /// The folder that was last found not to be there, with what was found instead.
    missing: Option<(Vec<u8>, There)>,
}

/// What lies at a path.
#[derive(Debug, Clone, Copy)]
pub(super) enum There {
    Nothing,
    /// A file, link or folder, or something that is none of them.
    Something(Meta),
    /// This many bytes of the path already lead to something that is no folder.
    Blocked(usize),
}

/// What was found in a folder that has to go.
pub(super) enum Inside {
    File(Vec<u8>),
    /// A FIFO, socket or device.
    Special(Vec<u8>),
    /// Folders come after what is in them.
    Folder(Vec<u8>),
    /// A repository; not looked into.
    Repository(Vec<u8>),
}

impl Disk {
    pub(super) fn open(root: &Path) -> Result<Self, Error> {
        Ok(Self {
            root: Dir::open(root).map_err(Error::io("open", root))?,
            last: None,
            missing: None,
        })
    }

    /// The folder of a path and its name in it; `None` if there is no such folder.
    pub(super) fn folder_of<'b>(&mut self, path: &'b [u8]) -> io::Result<Option<(&Dir, &'b [u8])>> {
        let (folder, name) = split(path);
        let known = self.last.take_if(|(known, _)| known == folder).map(|(_, dir)| dir);
        let dir = match known.map_or_else(|| self.root.below(folder), Ok) {
            Ok(dir) => dir,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let (_, dir) = self.last.insert((folder.to_vec(), dir));
        Ok(Some((dir, name)))
    }

    pub(super) fn at(&mut self, path: &[u8]) -> io::Result<There> {
        if let Some((dir, name)) = self.folder_of(path)? {
            return match dir.stat(name) {
                Ok(meta) => Ok(There::Something(meta)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(There::Nothing),
                Err(error) => Err(error),
            };
        }
        let folder = split(path).0;
        if let Some((_, there)) = self.missing.as_ref().filter(|(known, _)| known == folder) {
            return Ok(*there);
        }
        let there = self.instead_of(path)?;
        self.missing = Some((folder.to_vec(), there));
        Ok(there)
    }

    /// What is there instead of the folder of a path.
    fn instead_of(&self, path: &[u8]) -> io::Result<There> {
        let mut dir = self.root.below(b"")?;
        for (slash, _) in path.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            let name = split(&path[..slash]).1;
            match dir.folder(name) {
                Ok(next) => dir = next,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(There::Nothing),
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(There::Blocked(slash)),
                Err(error) => return Err(error),
            }
        }
        Ok(There::Nothing)
    }

    /// Everything in the folder at `path`, and last the folder itself.
    pub(super) fn inside(&mut self, path: &[u8]) -> io::Result<Vec<Inside>> {
        let mut found = Vec::new();
        let dir = self.root.below(path)?;
        inside(&dir, path.to_vec(), &mut found)?;
        Ok(found)
    }
}

fn inside(dir: &Dir, path: Vec<u8>, found: &mut Vec<Inside>) -> io::Result<()> {
    let mut names = Names::default();
    dir.read(&mut names)?;
    if names.find(b".git").is_some() {
        found.push(Inside::Repository(path));
        return Ok(());
    }
    for at in 0..names.len() {
        let below = [&path, &b"/"[..], names.name(at)].concat();
        let kind = match names.kind(at) {
            Kind::Unknown => dir.stat(names.name(at))?.kind,
            kind => kind,
        };
        match kind {
            Kind::Folder => inside(&dir.folder(names.name(at))?, below, found)?,
            Kind::Special => found.push(Inside::Special(below)),
            _ => found.push(Inside::File(below)),
        }
    }
    found.push(Inside::Folder(path));
    Ok(())
}

/// A path as its folder, without a slash at the end, and its name.
pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.rfind_byte(b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (b"", path),
    }
}

/// The folders that a path lies in, the nearest first.
pub(super) fn folders_above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut at = path;
    std::iter::from_fn(move || {
        at = split(at).0;
        (!at.is_empty()).then_some(at)
    })
}

//! From what is stored to the bytes on disk, and whether a file on disk holds them.
//! Over 400 lines because both directions of a conversion belong side by side.
//!
//! The conversions are those of a snapshot turned around, so what a snapshot did not call raw comes back byte for byte.
//! Whatever is read from the repository is checked against its id. Large blobs that are not converted come from a git
//! child piece by piece; git-lfs content is read from where git-lfs keeps it, and checked, so that nothing is run and
//! no server asked.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::Error;
use crate::model::path::RepoPath;
use crate::os::dir::{self, Dir, Kind as FileKind, Meta};
use crate::store::objects::Writer;
use crate::store::{self, Kind, ObjectId, Repository, checkpoint};
use crate::worktree::snapshot::attributes::{Attributes, Conversion, Filter, Matcher};
use crate::worktree::snapshot::convert;
use crate::worktree::snapshot::filter::Filters;
use crate::worktree::snapshot::lfs::{Lfs, MAX_POINTER, Pointer};
use crate::worktree::snapshot::settings::Settings;

/// Blobs above this size, if they are not converted, are never held in memory: 8 MiB, as little as is no burden.
const LARGE: u64 = 8 * 1024 * 1024;
const PIECE: usize = 128 * 1024;

/// A file or link with everything its bytes depend on.
#[derive(Clone)]
pub(super) struct Content {
    pub thing: Thing,
    pub id: ObjectId,
    /// Whether the blob is the file, byte for byte.
    pub raw: bool,
    /// The attributes of its folder.
    pub attributes: Arc<Attributes>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thing {
    File {
        /// The permission bits.
        mode: u32,
        executable: bool,
    },
    Link,
}

/// The digest of bytes that were written.
pub(super) type Sum = [u8; 32];

/// Why content could not be given on.
#[derive(Debug)]
pub(super) enum Stop {
    /// It cannot be read from the repository, or is damaged there.
    Source(Error),
    /// The user's filter failed, or the content has no form on disk.
    Convert(String),
    /// It could not be written.
    Write(io::Error),
}

pub(super) struct Converter<'a> {
    repo: &'a Repository,
    settings: &'a Settings,
    matcher: Matcher<'a>,
    filters: Option<Filters>,
    lfs: Lfs,
    hasher: Writer,
}

impl<'a> Converter<'a> {
    pub(super) fn new(repo: &'a Repository, settings: &'a Settings) -> Result<Self, Error> {
        Ok(Self {
            repo,
            settings,
            matcher: Matcher::new(settings),
            filters: None,
            lfs: Lfs::of(repo)?,
            hasher: Writer::memory(repo),
        })
    }

    /// What happens to the content of a file between repository and disk; `None` if nothing does.
    fn conversion(&mut self, path: &[u8], content: &Content) -> Option<Conversion<'a>> {
        if content.raw || content.thing == Thing::Link {
            return None;
        }
        let conversion = self.matcher.conversion(&content.attributes, path);
        (!conversion.is_identity()).then_some(conversion)
    }

    /// Whether both give the same bytes on disk, whatever their mode. Two links or two files.
    ///
    /// Different blobs that are converted alike count as different without a look: should they be written alike after
    /// all, a file gets the bytes that it has.
    pub(super) fn same_bytes(&mut self, path: &[u8], one: &Content, other: &Content) -> Result<bool, Error> {
        let same_blob = one.id == other.id;
        if one.thing == Thing::Link || one.raw && other.raw {
            return Ok(same_blob);
        }
        if one.raw == other.raw {
            let same_rules =
                Arc::ptr_eq(&one.attributes, &other.attributes) || one.attributes.digest() == other.attributes.digest();
            let digest = |this: &mut Self, content: &Content| this.conversion(path, content).map(|c| c.digest());
            if !same_blob || same_rules || digest(self, one) == digest(self, other) {
                return Ok(same_blob);
            }
        }
        // Telling whether a filter makes a difference would be to run it, which may need consent first.
        if self.program(path, one).is_some() || self.program(path, other).is_some() {
            return Ok(false);
        }
        match (self.sum(path, one), self.sum(path, other)) {
            (Ok(one), Ok(other)) => Ok(one == other),
            (Err(Stop::Source(error)), _) | (_, Err(Stop::Source(error))) => Err(error),
            // What cannot be told apart is written, and fails there with its reason.
            _ => Ok(false),
        }
    }

    fn sum(&mut self, path: &[u8], content: &Content) -> Result<Sum, Stop> {
        let mut sum = Sha256::new();
        self.give(path, content, &mut |piece| {
            sum.update(piece);
            Ok(())
        })?;
        Ok(sum.finalize().into())
    }

    /// The filter program that would be run for this file.
    pub(super) fn program(&mut self, path: &[u8], content: &Content) -> Option<String> {
        match self.conversion(path, content)?.filter {
            Filter::Driver(driver) if driver.smudge.is_some() || driver.process.is_some() => {
                Some(String::from_utf8_lossy(&driver.name).into_owned())
            }
            _ => None,
        }
    }

    /// Whether the blob is a pointer whose content is not here.
    pub(super) fn lacks_content(&mut self, path: &[u8], content: &Content) -> Result<bool, Error> {
        let is_lfs = self
            .conversion(path, content)
            .is_some_and(|c| matches!(c.filter, Filter::Lfs));
        if !is_lfs {
            return Ok(false);
        }
        Ok(self
            .pointer(path, content.id)?
            .is_some_and(|pointer| !self.lfs.has(&pointer)))
    }

    fn pointer(&self, path: &[u8], id: ObjectId) -> Result<Option<Pointer>, Error> {
        if self.size(path, id)? > MAX_POINTER {
            return Ok(None);
        }
        Ok(Pointer::parse(&self.read(path, id)?))
    }

    fn size(&self, path: &[u8], id: ObjectId) -> Result<u64, Error> {
        match self.repo.try_find_header(id) {
            Ok(Some(header)) if header.kind() == Kind::Blob => Ok(header.size()),
            Ok(Some(header)) => Err(blob_error(path, id, format!("it is a {}", header.kind()))),
            Ok(None) => Err(blob_error(path, id, "it is not in this repository")),
            Err(error) => Err(blob_error(path, id, error.to_string())),
        }
    }

    /// The blob, checked against its id.
    pub(super) fn read(&self, path: &[u8], id: ObjectId) -> Result<Vec<u8>, Error> {
        checkpoint::read(self.repo, id, Kind::Blob, "blob").map_err(|fault| match fault {
            checkpoint::Fault::Missing { .. } => blob_error(path, id, "it is not in this repository"),
            checkpoint::Fault::Corrupt { why, .. } => blob_error(path, id, why),
            other => blob_error(path, id, other.to_string()),
        })
    }

    /// Checks that what is stored is what its id says.
    pub(super) fn verify(&mut self, path: &[u8], content: &Content) -> Result<(), Error> {
        let is_lfs = self
            .conversion(path, content)
            .is_some_and(|c| matches!(c.filter, Filter::Lfs));
        let size = self.size(path, content.id)?;
        let checked = if size > LARGE {
            self.stream(path, content.id, &mut |_| Ok(()))
        } else {
            self.read(path, content.id).map(drop).map_err(Stop::Source)
        };
        let checked = checked.and_then(|()| match is_lfs.then(|| self.pointer(path, content.id)).transpose() {
            Ok(Some(Some(pointer))) if self.lfs.has(&pointer) => {
                self.lfs_content(path, content.id, &pointer, &mut |_| Ok(()))
            }
            Ok(_) => Ok(()),
            Err(error) => Err(Stop::Source(error)),
        });
        match checked {
            Ok(()) => Ok(()),
            Err(Stop::Source(error)) => Err(error),
            Err(Stop::Convert(why)) => Err(blob_error(path, content.id, why)),
            Err(Stop::Write(error)) => Err(blob_error(path, content.id, error.to_string())),
        }
    }

    /// Gives the bytes that belong on disk, piece by piece.
    pub(super) fn give(
        &mut self,
        path: &[u8],
        content: &Content,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), Stop> {
        let conversion = self.conversion(path, content);
        let size = self.size(path, content.id).map_err(Stop::Source)?;
        if size > LARGE && conversion.is_none() {
            return self.stream(path, content.id, sink);
        }
        let blob = self.read(path, content.id).map_err(Stop::Source)?;
        let Some(conversion) = conversion else {
            return sink(&blob).map_err(Stop::Write);
        };
        if let Filter::Lfs = conversion.filter
            && let Some(pointer) = Pointer::parse(&blob)
            && self.lfs.has(&pointer)
        {
            return self.lfs_content(path, content.id, &pointer, sink);
        }
        let converted = convert::back(&blob, &conversion, self.settings, self.repo.object_hash())
            .ok_or_else(|| Stop::Convert("its content has no form in the encoding of the file".to_owned()))?;
        if let Filter::Driver(driver) = conversion.filter {
            let filters = match &mut self.filters {
                Some(filters) => filters,
                none => none.insert(Filters::new(self.repo).map_err(|error| Stop::Source(error.into()))?),
            };
            let filtered = filters
                .smudge(driver, &converted, path)
                .map_err(|_| Stop::Convert(format!("the filter '{}' failed", String::from_utf8_lossy(&driver.name))))?;
            if let Some(filtered) = filtered {
                return sink(&filtered).map_err(Stop::Write);
            }
        }
        sink(&converted).map_err(Stop::Write)
    }

    /// A blob through a git child, hashed on the way.
    fn stream(&self, path: &[u8], id: ObjectId, sink: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<(), Stop> {
        let failed = |error: crate::git::Error| Stop::Source(blob_error(path, id, error.to_string()));
        let size = self.size(path, id).map_err(Stop::Source)?;
        let mut child = store::git(self.repo)
            .args(["cat-file", "blob"])
            .arg(id.to_string())
            .start()
            .map_err(failed)?;
        let mut stdout = child
            .stdout
            .take()
            .ok_or_else(|| Stop::Convert("git gave no output".to_owned()))?;
        let mut hashing = Hashing {
            source: &mut stdout,
            sink,
            stopped: None,
        };
        let hashed = self.hasher.hash_stream(Kind::Blob, size, &mut hashing);
        if let Some(error) = hashing.stopped {
            return Err(Stop::Write(error));
        }
        match hashed {
            Ok(found) if found == id => child.finish().map(drop).map_err(failed),
            Ok(_) => Err(Stop::Source(blob_error(path, id, "its bytes have another id"))),
            Err(error) => Err(Stop::Source(blob_error(path, id, error.to_string()))),
        }
    }

    /// The content behind a pointer, hashed on the way.
    fn lfs_content(
        &self,
        path: &[u8],
        id: ObjectId,
        pointer: &Pointer,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), Stop> {
        let unreadable = |error: &io::Error| {
            let why = format!("its git-lfs content cannot be read: {}", crate::os::reason(error));
            Stop::Source(blob_error(path, id, why))
        };
        let mut file = File::open(self.lfs.path(pointer)).map_err(|error| unreadable(&error))?;
        let mut sum = Sha256::new();
        let mut piece = vec![0; PIECE];
        loop {
            let count = file.read(&mut piece).map_err(|error| unreadable(&error))?;
            if count == 0 {
                break;
            }
            sum.update(&piece[..count]);
            sink(&piece[..count]).map_err(Stop::Write)?;
        }
        if hex(&sum.finalize()) == pointer.sha256 {
            Ok(())
        } else {
            Err(Stop::Source(blob_error(path, id, "its git-lfs content is damaged")))
        }
    }

    /// Whether the file or link called `name` in an open folder is exactly this content; then what it is on disk. Its
    /// permission bits do not count. Fails only if the disk cannot be read.
    pub(super) fn is_on_disk(
        &mut self,
        folder: &Dir,
        name: &[u8],
        path: &[u8],
        content: &Content,
    ) -> io::Result<Option<Meta>> {
        let before = folder.stat(name)?;
        let same = match (content.thing, before.kind) {
            (Thing::Link, FileKind::Link) => {
                let target = folder.link(name)?;
                self.hasher
                    .hash_only(Kind::Blob, &target)
                    .is_ok_and(|id| id == content.id)
            }
            // Where links cannot be had, a file with the target stands for one.
            (Thing::Link, FileKind::File) if self.settings.symlinks => false,
            (Thing::Link | Thing::File { .. }, FileKind::File) => {
                let file = folder.file(name)?;
                let opened = dir::file_meta(&file)?;
                (opened.dev, opened.ino) == (before.dev, before.ino) && self.holds(file, opened.size, path, content)?
            }
            _ => false,
        };
        let after = folder.stat(name)?;
        Ok((same && after == before).then_some(after))
    }

    fn holds(&mut self, mut file: File, size: u64, path: &[u8], content: &Content) -> io::Result<bool> {
        let Some(conversion) = self.conversion(path, content) else {
            let found = self.hasher.hash_stream(Kind::Blob, size, &mut file);
            return Ok(found.is_ok_and(|id| id == content.id));
        };
        let mut expected = Sha256::new();
        let mut length = 0_u64;
        let given = self.give(path, content, &mut |piece| {
            expected.update(piece);
            length += piece.len() as u64;
            Ok(())
        });
        if given.is_ok() && length == size && expected.finalize()[..] == sum_of(&mut file)?[..] {
            return Ok(true);
        }
        let Filter::Driver(driver) = conversion.filter else {
            return Ok(false);
        };
        // A filter need not give the same bytes each time it is run backwards; forwards it does.
        let mut bytes = Vec::new();
        io::Seek::rewind(&mut file)?;
        file.read_to_end(&mut bytes)?;
        let Some(filters) = &mut self.filters else {
            return Ok(false);
        };
        let Ok(cleaned) = filters.clean(driver, &bytes, path) else {
            return Ok(false);
        };
        let cleaned = cleaned.unwrap_or(bytes);
        let stored = convert::forward(&cleaned, &conversion, self.settings, &mut |_| false);
        Ok(stored
            .and_then(|stored| self.hasher.hash_only(Kind::Blob, &stored).ok())
            .is_some_and(|id| id == content.id))
    }
}

/// Hands on what is read.
struct Hashing<'a> {
    source: &'a mut dyn Read,
    sink: &'a mut dyn FnMut(&[u8]) -> io::Result<()>,
    stopped: Option<io::Error>,
}

impl Read for Hashing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        match (self.sink)(&buffer[..count]) {
            Ok(()) => Ok(count),
            Err(error) => {
                self.stopped = Some(error);
                Err(io::ErrorKind::Other.into())
            }
        }
    }
}

/// The SHA-256 of what is left of a file.
pub(super) fn sum_of(file: &mut File) -> io::Result<Sum> {
    let mut sum = Sha256::new();
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(sum.finalize().into()),
            count => sum.update(&piece[..count]),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

fn blob_error(path: &[u8], id: ObjectId, why: impl Into<String>) -> Error {
    Error::Blob {
        path: RepoPath::from(path),
        id,
        why: why.into(),
    }
}

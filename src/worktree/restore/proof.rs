//! Whether a file on disk holds exactly what is known, byte for byte.

use std::fs::File;
use std::io::{self, Read};

use gix::filter::plumbing::Driver;
use sha2::{Digest, Sha256};

use super::content::{Converter, Sum, TargetContent, Thing};
use crate::os::dir::{self, Dir, FileKind, Meta};
use crate::store::{Kind, ObjectId};
use crate::worktree::snapshot::attributes::{Conversion, FilterAttribute};
use crate::worktree::snapshot::convert;

/// Files up to this size are read in one piece.
const WHOLE: usize = 1024 * 1024;
const PIECE: usize = 128 * 1024;

/// How closely a file on disk has to match stored content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Equality {
    /// It has the very bytes that would be written.
    Bytes,
    /// A snapshot would store it as the same blob, too: a filter need not give the same bytes each time it is run
    /// backwards, and may drop some of them when it is run forwards.
    Stored,
}

impl Converter<'_> {
    /// Whether the file or link called `name` in an open directory is exactly this content; then the stat data that it had
    /// before it was read. Its permission bits do not count. Fails only if the disk cannot be read.
    pub(super) fn is_on_disk(
        &mut self,
        directory: &Dir,
        name: &[u8],
        path: &[u8],
        content: &TargetContent,
        equality: Equality,
    ) -> io::Result<Option<Meta>> {
        let file = match directory.file(name) {
            Ok(file) => file,
            Err(error) if dir::is_link(&error) => return self.is_link_on_disk(directory, name, content),
            Err(error) => return Err(error),
        };
        let before = dir::file_meta(&file)?;
        // Where symlinks are not supported, a file with the target replaces one.
        let fits = before.kind == FileKind::File && (content.thing != Thing::Link || !self.settings.symlinks);
        // Who relies on it compares the stat data once more at that time, so they are not read here a second time.
        let holds = fits && self.holds(&file, before.size, path, content, equality)?;
        Ok(holds.then_some(before))
    }

    fn is_link_on_disk(&self, directory: &Dir, name: &[u8], content: &TargetContent) -> io::Result<Option<Meta>> {
        let before = directory.stat(name)?;
        let target = directory.link(name)?;
        let same = self
            .source
            .hasher
            .hash_only(Kind::Blob, &target)
            .is_ok_and(|id| id == content.id);
        let fits = same && content.thing == Thing::Link && before.kind == FileKind::Link;
        Ok((fits && directory.stat(name)? == before).then_some(before))
    }

    fn holds(
        &mut self,
        mut file: &File,
        size: u64,
        path: &[u8],
        content: &TargetContent,
        equality: Equality,
    ) -> io::Result<bool> {
        let Some(conversion) = self.conversion(path, content) else {
            let found = if let Some(size) = usize::try_from(size).ok().filter(|size| *size <= WHOLE) {
                if !read_sized(file, size, &mut self.buffer)? {
                    return Ok(false);
                }
                self.source.hasher.hash_only(Kind::Blob, &self.buffer).ok()
            } else {
                self.source.hasher.hash_stream(Kind::Blob, size, &mut file).ok()
            };
            return Ok(found == Some(content.id));
        };
        let mut expected = Sha256::new();
        let mut length = 0_u64;
        let given = self.give(path, content, &mut |piece| {
            expected.update(piece);
            length += piece.len() as u64;
            Ok(())
        });
        if given.is_ok() && length == size && expected.finalize()[..] == sum_of(file, size)?[..] {
            return Ok(true);
        }
        let (FilterAttribute::Driver(driver), Equality::Stored) = (conversion.filter, equality) else {
            return Ok(false);
        };
        let mut bytes = Vec::new();
        io::Seek::rewind(&mut file)?;
        file.read_to_end(&mut bytes)?;
        Ok(self.stores(&bytes, path, (driver, &conversion)) == Some(content.id))
    }

    /// Whether a file with these bytes would be saved as the blob of this content, as far as a filter program decides that.
    pub(super) fn is_saved_as(&mut self, bytes: &[u8], path: &[u8], content: &TargetContent) -> bool {
        match self.conversion(path, content) {
            Some(conversion) => match conversion.filter {
                FilterAttribute::Driver(driver) => self.stores(bytes, path, (driver, &conversion)) == Some(content.id),
                _ => true,
            },
            None => true,
        }
    }

    /// The blob that a filter stores for these bytes; `None` where it fails, or was never run.
    fn stores(
        &mut self,
        bytes: &[u8],
        path: &[u8],
        (driver, conversion): (&Driver, &Conversion<'_>),
    ) -> Option<ObjectId> {
        let cleaned = self.filters.as_mut()?.clean(driver, bytes, path).ok()?;
        let cleaned = cleaned.as_deref().unwrap_or(bytes);
        let stored = convert::forward(cleaned, conversion, self.settings, &mut |_| false)?;
        self.source.hasher.hash_only(Kind::Blob, &stored).ok()
    }
}

/// The SHA-256 of a file that is to have `size` bytes; `None` where it has fewer or more.
pub(super) fn sum_of_sized(file: &File, size: u64, buffer: &mut Vec<u8>) -> io::Result<Option<Sum>> {
    match usize::try_from(size).ok().filter(|size| *size <= WHOLE) {
        Some(size) => Ok(read_sized(file, size, buffer)?.then(|| Sha256::digest(&buffer).into())),
        None => sum_of(file, size).map(Some),
    }
}

/// Reads a file that has `size` bytes. Returns whether it has; one that changes while it is read may pass for that.
fn read_sized(mut file: &File, size: usize, buffer: &mut Vec<u8>) -> io::Result<bool> {
    // Room for one byte more shows one that is longer, without a second read for the end.
    buffer.resize(size + 1, 0);
    let mut filled = 0;
    loop {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        if filled >= size {
            break;
        }
    }
    buffer.truncate(size);
    Ok(filled == size)
}

/// The SHA-256 of what is left of a file of about this size.
pub(super) fn sum_of(mut file: &File, size: u64) -> io::Result<Sum> {
    let mut sum = Sha256::new();
    let length = usize::try_from(size).map_or(PIECE, |size| size + 1).min(PIECE);
    let mut piece = vec![0; length];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(sum.finalize().into()),
            count => sum.update(&piece[..count]),
        }
    }
}

//! The pack that an operation is writing: in memory while it is small, then in a temporary file.
//!
//! A small save therefore touches the disk only when it is finished, and a large one never holds more than some MiB.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::Crc;
use gix::ObjectId;
use gix::objs::Kind;

use super::deflate;
use super::pack::{self, IndexEntry};
use super::seal::TempFile;
use crate::os::Sharing;
use crate::store::Error;

/// Above this the pack moves to a file. A save of some hundred source files stays below.
const SPILL: usize = 2 * 1024 * 1024;
/// How much is gathered before each write to that file.
const BATCH: usize = 256 * 1024;

/// How far a pack was at some moment.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    entries: usize,
    length: u64,
}

/// The pack being written.
pub(super) struct Body {
    directory: PathBuf,
    sharing: Sharing,
    /// The tail of the pack that is not in the file yet; all of it while there is no file.
    tail: Vec<u8>,
    file: Option<TempFile>,
    /// The bytes in the file.
    flushed: u64,
    entries: Vec<IndexEntry>,
    by_id: HashMap<ObjectId, usize>,
    /// Whether a write failed, after which the file's contents are unknown.
    broken: bool,
}

impl Body {
    /// An empty pack that will be put into `folder`.
    pub(super) fn new(directory: PathBuf, sharing: Sharing) -> Self {
        Self {
            directory,
            sharing,
            tail: pack::head(0).to_vec(),
            file: None,
            flushed: 0,
            entries: Vec::new(),
            by_id: HashMap::new(),
            broken: false,
        }
    }

    /// Whether the object is in the pack.
    pub(super) fn contains(&self, id: &ObjectId) -> bool {
        self.by_id.contains_key(id)
    }

    /// The objects in the pack, in the order of writing.
    pub(super) fn ids(&self) -> impl Iterator<Item = ObjectId> + '_ {
        self.entries.iter().map(|entry| entry.id)
    }

    fn len(&self) -> u64 {
        self.flushed + self.tail.len() as u64
    }

    /// Appends an entry, given as it lies in the pack. Does nothing if the object is there already.
    pub(super) fn append(&mut self, id: ObjectId, entry: &[u8]) -> Result<(), Error> {
        let mut crc = Crc::new();
        crc.update(entry);
        self.append_known(id, entry, crc.sum())
    }

    /// Like [`append`](Self::append) for an entry whose checksum is known.
    pub(super) fn append_known(&mut self, id: ObjectId, entry: &[u8], crc32: u32) -> Result<(), Error> {
        if self.contains(&id) {
            return Ok(());
        }
        let offset = self.len();
        self.put(entry)?;
        self.note(IndexEntry { id, crc32, offset });
        Ok(())
    }

    /// How far the pack is, for [`reset`](Self::reset).
    pub(super) fn mark(&self) -> Mark {
        Mark {
            entries: self.entries.len(),
            length: self.len(),
        }
    }

    /// Takes back all entries since the mark.
    pub(super) fn reset(&mut self, mark: Mark) -> Result<(), Error> {
        for entry in self.entries.drain(mark.entries..) {
            self.by_id.remove(&entry.id);
        }
        self.rollback(mark.length)
    }

    fn note(&mut self, entry: IndexEntry) {
        self.by_id.insert(entry.id, self.entries.len());
        self.entries.push(entry);
    }

    /// Starts an entry whose id is known only at its end. Follow with [`put`](Self::put), then
    /// [`commit`](Self::commit) or [`rollback`](Self::rollback).
    pub(super) fn begin(&self) -> u64 {
        self.len()
    }

    /// Keeps what was put since `begin` as the object `id`, unless it is there already.
    pub(super) fn commit(&mut self, offset: u64, id: ObjectId, crc32: u32) -> Result<(), Error> {
        if self.contains(&id) {
            return self.rollback(offset);
        }
        self.note(IndexEntry { id, crc32, offset });
        Ok(())
    }

    /// Takes back all that was put since the pack was `offset` bytes long.
    pub(super) fn rollback(&mut self, offset: u64) -> Result<(), Error> {
        if let Some(kept) = offset.checked_sub(self.flushed) {
            self.tail.truncate(usize::try_from(kept).unwrap_or(usize::MAX));
            return Ok(());
        }
        self.tail.clear();
        let Some(temp) = self.file.as_mut() else {
            return Ok(());
        };
        let path = temp.path().to_owned();
        let cut = temp
            .file()
            .set_len(offset)
            .and_then(|()| temp.file().seek(SeekFrom::Start(offset)).map(drop));
        self.flushed = offset;
        self.broken |= cut.is_err();
        cut.map_err(Error::io("truncate", path))
    }

    /// Appends bytes of the entry being written.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.tail.extend_from_slice(bytes);
        let limit = if self.file.is_some() { BATCH } else { SPILL };
        if self.tail.len() >= limit { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Error> {
        if self.broken {
            return Err(Error::io("write", &self.directory)(io::Error::other(
                "an earlier write failed",
            )));
        }
        if self.file.is_none() {
            self.file = Some(TempFile::create(&self.directory, self.sharing)?);
        }
        let temp = self.file.as_mut().expect("created above");
        let written = temp.file().write_all(&self.tail);
        self.broken = written.is_err();
        written.map_err(Error::io("write", temp.path()))?;
        self.flushed += self.tail.len() as u64;
        self.tail.clear();
        Ok(())
    }

    /// The object's kind and bytes; `None` if it is not in the pack.
    pub(super) fn read(&self, id: &ObjectId) -> Result<Option<(Kind, Vec<u8>)>, Error> {
        let Some(&position) = self.by_id.get(id) else {
            return Ok(None);
        };
        let start = self.entries[position].offset;
        let end = self.entries.get(position + 1).map_or(self.len(), |next| next.offset);
        let bytes = self.bytes(start, end).map_err(Error::io("read", self.place()))?;
        let damaged = |why: String| Error::Object { id: *id, why };
        let (kind, size, header) =
            pack::parse_entry_header(&bytes).ok_or_else(|| damaged("its header is wrong".to_owned()))?;
        let size = usize::try_from(size).map_err(|_| damaged("it is too large".to_owned()))?;
        let data = deflate::inflate(&bytes[header..], size).map_err(|error| damaged(error.to_string()))?;
        Ok(Some((kind, data)))
    }

    /// Where the pack is being written, for messages.
    pub(super) fn place(&self) -> &Path {
        self.file.as_ref().map_or(&self.directory, TempFile::path)
    }

    fn bytes(&self, start: u64, end: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(end - start).map_err(io::Error::other)?];
        let in_file = usize::try_from(self.flushed.clamp(start, end) - start).map_err(io::Error::other)?;
        if let Some(temp) = self.file.as_ref().filter(|_| in_file > 0) {
            // The file's own position is where the next batch goes.
            let mut file = File::open(temp.path())?;
            file.seek(SeekFrom::Start(start))?;
            file.read_exact(&mut bytes[..in_file])?;
        }
        let from = usize::try_from(start.max(self.flushed) - self.flushed).map_err(io::Error::other)?;
        let rest = bytes.len() - in_file;
        bytes[in_file..].copy_from_slice(&self.tail[from..from + rest]);
        Ok(bytes)
    }

    /// Ends the pack: gives the temporary file, complete but for its durability, its entries and its checksum, or
    /// `None` if nothing was written.
    pub(super) fn close(mut self, hash: gix::hash::Kind) -> Result<Option<FinishedPack>, Error> {
        if self.entries.is_empty() {
            return Ok(None);
        }
        let count = u32::try_from(self.entries.len()).map_err(|_| Error::Length {
            expected: u64::from(u32::MAX),
            found: self.entries.len() as u64,
        })?;
        let head = pack::head(count);
        let mut hasher = gix::hash::hasher(hash);
        if self.file.is_none() {
            self.tail[..head.len()].copy_from_slice(&head);
            hasher.update(&self.tail);
        } else {
            self.flush()?;
            let temp = self.file.as_mut().expect("checked above");
            let rewrite = rehash(temp.file(), &head, self.flushed, &mut hasher);
            rewrite.map_err(Error::io("write", temp.path()))?;
        }
        let checksum = hasher.try_finalize().map_err(Error::gix("hash the pack"))?;
        self.tail.extend_from_slice(checksum.as_slice());
        self.flush()?;
        let file = self.file.take().expect("a flush creates the file");
        Ok(Some(FinishedPack {
            file,
            entries: std::mem::take(&mut self.entries),
            checksum,
        }))
    }
}

/// Puts the final head into a pack file of `length` bytes, hashes all of it and leaves the position at its end.
fn rehash(file: &mut File, head: &[u8], length: u64, hasher: &mut gix::hash::Hasher) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(head)?;
    file.seek(SeekFrom::Start(0))?;
    let mut buffer = vec![0; deflate::CHUNK];
    let mut left = length;
    while left > 0 {
        let wanted = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        file.read_exact(&mut buffer[..wanted])?;
        hasher.update(&buffer[..wanted]);
        left -= wanted as u64;
    }
    Ok(())
}

/// A pack with all its bytes in a temporary file.
pub(super) struct FinishedPack {
    pub(super) file: TempFile,
    pub(super) entries: Vec<IndexEntry>,
    pub(super) checksum: ObjectId,
}

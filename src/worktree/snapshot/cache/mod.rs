//! What is dear to find out about files and may be believed next time: which blob a file that differs from the index
//! is stored as, and in which folders every blob gives the bytes on disk. Over 400 lines because a file format is read
//! and written in one place.
//!
//! A private file, never needed: it is checksummed, written whole and renamed into place without being synced, and
//! dropped when anything about it is odd. A file is believed to be unchanged when its stat data is the same and its
//! times lie before the moment at which the snapshot that read it began, told by the clock of the file system: what
//! happened to it since has given it a later time.

mod record;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::os;
use crate::os::dir::{self, FileTime, Meta};
pub(super) use record::Record;
use record::{Reading, put_u32};

/// First bytes of the file: its kind and the version of its form.
const MAGIC: &[u8; 8] = b"gcpcach\x01";
/// How much later than the clock of another device a file must be to count as changed after it was read.
const SKEW: i64 = 10;

/// The cache as it was read.
pub(super) struct Cache {
    bytes: Vec<u8>,
    /// Where the records are, in the order of their paths.
    records: Vec<usize>,
    folders: HashSet<u64>,
    hash: gix::hash::Kind,
}

/// The cache as it will be written.
pub(super) struct Next {
    path: PathBuf,
    /// When this snapshot began, and on which device that clock is.
    began: FileTime,
    dev: u64,
    head: Vec<u8>,
}

impl Cache {
    /// An empty one.
    pub(super) fn empty(hash: gix::hash::Kind) -> Self {
        Self {
            bytes: Vec::new(),
            records: Vec::new(),
            folders: HashSet::new(),
            hash,
        }
    }

    /// Reads the file. `settings` is a digest of what all records depend on.
    pub(super) fn read(path: &Path, hash: gix::hash::Kind, settings: u64) -> Self {
        os::read_regular(path)
            .ok()
            .and_then(|bytes| Self::parse(bytes, hash, settings))
            .unwrap_or_else(|| Self::empty(hash))
    }

    fn parse(mut bytes: Vec<u8>, hash: gix::hash::Kind, settings: u64) -> Option<Self> {
        let end = bytes.len().checked_sub(8)?;
        let sum = u64::from_le_bytes(bytes[end..].try_into().ok()?);
        bytes.truncate(end);
        if checksum(&bytes) != sum {
            return None;
        }
        let mut at = Reading { bytes: &bytes, at: 0 };
        if at.take(8)? != MAGIC || at.u64()? != settings || at.u32()? as usize != hash.len_in_bytes() {
            return None;
        }
        let (folders, records) = (at.u32()?, at.u32()?);
        let folders = (0..folders).map(|_| at.u64()).collect::<Option<HashSet<_>>>()?;
        let mut positions = Vec::new();
        for _ in 0..records {
            positions.push(at.at);
            let len = at.u32()? as usize;
            at.take(len)?;
        }
        (at.at == bytes.len()).then_some(())?;
        Some(Self {
            bytes,
            records: positions,
            folders,
            hash,
        })
    }

    /// Whether a folder of this fingerprint was found to be in order.
    pub(super) fn knows(&self, fingerprint: u64) -> bool {
        self.folders.contains(&fingerprint)
    }

    /// What is known of a path, whatever became of the file since.
    pub(super) fn record(&self, path: &[u8]) -> Option<Record> {
        let found = self
            .records
            .binary_search_by(|position| self.path_at(*position).cmp(path))
            .ok()?;
        Record::read(&mut self.body(self.records[found]), self.hash)
    }

    fn body(&self, position: usize) -> Reading<'_> {
        Reading {
            bytes: &self.bytes,
            at: position + 4,
        }
    }

    fn path_at(&self, position: usize) -> &[u8] {
        let mut at = self.body(position);
        at.u32().and_then(|len| at.take(len as usize)).unwrap_or_default()
    }

    /// Whether writing these would change nothing.
    fn holds(&self, records: &[u8], count: usize, folders: &HashSet<u64>) -> bool {
        let known = self.records.first().map_or(&[][..], |first| &self.bytes[*first..]);
        count == self.records.len() && known == records && *folders == self.folders
    }
}

impl Next {
    /// Begins a cache, before anything is read. `None` when no file can be made there: then none is kept.
    pub(super) fn begin(path: &Path, hash: gix::hash::Kind, settings: u64) -> Option<Self> {
        // The time that the file system gives to a file now; the machine's clock may be another one.
        let clock = path.with_extension("clock");
        let file = os::private_file(&clock, os::Sharing::default()).ok()?;
        os::touch(&clock).ok()?;
        let meta = dir::file_meta(&file).ok()?;
        let mut head = MAGIC.to_vec();
        head.extend_from_slice(&settings.to_le_bytes());
        put_u32(&mut head, hash.len_in_bytes());
        Some(Self {
            path: path.to_owned(),
            began: meta.mtime,
            dev: meta.dev,
            head,
        })
    }

    /// Whether a file read after the beginning can be recognised as unchanged later.
    pub(super) fn may_keep(&self, meta: &Meta) -> bool {
        let margin = if meta.dev == self.dev { 0 } else { SKEW };
        let limit = FileTime {
            seconds: self.began.seconds - margin,
            nanos: self.began.nanos,
        };
        // A file system without nanoseconds tells of the whole second only.
        let coarse = |time: FileTime| time.nanos == 0 && time.seconds >= limit.seconds;
        meta.mtime < limit && meta.ctime < limit && !coarse(meta.mtime) && !coarse(meta.ctime)
    }

    /// Writes the file, unless it would be the same as `old`. Records must be sorted by path. What cannot be written is
    /// not kept.
    pub(super) fn finish<'a>(
        mut self,
        old: &Cache,
        records: impl ExactSizeIterator<Item = (&'a [u8], &'a Record)>,
        folders: &HashSet<u64>,
    ) {
        let count = records.len();
        let mut body = Vec::new();
        for (path, record) in records {
            let start = body.len();
            put_u32(&mut body, 0);
            put_u32(&mut body, path.len());
            body.extend_from_slice(path);
            record.write(&mut body);
            let len = u32::try_from(body.len() - start - 4).unwrap_or_default();
            body[start..start + 4].copy_from_slice(&len.to_le_bytes());
        }
        if old.holds(&body, count, folders) {
            return;
        }
        let mut bytes = std::mem::take(&mut self.head);
        put_u32(&mut bytes, folders.len());
        put_u32(&mut bytes, count);
        for folder in folders {
            bytes.extend_from_slice(&folder.to_le_bytes());
        }
        bytes.extend_from_slice(&body);
        let sum = checksum(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        // Without it the next snapshot reads more.
        let _ = os::replace(&self.path, &bytes, os::Sharing::default(), false);
    }
}

/// A digest of anything. Another build of the program may give another one, which makes what was kept useless and no
/// more.
pub(super) fn digest(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

fn checksum(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

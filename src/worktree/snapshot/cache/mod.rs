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
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::walk::parts;
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

    /// What is known of a path, whatever became of the file since. `hint` is where the last one was: the next asked for
    /// is mostly the next known.
    pub(super) fn record(&self, path: &[u8], hint: &mut usize) -> Option<Record> {
        let compared = |position: &usize| parts(self.path_at(*position)).cmp(&parts(path));
        let is_next = self
            .records
            .get(*hint)
            .is_some_and(|position| compared(position).is_eq());
        let found = if is_next {
            *hint
        } else {
            self.records.binary_search_by(compared).ok()?
        };
        *hint = found + 1;
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
    fn holds<'a>(&self, records: impl Iterator<Item = (&'a [u8], Record)>, folders: &HashSet<u64>) -> bool {
        let mut known = self.records.iter();
        let mut encoded = Vec::new();
        for (path, record) in records {
            encode(path, &record, &mut encoded);
            let same = known
                .next()
                .is_some_and(|position| self.bytes[*position..].starts_with(&encoded));
            if !same {
                return false;
            }
        }
        known.next().is_none() && *folders == self.folders
    }
}

/// A record as it is written.
fn encode(path: &[u8], record: &Record, out: &mut Vec<u8>) {
    out.clear();
    put_u32(out, 0);
    put_u32(out, path.len());
    out.extend_from_slice(path);
    record.write(out);
    let len = u32::try_from(out.len() - 4).expect("a path is shorter than 4 GiB");
    out[..4].copy_from_slice(&len.to_le_bytes());
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

    /// Writes the file, unless it would be the same as `old`. Records come in the order of [`parts`]. What cannot be
    /// written is not kept.
    pub(super) fn finish<'a, R>(self, old: &Cache, records: &dyn Fn() -> R, folders: &HashSet<u64>)
    where
        R: Iterator<Item = (&'a [u8], Record)>,
    {
        if old.holds(records(), folders) {
            return;
        }
        // Without it the next snapshot reads more.
        let _ = os::replace_with(&self.path, os::Sharing::default(), false, &mut |file| {
            self.write(file, records, folders)
        });
    }

    fn write<'a, R>(&self, file: &mut File, records: &dyn Fn() -> R, folders: &HashSet<u64>) -> io::Result<()>
    where
        R: Iterator<Item = (&'a [u8], Record)>,
    {
        let mut head = self.head.clone();
        put_u32(&mut head, folders.len());
        put_u32(&mut head, records().count());
        for folder in folders {
            head.extend_from_slice(&folder.to_le_bytes());
        }
        let mut sum = DefaultHasher::new();
        let mut file = io::BufWriter::with_capacity(256 * 1024, file);
        sum.write(&head);
        file.write_all(&head)?;
        let mut encoded = Vec::new();
        for (path, record) in records() {
            encode(path, &record, &mut encoded);
            sum.write(&encoded);
            file.write_all(&encoded)?;
        }
        file.write_all(&sum.finish().to_le_bytes())?;
        file.flush()
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

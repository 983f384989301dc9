//! What is dear to find out about files and may be believed next time: which blob a file that differs from the index
//! is stored as, and in which folders every blob gives the bytes on disk.
//!
//! A private file, never needed: it is checksummed, written whole and renamed into place without being synced, and
//! dropped when anything about it is odd. A file is believed to be unchanged when its stat data is the same and its
//! times lie before the moment at which the snapshot that read it began, told by the clock of the file system: what
//! happened to it since has given it a later time.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::os;
use crate::os::dir::{self, FileTime, Kind, Meta};
use crate::store::ObjectId;

/// First bytes of the file: its kind and the version of its form.
const MAGIC: &[u8; 8] = b"gcpcach\x01";
/// How much later than the clock of another device a file must be to count as changed after it was read.
const SKEW: i64 = 10;

/// What one file is stored as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub meta: Meta,
    /// A digest of everything else that the blob depends on: attributes, and the index entry where it matters.
    pub basis: u64,
    pub mode: u16,
    pub raw: bool,
    /// Whether it is a pointer of git-lfs.
    pub pointer: bool,
    pub id: ObjectId,
    /// The blob that `git add` would store.
    pub git_id: ObjectId,
}

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

impl Record {
    fn write(&self, out: &mut Vec<u8>) {
        let meta = &self.meta;
        for time in [meta.mtime, meta.ctime] {
            out.extend_from_slice(&time.seconds.to_le_bytes());
            out.extend_from_slice(&time.nanos.to_le_bytes());
        }
        for number in [meta.size, meta.dev, meta.ino, self.basis] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for number in [meta.uid, meta.gid, meta.mode, u32::from(self.mode)] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let link = meta.kind == Kind::Link;
        out.push(u8::from(link) | u8::from(self.raw) << 1 | u8::from(self.pointer) << 2);
        out.extend_from_slice(self.id.as_bytes());
        if self.raw {
            out.extend_from_slice(self.git_id.as_bytes());
        }
    }

    /// Reads a record behind its path.
    fn read(at: &mut Reading<'_>, hash: gix::hash::Kind) -> Option<Self> {
        let len = at.u32()? as usize;
        at.take(len)?;
        let mut time = || {
            Some(FileTime {
                seconds: at.u64()?.cast_signed(),
                nanos: at.u32()?,
            })
        };
        let (mtime, ctime) = (time()?, time()?);
        let (size, dev, ino, basis) = (at.u64()?, at.u64()?, at.u64()?, at.u64()?);
        let (uid, gid, mode, git_mode) = (at.u32()?, at.u32()?, at.u32()?, at.u32()?);
        let flags = at.take(1)?[0];
        let mut id = || ObjectId::try_from(at.take(hash.len_in_bytes())?).ok();
        let raw = flags & 2 != 0;
        let blob = id()?;
        let git_id = if raw { id()? } else { blob };
        let kind = if flags & 1 != 0 { Kind::Link } else { Kind::File };
        Some(Self {
            meta: Meta {
                kind,
                mode,
                size,
                mtime,
                ctime,
                dev,
                ino,
                uid,
                gid,
            },
            basis,
            mode: u16::try_from(git_mode).ok()?,
            raw,
            pointer: flags & 4 != 0,
            id: blob,
            git_id,
        })
    }
}

/// Bytes read from the front; `None` beyond their end.
struct Reading<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reading<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let bytes = self.bytes.get(self.at..self.at.checked_add(len)?)?;
        self.at += len;
        Some(bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }
}

fn put_u32(out: &mut Vec<u8>, number: usize) {
    let number = u32::try_from(number).expect("fewer than 2^32 files, folders and bytes of a path");
    out.extend_from_slice(&number.to_le_bytes());
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn record(n: u8) -> Record {
        let time = FileTime {
            seconds: -5,
            nanos: u32::from(n),
        };
        let id = |byte: u8| ObjectId::from_bytes_or_panic(&[byte; 20]);
        Record {
            meta: Meta {
                kind: if n % 2 == 0 { Kind::File } else { Kind::Link },
                mode: 0o644,
                size: 7,
                mtime: time,
                ctime: time,
                dev: 1,
                ino: u64::from(n),
                uid: 3,
                gid: 4,
            },
            basis: 99,
            mode: 0o100_644,
            raw: n % 3 == 0,
            pointer: n % 5 == 0,
            id: id(n),
            git_id: if n % 3 == 0 { id(n + 1) } else { id(n) },
        }
    }

    const SHA1: gix::hash::Kind = gix::hash::Kind::Sha1;

    fn store(path: &Path, records: &[(Vec<u8>, Record)], folders: &HashSet<u64>) {
        let next = Next::begin(path, SHA1, 1).expect("a file");
        let old = Cache::read(path, SHA1, 1);
        next.finish(&old, records.iter().map(|(path, record)| (&path[..], record)), folders);
    }

    #[test]
    fn records_come_back_and_damage_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("cache");
        let records: Vec<_> = (0..50)
            .map(|n| (format!("{n:02}/name\n").into_bytes(), record(n)))
            .collect();
        let folders = HashSet::from([5, 6]);
        store(&path, &records, &folders);
        let cache = Cache::read(&path, SHA1, 1);
        for (path, record) in &records {
            assert_eq!(cache.record(path).as_ref(), Some(record));
        }
        assert_eq!(cache.record(b"00/nam"), None);
        assert!(cache.knows(5) && !cache.knows(7));
        assert_eq!(Cache::read(&path, SHA1, 2).record(b"00/name\n"), None, "other settings");
        let names = fs::read_dir(folder.path()).expect("listed").count();
        assert_eq!(names, 2, "nothing is left beside it but the clock");

        let good = fs::read(&path).expect("read");
        for at in (0..good.len()).step_by(7) {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&path, &bad).expect("written");
            assert_eq!(Cache::read(&path, SHA1, 1).record(b"00/name\n"), None, "byte {at}");
            fs::write(&path, &good[..at]).expect("written");
            assert_eq!(Cache::read(&path, SHA1, 1).record(b"00/name\n"), None, "cut at {at}");
        }
    }

    #[test]
    fn an_unchanged_cache_is_not_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("cache");
        let records = [(b"a".to_vec(), record(1))];
        store(&path, &records, &HashSet::from([5]));
        let before = dir::file_meta(&fs::File::open(&path).expect("opened")).expect("stat");
        store(&path, &records, &HashSet::from([5]));
        let after = dir::file_meta(&fs::File::open(&path).expect("opened")).expect("stat");
        assert_eq!((before.ino, before.mtime), (after.ino, after.mtime));
        store(&path, &records, &HashSet::from([6]));
        assert!(Cache::read(&path, SHA1, 1).knows(6));
    }

    #[test]
    fn files_as_young_as_the_snapshot_are_not_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let next = Next::begin(&folder.path().join("cache"), SHA1, 1).expect("a file");
        let at = |seconds: i64, nanos: u32, dev: u64| {
            let time = FileTime {
                seconds: next.began.seconds + seconds,
                nanos,
            };
            let mut meta = record(0).meta;
            (meta.mtime, meta.ctime, meta.dev) = (time, time, dev);
            next.may_keep(&meta)
        };
        assert!(at(-1, 5, next.dev));
        assert!(!at(0, next.began.nanos, next.dev), "the same moment");
        assert!(!at(1, 5, next.dev));
        assert!(!at(0, 0, next.dev), "a clock of whole seconds");
        assert!(!at(-1, 5, next.dev + 1), "another clock");
        assert!(at(-SKEW - 1, 5, next.dev + 1));
    }
}

//! Memory of the last snapshot: the names in each directory and a digest of the stat data of its files. The next
//! snapshot first compares all of them, and does nothing more when all are equal.
//!
//! A private file, never needed: checksummed, written whole and renamed into place without being synced, and dropped
//! when anything about it is odd. The names of a directory are believed while the directory's own times are those of
//! the listing: a name that comes or goes gives its directory a new change time, which cannot be set. Each file is
//! still asked for by its name, since an edit leaves no trace in its directory. Only what is older than the snapshot
//! that saw it is believed, by the clock of the file system, and only on a file system of this machine.

mod scan;
mod stat_encoding;
#[cfg(test)]
mod tests;
mod whole_snapshot;

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::cache::{ByteReader, CacheBuilder, checked, checksum, put_time, put_u32};
use crate::os;
use crate::os::dir::{DirNames, FileKind, FileTime, Meta};
pub(super) use scan::CacheScan;
pub(super) use whole_snapshot::{CachedSnapshot, SnapshotInputs, SnapshotKey};

/// First bytes of the file: its kind and the version of its form.
const MAGIC: &[u8; 8] = b"gcpseen\x03";
/// Set in the byte before a name that the snapshot asked for, next to the number of its kind.
const ASKED: u8 = 0x80;

/// The file as it was read.
pub(super) struct SnapshotMemory {
    bytes: Vec<u8>,
    /// Inputs of that snapshot besides the files.
    around: Option<SnapshotInputs>,
    /// Sorted by path.
    directories: Vec<DirectorySlot>,
    whole: Option<CachedSnapshot>,
}

/// Where a directory is in the file, and what is said of it.
struct DirectorySlot {
    /// With a slash at the end; empty for the root.
    path: Range<usize>,
    stamp: DirectoryStamp,
    names: Range<usize>,
    /// Of the names.
    sum: u64,
    /// Of what was said of the files; `None` if that may have hidden an edit.
    asked: Option<u64>,
    plain: Option<UnchangedDirectory>,
}

/// Record of a directory whose content equals the index, which has no files of rules and contributes no list entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct UnchangedDirectory {
    /// A digest of the rules that hold in it.
    pub rules: u64,
    /// That of its unchanged files; `None` if there are none.
    pub fingerprint: Option<u64>,
    /// Whether the index has directories in it.
    pub has_directories: bool,
}

/// Which directory it is, and when its names changed last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct DirectoryStamp {
    dev: u64,
    ino: u64,
    mtime: FileTime,
    ctime: FileTime,
}

/// One directory as a snapshot saw it.
#[derive(Debug)]
pub(super) struct CachedDirectory {
    stamp: DirectoryStamp,
    /// Each name with a byte before and a zero byte behind it, in their order.
    names: Vec<u8>,
    /// Of the names.
    sum: u64,
    /// Digest of the requested stat data; `None` if that may hide an edit.
    asked: Option<u64>,
    plain: Option<UnchangedDirectory>,
}

impl CachedDirectory {
    /// Cache record of a directory, given its stat data from before the listing and those of its files. `None` when a
    /// new name would go unnoticed.
    pub(super) fn of(meta: &Meta, names: &DirNames, metas: &[Option<Meta>], next: &CacheBuilder) -> Option<Self> {
        if !next.may_keep(meta) {
            return None;
        }
        let stamp = DirectoryStamp::of(meta);
        let mut bytes = Vec::with_capacity(names.size() + names.len());
        let mut told = Vec::new();
        let mut is_old = true;
        for (at, meta) in metas.iter().enumerate() {
            bytes.push(number(names.kind(at))? | if meta.is_some() { ASKED } else { 0 });
            bytes.extend_from_slice(names.name(at));
            bytes.push(0);
            if let Some(meta) = meta {
                if meta.kind != names.kind(at) {
                    return None;
                }
                is_old &= meta.dev == stamp.dev && next.may_keep(meta);
                stat_encoding::put(meta, &mut told);
            }
        }
        Some(Self {
            stamp,
            sum: checksum(&bytes),
            names: bytes,
            asked: is_old.then(|| checksum(&told)),
            plain: None,
        })
    }

    /// Notes that the directory is plain.
    pub(super) fn set_plain(&mut self, plain: UnchangedDirectory) {
        self.plain = Some(plain);
    }

    /// Whether a directory that is like this again is known to be unchanged.
    pub(super) fn is_sure(&self) -> bool {
        self.asked.is_some()
    }
}

impl DirectoryStamp {
    fn of(meta: &Meta) -> Self {
        Self {
            dev: meta.dev,
            ino: meta.ino,
            mtime: meta.mtime,
            ctime: meta.ctime,
        }
    }
}

impl SnapshotMemory {
    /// None.
    pub(super) fn empty() -> Self {
        Self {
            bytes: Vec::new(),
            around: None,
            directories: Vec::new(),
            whole: None,
        }
    }

    /// The file next to the cache of this path.
    pub(super) fn read(cache: &Path) -> Self {
        let read = os::read_regular(&place(cache)).ok();
        read.and_then(Self::parse).unwrap_or_else(Self::empty)
    }

    fn parse(bytes: Vec<u8>) -> Option<Self> {
        let mut at = ByteReader { bytes: &bytes, at: 0 };
        if at.take(MAGIC.len())? != MAGIC {
            return None;
        }
        let len = at.u32()? as usize;
        let start = at.at;
        let head = checked(at.take(len)?)?;
        let mut names = at.at;
        let mut at = ByteReader { bytes: head, at: 0 };
        let around = Some(SnapshotInputs::read(&mut at)?);
        let whole = match at.take(1)? {
            [0] => None,
            _ => Some(CachedSnapshot::read(&mut at)?),
        };
        let count = at.u32()?;
        let mut directories = Vec::new();
        for _ in 0..count {
            let len = at.u32()? as usize;
            let path = start + at.at..start + at.at + len;
            at.take(len)?;
            let stamp = DirectoryStamp {
                dev: at.u64()?,
                ino: at.u64()?,
                mtime: at.time()?,
                ctime: at.time()?,
            };
            let len = at.u32()? as usize;
            let end = names.checked_add(len).filter(|end| *end <= bytes.len())?;
            directories.push(DirectorySlot {
                path,
                stamp,
                names: names..end,
                sum: at.u64()?,
                asked: if_any(at.u64()?),
                plain: match if_any(at.u64()?) {
                    Some(rules) => Some(UnchangedDirectory {
                        rules,
                        fingerprint: if_any(at.u64()?),
                        has_directories: at.take(1)? != [0],
                    }),
                    None => None,
                },
            });
            names = end;
        }
        (at.at == head.len() && names == bytes.len()).then_some(Self {
            bytes,
            around,
            directories,
            whole,
        })
    }

    /// Last snapshot, if the next one has the same inputs.
    pub(super) fn whole(&self, around: &SnapshotInputs) -> Option<&CachedSnapshot> {
        self.whole.as_ref().filter(|_| self.is_around(around))
    }

    /// Whether everything but the files is as it was.
    fn is_around(&self, around: &SnapshotInputs) -> bool {
        around.index.is_some() && self.around.as_ref() == Some(around)
    }

    /// The paths of all directories, without the slash at the end, each after the one that it is in.
    pub(super) fn paths(&self) -> impl Iterator<Item = &[u8]> {
        let path = |place: &DirectorySlot| self.bytes[place.path.clone()].strip_suffix(b"/").unwrap_or_default();
        self.directories.iter().map(path)
    }

    /// Writes the file anew, unless it would be the same. `folders` are sorted by their paths, which have a slash at the
    /// end. What cannot be written is not kept.
    pub(super) fn replace(
        &self,
        cache: &Path,
        around: &SnapshotInputs,
        whole: Option<&CachedSnapshot>,
        directories: &[(Vec<u8>, &CachedDirectory)],
    ) {
        let mut head = Vec::new();
        around.write(&mut head);
        head.push(u8::from(whole.is_some()));
        if let Some(whole) = whole {
            whole.write(&mut head);
        }
        put_u32(&mut head, directories.len());
        for (path, directory) in directories {
            put_u32(&mut head, path.len());
            head.extend_from_slice(path);
            for number in [directory.stamp.dev, directory.stamp.ino] {
                head.extend_from_slice(&number.to_le_bytes());
            }
            for time in [directory.stamp.mtime, directory.stamp.ctime] {
                put_time(time, &mut head);
            }
            put_u32(&mut head, directory.names.len());
            head.extend_from_slice(&directory.sum.to_le_bytes());
            put_if_any(directory.asked, &mut head);
            put_if_any(directory.plain.map(|plain| plain.rules), &mut head);
            if let Some(plain) = directory.plain {
                put_if_any(plain.fingerprint, &mut head);
                head.push(u8::from(plain.has_directories));
            }
        }
        let sum = checksum(&head);
        head.extend_from_slice(&sum.to_le_bytes());
        let mut start = MAGIC.to_vec();
        put_u32(&mut start, head.len());
        start.extend_from_slice(&head);
        // The head has the checksums of all that comes after it.
        if self.bytes.starts_with(&start) {
            return;
        }
        let write = |file: &mut File| {
            let mut file = io::BufWriter::with_capacity(256 * 1024, file);
            file.write_all(&start)?;
            for (_, directory) in directories {
                file.write_all(&directory.names)?;
            }
            file.flush()
        };
        // Without it the next snapshot looks more.
        let _ = os::replace_with(&place(cache), super::cache::sharing_of(cache), false, &mut { write });
    }
}

/// Where the file is, next to the cache of this path.
fn place(cache: &Path) -> PathBuf {
    cache.with_extension("seen")
}

/// The names in what is kept of a directory, in their order, each with the zero byte at its end: what each was, and whether
/// it was asked for.
fn names(bytes: &[u8]) -> impl Iterator<Item = (&CStr, FileKind, bool)> {
    bytes.split_inclusive(|byte| *byte == 0).filter_map(|name| {
        let (first, name) = name.split_first()?;
        let name = CStr::from_bytes_with_nul(name).ok()?;
        let kind = match first & !ASKED {
            1 => FileKind::File,
            2 => FileKind::Directory,
            3 => FileKind::Link,
            4 => FileKind::Special,
            _ => return None,
        };
        Some((name, kind, first & ASKED != 0))
    })
}

/// No kind is zero, which ends a name.
fn number(kind: FileKind) -> Option<u8> {
    match kind {
        FileKind::File => Some(1),
        FileKind::Directory => Some(2),
        FileKind::Link => Some(3),
        FileKind::Special => Some(4),
        FileKind::Unknown => None,
    }
}

/// A digest where none is a zero.
fn put_if_any(digest: Option<u64>, out: &mut Vec<u8>) {
    out.extend_from_slice(&digest.unwrap_or_default().to_le_bytes());
}

fn if_any(digest: u64) -> Option<u64> {
    (digest != 0).then_some(digest)
}

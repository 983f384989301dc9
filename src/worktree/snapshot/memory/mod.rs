//! Memory of the last snapshot: the names in each directory and a digest of the stat data of its files. The next
//! snapshot first compares all of them, and does nothing more when all are equal.
//!
//! A private file, never needed: checksummed, written whole and renamed into place without being synced, and dropped
//! when anything about it is odd. The names of a directory are believed while the directory's own times are those of
//! the listing: a name that comes or goes gives its directory a new change time, which cannot be set. Each file is
//! still asked for by its name, since an edit leaves no trace in its directory, unless the watcher of the working tree
//! says that nothing happened in the directory (`watcher`). Only what is older than the snapshot that saw it is believed,
//! by the clock of the file system, and only on a file system of this machine.
//!
//! The file has three parts: the result, the directories, and the names in them. Each has the checksums of the next one,
//! so that the checksum of the first identifies all. When nothing changed only the first part is read.

mod scan;
mod stat_encoding;
#[cfg(test)]
mod tests;
pub mod watcher;
mod whole_snapshot;

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::cache::{ByteReader, CacheBuilder, checked, checksum, put_time, put_u32};
use crate::os;
use crate::os::dir::{DirNames, FileKind, FileTime, Meta};
pub(super) use scan::CacheScan;
pub(super) use whole_snapshot::{CachedSnapshot, SnapshotInputs, SnapshotKey};

/// First bytes of the file: its kind and the version of its form.
const MAGIC: &[u8; 8] = b"gcpseen\x05";
/// Set in the byte before a name that the snapshot asked for, next to the number of its kind.
const ASKED: u8 = 0x80;

/// The most bytes of the first part that are read: far more than a result ever has.
const MOST: u32 = 1 << 28;

/// The file as it was read: its first part at once, the others when they are needed.
pub(super) struct SnapshotMemory {
    head: Option<MemoryHead>,
    rest: OnceLock<MemoryRest>,
}

/// The first part.
struct MemoryHead {
    /// Checksum of this part, which identifies the whole file.
    sum: u64,
    /// Inputs of that snapshot besides the files.
    around: SnapshotInputs,
    /// Whether something in the directories can change without a trace in them.
    elsewhere: bool,
    /// How many directories there are.
    count: u32,
    /// How many bytes the second part has, and their checksum.
    second: u32,
    directories: u64,
    whole: Option<CachedSnapshot>,
    /// The other parts.
    file: File,
}

/// The directories and the names.
#[derive(Default)]
struct MemoryRest {
    bytes: Vec<u8>,
    /// Sorted by path.
    directories: Vec<DirectorySlot>,
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

    /// Adds what the second part says of it, under this path.
    fn write(&self, path: &[u8], out: &mut Vec<u8>) {
        put_u32(out, path.len());
        out.extend_from_slice(path);
        for number in [self.stamp.dev, self.stamp.ino] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for time in [self.stamp.mtime, self.stamp.ctime] {
            put_time(time, out);
        }
        put_u32(out, self.names.len());
        out.extend_from_slice(&self.sum.to_le_bytes());
        put_if_any(self.asked, out);
        put_if_any(self.plain.map(|plain| plain.rules), out);
        if let Some(plain) = self.plain {
            put_if_any(plain.fingerprint, out);
            out.push(u8::from(plain.has_directories));
        }
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
            head: None,
            rest: OnceLock::new(),
        }
    }

    /// The file next to the cache of this path.
    pub(super) fn read(cache: &Path) -> Self {
        let file = os::open_regular(&place(cache)).ok();
        Self {
            head: file.and_then(MemoryHead::read),
            rest: OnceLock::new(),
        }
    }

    fn rest(&self) -> &MemoryRest {
        self.rest.get_or_init(|| {
            let rest = self.head.as_ref().and_then(MemoryHead::rest);
            rest.unwrap_or_default()
        })
    }

    /// Last snapshot, if the next one has the same inputs.
    pub(super) fn whole(&self, around: &SnapshotInputs) -> Option<&CachedSnapshot> {
        let whole = self.head.as_ref().and_then(|head| head.whole.as_ref());
        whole.filter(|_| self.is_around(around))
    }

    /// Whether everything but the files is as it was.
    pub(super) fn is_around(&self, around: &SnapshotInputs) -> bool {
        around.index.is_some() && self.head.as_ref().is_some_and(|head| head.around == *around)
    }

    /// The checksum that identifies the file, unless something in the directories can change without a trace in them.
    pub(super) fn sum(&self) -> Option<u64> {
        let head = self.head.as_ref().filter(|head| !head.elsewhere);
        head.map(|head| head.sum)
    }

    /// How many directories there are.
    pub(super) fn count(&self) -> u32 {
        self.head.as_ref().map_or(0, |head| head.count)
    }

    /// Writes the file anew, unless it would be the same, and gives its checksum. `directories` are sorted by their paths,
    /// which have a slash at the end; `elsewhere` says that something in them can change without a trace in them. What
    /// cannot be written is not kept.
    pub(super) fn replace(
        &self,
        cache: &Path,
        around: &SnapshotInputs,
        whole: Option<&CachedSnapshot>,
        (directories, elsewhere): (&[(Vec<u8>, &CachedDirectory)], bool),
    ) -> Option<u64> {
        let mut second = Vec::new();
        for (path, directory) in directories {
            directory.write(path, &mut second);
        }
        let mut head = Vec::new();
        around.write(&mut head);
        head.push(u8::from(elsewhere));
        put_u32(&mut head, directories.len());
        put_u32(&mut head, second.len());
        head.extend_from_slice(&checksum(&second).to_le_bytes());
        head.push(u8::from(whole.is_some()));
        if let Some(whole) = whole {
            whole.write(&mut head);
        }
        let sum = checksum(&head);
        // The head has the checksums of all that comes after it; that is read to see that it is not damaged.
        let is_same = self.head.as_ref().is_some_and(|head| head.sum == sum);
        if is_same && self.rest().directories.len() == directories.len() {
            return Some(sum);
        }
        head.extend_from_slice(&sum.to_le_bytes());
        let mut start = MAGIC.to_vec();
        put_u32(&mut start, head.len());
        let write = |file: &mut File| {
            let mut file = io::BufWriter::with_capacity(256 * 1024, file);
            for part in [&start, &head, &second] {
                file.write_all(part)?;
            }
            for (_, directory) in directories {
                file.write_all(&directory.names)?;
            }
            file.flush()
        };
        // Without it the next snapshot looks more.
        let written = os::replace_with(&place(cache), super::cache::sharing_of(cache), false, &mut { write });
        written.ok().map(|()| sum)
    }
}

impl MemoryHead {
    fn read(mut file: File) -> Option<Self> {
        let mut start = [0; 12];
        file.read_exact(&mut start).ok()?;
        let mut at = ByteReader { bytes: &start, at: 0 };
        if at.take(MAGIC.len())? != MAGIC {
            return None;
        }
        let len = Some(at.u32()?).filter(|len| *len <= MOST)?;
        let mut head = Vec::new();
        (&mut file).take(u64::from(len)).read_to_end(&mut head).ok()?;
        let head = Some(&head[..]).filter(|head| head.len() == len as usize)?;
        let head = checked(head)?;
        let mut at = ByteReader { bytes: head, at: 0 };
        let around = SnapshotInputs::read(&mut at)?;
        let elsewhere = at.take(1)? != [0];
        let (count, second) = (at.u32()?, at.u32()?);
        let directories = at.u64()?;
        let whole = match at.take(1)? {
            [0] => None,
            _ => Some(CachedSnapshot::read(&mut at)?),
        };
        (at.at == head.len()).then_some(Self {
            sum: checksum(head),
            around,
            elsewhere,
            count,
            second,
            directories,
            whole,
            file,
        })
    }

    /// Reads the second part, once: its bytes, and what it says of the directories.
    fn directories(&self) -> Option<(Vec<u8>, Vec<DirectorySlot>)> {
        let mut second = Vec::new();
        let mut file = (&self.file).take(u64::from(self.second));
        file.read_to_end(&mut second).ok()?;
        if second.len() != self.second as usize || checksum(&second) != self.directories {
            return None;
        }
        let mut names = second.len();
        let mut at = ByteReader { bytes: &second, at: 0 };
        let mut directories = Vec::new();
        for _ in 0..self.count {
            let slot = DirectorySlot::read(&mut at, names)?;
            names = slot.names.end;
            directories.push(slot);
        }
        (at.at == second.len()).then_some((second, directories))
    }

    /// Reads the other parts, once.
    fn rest(&self) -> Option<MemoryRest> {
        let (mut bytes, directories) = self.directories()?;
        (&self.file).read_to_end(&mut bytes).ok()?;
        let end = directories.last().map_or(self.second as usize, |slot| slot.names.end);
        (bytes.len() == end).then_some(MemoryRest { bytes, directories })
    }
}

impl DirectorySlot {
    /// Reads one whose names begin there.
    fn read(at: &mut ByteReader<'_>, names: usize) -> Option<Self> {
        let len = at.u32()? as usize;
        let path = at.at..at.at.checked_add(len)?;
        at.take(len)?;
        let stamp = DirectoryStamp {
            dev: at.u64()?,
            ino: at.u64()?,
            mtime: at.time()?,
            ctime: at.time()?,
        };
        let len = at.u32()? as usize;
        Some(Self {
            path,
            stamp,
            names: names..names.checked_add(len)?,
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
        })
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

//! Persistent cache of per-file and per-directory results, keyed by stat data: blobs of files that differ from the
//! index, directories in which every blob gives the bytes on disk, and trees of directories of untracked files.
//!
//! A private file, never needed: it is checksummed, written whole and renamed into place without being synced, and
//! dropped when anything about it is odd. A file is believed to be unchanged when its stat data is the same and its
//! times lie before the moment at which the snapshot that read it began, by the clock of the file system: what happened
//! to it since has given it a later time.

mod record;
/// Whom a file next to the cache belongs to.
pub(in crate::worktree::snapshot) fn sharing_of(path: &Path) -> os::Sharing {
    path.parent().map_or_else(os::Sharing::default, os::Sharing::as_in)
}

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::walk::parts;
use crate::os;
use crate::os::dir::{self, FileTime, Meta};
use crate::store::ObjectId;
pub(super) use record::FileRecord;
pub(super) use record::{ByteReader, put_time, put_u32};

/// First bytes of the file: its kind and the version of its form.
const MAGIC: &[u8; 8] = b"gcpcach\x05";
/// How much later than the clock of another device a file must be to count as changed after it was read.
const SKEW: i64 = 10;

/// The cache as it was read: its head at once, the records of single files when one is asked for.
pub(super) struct Cache {
    directories: HashSet<u64>,
    /// Sorted by path.
    known: Vec<UntrackedDirectory>,
    /// How many records are of files in no known directory.
    others: usize,
    rest: Option<(File, u64)>,
    records: OnceLock<Records>,
    hash: gix::hash::Kind,
}

/// A directory of which every file is untracked and stored as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UntrackedDirectory {
    /// With a slash at the end.
    pub path: Box<[u8]>,
    /// A digest of the names and stat data of its files, and of all rules.
    pub fingerprint: u64,
    /// The bytes of its files.
    pub size: u64,
    /// The tree that it became.
    pub tree: ObjectId,
    /// The marks of the packs in which all its blobs were found; none before the first search.
    pub packs: Vec<u64>,
}

/// The records as they lie in the file.
#[derive(Default)]
struct Records {
    bytes: Vec<u8>,
    /// Where they are, in the order of their paths.
    positions: Vec<usize>,
}

/// The cache as it will be written.
pub(super) struct CacheBuilder {
    path: PathBuf,
    /// When this snapshot began, and on which device that clock is.
    began: FileTime,
    dev: u64,
    settings: u64,
    hash: gix::hash::Kind,
}

/// Content to write.
pub(super) struct CacheContent<'a> {
    pub directories: HashSet<u64>,
    /// Sorted by path.
    pub known: Vec<UntrackedDirectory>,
    /// The files of each directory, in the order of the paths.
    pub files: Vec<CacheFiles<'a>>,
}

/// Files of a directory to write.
pub(super) enum CacheFiles<'a> {
    /// As many as are in the directory of this path, which is known.
    AsBefore(&'a [u8]),
    /// These; of a directory that is known or not.
    Read {
        known: bool,
        files: Vec<(&'a [u8], FileRecord)>,
    },
}

impl Cache {
    /// An empty one.
    pub(super) fn empty(hash: gix::hash::Kind) -> Self {
        Self {
            directories: HashSet::new(),
            known: Vec::new(),
            others: 0,
            rest: None,
            records: OnceLock::new(),
            hash,
        }
    }

    /// Reads the file. `settings` is a digest of what all records depend on.
    pub(super) fn read(path: &Path, hash: gix::hash::Kind, settings: u64) -> Self {
        os::open_regular(path)
            .ok()
            .and_then(|file| Self::parse(file, hash, settings))
            .unwrap_or_else(|| Self::empty(hash))
    }

    fn parse(mut file: File, hash: gix::hash::Kind, settings: u64) -> Option<Self> {
        let mut start = [0; 12];
        file.read_exact(&mut start).ok()?;
        let mut at = ByteReader { bytes: &start, at: 0 };
        if at.take(8)? != MAGIC {
            return None;
        }
        let len = at.u32()?;
        let mut head = Vec::new();
        (&mut file).take(u64::from(len)).read_to_end(&mut head).ok()?;
        if head.len() != len as usize {
            return None;
        }
        let mut at = ByteReader {
            bytes: checked(&head)?,
            at: 0,
        };
        if at.u64()? != settings || at.u32()? as usize != hash.len_in_bytes() {
            return None;
        }
        let (directories, known, others) = (at.u32()?, at.u32()?, at.u32()?);
        let directories = (0..directories).map(|_| at.u64()).collect::<Option<HashSet<_>>>()?;
        let known = (0..known)
            .map(|_| UntrackedDirectory::read(&mut at, hash))
            .collect::<Option<Vec<_>>>()?;
        (at.at == at.bytes.len()).then_some(())?;
        Some(Self {
            directories,
            known,
            others: others as usize,
            rest: Some((file, start.len() as u64 + u64::from(len))),
            records: OnceLock::new(),
            hash,
        })
    }

    /// Whether it has nothing about the last snapshot.
    pub(super) fn is_new(&self) -> bool {
        self.rest.is_none()
    }

    /// Whether a directory of this fingerprint was found to be in order.
    pub(super) fn knows(&self, fingerprint: u64) -> bool {
        self.directories.contains(&fingerprint)
    }

    /// Cached tree of a directory of untracked files, given its path with a slash at the end.
    pub(super) fn known(&self, path: &[u8]) -> Option<&UntrackedDirectory> {
        let at = self.known.binary_search_by(|known| (*known.path).cmp(path)).ok()?;
        self.known.get(at)
    }

    fn records(&self) -> &Records {
        self.records.get_or_init(|| {
            let read = |(file, start): &(File, u64)| {
                let mut bytes = Vec::new();
                let mut file = file;
                file.seek(SeekFrom::Start(*start)).ok()?;
                file.read_to_end(&mut bytes).ok()?;
                Records::parse(bytes)
            };
            self.rest.as_ref().and_then(read).unwrap_or_default()
        })
    }

    /// Record of a path, whether or not the file changed since. `hint` is the position of the last record: requests
    /// mostly come in the order of the records.
    pub(super) fn record(&self, path: &[u8], hint: &mut usize) -> Option<FileRecord> {
        let records = self.records();
        let compared = |position: &usize| parts(records.path_at(*position)).cmp(&parts(path));
        let is_next = records
            .positions
            .get(*hint)
            .is_some_and(|position| compared(position).is_eq());
        let found = if is_next {
            *hint
        } else {
            records.positions.binary_search_by(compared).ok()?
        };
        *hint = found + 1;
        FileRecord::read(&mut records.body(records.positions[found]), self.hash)
    }

    /// Whether writing this would change nothing.
    fn holds(&self, content: &CacheContent<'_>) -> bool {
        if content.directories != self.directories || content.known != self.known {
            return false;
        }
        let mut read = content
            .files
            .iter()
            .filter(|files| matches!(files, CacheFiles::Read { .. }));
        if self.others == 0 && read.next().is_none() {
            return true;
        }
        let records = self.records();
        let mut known = records.positions.iter();
        content.each(self, &mut |record| {
            known
                .next()
                .is_some_and(|position| records.bytes[*position..].starts_with(record))
        }) && known.next().is_none()
    }
}

impl UntrackedDirectory {
    fn write(&self, out: &mut Vec<u8>) {
        put_u32(out, self.path.len());
        out.extend_from_slice(&self.path);
        out.extend_from_slice(&self.fingerprint.to_le_bytes());
        out.extend_from_slice(&self.size.to_le_bytes());
        out.extend_from_slice(self.tree.as_bytes());
        put_u32(out, self.packs.len());
        for mark in &self.packs {
            out.extend_from_slice(&mark.to_le_bytes());
        }
    }

    fn read(at: &mut ByteReader<'_>, hash: gix::hash::Kind) -> Option<Self> {
        let len = at.u32()? as usize;
        Some(Self {
            path: at.take(len)?.into(),
            fingerprint: at.u64()?,
            size: at.u64()?,
            tree: ObjectId::try_from(at.take(hash.len_in_bytes())?).ok()?,
            packs: (0..at.u32()?).map(|_| at.u64()).collect::<Option<_>>()?,
        })
    }
}

impl Records {
    fn parse(mut bytes: Vec<u8>) -> Option<Self> {
        let len = checked(&bytes)?.len();
        bytes.truncate(len);
        let mut at = ByteReader { bytes: &bytes, at: 0 };
        let mut positions = Vec::new();
        while at.at < bytes.len() {
            positions.push(at.at);
            let len = at.u32()? as usize;
            at.take(len)?;
        }
        Some(Self { bytes, positions })
    }

    fn body(&self, position: usize) -> ByteReader<'_> {
        ByteReader {
            bytes: &self.bytes,
            at: position + 4,
        }
    }

    fn path_at(&self, position: usize) -> &[u8] {
        let mut at = self.body(position);
        at.u32().and_then(|len| at.take(len as usize)).unwrap_or_default()
    }

    /// The records of the files in a directory, each with the four bytes of its length.
    fn of<'a>(&'a self, directory: &'a [u8]) -> impl Iterator<Item = &'a [u8]> + 'a {
        let directory_at = |position: &usize| parts(self.path_at(*position)).0;
        let start = self
            .positions
            .partition_point(|position| directory_at(position) < directory);
        self.positions[start..]
            .iter()
            .take_while(move |position| directory_at(position) == directory)
            .map(|position| {
                let len = ByteReader {
                    bytes: &self.bytes,
                    at: *position,
                }
                .u32();
                &self.bytes[*position..][..4 + len.unwrap_or_default() as usize]
            })
    }
}

impl CacheContent<'_> {
    /// Gives all records as they are written to `see`, in their order, until it returns `false`, which is then the result.
    fn each(&self, old: &Cache, see: &mut dyn FnMut(&[u8]) -> bool) -> bool {
        let mut encoded = Vec::new();
        self.files.iter().all(|files| match files {
            CacheFiles::AsBefore(directory) => old.records().of(directory).all(&mut *see),
            CacheFiles::Read { files, .. } => files.iter().all(|(path, record)| {
                encode(path, record, &mut encoded);
                see(&encoded)
            }),
        })
    }

    /// How many records are of files in no known directory.
    fn others(&self) -> usize {
        let count = |files: &CacheFiles<'_>| match files {
            CacheFiles::Read { known: false, files } => files.len(),
            _ => 0,
        };
        self.files.iter().map(count).sum()
    }
}

/// A record as it is written.
fn encode(path: &[u8], record: &FileRecord, out: &mut Vec<u8>) {
    out.clear();
    put_u32(out, 0);
    put_u32(out, path.len());
    out.extend_from_slice(path);
    record.write(out);
    let len = u32::try_from(out.len() - 4).expect("a path is shorter than 4 GiB");
    out[..4].copy_from_slice(&len.to_le_bytes());
}

impl CacheBuilder {
    /// Begins a cache, before anything is read. `None` when no file can be made there: then none is kept.
    pub(super) fn begin(path: &Path, hash: gix::hash::Kind, settings: u64) -> Option<Self> {
        // The time that the file system gives to a file now; the machine's clock may be another one.
        let clock = path.with_extension("clock");
        let file = os::private_file(&clock, sharing_of(&clock)).ok()?;
        os::touch(&clock).ok()?;
        let meta = dir::file_meta(&file).ok()?;
        Some(Self {
            path: path.to_owned(),
            began: meta.mtime,
            dev: meta.dev,
            settings,
            hash,
        })
    }

    /// Whether a file read after the beginning can be recognized as unchanged later.
    pub(super) fn may_keep(&self, meta: &Meta) -> bool {
        let margin = if meta.dev == self.dev { 0 } else { SKEW };
        let limit = FileTime {
            seconds: self.began.seconds - margin,
            nanos: self.began.nanos,
        };
        // A file system without nanoseconds has only whole seconds.
        let coarse = |time: FileTime| time.nanos == 0 && time.seconds >= limit.seconds;
        meta.mtime < limit && meta.ctime < limit && !coarse(meta.mtime) && !coarse(meta.ctime)
    }

    /// Writes the file, unless it would be the same as `old`. What cannot be written is not kept.
    pub(super) fn finish(&self, old: &Cache, content: &CacheContent<'_>) {
        if old.holds(content) {
            return;
        }
        // Without it the next snapshot reads more.
        let _ = os::replace_with(&self.path, sharing_of(&self.path), false, &mut |file| {
            self.write(file, old, content)
        });
    }

    fn write(&self, file: &mut File, old: &Cache, content: &CacheContent<'_>) -> io::Result<()> {
        let mut head = self.settings.to_le_bytes().to_vec();
        put_u32(&mut head, self.hash.len_in_bytes());
        put_u32(&mut head, content.directories.len());
        put_u32(&mut head, content.known.len());
        put_u32(&mut head, content.others());
        for directory in &content.directories {
            head.extend_from_slice(&directory.to_le_bytes());
        }
        for known in &content.known {
            known.write(&mut head);
        }
        let sum = checksum(&head);
        head.extend_from_slice(&sum.to_le_bytes());
        let mut start = MAGIC.to_vec();
        put_u32(&mut start, head.len());
        let mut file = io::BufWriter::with_capacity(256 * 1024, file);
        file.write_all(&start)?;
        file.write_all(&head)?;
        let mut sum = DefaultHasher::new();
        let mut written = Ok(());
        content.each(old, &mut |record| {
            sum.write(record);
            written = file.write_all(record);
            written.is_ok()
        });
        written?;
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

/// The bytes before the checksum at their end, if it is theirs.
pub(super) fn checked(bytes: &[u8]) -> Option<&[u8]> {
    let (bytes, sum) = bytes.split_last_chunk()?;
    (checksum(bytes) == u64::from_le_bytes(*sum)).then_some(bytes)
}

pub(super) fn checksum(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

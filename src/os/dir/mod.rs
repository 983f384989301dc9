//! Directories by descriptor: list, stat and open what lies in an open directory, never through a link.
//!
//! A walk that names files by path can be led out of the tree by a directory that becomes a link between two calls, and
//! cannot see what lies deeper than the system's limit on the length of a path. Relative to an open directory neither
//! can happen. Where the system has no such calls the same interface goes by path and checks for links first.

#[cfg(not(unix))]
mod by_path;
#[cfg(not(unix))]
mod by_path_change;
#[cfg(unix)]
mod unix;
#[cfg(unix)]
mod unix_change;
#[cfg(any(windows, test))]
mod windows_names;

#[cfg(not(unix))]
pub use by_path::{Dir, file_meta, is_link};
#[cfg(unix)]
pub use unix::{Dir, file_meta, is_link};

/// Kind of a directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A FIFO, socket or device.
    Special,
    /// Not reported by the listing: ask [`Dir::stat`].
    Unknown,
}

/// A point in time of the file system: seconds since 1970 and nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct FileTime {
    /// Seconds, negative before 1970.
    pub seconds: i64,
    /// Nanoseconds, 0 where the file system keeps none.
    pub nanos: u32,
}

/// Stat data of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meta {
    /// Kind of the file.
    pub kind: FileKind,
    /// Permission bits, `0o7777` at most.
    pub mode: u32,
    /// Size in bytes.
    pub size: u64,
    /// When the content was changed last.
    pub mtime: FileTime,
    /// When content or attributes were changed last.
    pub ctime: FileTime,
    /// The device.
    pub dev: u64,
    /// The number on the device.
    pub ino: u64,
    /// How many names it has, here and elsewhere.
    pub links: u64,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

impl Meta {
    /// Whether two looks saw the same file unchanged. A name more or less is no change, and shows in `ctime` anyway.
    pub fn is_same(&self, other: &Self) -> bool {
        let links = self.links;
        *self == Self { links, ..*other }
    }

    /// Whether the owner may execute it, which is the one permission bit git knows.
    pub fn is_executable(&self) -> bool {
        self.mode & 0o100 != 0
    }
}

/// The names in a directory, reusable from directory to directory.
#[derive(Debug, Default)]
pub struct DirNames {
    /// All names, each ended by a zero byte.
    bytes: Vec<u8>,
    entries: Vec<DirEntryName>,
    /// Buffer for directory entries, kept for its capacity.
    buffer: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct DirEntryName {
    start: u32,
    len: u32,
    kind: FileKind,
}

impl DirNames {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The name at a position of the sorted list.
    pub fn name(&self, at: usize) -> &[u8] {
        let entry = self.entries[at];
        &self.bytes[entry.start as usize..][..entry.len as usize]
    }

    /// Kind according to the listing.
    pub fn kind(&self, at: usize) -> FileKind {
        self.entries[at].kind
    }

    /// Where a name is.
    pub fn find(&self, name: &[u8]) -> Option<usize> {
        let bytes = |entry: &DirEntryName| &self.bytes[entry.start as usize..][..entry.len as usize];
        self.entries.binary_search_by(|entry| bytes(entry).cmp(name)).ok()
    }

    /// How many bytes the names have, with one more each.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Puts these names, which come sorted, in place of its own.
    pub fn fill<'a>(&mut self, names: impl Iterator<Item = (&'a [u8], FileKind)>) {
        self.clear();
        for (name, kind) in names {
            self.push(name, kind);
        }
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
        self.buffer.clear();
    }

    fn push(&mut self, name: &[u8], kind: FileKind) {
        if name == b"." || name == b".." {
            return;
        }
        let start = u32::try_from(self.bytes.len()).expect("the names of one directory are below 4 GiB");
        let len = u32::try_from(name.len()).expect("a name is short");
        self.bytes.extend_from_slice(name);
        self.bytes.push(0);
        self.entries.push(DirEntryName { start, len, kind });
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        let name = |entry: &DirEntryName| &bytes[entry.start as usize..][..entry.len as usize];
        self.entries.sort_unstable_by(|a, b| name(a).cmp(name(b)));
    }
}

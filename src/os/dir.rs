//! Folders by descriptor: list, stat and open what lies in an open folder, never through a link.
//!
//! A walk that names files by path can be led out of the tree by a folder that becomes a link between two calls, and
//! cannot see what lies deeper than the system's limit on the length of a path. Relative to an open folder neither
//! can happen. Where the system has no such calls the same interface goes by path and checks for links first.

use std::fs::File;
use std::io;
use std::path::Path;

/// What a name in a folder stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A FIFO, socket or device.
    Special,
    /// Not told by the listing: ask [`Dir::stat`].
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

/// What the system says about a file without opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meta {
    /// What it is.
    pub kind: Kind,
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
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

impl Meta {
    /// Whether the owner may execute it, which is the one permission bit git knows.
    pub fn is_executable(&self) -> bool {
        self.mode & 0o100 != 0
    }
}

/// The names in a folder, reusable from folder to folder.
#[derive(Debug, Default)]
pub struct Names {
    /// All names, each ended by a zero byte.
    bytes: Vec<u8>,
    entries: Vec<Name>,
    /// What the system fills, kept for its capacity.
    buffer: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Name {
    start: u32,
    len: u32,
    kind: Kind,
}

impl Names {
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

    /// What the listing says it is.
    pub fn kind(&self, at: usize) -> Kind {
        self.entries[at].kind
    }

    /// Corrects what the listing said, once it is known better.
    pub fn set_kind(&mut self, at: usize, kind: Kind) {
        self.entries[at].kind = kind;
    }

    /// Where a name is.
    pub fn find(&self, name: &[u8]) -> Option<usize> {
        let bytes = |entry: &Name| &self.bytes[entry.start as usize..][..entry.len as usize];
        self.entries.binary_search_by(|entry| bytes(entry).cmp(name)).ok()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
    }

    fn push(&mut self, name: &[u8], kind: Kind) {
        if name == b"." || name == b".." {
            return;
        }
        let start = u32::try_from(self.bytes.len()).expect("the names of one folder are below 4 GiB");
        let len = u32::try_from(name.len()).expect("a name is short");
        self.bytes.extend_from_slice(name);
        self.bytes.push(0);
        self.entries.push(Name { start, len, kind });
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        let name = |entry: &Name| &bytes[entry.start as usize..][..entry.len as usize];
        self.entries.sort_unstable_by(|a, b| name(a).cmp(name(b)));
    }
}

#[cfg(unix)]
pub use unix::Dir;

#[cfg(unix)]
mod unix {
    use super::{File, FileTime, Kind, Meta, Names, Path, io};
    use rustix::fd::OwnedFd;
    use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};

    pub(in crate::os) const FOLDER: OFlags = OFlags::RDONLY
        .union(OFlags::DIRECTORY)
        .union(OFlags::CLOEXEC)
        .union(OFlags::NOCTTY);

    /// An open folder.
    #[derive(Debug)]
    pub struct Dir(pub(in crate::os) OwnedFd);

    impl Dir {
        /// Opens the folder at `path`; links in it are followed.
        pub fn open(path: &Path) -> io::Result<Self> {
            Ok(Self(rustix::fs::open(path, FOLDER, Mode::empty())?))
        }

        /// Opens the folder called `name`. A link or a file of that name is an error ([`io::ErrorKind::NotADirectory`]).
        pub fn folder(&self, name: &[u8]) -> io::Result<Self> {
            match rustix::fs::openat(&self.0, name, FOLDER.union(OFlags::NOFOLLOW), Mode::empty()) {
                Ok(fd) => Ok(Self(fd)),
                Err(rustix::io::Errno::LOOP) => Err(rustix::io::Errno::NOTDIR.into()),
                Err(error) => Err(error.into()),
            }
        }

        /// Opens the file called `name` for reading. Never waits (a FIFO opens at once and is told by its kind); a
        /// link gives an error for which [`super::is_link`] holds.
        pub fn file(&self, name: &[u8]) -> io::Result<File> {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
            Ok(File::from(rustix::fs::openat(&self.0, name, flags, Mode::empty())?))
        }

        /// The text of the link called `name`.
        pub fn link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
            Ok(rustix::fs::readlinkat(&self.0, name, Vec::new())?.into_bytes())
        }

        /// What `name` is, without following it.
        pub fn stat(&self, name: &[u8]) -> io::Result<Meta> {
            Ok(meta(&rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?))
        }

        /// Like [`Self::stat`] for a name of the list, without copying it.
        pub fn stat_at(&self, names: &Names, at: usize) -> io::Result<Meta> {
            let entry = names.entries[at];
            let start = entry.start as usize;
            let name = &names.bytes[start..=start + entry.len as usize];
            match std::ffi::CStr::from_bytes_with_nul(name) {
                Ok(name) => Ok(meta(&rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?)),
                Err(_) => Err(rustix::io::Errno::INVAL.into()),
            }
        }

        /// What the folder itself is.
        pub fn meta(&self) -> io::Result<Meta> {
            Ok(meta(&rustix::fs::fstat(&self.0)?))
        }

        /// Lists the folder into `names`, sorted by the bytes of the name.
        pub fn read(&self, names: &mut Names) -> io::Result<()> {
            names.clear();
            list(&self.0, names)?;
            names.sort();
            Ok(())
        }
    }

    #[cfg(target_os = "linux")]
    fn list(fd: &OwnedFd, names: &mut Names) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut names.buffer);
        buffer.reserve(32 * 1024);
        let mut listing = rustix::fs::RawDir::new(fd, buffer.spare_capacity_mut());
        let mut listed = Ok(());
        while let Some(entry) = listing.next() {
            match entry {
                Ok(entry) => names.push(entry.file_name().to_bytes(), kind(entry.file_type())),
                Err(error) => {
                    listed = Err(error.into());
                    break;
                }
            }
        }
        names.buffer = buffer;
        listed
    }

    #[cfg(not(target_os = "linux"))]
    fn list(fd: &OwnedFd, names: &mut Names) -> io::Result<()> {
        for entry in rustix::fs::Dir::read_from(fd)? {
            let entry = entry?;
            names.push(entry.file_name().to_bytes(), kind(entry.file_type()));
        }
        Ok(())
    }

    fn kind(kind: FileType) -> Kind {
        match kind {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Folder,
            FileType::Symlink => Kind::Link,
            FileType::Unknown => Kind::Unknown,
            _ => Kind::Special,
        }
    }

    // The widths of these fields differ between systems.
    #[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
    fn meta(stat: &Stat) -> Meta {
        let time = |seconds: i64, nanos: i64| FileTime {
            seconds,
            nanos: nanos.clamp(0, 999_999_999) as u32,
        };
        Meta {
            kind: match kind(FileType::from_raw_mode(stat.st_mode)) {
                Kind::Unknown => Kind::Special,
                kind => kind,
            },
            mode: stat.st_mode as u32 & 0o7777,
            size: stat.st_size as u64,
            mtime: time(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            ctime: time(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
            uid: stat.st_uid,
            gid: stat.st_gid,
        }
    }

    /// What an open file is.
    pub fn file_meta(file: &File) -> io::Result<Meta> {
        Ok(meta(&rustix::fs::fstat(file)?))
    }

    /// Whether an error of [`Dir::file`] says that the name is a link.
    pub fn is_link(error: &io::Error) -> bool {
        error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
    }

    /// Whether an error says that no more files can be opened at once.
    pub fn is_out_of_descriptors(error: &io::Error) -> bool {
        use rustix::io::Errno;
        [Errno::MFILE, Errno::NFILE]
            .iter()
            .any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
    }
}

#[cfg(unix)]
pub(super) use unix::FOLDER;
#[cfg(unix)]
pub use unix::{file_meta, is_link, is_out_of_descriptors};

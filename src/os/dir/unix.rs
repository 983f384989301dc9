//! Directories by descriptor, through the calls that take one.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};

use super::{DirNames, FileKind, FileTime, Meta};
use crate::os::system;

pub(in crate::os) const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY);

/// An open directory.
#[derive(Debug)]
pub struct Dir(pub(in crate::os) OwnedFd);

impl Dir {
    /// Opens the directory at `path`; links in it are followed.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::open(path, DIRECTORY, Mode::empty())?))
    }

    /// Opens the directory called `name`. A link or a file of that name is an error ([`io::ErrorKind::NotADirectory`]).
    pub fn directory(&self, name: &[u8]) -> io::Result<Self> {
        match rustix::fs::openat(&self.0, name, DIRECTORY.union(OFlags::NOFOLLOW), Mode::empty()) {
            Ok(fd) => Ok(Self(fd)),
            Err(rustix::io::Errno::LOOP) => Err(rustix::io::Errno::NOTDIR.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Like [`Self::directory`] for a directory that is only asked for the stat data of its names: it cannot be listed, and
    /// on Linux its change reports do not show that it was opened.
    pub fn directory_for_stat(&self, name: &[u8]) -> io::Result<Self> {
        let flags = DIRECTORY.union(OFlags::NOFOLLOW).union(system::WITHOUT_READING);
        match rustix::fs::openat(&self.0, name, flags, Mode::empty()) {
            Ok(fd) => Ok(Self(fd)),
            Err(rustix::io::Errno::LOOP) => Err(rustix::io::Errno::NOTDIR.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the file called `name` for reading. Never waits (a FIFO opens at once and is recognized by its kind); a
    /// link gives an error for which [`is_link`] holds. Where the system allows it, the file's access time stays.
    pub fn file(&self, name: &[u8]) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let open = |flags| rustix::fs::openat(&self.0, name, flags, Mode::empty());
        let opened = match open(flags.union(system::WITHOUT_ACCESS_TIME)) {
            // A file of another user's.
            Err(rustix::io::Errno::PERM) => open(flags),
            opened => opened,
        };
        Ok(File::from(opened?))
    }

    /// The text of the link called `name`.
    pub fn link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(&self.0, name, Vec::new())?.into_bytes())
    }

    /// Stat data of `name`, without following a symlink.
    pub fn stat(&self, name: &[u8]) -> io::Result<Meta> {
        Ok(meta(&rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// Like [`Self::stat`] for a name that need not be copied.
    pub fn stat_c(&self, name: &CStr) -> io::Result<Meta> {
        Ok(meta(&rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// Like [`Self::stat`], and how many names the file has, here and elsewhere.
    pub fn stat_with_links(&self, name: &[u8]) -> io::Result<(Meta, u64)> {
        let stat = rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?;
        // The width of this field differs between systems.
        #[allow(clippy::useless_conversion, clippy::unnecessary_cast, clippy::cast_lossless)]
        let links = stat.st_nlink as u64;
        Ok((meta(&stat), links))
    }

    /// Like [`Self::stat`] for a name of the list, without copying it.
    pub fn stat_at(&self, names: &DirNames, at: usize) -> io::Result<Meta> {
        let entry = names.entries[at];
        let start = entry.start as usize;
        let name = &names.bytes[start..=start + entry.len as usize];
        match CStr::from_bytes_with_nul(name) {
            Ok(name) => self.stat_c(name),
            Err(_) => Err(rustix::io::Errno::INVAL.into()),
        }
    }

    /// Stat data of the directory itself.
    pub fn meta(&self) -> io::Result<Meta> {
        Ok(meta(&rustix::fs::fstat(&self.0)?))
    }

    /// The device that it is on, if that is a file system of this machine that gives a directory a new time with each name
    /// that comes or goes.
    pub fn local_device(&self) -> Option<u64> {
        if system::is_on_local(&self.0) {
            return self.meta().ok().map(|meta| meta.dev);
        }
        None
    }

    /// Lists the directory into `names`, sorted by the bytes of the name.
    pub fn read(&self, names: &mut DirNames) -> io::Result<()> {
        names.clear();
        let mut buffer = std::mem::take(&mut names.buffer);
        let listed = system::list(&self.0, &mut buffer, |name, found| names.push(name, kind(found)));
        names.buffer = buffer;
        names.sort();
        listed
    }
}

fn kind(kind: FileType) -> FileKind {
    match kind {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Link,
        FileType::Unknown => FileKind::Unknown,
        _ => FileKind::Special,
    }
}

// The widths of these fields differ between systems.
#[allow(clippy::cast_sign_loss, clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
#[allow(clippy::unnecessary_cast, clippy::useless_conversion, clippy::cast_lossless)]
fn meta(stat: &Stat) -> Meta {
    let time = |seconds: i64, nanos: i64| FileTime {
        seconds,
        nanos: nanos.clamp(0, 999_999_999) as u32,
    };
    Meta {
        kind: match kind(FileType::from_raw_mode(stat.st_mode)) {
            FileKind::Unknown => FileKind::Special,
            kind => kind,
        },
        mode: stat.st_mode as u32 & 0o7777,
        size: stat.st_size as u64,
        mtime: time(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        ctime: time(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        dev: stat.st_dev as u64,
        ino: stat.st_ino as u64,
        links: stat.st_nlink as u64,
        uid: stat.st_uid,
        gid: stat.st_gid,
    }
}

/// Stat data of an open file.
pub fn file_meta(file: &File) -> io::Result<Meta> {
    Ok(meta(&rustix::fs::fstat(file)?))
}

/// Whether an error of [`Dir::file`] means that the name is a link.
pub fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

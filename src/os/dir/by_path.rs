//! Directories by path, where the system has no calls that take a descriptor. Between the look for a link and the use of a
//! name it can become one; nothing better is to be had with the standard library.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::{DirNames, FileKind, FileTime, Meta};

/// A directory by its path.
#[derive(Debug)]
pub struct Dir(PathBuf);

/// Says that a name is a link.
#[derive(Debug, thiserror::Error)]
#[error("is a symbolic link")]
struct Link;

impl Dir {
    /// Takes the directory at `path`; links in it are followed.
    pub fn open(path: &Path) -> io::Result<Self> {
        if fs::metadata(path)?.is_dir() {
            Ok(Self(path.to_owned()))
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    /// The directory called `name`. A link or a file of that name is an error ([`io::ErrorKind::NotADirectory`]).
    pub fn directory(&self, name: &[u8]) -> io::Result<Self> {
        let path = self.path(name)?;
        if fs::symlink_metadata(&path)?.is_dir() {
            Ok(Self(path))
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }

    /// The same as [`Self::directory`] here.
    pub fn directory_for_stat(&self, name: &[u8]) -> io::Result<Self> {
        self.directory(name)
    }

    /// Opens the file called `name` for reading; a link gives an error for which [`is_link`] holds.
    pub fn file(&self, name: &[u8]) -> io::Result<File> {
        let path = self.path(name)?;
        if fs::symlink_metadata(&path)?.is_symlink() {
            return Err(io::Error::other(Link));
        }
        File::open(path)
    }

    /// The text of the link called `name`.
    pub fn link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        Ok(fs::read_link(self.path(name)?)?.into_os_string().into_encoded_bytes())
    }

    /// Stat data of `name`, without following a symlink.
    pub fn stat(&self, name: &[u8]) -> io::Result<Meta> {
        Ok(meta(&fs::symlink_metadata(self.path(name)?)?))
    }

    /// Like [`Self::stat`] for a name with a zero byte at its end.
    pub fn stat_c(&self, name: &std::ffi::CStr) -> io::Result<Meta> {
        self.stat(name.to_bytes())
    }

    /// Like [`Self::stat`], and how many names the file has. Nothing here can say more than that it has this one.
    pub fn stat_with_links(&self, name: &[u8]) -> io::Result<(Meta, u64)> {
        self.stat(name).map(|meta| (meta, 1))
    }

    /// Like [`Self::stat`] for a name of the list.
    pub fn stat_at(&self, names: &DirNames, at: usize) -> io::Result<Meta> {
        self.stat(names.name(at))
    }

    /// Stat data of the directory itself.
    pub fn meta(&self) -> io::Result<Meta> {
        Ok(meta(&fs::metadata(&self.0)?))
    }

    /// The device that it is on, if its times change when names are added or removed. Nothing here can say that.
    pub fn local_device(&self) -> Option<u64> {
        None
    }

    /// Lists the directory into `names`, sorted by the bytes of the name.
    pub fn read(&self, names: &mut DirNames) -> io::Result<()> {
        names.clear();
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            let kind = entry.file_type().map_or(FileKind::Unknown, kind);
            names.push(entry.file_name().as_encoded_bytes(), kind);
        }
        names.sort();
        Ok(())
    }

    pub(super) fn again(&self) -> Self {
        Self(self.0.clone())
    }

    pub(super) fn path(&self, name: &[u8]) -> io::Result<PathBuf> {
        let name = std::str::from_utf8(name).map_err(|_| io::ErrorKind::InvalidFilename)?;
        if !super::windows_names::is_allowed(name) {
            return Err(io::ErrorKind::InvalidFilename.into());
        }
        Ok(self.0.join(OsStr::new(name)))
    }
}

fn kind(kind: fs::FileType) -> FileKind {
    if kind.is_symlink() {
        FileKind::Link
    } else if kind.is_dir() {
        FileKind::Directory
    } else if kind.is_file() {
        FileKind::File
    } else {
        FileKind::Special
    }
}

fn meta(data: &Metadata) -> Meta {
    Meta {
        kind: kind(data.file_type()),
        // What git would give a file: nothing here can say more.
        mode: if data.permissions().readonly() { 0o444 } else { 0o644 },
        size: data.len(),
        mtime: data.modified().map(time).unwrap_or_default(),
        // git for Windows keeps the time of creation in its place.
        ctime: data.created().map(time).unwrap_or_default(),
        dev: 0,
        ino: 0,
        links: 1,
        uid: 0,
        gid: 0,
    }
}

fn time(time: SystemTime) -> FileTime {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => FileTime {
            seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
            nanos: since.subsec_nanos(),
        },
        Err(before) => {
            let seconds = i64::try_from(before.duration().as_secs()).unwrap_or(i64::MAX);
            FileTime {
                seconds: -seconds - 1,
                nanos: 0,
            }
        }
    }
}

/// Stat data of an open file.
pub fn file_meta(file: &File) -> io::Result<Meta> {
    Ok(meta(&file.metadata()?))
}

/// Whether an error of [`Dir::file`] means that the name is a link.
pub fn is_link(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(<dyn std::error::Error + Send + Sync>::is::<Link>)
}

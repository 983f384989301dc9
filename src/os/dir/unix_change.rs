//! Changing what lies in an open directory, never through a link and never outside of it.
//!
//! The counterpart of reading in [`super::unix`]. A directory below is reached in one call where the kernel supports a
//! lookup that follows no symlink and stays below (Linux 5.6), else name by name. What exists is replaced only by
//! [`Dir::rename`] and [`Dir::exchange`]; everything else fails on a name that is taken.

use std::fs::File;
use std::io;

use rustix::fs::{AtFlags, Mode, OFlags};

use super::unix::{DIRECTORY, Dir};
use crate::os::system;

impl Dir {
    /// Opens the directory at `path`, names separated by slashes, below this one; empty is this one again.
    ///
    /// A link or a file on the way is an error ([`io::ErrorKind::NotADirectory`]), and so is a name that leads upwards.
    pub fn below(&self, path: &[u8]) -> io::Result<Self> {
        if path.is_empty() {
            return Ok(Self(rustix::fs::openat(&self.0, c".", DIRECTORY, Mode::empty())?));
        }
        if path
            .split(|byte| *byte == b'/')
            .any(|name| matches!(name, b"" | b"." | b".."))
        {
            return Err(rustix::io::Errno::NOTDIR.into());
        }
        if let Some(opened) = system::open_below(&self.0, path, DIRECTORY) {
            return opened.map(Self);
        }
        let mut names = path.split(|byte| *byte == b'/');
        let mut dir = self.directory(names.next().unwrap_or_default())?;
        for name in names {
            dir = dir.directory(name)?;
        }
        Ok(dir)
    }

    /// Creates the file `name` and opens it for reading and writing. Its mode is `mode` less the creation mask.
    pub fn create(&self, name: &[u8], mode: u32) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(system::mode_bits(mode));
        let file = File::from(rustix::fs::openat(&self.0, name, flags, mode)?);
        self.give(name)?;
        Ok(file)
    }

    /// Creates the link `name` with this text.
    pub fn create_link(&self, name: &[u8], target: &[u8]) -> io::Result<()> {
        rustix::fs::symlinkat(target, &self.0, name)?;
        self.give(name)
    }

    /// Creates the directory `name`, with the bits that the creation mask leaves.
    pub fn create_directory(&self, name: &[u8]) -> io::Result<()> {
        rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o777))?;
        self.give(name)
    }

    /// Gives what root made here to the owner of the directory: in a user's working tree (`sudo`, a container) the user is
    /// not locked out of it.
    fn give(&self, name: &[u8]) -> io::Result<()> {
        use rustix::fs::{Gid, Uid};
        use rustix::io::Errno;
        if !rustix::process::geteuid().is_root() {
            return Ok(());
        }
        let owner = rustix::fs::fstat(&self.0)?;
        if owner.st_uid == 0 {
            return Ok(());
        }
        let (user, group) = (Uid::from_raw(owner.st_uid), Gid::from_raw(owner.st_gid));
        match rustix::fs::chownat(&self.0, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(()) | Err(Errno::PERM | Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives `from` the name `to` in the same directory. What had that name is gone; a directory in the way is an
    /// error.
    pub fn rename(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, from, &self.0, to)?)
    }

    /// Gives `from` the name `to` unless that is taken ([`io::ErrorKind::AlreadyExists`]).
    ///
    /// Where the system cannot do both in one step, the name is looked at first.
    pub fn rename_to_free(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        if let Some(renamed) = system::rename_to_free(&self.0, from, to) {
            return renamed;
        }
        match self.stat(to) {
            Ok(_) => Err(rustix::io::Errno::EXIST.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.rename(from, to),
            Err(error) => Err(error),
        }
    }

    /// Swaps two names in one step; `false` where the system or the file system cannot.
    pub fn exchange(&self, one: &[u8], other: &[u8]) -> io::Result<bool> {
        system::exchange(&self.0, one, other).map_or(Ok(false), |swapped| swapped.map(|()| true))
    }

    /// Brings the names in the directory to the disk.
    pub fn sync(&self) -> io::Result<()> {
        system::sync_names(&self.0)
    }

    /// Brings everything on the directory's file system to the disk; `false` where the system has no such call.
    pub fn sync_file_system(&self) -> io::Result<bool> {
        system::sync_file_system(&self.0).map_or(Ok(false), |synced| synced.map(|()| true))
    }

    /// Removes the file or link `name`.
    pub fn remove(&self, name: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Removes the directory `name`, which must be empty ([`io::ErrorKind::DirectoryNotEmpty`]).
    pub fn remove_directory(&self, name: &[u8]) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR) {
            // POSIX allows both.
            Err(rustix::io::Errno::EXIST) => Err(rustix::io::Errno::NOTEMPTY.into()),
            result => Ok(result?),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, Write};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn world() -> (tempfile::TempDir, Dir) {
        let temp = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(temp.path().join("in/a/b")).unwrap();
        std::fs::create_dir(temp.path().join("out")).unwrap();
        symlink("../out", temp.path().join("in/link")).unwrap();
        symlink("a", temp.path().join("in/inner")).unwrap();
        std::fs::write(temp.path().join("in/file"), "x").unwrap();
        let dir = Dir::open(&temp.path().join("in")).unwrap();
        (temp, dir)
    }

    #[test]
    fn a_directory_below_is_never_reached_through_a_link() {
        let (_temp, dir) = world();
        assert!(dir.below(b"a/b").is_ok());
        assert!(dir.below(b"").is_ok());
        for path in ["link", "link/x", "inner", "inner/b", "file", "file/x", "..", "a/../.."] {
            let found = dir.below(path.as_bytes());
            assert!(found.is_err(), "{path}");
        }
        assert_eq!(dir.below(b"link").unwrap_err().kind(), io::ErrorKind::NotADirectory);
        assert_eq!(dir.below(b"none").unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn what_exists_is_not_replaced_unasked() {
        let (temp, dir) = world();
        let is_taken = |result: io::Result<()>| result.unwrap_err().kind() == io::ErrorKind::AlreadyExists;
        let mut fresh = dir.create(b"fresh", 0o666).unwrap();
        fresh.write_all(b"new").unwrap();
        system::set_mode(&fresh, 0o600).unwrap();
        assert!(is_taken(dir.create(b"file", 0o666).map(drop)));
        assert!(is_taken(dir.create(b"link", 0o666).map(drop)));
        assert!(is_taken(dir.create_link(b"file", b"t")));
        assert!(is_taken(dir.create_directory(b"a")));
        assert!(is_taken(dir.rename_to_free(b"fresh", b"file")));
        assert!(is_taken(dir.rename_to_free(b"fresh", b"link")));
        assert!(
            dir.exchange(b"fresh", b"file").unwrap(),
            "the file system of the tests can"
        );
        let mut text = String::new();
        fresh.rewind().unwrap();
        fresh.read_to_string(&mut text).unwrap();
        assert_eq!(text, "new");
        let meta = std::fs::metadata(temp.path().join("in/file")).unwrap();
        assert_eq!(meta.permissions().mode() & 0o7777, 0o600);
        assert_eq!(std::fs::read(temp.path().join("in/fresh")).unwrap(), b"x");
        dir.rename(b"fresh", b"link").unwrap();
        assert!(temp.path().join("out").exists());
        assert_eq!(std::fs::read(temp.path().join("in/link")).unwrap(), b"x");
    }

    #[test]
    fn only_empty_directories_are_removed() {
        let (_temp, dir) = world();
        assert_eq!(
            dir.remove_directory(b"a").unwrap_err().kind(),
            io::ErrorKind::DirectoryNotEmpty
        );
        dir.directory(b"a").unwrap().remove_directory(b"b").unwrap();
        dir.remove_directory(b"a").unwrap();
        assert!(dir.remove_directory(b"link").is_err(), "a link is no directory");
        dir.remove(b"link").unwrap();
    }
}

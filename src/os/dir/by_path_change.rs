//! Changes in a directory by path: the counterpart of `change` where the system has no calls that take a descriptor.
//!
//! Each step looks for symlinks first. A name that the system would read differently than git wrote it (a reserved device,
//! a trailing dot or space, a stream, a separator) is an error before anything is made.

use std::fs::{self, File};
use std::io;
use std::os::windows::fs::FileTypeExt as _;

use super::by_path::Dir;

impl Dir {
    /// Opens the directory at `path`, names separated by slashes, below this one; empty is this one again.
    ///
    /// A link or a file on the way is an error ([`io::ErrorKind::NotADirectory`]), and so is a name that leads upwards.
    pub fn below(&self, path: &[u8]) -> io::Result<Self> {
        let mut dir = Self::again(self);
        if path.is_empty() {
            return Ok(dir);
        }
        for name in path.split(|byte| *byte == b'/') {
            if matches!(name, b"" | b"." | b"..") {
                return Err(io::ErrorKind::NotADirectory.into());
            }
            dir = dir.directory(name)?;
        }
        Ok(dir)
    }

    /// Creates the file `name` and opens it for reading and writing. There are no mode bits here.
    pub fn create(&self, name: &[u8], _mode: u32) -> io::Result<File> {
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        options.open(self.path(name)?)
    }

    /// Creates the symlink `name` with this text. Windows allows it to administrators and in developer mode; the kind of
    /// symlink is that of what it leads to, a file where that does not exist.
    pub fn create_link(&self, name: &[u8], target: &[u8]) -> io::Result<()> {
        let path = self.path(name)?;
        let text = std::str::from_utf8(target).map_err(|_| io::ErrorKind::InvalidFilename)?;
        let native = text.replace('/', std::path::MAIN_SEPARATOR_STR);
        if path.parent().is_some_and(|parent| parent.join(&native).is_dir()) {
            std::os::windows::fs::symlink_dir(native, path)
        } else {
            std::os::windows::fs::symlink_file(native, path)
        }
    }

    /// Creates the directory `name`.
    pub fn create_directory(&self, name: &[u8]) -> io::Result<()> {
        fs::create_dir(self.path(name)?)
    }

    /// Gives `from` the name `to` in the same directory. A file that had that name is replaced; a directory in the way is
    /// an error.
    pub fn rename(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        let (from, to) = (self.path(from)?, self.path(to)?);
        // A file that may not be written cannot be replaced here.
        if fs::symlink_metadata(&to).is_ok_and(|there| there.is_file()) {
            make_writable(&to)?;
        }
        fs::rename(from, to)
    }

    /// Gives `from` the name `to` unless that is taken ([`io::ErrorKind::AlreadyExists`]). The name is looked at first.
    pub fn rename_to_free(&self, from: &[u8], to: &[u8]) -> io::Result<()> {
        match self.stat(to) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.rename(from, to),
            Err(error) => Err(error),
        }
    }

    /// Two names cannot be swapped in one step here.
    pub fn exchange(&self, _one: &[u8], _other: &[u8]) -> io::Result<bool> {
        Ok(false)
    }

    /// The file systems here journal the names of a directory by themselves.
    pub fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// There is no such call here without the rights of an administrator.
    pub fn sync_file_system(&self) -> io::Result<bool> {
        Ok(false)
    }

    /// Removes the file or symlink `name`.
    pub fn remove(&self, name: &[u8]) -> io::Result<()> {
        let path = self.path(name)?;
        let there = fs::symlink_metadata(&path)?;
        if there.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if there.file_type().is_symlink_dir() {
            return fs::remove_dir(path);
        }
        make_writable(&path)?;
        fs::remove_file(path)
    }

    /// Removes the directory `name`, which must be empty ([`io::ErrorKind::DirectoryNotEmpty`]).
    pub fn remove_directory(&self, name: &[u8]) -> io::Result<()> {
        let path = self.path(name)?;
        if fs::symlink_metadata(&path)?.is_dir() {
            fs::remove_dir(path)
        } else {
            Err(io::ErrorKind::NotADirectory.into())
        }
    }
}

/// Takes away the attribute that a file may only be read, which keeps the system from replacing or removing it.
#[expect(
    clippy::permissions_set_readonly_false,
    reason = "the attribute of Windows, which has no mode bits"
)]
fn make_writable(path: &std::path::Path) -> io::Result<()> {
    let there = fs::symlink_metadata(path)?;
    if !there.is_symlink() && there.permissions().readonly() {
        let mut permissions = there.permissions();
        permissions.set_readonly(false);
        fs::set_permissions(path, permissions)?;
    }
    Ok(())
}

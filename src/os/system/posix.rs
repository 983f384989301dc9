//! Unixes other than Linux: directories by descriptor as POSIX has them, name by name; macOS renames in one step.

use std::io;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FileType, OFlags};

/// There is no such way here.
pub(in crate::os) const WITHOUT_READING: OFlags = OFlags::empty();

/// There is no such way here.
pub(in crate::os) const WITHOUT_ACCESS_TIME: OFlags = OFlags::empty();

/// Nothing is known of file systems here.
pub(in crate::os) fn is_on_local(_: impl AsFd) -> bool {
    false
}

/// A directory below is opened name by name.
pub(in crate::os) fn open_below(_: impl AsFd, _: &[u8], _: OFlags) -> Option<io::Result<OwnedFd>> {
    None
}

/// Renames within a directory unless the new name is taken; `None` where that is not to be had in one step.
pub(in crate::os) fn rename_to_free(directory: impl AsFd, from: &[u8], to: &[u8]) -> Option<io::Result<()>> {
    rename(directory, from, to, false)
}

/// Swaps two names of a directory; `None` where that is not to be had in one step.
pub(in crate::os) fn exchange(directory: impl AsFd, one: &[u8], other: &[u8]) -> Option<io::Result<()>> {
    rename(directory, one, other, true)
}

/// `renameatx_np`, which APFS has, and HFS+ without swapping.
#[cfg(target_vendor = "apple")]
fn rename(directory: impl AsFd, from: &[u8], to: &[u8], swaps: bool) -> Option<io::Result<()>> {
    use rustix::fs::RenameFlags;
    use rustix::io::Errno;
    let flags = if swaps {
        RenameFlags::EXCHANGE
    } else {
        RenameFlags::NOREPLACE
    };
    match rustix::fs::renameat_with(&directory, from, &directory, to, flags) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOTSUP) => None,
        result => Some(result.map_err(io::Error::from)),
    }
}

#[cfg(not(target_vendor = "apple"))]
fn rename(_: impl AsFd, _: &[u8], _: &[u8], _: bool) -> Option<io::Result<()>> {
    None
}

/// Brings the names in an open directory to the disk: on macOS with `F_FULLFSYNC`, as the standard library does it, since
/// `fsync` there leaves them in the memory of the drive.
pub(in crate::os) fn sync_names(directory: impl AsFd) -> io::Result<()> {
    std::fs::File::from(directory.as_fd().try_clone_to_owned()?).sync_all()
}

/// Calls `each` for the names of an open directory; the system library has its own buffer.
pub(in crate::os) fn list(
    directory: &OwnedFd,
    _buffer: &mut Vec<u8>,
    mut each: impl FnMut(&[u8], FileType),
) -> io::Result<()> {
    for entry in rustix::fs::Dir::read_from(directory)? {
        let entry = entry?;
        each(entry.file_name().to_bytes(), entry.file_type());
    }
    Ok(())
}

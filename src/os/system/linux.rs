//! Linux: lookups that follow no symlink, renames in one step, listings into one buffer, and which file systems are this
//! machine's own.

use std::io;

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags, RenameFlags, ResolveFlags, StatFs};
use rustix::io::Errno;
use rustix::thread::{sched_getaffinity, sched_getcpu, sched_setaffinity};

/// The longest path that is given to the system in one call.
const PATH_MAX: usize = 4096;

/// ext2 to ext4, XFS, Btrfs, F2FS, tmpfs, bcachefs, by their numbers in statfs(2).
const LOCAL: [u32; 6] = [0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010, 0x0102_1994, 0xca45_1a4e];

/// Opens a directory only as a place for other calls.
pub(in crate::os) const WITHOUT_READING: OFlags = OFlags::PATH;

/// To read a file that was just written changes its access time, and so its inode, which takes a third of the time to open
/// and read a small file (measured on ext4 with `relatime`). Only the owner may leave it.
pub(in crate::os) const WITHOUT_ACCESS_TIME: OFlags = OFlags::NOATIME;

/// Whether this is a file system on the disks or in the memory of this machine, so that what it reports of a directory
/// is all that happened to it. A network, FUSE or overlay file system may change behind the back of the system that looks at it,
/// or keep times that are not those of the changes.
pub(in crate::os) fn is_local(system: &StatFs) -> bool {
    // The width of this field differs between architectures; the numbers have 32 bits.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    LOCAL.contains(&(system.f_type as u32))
}

/// Whether the file system of an open directory is one of this machine; see [`is_local`].
pub(in crate::os) fn is_on_local(directory: impl AsFd) -> bool {
    rustix::fs::fstatfs(directory).is_ok_and(|system| is_local(&system))
}

/// Opens a directory below another one in one call (Linux 5.6); `None` where that is not to be had.
pub(in crate::os) fn open_below(directory: impl AsFd, path: &[u8], flags: OFlags) -> Option<io::Result<OwnedFd>> {
    if path.len() >= PATH_MAX {
        return None;
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(directory, path, flags, Mode::empty(), resolve) {
        Err(Errno::LOOP | Errno::XDEV) => Some(Err(Errno::NOTDIR.into())),
        // An old kernel, or a sandbox that does not know the call.
        Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::AGAIN) => None,
        opened => Some(opened.map_err(io::Error::from)),
    }
}

/// Renames within a directory unless the new name is taken; `None` where that is not to be had in one step.
pub(in crate::os) fn rename_to_free(directory: impl AsFd, from: &[u8], to: &[u8]) -> Option<io::Result<()>> {
    rename(directory, from, to, RenameFlags::NOREPLACE)
}

/// Swaps two names of a directory; `None` where that is not to be had in one step.
pub(in crate::os) fn exchange(directory: impl AsFd, one: &[u8], other: &[u8]) -> Option<io::Result<()>> {
    rename(directory, one, other, RenameFlags::EXCHANGE)
}

fn rename(directory: impl AsFd, from: &[u8], to: &[u8], flags: RenameFlags) -> Option<io::Result<()>> {
    supported(rustix::fs::renameat_with(&directory, from, &directory, to, flags))
}

/// Brings everything on the file system of an open file to the disk; `None` where that is not to be had.
pub(in crate::os) fn sync_file_system(file: impl AsFd) -> Option<io::Result<()>> {
    supported(rustix::fs::syncfs(file))
}

/// Brings the names in an open directory to the disk.
pub(in crate::os) fn sync_names(directory: impl AsFd) -> io::Result<()> {
    Ok(rustix::fs::fsync(directory)?)
}

fn supported(result: Result<(), Errno>) -> Option<io::Result<()>> {
    match result {
        // A sandbox that does not know the call answers that it is not permitted; the simpler call shows whether it is.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOTTY | Errno::PERM) => None,
        result => Some(result.map_err(io::Error::from)),
    }
}

/// Calls `each` for the names of an open directory. `buffer` is kept for its capacity.
pub(in crate::os) fn list(
    directory: &OwnedFd,
    buffer: &mut Vec<u8>,
    mut each: impl FnMut(&[u8], FileType),
) -> io::Result<()> {
    buffer.reserve(32 * 1024);
    let mut listing = rustix::fs::RawDir::new(directory, buffer.spare_capacity_mut());
    while let Some(entry) = listing.next() {
        let entry = entry?;
        each(entry.file_name().to_bytes(), entry.file_type());
    }
    Ok(())
}

/// The processor that this thread runs on.
pub(in crate::os) fn processor() -> usize {
    sched_getcpu()
}

/// Goes to another processor than this one, if the thread may run on another.
pub(in crate::os) fn leave_processor(here: usize) {
    if sched_getcpu() != here {
        return;
    }
    let Ok(all) = sched_getaffinity(None) else { return };
    let mut others = all;
    others.unset(here);
    if others.count() > 0 && sched_setaffinity(None, &others).is_ok() {
        // From there on it may run anywhere again.
        let _ = sched_setaffinity(None, &all);
    }
}

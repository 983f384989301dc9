//! Change reports of the system for directories, so that unchanged ones need no scan.
//!
//! On Linux these are the events of inotify, which are queued within the system call that makes the change: who reads the
//! queue sees every change that was complete before. Reports never contain a file's content, only where looking is worth
//! while. Elsewhere nothing is reported, and everybody looks.
//!
//! Not reported are changes through another name of a file (a hard link, a file that got its name while it was open), by
//! an NFS server of this machine, and through mapped memory, asynchronous writes or a loop device. The last ones need an
//! open file: a directory counts as changed as long as a file in it is open, by what is reported or, for files that were
//! open before, by what this user may see of other processes. Two programs that open one file at the same moment can be
//! reported as one; what is missing then is the one that keeps it open longer.

#[cfg(target_os = "linux")]
mod inotify;
#[cfg(not(target_os = "linux"))]
mod none;
#[cfg(all(test, target_os = "linux"))]
mod tests;

#[cfg(target_os = "linux")]
pub use inotify::{Reports, mount_scope};
#[cfg(not(target_os = "linux"))]
pub use none::{Reports, mount_scope};

/// The most directories that are watched: each keeps about a kilobyte of the kernel's memory.
pub const MOST_FOLDERS: usize = 65_536;

/// Why there are no reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchError {
    /// This system reports nothing.
    System,
    /// There are more directories than may be watched.
    TooMany,
    /// A directory is on a file system that others may change unseen.
    FileSystem,
    /// A directory went away, cannot be read, or the system has no watches left.
    Refused,
}

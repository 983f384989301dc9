//! Change reports of the system for directories, so that unchanged ones need no scan.
//!
//! On Linux these are the events of inotify, which are queued within the system call that makes the change: who reads the
//! queue sees every change that was complete before. Reports never contain a file's content, only where looking is worth
//! while. Elsewhere nothing is reported, and everybody looks.
//!
//! Not reported are changes through another name of a file that is in no watched directory (a hard link), by an NFS server
//! of this machine, and through mapped memory, asynchronous writes or a loop device. The last ones need an open file: a
//! directory counts as changed as long as a file in it is open. What is open is counted by the reports (`open_names`). They
//! are not enough where two opens are reported as one, and where a file is open under another name or none; such a
//! directory is in doubt until a look at the files that processes have open finds nothing (`doubts`). What stays are
//! processes whose files this user may not see.

#[cfg(target_os = "linux")]
mod doubts;
#[cfg(target_os = "linux")]
mod inotify;
#[cfg(not(target_os = "linux"))]
mod none;
#[cfg(target_os = "linux")]
mod open_names;
#[cfg(all(test, target_os = "linux"))]
mod tests;

#[cfg(target_os = "linux")]
pub use super::open_files::OpenFiles;
#[cfg(target_os = "linux")]
pub use inotify::{Reports, mount_scope};
#[cfg(not(target_os = "linux"))]
pub use none::{OpenFiles, Reports, mount_scope};

/// The most directories that are watched: each keeps about a kilobyte of the kernel's memory.
pub const MOST_DIRECTORIES: usize = 65_536;

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

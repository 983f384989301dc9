//! Change reports of the system for directories, so that unchanged ones need no scan.
//!
//! Reports never contain a file's content, only that looking is worth while; what they cannot promise to report (writes
//! through mapped memory, through another name of the file elsewhere, other machines on a network) their users have to
//! look for themselves now and then. On Linux this is inotify; elsewhere nothing is reported, and everybody looks.

use std::path::PathBuf;

/// The most directories that are watched: each keeps about a kilobyte of the kernel's memory.
pub const MOST_FOLDERS: usize = 8192;

/// Reports since the last call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// Nothing at all.
    None,
    /// Something happened to files; the directories are those that are watched.
    Files,
    /// A directory came, went, moved or changed, or reports were lost: other directories may have to be watched now.
    Directories,
}

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

#[cfg(target_os = "linux")]
pub use self::inotify::Reports;

#[cfg(target_os = "linux")]
mod inotify {
    use std::{fs, mem::MaybeUninit};

    use rustix::fd::OwnedFd;
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
    use rustix::io::Errno;

    use super::{MOST_FOLDERS, News, PathBuf, WatchError};
    use crate::os::system;

    /// Everything that can change what a look at a directory finds, and nothing that looking does.
    const CHANGES: WatchFlags = WatchFlags::MODIFY
        .union(WatchFlags::ATTRIB)
        .union(WatchFlags::CLOSE_WRITE)
        .union(WatchFlags::MOVE)
        .union(WatchFlags::CREATE)
        .union(WatchFlags::DELETE)
        .union(WatchFlags::DELETE_SELF)
        .union(WatchFlags::MOVE_SELF)
        .union(WatchFlags::ONLYDIR)
        .union(WatchFlags::DONT_FOLLOW);

    /// Events that may change the set of directories, or mean lost reports.
    const FOLDERS: ReadFlags = ReadFlags::ISDIR
        .union(ReadFlags::DELETE_SELF)
        .union(ReadFlags::MOVE_SELF)
        .union(ReadFlags::IGNORED)
        .union(ReadFlags::UNMOUNT)
        .union(ReadFlags::QUEUE_OVERFLOW);

    /// Room for some hundred reports at a time.
    const ROOM: usize = 16 << 10;

    /// Reports of changes in some directories, not of those below them.
    #[derive(Debug)]
    pub struct Reports(OwnedFd);

    impl Reports {
        /// Begins to watch all of these directories, in their order: name each after the directory that it is in, so that none
        /// can be exchanged unseen. What happens from the return on is reported. That one that is not there comes is
        /// reported by the directory that it is in; the first has to be there.
        pub fn of(directories: &[PathBuf]) -> Result<Self, WatchError> {
            if directories.len() > limit() {
                return Err(WatchError::TooMany);
            }
            let reports = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC);
            let reports = reports.map_err(|_| WatchError::Refused)?;
            for (at, directory) in directories.iter().enumerate() {
                let added =
                    inotify::add_watch(&reports, directory, CHANGES).and_then(|_| rustix::fs::statfs(directory));
                let system = match added {
                    Ok(system) => system,
                    Err(Errno::NOENT | Errno::NOTDIR) if at > 0 => continue,
                    Err(_) => return Err(WatchError::Refused),
                };
                // All others (network, FUSE, overlays) are looked through.
                if !system::is_local(&system) {
                    return Err(WatchError::FileSystem);
                }
            }
            Ok(Self(reports))
        }

        /// Reports since the last call.
        pub fn news(&mut self) -> News {
            let mut room = [MaybeUninit::uninit(); ROOM];
            let mut reader = inotify::Reader::new(&self.0, &mut room);
            let mut news = News::None;
            loop {
                match reader.next() {
                    Ok(event) if event.events().intersects(FOLDERS) => return News::Directories,
                    Ok(_) => news = News::Files,
                    Err(Errno::INTR) => {}
                    Err(Errno::AGAIN) => return news,
                    Err(_) => return News::Directories,
                }
            }
        }
    }

    /// Half of what the system allows a user leaves enough for editors and build tools.
    fn limit() -> usize {
        let allowed = fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").ok();
        let allowed: Option<usize> = allowed.and_then(|text| text.trim().parse().ok());
        MOST_FOLDERS.min(allowed.map_or(0, |allowed| allowed / 2))
    }
}

#[cfg(not(target_os = "linux"))]
pub use self::none::Reports;

#[cfg(not(target_os = "linux"))]
mod none {
    use super::{News, PathBuf, WatchError};

    /// Reports that there never are.
    #[derive(Debug)]
    pub struct Reports(std::convert::Infallible);

    impl Reports {
        /// Fails: this system reports nothing.
        pub fn of(_directories: &[PathBuf]) -> Result<Self, WatchError> {
            Err(WatchError::System)
        }

        /// Reports since the last call.
        pub fn news(&mut self) -> News {
            match self.0 {}
        }
    }
}

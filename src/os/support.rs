//! Calls that a file system may not have: which errors mean that, and what is done instead.

use std::fs::File;
use std::io;
use std::path::Path;

use super::notices::{self, Limit};
use super::system;

/// Whether an error means that the file system or the kernel does not know the call, rather than that the call failed.
///
/// NFS without a lock daemon, Lustre, FUSE, SMB, shared directories of virtual machines and sandboxes answer so.
pub(super) fn is_unsupported(error: &io::Error) -> bool {
    system::is_unsupported(error) || error.kind() == io::ErrorKind::Unsupported
}

/// Whether an error of a lock means that there are no locks.
pub(super) fn has_no_locks(error: &io::Error) -> bool {
    system::is_without_locks(error) || is_unsupported(error)
}

/// Brings what was written to a file to the disk. Where the file system cannot, that is noted and no failure.
pub fn sync(file: &File) -> io::Result<()> {
    weaker(file.sync_all(), |_| false)
}

/// Brings a closed file to the disk.
pub fn sync_path(path: &Path) -> io::Result<()> {
    sync(&File::options().read(true).write(system::SYNC_NEEDS_WRITE).open(path)?)
}

/// Like [`sync`] for the contents alone, without the times.
pub fn sync_data(file: &File) -> io::Result<()> {
    weaker(file.sync_data(), |_| false)
}

/// Like [`sync`] for a directory, which more file systems cannot.
pub(super) fn sync_directory(directory: &File) -> io::Result<()> {
    weaker(directory.sync_all(), system::is_without_directory_sync)
}

fn weaker(result: io::Result<()>, is_meant: impl FnOnce(&io::Error) -> bool) -> io::Result<()> {
    match result {
        Err(error) if is_unsupported(&error) || is_meant(&error) => {
            notices::limited(Limit::Sync);
            Ok(())
        }
        result => result,
    }
}

/// The system's error where this process can open no more files: then what could not be read may exist.
///
/// Many are tried: what failed may have needed more than one and has given them back, as other threads may have. Where
/// the limit is so low that they are too many, it is the likely cause of whatever is not found.
pub fn out_of_files() -> Option<io::Error> {
    const MANY: usize = 64;
    let opened: io::Result<Vec<File>> = std::iter::repeat_with(system::any_file).take(MANY).collect();
    opened.err().filter(is_out_of_files)
}

/// Whether an error means that this process, or the system, can open no more files.
pub fn is_out_of_files(error: &io::Error) -> bool {
    system::is_out_of_files(error)
}

#[cfg(all(test, unix))]
mod tests {
    use rustix::io::Errno;

    use super::*;

    fn error(errno: Errno) -> io::Error {
        io::Error::from_raw_os_error(errno.raw_os_error())
    }

    #[test]
    fn what_is_not_supported_is_told_from_what_failed() {
        for errno in [Errno::NOSYS, Errno::OPNOTSUPP, Errno::INVAL, Errno::NOTTY] {
            assert!(is_unsupported(&error(errno)), "{errno}");
            assert!(has_no_locks(&error(errno)), "{errno}");
        }
        assert!(has_no_locks(&error(Errno::NOLCK)));
        assert!(
            !is_unsupported(&error(Errno::BADF)),
            "of a file it is a mistake of ours"
        );
        for errno in [
            Errno::IO,
            Errno::NOSPC,
            Errno::DQUOT,
            Errno::ROFS,
            Errno::ACCESS,
            Errno::INTR,
        ] {
            assert!(
                !is_unsupported(&error(errno)) && !has_no_locks(&error(errno)),
                "{errno}"
            );
            assert!(weaker(Err(error(errno)), |_| false).is_err(), "{errno}");
        }
    }
}

//! Files and trees: a snapshot of the working tree.
//!
//! Everything here works on one working tree and its index. What a snapshot means, where it is kept and what is shown of
//! it is decided elsewhere.

mod copy;
pub mod journal;
pub mod restore;
pub mod snapshot;

pub use copy::copy;

use std::path::Path;

use crate::os::dir::Dir;

/// Brings everything on the file systems of these directories to the disk, where the system has a call for that.
pub fn sync(directories: &[&Path]) -> Result<(), restore::Error> {
    for directory in directories {
        let dir = Dir::open(directory).map_err(restore::Error::io("open", *directory))?;
        let synced = dir.sync_file_system();
        synced.map_err(restore::Error::io("write to the disk", *directory))?;
    }
    Ok(())
}

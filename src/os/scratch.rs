//! A file for what is too large to be held in memory and is of no use to anybody else.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens an empty file in `folder` for reading and writing, readable by its owner only. Its name is gone at once where
/// the system allows that, so that nothing is left however we end.
pub fn scratch_file(directory: &Path) -> io::Result<File> {
    let path = directory.join(format!("scratch.{}", super::random_token()?));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    #[cfg(windows)]
    std::os::windows::fs::OpenOptionsExt::custom_flags(&mut options, 0x0400_0000); // FILE_FLAG_DELETE_ON_CLOSE
    let file = options.open(&path)?;
    if cfg!(unix) {
        fs::remove_file(&path)?;
    }
    Ok(file)
}

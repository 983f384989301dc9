//! A file for what is too large to be held in memory and is of no use to anybody else.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use super::system;

/// Opens an empty file in `directory` for reading and writing, readable by its owner only. Its name is gone at once where
/// the system allows that, so that nothing is left however we end.
pub fn scratch_file(directory: &Path) -> io::Result<File> {
    let path = directory.join(format!("scratch.{}", super::random_token()?));
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    system::new_mode(&mut options, 0o600);
    system::one_use(&mut options);
    let file = options.open(&path)?;
    if system::REMOVES_OPEN_FILES {
        fs::remove_file(&path)?;
    }
    Ok(file)
}

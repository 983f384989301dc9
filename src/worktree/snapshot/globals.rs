//! Files of rules that lie outside of the working tree, such as `core.excludesFile`.
//!
//! Small, read once a snapshot. Those in the working tree are read through their directories by the walk.

use std::io;
use std::path::Path;

use super::Error;

/// Whether a file is simply not there.
pub(super) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// A file of rules outside of the working tree; `None` if there is none, it is larger than `max_size` bytes, or may not
/// be read, which git takes for the same.
pub(super) fn read_rules(path: &Path, max_size: u64) -> Result<Option<Vec<u8>>, Error> {
    let read = || match std::fs::metadata(path)? {
        meta if meta.is_file() && meta.len() <= max_size => std::fs::read(path).map(Some),
        _ => Ok(None),
    };
    match read() {
        Err(source) if is_absence(&source) || source.kind() == io::ErrorKind::PermissionDenied => Ok(None),
        result => result.map_err(|source| Error::Rules {
            path: path.to_owned(),
            source,
        }),
    }
}

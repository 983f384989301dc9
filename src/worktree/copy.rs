//! Copying files from one working tree to another.

use std::io;
use std::path::Path;

use super::restore::Error;
use crate::model::path::RepoPath;
use crate::os::dir::{self, Dir, FileKind};
use crate::os::set_mode;

/// Copies files and symlinks with their permission bits. A path that is taken there is left alone, which is an error of
/// that path; no directory is reached through a symlink.
pub fn copy(from: &Path, to: &Path, paths: &[RepoPath]) -> Result<Vec<(RepoPath, io::Result<()>)>, Error> {
    let source = Dir::open(from).map_err(Error::io("open", from))?;
    let target = Dir::open(to).map_err(Error::io("open", to))?;
    let copied = paths
        .iter()
        .map(|path| (path.clone(), one(&source, &target, path.as_bytes())));
    Ok(copied.collect())
}

fn one(source: &Dir, target: &Dir, path: &[u8]) -> io::Result<()> {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    let (directory, name) = slash.map_or((&b""[..], path), |at| (&path[..at], &path[at + 1..]));
    let from = source.below(directory)?;
    let to = directory_at(target, directory)?;
    if from.stat(name)?.kind == FileKind::Link {
        return to.create_link(name, &from.link(name)?);
    }
    let mut file = from.file(name)?;
    let meta = dir::file_meta(&file)?;
    if meta.kind != FileKind::File {
        return Err(io::Error::other("it is neither a file nor a symlink"));
    }
    // Not readable by anybody it will not be readable by.
    let mut copy = to.create(name, meta.mode & 0o777)?;
    // The system shares the bytes where the file system can.
    let copied = io::copy(&mut file, &mut copy).and_then(|_| set_mode(&copy, meta.mode & 0o777));
    if copied.is_err() {
        let _ = to.remove(name);
    }
    copied
}

/// The directory, made with those above it where it is not there.
fn directory_at(root: &Dir, path: &[u8]) -> io::Result<Dir> {
    let mut dir = root.below(b"")?;
    for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        dir = match dir.directory(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                dir.create_directory(name)?;
                dir.directory(name)?
            }
            found => found?,
        };
    }
    Ok(dir)
}

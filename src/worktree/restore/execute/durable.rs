//! Files that were written, and names that came and went, brought to the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use super::ChangedPath;
use crate::model::path::RepoPath;
use crate::os::dir::Dir;
use crate::store::undo::PathState;
use crate::worktree::restore::Error;
use crate::worktree::restore::disk::{directories_above, split};

/// More directories and files than this are not synced one by one, but with all that is on their file systems.
pub(super) const SINGLE: usize = 64;

/// Brings changes to the disk; `devices` are the file systems that they are on, each with a directory on it. A file that is
/// gone or was replaced meanwhile is none of ours any more.
pub(super) fn sync(
    root: Option<&Path>,
    changes: &[ChangedPath],
    devices: &BTreeMap<u64, Vec<u8>>,
) -> Result<(), Error> {
    let Some(root_path) = root.filter(|_| !changes.is_empty()) else {
        return Ok(());
    };
    let failed = |path: &[u8]| Error::io("write to the disk", root_path.join(RepoPath::from(path).to_string()));
    let root = Dir::open(root_path).map_err(Error::io("open", root_path))?;
    if changes.len() > SINGLE && by_file_system(&root, devices.values()).map_err(failed(b""))? {
        return Ok(());
    }
    let directories: BTreeSet<&[u8]> = changes.iter().map(|change| split(change.path.as_bytes()).0).collect();
    let opened: Vec<_> = directories
        .into_iter()
        .filter_map(|directory| Some((directory, nearest(&root, directory)?)))
        .collect();
    for change in changes {
        let path = change.path.as_bytes();
        let (directory, name) = split(path);
        let is_file = matches!(change.state, PathState::File { .. });
        let at = opened.binary_search_by(|(known, _)| known.cmp(&directory));
        if let (true, Ok(at)) = (is_file, at)
            && let Ok(file) = opened[at].1.file(name)
        {
            synced(file.sync_all()).map_err(failed(path))?;
        }
    }
    for (directory, dir) in &opened {
        synced(dir.sync()).map_err(failed(directory))?;
    }
    Ok(())
}

/// A directory, or the nearest above it that is still there.
fn nearest(root: &Dir, directory: &[u8]) -> Option<Dir> {
    std::iter::once(directory)
        .chain(directories_above(directory))
        .chain([&b""[..]])
        .find_map(|directory| root.below(directory).ok())
}

/// Syncs the file systems that these directories are on. `false` where the system cannot.
fn by_file_system<'a>(root: &Dir, directories: impl Iterator<Item = &'a Vec<u8>>) -> io::Result<bool> {
    for directory in directories {
        let Some(dir) = nearest(root, directory) else {
            return Ok(false);
        };
        if !dir.sync_file_system()? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Some file systems have no such call for some kinds of files: what they promise without it is all that there is.
fn synced(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if is_unsupported(&error) => Ok(()),
        result => result,
    }
}

fn is_unsupported(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied
    )
}

//! Paths as they are on the disk, by their bytes.

use std::io;

use super::Error;
use super::content::Sum;
use super::disk::{Disk, split};
use super::paths::FileSystem;
use super::proof::sum_of;
use crate::model::id::Digest;
use crate::model::path::RepoPath;
use crate::os::dir::{self, Dir, FileKind};
use crate::store::Repository;
use crate::store::undo::PathState;
use crate::worktree::snapshot::settings::SnapshotSettings;

/// The digest of a file or of the text of a symlink.
pub(super) fn digest(sum: &Sum) -> Digest {
    let mut text = String::from("sha256:");
    for byte in sum {
        text.push_str(&format!("{byte:02x}"));
    }
    Digest::parse(text).expect("64 hexadecimal digits")
}

/// The states of these paths on the disk, in their order; `None` for what is neither a file, a symlink nor a directory.
pub fn states<'p>(
    repo: &Repository,
    paths: impl IntoIterator<Item = &'p RepoPath>,
) -> Result<Vec<Option<PathState>>, Error> {
    let root = repo.workdir().ok_or_else(|| Error::Bare {
        path: repo.git_dir().to_owned(),
    })?;
    let dir = Dir::open(root).map_err(Error::io("open", root))?;
    let mut disk = Disk::open(root, FileSystem::of(SnapshotSettings::of(repo)?.ignore_case))?;
    let mut known = None;
    let states = paths.into_iter().map(|path| {
        let state = state(&dir, &mut known, path.as_bytes());
        // Found by another name than its own, it is not there.
        let state = match state {
            Ok(Some(PathState::Absent)) => Ok(Some(PathState::Absent)),
            state if disk.is_exact(path.as_bytes()).unwrap_or(true) => state,
            _ => Ok(Some(PathState::Absent)),
        };
        state.map_err(Error::io("read", root.join(path.to_string())))
    });
    states.collect()
}

fn state(root: &Dir, known: &mut Option<(Vec<u8>, Dir)>, path: &[u8]) -> io::Result<Option<PathState>> {
    let (directory, name) = split(path);
    if known.as_ref().is_none_or(|(known, _)| known != directory) {
        *known = match root.below(directory) {
            Ok(dir) => Some((directory.to_vec(), dir)),
            Err(error) if is_gone(&error) => return Ok(Some(PathState::Absent)),
            Err(error) => return Err(error),
        };
    }
    let Some((_, dir)) = known else { return Ok(None) };
    let meta = match dir.stat(name) {
        Err(error) if is_gone(&error) => return Ok(Some(PathState::Absent)),
        meta => meta?,
    };
    Ok(match meta.kind {
        FileKind::Directory => Some(PathState::Directory),
        FileKind::Link => Some(PathState::Symlink {
            digest: Digest::of(&dir.link(name)?),
        }),
        FileKind::File => {
            let file = dir.file(name)?;
            let meta = dir::file_meta(&file)?;
            let digest = digest(&sum_of(&file, meta.size)?);
            Some(PathState::File {
                bits: meta.mode & 0o7777,
                digest,
            })
        }
        _ => None,
    })
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

//! Repositories in the working tree: submodules and others. They are distinguished from plain directories as git does,
//! and only the commit they are at is read.

use std::io;
use std::path::{Path, PathBuf};

use super::walk::WalkContext;
use crate::os::dir::{Dir, DirNames};
use crate::store::{self, ObjectId, Repository};

/// Kind of a directory that may be a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nested {
    /// A repository at a commit.
    At(ObjectId),
    /// A repository without commits.
    Without,
    /// A repository whose commit cannot be determined: with other ids than this one's, or broken.
    Unknown,
    /// A plain directory.
    No {
        /// Whether nothing is in it.
        empty: bool,
    },
}

/// Looks at the directory `name` of `dir`, whose path from the root is `path`.
pub(super) fn look(repo: &Repository, dir: &Dir, name: &[u8], path: &[u8], ground: &WalkContext<'_>) -> Nested {
    let mut names = DirNames::default();
    match dir
        .directory(name)
        .and_then(|directory| directory.read(&mut names).map(|()| directory))
    {
        Ok(directory) if names.find(b".git").is_some() => match inside(repo, &directory, path, ground) {
            Nested::No { .. } => Nested::No { empty: false },
            nested => nested,
        },
        Ok(_) => Nested::No {
            empty: names.is_empty(),
        },
        Err(_) => Nested::Unknown,
    }
}

/// Looks at a directory that has a `.git` of any kind.
pub(super) fn inside(repo: &Repository, _dir: &Dir, path: &[u8], ground: &WalkContext<'_>) -> Nested {
    let Ok(relative) = gix::path::from_byte_slice(path) else {
        return Nested::Unknown;
    };
    let git_dir = match git_dir(&ground.root.join(relative).join(".git")) {
        Ok(Some(git_dir)) => git_dir,
        Ok(None) => return Nested::No { empty: false },
        Err(_) => return Nested::Unknown,
    };
    let Ok(nested) = gix::open_opts(
        git_dir,
        gix::open::Options::isolated().config_overrides([store::BESIDE]),
    ) else {
        return Nested::Unknown;
    };
    if nested.object_hash() != repo.object_hash() {
        return Nested::Unknown;
    }
    if store::uses_reftable(&nested) {
        return head_by_git(&nested);
    }
    match nested.head().map(|mut head| head.try_peel_to_id()) {
        Ok(Ok(Some(id))) => Nested::At(id.detach()),
        Ok(Ok(None)) => Nested::Without,
        _ => Nested::Unknown,
    }
}

/// The commit of a repository whose refs gix cannot read.
fn head_by_git(nested: &Repository) -> Nested {
    let asked = store::git(nested)
        .args(["rev-parse", "--verify", "--quiet", "HEAD"])
        .accept([0, 1])
        .text();
    match asked {
        Ok(text) if text.trim().is_empty() => Nested::Without,
        Ok(text) => ObjectId::from_hex(text.trim().as_bytes()).map_or(Nested::Unknown, Nested::At),
        Err(_) => Nested::Unknown,
    }
}

/// The repository that a `.git` file, directory or link represents; `None` if it represents none, an error if that
/// cannot be determined, as for git.
fn git_dir(dot_git: &Path) -> io::Result<Option<PathBuf>> {
    let meta = match std::fs::metadata(dot_git) {
        Ok(meta) => meta,
        // A link to nowhere.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if meta.is_dir() {
        return Ok(is_git_dir(dot_git).then(|| dot_git.to_owned()));
    }
    if !meta.is_file() {
        return Ok(None);
    }
    std::fs::File::open(dot_git)?;
    let target = gix::discover::path::from_gitdir_file(dot_git).ok();
    Ok(target.filter(|target| is_git_dir(target)))
}

fn is_git_dir(path: &Path) -> bool {
    gix::discover::is_git(path).is_ok()
}

/// Device and number of the repository's directories, if they lie in the working tree elsewhere than in its `.git`.
pub(super) fn own_directories(repo: &Repository, root: &Path) -> Vec<(u64, u64)> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let root = real(root);
    let usual = root.join(".git");
    let mut directories: Vec<_> = [repo.git_dir(), repo.common_dir()].map(real).into();
    directories.dedup();
    let inside = directories
        .into_iter()
        .filter(|directory| directory.starts_with(&root) && !directory.starts_with(&usual));
    inside
        .filter_map(|directory| Dir::open(&directory).and_then(|dir| dir.meta()).ok())
        .map(|meta| (meta.dev, meta.ino))
        .collect()
}

//! Where things are in an open repository: object directories, our own directories, the working tree and its name; and a git child
//! that sees the same ones.

use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice;

use super::{Error, OpenEnvironment, Repository};
use crate::git::{Git, OF_ONE_REPOSITORY};
use crate::os::{self, Sharing};

/// The object directory that new objects go to.
pub(crate) fn objects_dir(repo: &Repository) -> PathBuf {
    object_dirs(repo).0
}

/// The object directories that the environment named next to the first.
pub(crate) fn further_object_dirs(repo: &Repository) -> Vec<PathBuf> {
    object_dirs(repo).1
}

/// The object directory that new objects go to, and those next to it that the environment named.
fn object_dirs(repo: &Repository) -> (PathBuf, Vec<PathBuf>) {
    let path = repo.objects.store_ref().path().to_owned();
    if !path.starts_with(repo.common_dir().join("checkpoint")) {
        return (path, Vec::new());
    }
    let text = std::fs::read(path.join("info").join("alternates")).unwrap_or_default();
    let mut directories = text
        .lines()
        .filter_map(|line| gix::path::from_byte_slice(line).ok())
        .map(Path::to_owned);
    (directories.next().unwrap_or(path), directories.collect())
}

/// The mark of a repository that [`super::open_beside`] opened; only a section that was given by ourselves counts.
pub(super) const BESIDE: &str = "gitcheckpoint.beside";

/// Whether [`super::open_beside`] opened it.
fn is_beside(repo: &Repository) -> bool {
    let config = repo.config_snapshot();
    let by_us = |meta: &gix::config::file::Metadata| meta.source == gix::config::Source::Api;
    config.plumbing().string_filter(BESIDE, by_us).is_some()
}

/// A git child on this repository, with the same working tree and object directories, in the root of the working tree.
pub fn git(repo: &Repository) -> Git {
    git_in(repo, repo.git_dir())
}

/// The same with another directory of git's.
pub(super) fn git_in(repo: &Repository, git_dir: &Path) -> Git {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut git = Git::at(absolute(git_dir));
    if let Some(root) = repo.workdir() {
        git = git.work_tree(absolute(root));
    }
    if is_beside(repo) {
        git = git.own_settings();
    }
    let (objects, alternates) = object_dirs(repo);
    if objects != repo.common_dir().join("objects") || git_dir != repo.git_dir() {
        git = git.objects(absolute(&objects));
    }
    if !alternates.is_empty()
        && let Ok(list) = std::env::join_paths(&alternates)
    {
        git = git.alternates(list);
    }
    git
}

/// The variables of the environment that a program of the user's must not see when it works on this repository.
pub fn foreign_variables(repo: &Repository) -> &'static [&'static str] {
    if is_beside(repo) { OF_ONE_REPOSITORY } else { &[] }
}

/// The repository's own directory: of a linked working tree its private one.
pub fn git_dir(repo: &Repository) -> &Path {
    repo.git_dir()
}

/// The root of the working tree, or [`Error::Bare`].
pub fn work_tree(repo: &Repository) -> Result<&Path, Error> {
    repo.workdir().ok_or_else(|| Error::Bare {
        path: repo.git_dir().to_owned(),
    })
}

/// Whether there is a working tree.
pub fn has_work_tree(repo: &Repository) -> bool {
    repo.workdir().is_some()
}

/// Whether there is a working tree to be read. A bare repository has none; in the directory of a repository that has one,
/// what says nothing of its files would be taken for "clean", so that it fails there, as git does.
pub fn has_files(repo: &Repository) -> Result<bool, Error> {
    if has_work_tree(repo) {
        return Ok(true);
    }
    let is_bare = repo.config_snapshot().boolean("core.bare") == Some(true);
    // That of a linked working tree is bare only in the settings that it shares.
    if is_bare && repo.git_dir() == repo.common_dir() {
        return Ok(false);
    }
    work_tree(repo).map(|_| true)
}

/// Whether refs lie in reftables, which gix can neither read nor write.
pub fn uses_reftable(repo: &Repository) -> bool {
    repo.config_snapshot()
        .string("extensions.refStorage")
        .is_some_and(|value| value == "reftable")
}

/// The name of this working tree in refs: `main`, or `linked-` and git's own name for it.
pub fn worktree_id(repo: &Repository) -> String {
    if repo.git_dir() == repo.common_dir() {
        return "main".to_owned();
    }
    if let Some(name) = stands_for(repo.git_dir()) {
        return name;
    }
    let name = repo
        .git_dir()
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    format!("linked-{name}")
}

/// The file in the git directory of a repository that has lost its HEAD: the name of the working tree.
pub(super) const STANDS_FOR: &str = "git-checkpoint-worktree";

/// The name of the working tree of a git directory that replaces a real one; `None` for a real one.
fn stands_for(git_dir: &Path) -> Option<String> {
    let name = os::read_regular(&git_dir.join(STANDS_FOR)).ok()?;
    String::from_utf8(name).ok()
}

/// The names of all working trees of this repository, `main` first.
pub fn worktree_ids(repo: &Repository) -> Vec<String> {
    let entries = std::fs::read_dir(repo.common_dir().join("worktrees"));
    let mut linked: Vec<_> = entries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| format!("linked-{}", entry.file_name().to_string_lossy()))
        .collect();
    linked.sort();
    linked.insert(0, "main".to_owned());
    linked
}

/// The root of a working tree of this repository by that name; `None` if there is none of the name.
pub fn worktree_path(repo: &Repository, id: &str) -> Option<PathBuf> {
    let Some(name) = id.strip_prefix("linked-") else {
        let main = repo.main_repo().ok().filter(|_| id == "main")?;
        return main.workdir().map(Path::to_owned);
    };
    let text = std::fs::read(repo.common_dir().join("worktrees").join(name).join("gitdir")).ok()?;
    let dot_git = gix::path::from_byte_slice(text.trim_end()).ok()?;
    dot_git.parent().map(Path::to_owned)
}

/// Whom the repository is shared with, from `core.sharedRepository`.
pub fn sharing(repo: &Repository) -> Sharing {
    let value = repo
        .config_snapshot()
        .string("core.sharedRepository")
        .unwrap_or_default();
    let text = value.to_str_lossy();
    let owner = os::Owner::other_than_root(repo.common_dir());
    let bits = |bits, exact| Sharing { bits, exact, owner };
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" | "group" => bits(0o660, false),
        "2" | "all" | "world" | "everybody" => bits(0o664, false),
        other => match u32::from_str_radix(other, 8) {
            // git ignores what would lock out the owner.
            Ok(mode) if mode > 2 && mode & 0o600 == 0o600 => bits(mode & 0o666, true),
            _ => bits(0, false),
        },
    }
}

/// Our directory in the common git directory, `checkpoint`, created when missing: locks, drafts, notes.
pub fn private_dir(repo: &Repository) -> Result<PathBuf, Error> {
    ensure(repo, repo.common_dir())
}

/// Our directory in this working tree's own git directory, created when missing; the same as [`private_dir`] in the main one.
pub fn worktree_private_dir(repo: &Repository) -> Result<PathBuf, Error> {
    ensure(repo, repo.git_dir())
}

/// Where [`private_dir`] is, whether it exists or not: for reading.
pub fn private_path(repo: &Repository) -> PathBuf {
    repo.common_dir().join("checkpoint")
}

/// Where [`worktree_private_dir`] is, whether it exists or not: for reading.
pub fn worktree_private_path(repo: &Repository) -> PathBuf {
    repo.git_dir().join("checkpoint")
}

/// The private directories of all working trees that have one, this one's among them.
pub fn private_paths(repo: &Repository) -> Vec<PathBuf> {
    let linked = std::fs::read_dir(repo.common_dir().join("worktrees")).into_iter();
    let linked = linked.flatten().flatten().map(|entry| entry.path().join("checkpoint"));
    let mut all: Vec<_> = std::iter::once(private_path(repo)).chain(linked).collect();
    all.retain(|path| path.is_dir());
    all.sort();
    all
}

fn ensure(repo: &Repository, parent: &Path) -> Result<PathBuf, Error> {
    own_directory(repo, parent.join("checkpoint"))
}

/// A directory of ours, created when missing. Anything else with its name is reported, with a remedy.
pub(crate) fn own_directory(repo: &Repository, path: PathBuf) -> Result<PathBuf, Error> {
    match os::private_dir(&path, sharing(repo)) {
        Ok(()) => {
            os::notices::keep_in(&path);
            Ok(path)
        }
        Err(error) => Err(obstacle(&path).unwrap_or_else(|| Error::io("create", path)(error))),
    }
}

/// Obstacle at the path of a directory of ours: anything that is not a directory.
pub(crate) fn obstacle(path: &Path) -> Option<Error> {
    let kind = std::fs::symlink_metadata(path).ok()?.file_type();
    if kind.is_dir() {
        return None;
    }
    let what = match (kind.is_symlink(), path.exists()) {
        (true, true) => "a link",
        (true, false) => "a link that leads nowhere",
        _ => "not a directory",
    };
    Some(Error::Obstacle {
        path: path.to_owned(),
        what,
    })
}

/// Whether the working tree is the user's home directory or the root of the file system: nearly always a mistake, and a
/// snapshot would take in everything.
pub fn is_home_or_root(repo: &Repository, environment: &OpenEnvironment) -> bool {
    let Some(root) = repo.workdir() else {
        return false;
    };
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let root = real(root);
    root.parent().is_none() || environment.path("HOME").is_some_and(|home| real(&home) == root)
}

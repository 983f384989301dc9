//! Where the repository is: named by the environment, or found at or above the current directory.

use std::path::{Path, PathBuf};

use crate::store::{Error, OpenEnvironment};

/// A repository that was named or found.
pub(super) struct RepositoryLocation {
    /// The working tree or the repository.
    pub(super) path: PathBuf,
    /// Whether it was searched for rather than named.
    pub(super) searched: bool,
}

/// The current directory, where the search would end at once: to search is to read half of what opening reads anyhow.
pub(super) fn here(environment: &OpenEnvironment) -> Option<RepositoryLocation> {
    let path = environment.cwd.clone();
    let is_it = environment.path("GIT_DIR").is_none() && path.join(".git").is_dir();
    is_it.then_some(RepositoryLocation { path, searched: true })
}

/// The repository that the environment names, else the one that the current directory is in.
pub(super) fn locate(environment: &OpenEnvironment) -> Result<RepositoryLocation, Error> {
    if let Some(path) = environment.path("GIT_DIR") {
        // `..` is for the file system: after a symlink it leads elsewhere than the text says.
        let climbs = path.components().any(|part| part == std::path::Component::ParentDir);
        let real = climbs.then(|| path.canonicalize().ok()).flatten();
        return Ok(RepositoryLocation {
            path: real.unwrap_or(path),
            searched: false,
        });
    }
    let options = gix::discover::upwards::Options {
        // Whom to trust is decided after opening, with the settings at hand.
        trust: gix::discover::upwards::TrustPolicy::Required(gix::sec::Trust::Reduced),
        ceiling_dirs: ceilings(environment),
        match_ceiling_dir_or_error: false,
        cross_fs: environment.flag("GIT_DISCOVERY_ACROSS_FILESYSTEM").unwrap_or(false),
        dot_git_only: false,
        current_dir: Some(&environment.cwd),
    };
    match gix::discover::upwards_opts(&environment.cwd, options) {
        Ok((path, _trust)) => {
            let (git_dir, work_tree) = path.into_repository_and_work_tree_directories();
            let path = work_tree.filter(|root| root.join(".git").exists()).unwrap_or(git_dir);
            Ok(RepositoryLocation {
                path: environment.cwd.join(path),
                searched: true,
            })
        }
        Err(source) if is_absence(&source) => Err(absence(&environment.cwd)),
        Err(source) => Err(Error::gix(format!(
            "search a repository at '{}'",
            environment.cwd.display()
        ))(source)),
    }
}

/// That there is no repository at or above a directory. One that lost its HEAD is another thing than none.
pub(super) fn absence(start: &Path) -> Error {
    let is_headless = |git_dir: &PathBuf| {
        let has = |name: &str| git_dir.join(name).is_dir();
        let is_linked = || git_dir.join("commondir").is_file() && git_dir.join("gitdir").is_file();
        (has("objects") && has("refs") || is_linked()) && git_dir.join("HEAD").symlink_metadata().is_err()
    };
    // In a linked working tree `.git` is a file that names the directory.
    let named = |dot_git: PathBuf| {
        let text = crate::os::read_regular(&dot_git).ok();
        let path = text.as_deref().and_then(|text| text.strip_prefix(b"gitdir: "));
        let above = dot_git.parent().unwrap_or(&dot_git);
        let path = path.and_then(|path| gix::path::from_byte_slice(path.trim_ascii_end()).ok());
        path.map_or_else(|| dot_git.clone(), |path| above.join(path))
    };
    let here = [start.to_owned()].into_iter();
    match here
        .chain(start.ancestors().map(|above| named(above.join(".git"))))
        .find(is_headless)
    {
        Some(path) => Error::NoHead { path },
        None => Error::NotARepository {
            start: start.to_owned(),
        },
    }
}

fn is_absence(error: &gix::Error) -> bool {
    matches!(
        error.downcast_any_ref::<gix::discover::upwards::Error>(),
        Some(
            gix::discover::upwards::Error::NoGitRepository { .. }
                | gix::discover::upwards::Error::NoGitRepositoryWithinCeiling { .. }
                | gix::discover::upwards::Error::NoGitRepositoryWithinFs { .. }
        )
    )
}

/// The directories of `GIT_CEILING_DIRECTORIES`, links resolved as git does up to an empty entry.
fn ceilings(environment: &OpenEnvironment) -> Vec<PathBuf> {
    let Some(value) = environment.get("GIT_CEILING_DIRECTORIES") else {
        return Vec::new();
    };
    let mut resolve = true;
    let mut directories = Vec::new();
    for directory in std::env::split_paths(value) {
        if directory.as_os_str().is_empty() {
            resolve = false;
        } else if directory.is_absolute() {
            let real = if resolve { directory.canonicalize().ok() } else { None };
            directories.push(real.unwrap_or(directory));
        }
    }
    directories
}

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
        // `..` is for the file system: after a symlink it leads elsewhere than by the text.
        let climbs = path.components().any(|part| part == std::path::Component::ParentDir);
        let real = climbs.then(|| path.canonicalize().ok()).flatten();
        return Ok(RepositoryLocation {
            path: real.unwrap_or(path),
            searched: false,
        });
    }
    let ceiling = ceiling(environment);
    let is_here = |path: &Path| gix::discover::is_git(path).is_ok();
    // git looks at what is below a ceiling and never at the ceiling itself, which is the last that gix looks at.
    let lowest = ceiling.as_ref().and_then(|ceiling| below(ceiling, &environment.cwd));
    let is_only_here = lowest.as_ref().is_some_and(|lowest| *lowest == real(&environment.cwd));
    if is_only_here && !is_here(&environment.cwd.join(".git")) && !is_here(&environment.cwd) {
        return Err(absence(&environment.cwd, ceiling.as_deref()));
    }
    let options = gix::discover::upwards::Options {
        // Whom to trust is decided after opening, with the settings at hand.
        trust: gix::discover::upwards::TrustPolicy::Required(gix::sec::Trust::Reduced),
        ceiling_dirs: lowest.into_iter().collect(),
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
        Err(source) if is_absence(&source) => Err(absence(&environment.cwd, ceiling.as_deref())),
        Err(source) => Err(Error::gix(format!(
            "search a repository at '{}'",
            environment.cwd.display()
        ))(source)),
    }
}

/// That there is no repository at or above a directory, as far as a ceiling allows. One that lost its HEAD is another thing
/// than none.
pub(super) fn absence(start: &Path, ceiling: Option<&Path>) -> Error {
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
    let start_is = real(start);
    let above = start_is.ancestors().take_while(|above| Some(*above) != ceiling);
    let headless = here
        .chain(above.map(|above| named(above.join(".git"))))
        .find(is_headless);
    if let Some(path) = headless {
        return Error::NoHead { path };
    }
    // What cannot be opened is not known to be absent.
    match crate::os::out_of_files() {
        Some(source) => Error::io("search for a repository at", start)(source),
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

/// The nearest directory of `GIT_CEILING_DIRECTORIES` above the current one, by the rules of git: an entry that is relative,
/// or that is the current directory itself, counts for nothing; links are resolved up to an empty entry, and after it the
/// text is taken as it is.
fn ceiling(environment: &OpenEnvironment) -> Option<PathBuf> {
    let value = environment.get("GIT_CEILING_DIRECTORIES")?;
    let start = real(&environment.cwd);
    let mut resolve = true;
    let mut nearest: Option<PathBuf> = None;
    for entry in std::env::split_paths(value) {
        if entry.as_os_str().is_empty() {
            resolve = false;
            continue;
        }
        if !entry.is_absolute() {
            continue;
        }
        let entry = if resolve {
            let Ok(entry) = entry.canonicalize() else { continue };
            entry
        } else {
            entry
        };
        // As texts, in which only one slash at the end is nothing: git finds no directory in '/a//' or '/a/../b'.
        let text = entry.as_os_str().as_encoded_bytes();
        let is_it = |above: &Path| {
            let above = above.as_os_str().as_encoded_bytes();
            above == text || (above != b"/" && text.strip_suffix(b"/") == Some(above))
        };
        let Some(found) = start.ancestors().find(|above| *above != start && is_it(above)) else {
            continue;
        };
        let depth = |path: &Path| path.components().count();
        if nearest.as_deref().is_none_or(|nearest| depth(found) > depth(nearest)) {
            nearest = Some(found.to_owned());
        }
    }
    nearest
}

/// The directory on the way from one to another below it that is the next one.
fn below(above: &Path, directory: &Path) -> Option<PathBuf> {
    let directory = real(directory);
    let next = directory.strip_prefix(above).ok()?.components().next()?;
    Some(above.join(next))
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

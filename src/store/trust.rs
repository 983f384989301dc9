//! Whether the user has declared another user's repository safe, by git's rules for `safe.directory`.
//!
//! gix looks at the system's and the user's files only. git also takes the setting from the command line and the
//! environment, and that is how containers and CI give it. In neither case from the repository itself.

use std::path::{Path, PathBuf};

use gix::bstr::ByteSlice;
use gix::config::source::Kind;

use super::Repository;

/// Whether a value of `safe.directory` covers the repository; a later empty one takes back all before it.
///
/// `here` is the directory that the command runs in, `home` that of the user.
pub(super) fn declared_safe(repo: &Repository, here: &Path, home: Option<&Path>) -> bool {
    declared_safe_at(repo, repo.workdir().unwrap_or_else(|| repo.git_dir()), here, home)
}

/// The same of another directory, by the settings that count in `repo`.
pub(super) fn declared_safe_at(repo: &Repository, place: &Path, here: &Path, home: Option<&Path>) -> bool {
    let config = repo.config_snapshot();
    let outside = |meta: &gix::config::file::Metadata| meta.source.kind() != Kind::Repository;
    let values = config.plumbing().strings_filter("safe.directory", outside);
    let place = real(place);
    let mut safe = false;
    for value in values.unwrap_or_default() {
        match value.to_str_lossy().as_ref() {
            "" => safe = false,
            "*" => safe = true,
            "." => safe |= place == real(here),
            text => safe |= covers(text, &place, home),
        }
    }
    safe
}

/// Whether a directory belongs to the user, or is not there yet: git's question before it opens a repository.
pub(super) fn is_own(place: &Path) -> bool {
    !place.exists() || gix::sec::identity::is_path_owned_by_current_user(place).unwrap_or(false)
}

fn covers(text: &str, place: &Path, home: Option<&Path>) -> bool {
    let path = match (text.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(text),
    };
    if !path.is_absolute() {
        return false;
    }
    match path.to_str().and_then(|text| text.strip_suffix("/*")) {
        Some(above) => place.starts_with(real(Path::new(above))),
        None => real(&path) == place,
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

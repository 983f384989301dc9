//! Where git is.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The full path of git: the first executable of that name in a directory of `PATH` that is absolute, so that a program
/// lying in the current directory is never run.
pub(super) fn path() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    #[expect(
        clippy::disallowed_methods,
        reason = "a child inherits the environment, so it is looked up in the same one"
    )]
    let find_git = || find(&std::env::var_os("PATH")?);
    FOUND.get_or_init(find_git).as_deref()
}

/// The variables of the environment that make git write traces to standard error. Those to a file stay.
pub(super) fn traces_to_standard_error() -> Vec<OsString> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a child inherits the environment, so it is looked up in the same one"
    )]
    let variables = std::env::vars_os();
    variables
        .filter(|(name, value)| is_trace(name, value))
        .map(|(name, _)| name)
        .collect()
}

/// Whether the user chose a program that ssh asks for a password.
#[expect(
    clippy::disallowed_methods,
    reason = "a child inherits the environment, so it is looked up in the same one"
)]
pub(super) fn has_askpass() -> bool {
    std::env::var_os("SSH_ASKPASS").is_some_and(|program| !program.is_empty())
}

fn is_trace(name: &OsStr, value: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let is_of_trace = name.starts_with(b"GIT_TRACE") || name == b"GIT_CURL_VERBOSE";
    let is_place = Path::new(value).is_absolute() || value.as_encoded_bytes().starts_with(b"af_unix:");
    // These only say what of a trace is shown.
    let is_detail = name.ends_with(b"_BRIEF") || name.ends_with(b"_REDACT") || name.ends_with(b"_NESTING");
    is_of_trace && !is_place && !is_detail
}

fn find(path: &OsStr) -> Option<PathBuf> {
    let name = format!("git{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(&name))
        .find(|file| crate::os::is_executable(file))
}

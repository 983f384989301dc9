//! Where git is.

use std::ffi::OsStr;
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

fn find(path: &OsStr) -> Option<PathBuf> {
    let name = format!("git{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(&name))
        .find(|file| executable(file))
}

fn executable(file: &Path) -> bool {
    #[cfg(unix)]
    let runs =
        |metadata: &std::fs::Metadata| std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let runs = |_: &std::fs::Metadata| true;
    std::fs::metadata(file).is_ok_and(|metadata| metadata.is_file() && runs(&metadata))
}

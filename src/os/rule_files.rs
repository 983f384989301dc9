//! Where git looks for files of rules outside of repositories when no setting names them.
//!
//! Read from the environment here and not passed down, because the library that reads git's settings does the same.

use std::ffi::OsString;
use std::path::PathBuf;

use super::system::HOMES;

/// The file `name` (`ignore`, `attributes`) in git's directory of the user's configuration; it need not exist.
pub fn user_rules(name: &str) -> Option<PathBuf> {
    let directory = variable("XDG_CONFIG_HOME").map(PathBuf::from);
    let directory = directory.or_else(|| home().map(|home| home.join(".config")));
    Some(directory?.join("git").join(name))
}

fn home() -> Option<PathBuf> {
    HOMES.iter().find_map(|name| variable(name)).map(PathBuf::from)
}

/// The attributes of the whole machine, unless the environment excludes them; the file need not exist.
pub fn system_attributes() -> Option<PathBuf> {
    let left_out = variable("GIT_ATTR_NOSYSTEM").is_some_and(|value| value != "0" && value != "false");
    (!left_out).then(|| PathBuf::from("/etc/gitattributes"))
}

#[expect(clippy::disallowed_methods, reason = "the one reader of these variables")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

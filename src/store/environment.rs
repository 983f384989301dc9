//! Inputs of the discovery of a repository.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use gix::bstr::ByteSlice;

use super::EncryptedSessions;

/// Inputs of repository discovery: the current directory and the environment.
#[derive(Debug, Clone, Default)]
pub struct OpenEnvironment {
    /// The current directory, absolute.
    pub cwd: PathBuf,
    /// The variables; only those named `GIT_*` and `HOME` are looked at.
    pub vars: BTreeMap<OsString, OsString>,
    /// Whether the variables of this process are of another place: those that name a working tree or an index there do
    /// not count here.
    pub is_elsewhere: bool,
    /// Whether `GIT_INDEX_FILE` of this process does not count.
    pub ignores_index: bool,
    /// Encrypted sessions that are known from other handles.
    pub encrypted: EncryptedSessions,
}

impl OpenEnvironment {
    /// The value of a variable; git takes an empty one for these as not set.
    pub(super) fn get(&self, name: &str) -> Option<&OsStr> {
        self.vars
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
            .filter(|value| !value.is_empty())
    }

    /// A variable that names a file or directory, made absolute.
    pub(super) fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(|value| self.cwd.join(value))
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        let value = self.get(name)?.to_str()?;
        gix::config::Boolean::try_from(value.as_bytes().as_bstr().to_owned())
            .ok()
            .map(|boolean| boolean.0)
    }
}

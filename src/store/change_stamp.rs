//! Whether HEAD or the index changed while something else was read.

use std::{fs, path::Path, time::SystemTime};

use gix::bstr::ByteSlice as _;

use super::{
    Error, Repository,
    refs::{self, Head},
};

/// Stamp of HEAD and the index. Equal stamps before and after a read mean that both are unchanged, as far as file times
/// show; git replaces the whole index file, so a change also shows in its identity.
#[derive(Debug, PartialEq, Eq)]
pub struct RepositoryStamp {
    head: Head,
    index: Option<(u64, SystemTime, u64)>,
}

/// Takes a stamp. `index` is the index file when it is not the working tree's own.
pub fn stamp(repo: &Repository, index: Option<&Path>) -> Result<RepositoryStamp, Error> {
    let path = index.map_or_else(|| repo.index_path(), Path::to_owned);
    let index = match fs::metadata(&path) {
        Ok(metadata) => {
            let modified = metadata.modified().map_err(Error::io("read", &path))?;
            Some((metadata.len(), modified, crate::os::file_id(&metadata)))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(Error::io("read", path)(error)),
    };
    Ok(RepositoryStamp {
        head: refs::head(repo)?,
        index,
    })
}

/// Remotes that mirror every ref, so that a push or fetch publishes or deletes checkpoints.
pub fn mirrors(repo: &Repository) -> Vec<String> {
    let config = repo.config_snapshot();
    let mirrors = |name: &str| {
        let fetched = config.string(format!("remote.{name}.fetch").as_str());
        config.boolean(format!("remote.{name}.mirror").as_str()) == Some(true)
            || fetched.is_some_and(|spec| spec.trim_start_with(|c| c == '+').starts_with(b"refs/*"))
    };
    let names = repo.remote_names();
    names
        .iter()
        .map(ToString::to_string)
        .filter(|name| mirrors(name))
        .collect()
}

//! Whether HEAD, the index or the sessions changed while something else was read.

use std::{
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::Path,
    time::SystemTime,
};

use gix::bstr::ByteSlice as _;

use super::{
    Error, Repository, paths,
    refs::{self, Head},
    session, worktree_private_path,
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

/// Stamp of all sessions: where their refs point, what waits in drafts and chats, and which session is current. Equal
/// stamps of one process mean that nothing changed that a view of sessions shows. Reads no object.
pub fn session_stamp(repo: &Repository) -> Result<u64, Error> {
    let mut hasher = DefaultHasher::new();
    for (name, target) in refs::list_unproved(repo, session::PREFIX)? {
        (name, target.ok()).hash(&mut hasher);
    }
    let drafts = fs::read_dir(paths::private_path(repo).join("drafts"));
    let mut files: Vec<_> = drafts
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| {
            let metadata = entry.metadata().ok();
            let times = metadata.map(|metadata| (metadata.len(), metadata.modified().ok()));
            (entry.file_name(), times)
        })
        .collect();
    files.sort();
    files.hash(&mut hasher);
    let current = fs::read(worktree_private_path(repo).join("current")).ok();
    current.hash(&mut hasher);
    Ok(hasher.finish())
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

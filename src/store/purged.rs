//! Checkpoints that were purged here as a whole, by the digests that they had, in `<common>/checkpoint/purged`.
//!
//! The checkpoint after or before a purged one names it. Where another state of the session took the place of that one,
//! the purged one would come back unseen without this list. Of this clone alone.

use std::collections::BTreeSet;
use std::io;

use super::{Error, Repository, private_dir, private_path, sharing};
use crate::{model::id::Digest, os};

/// The name of the list.
const LIST: &str = "purged";

/// The digests of purged checkpoints. A line that is no digest is left out: the list only warns.
pub fn read(repo: &Repository) -> Result<BTreeSet<Digest>, Error> {
    let path = private_path(repo).join(LIST);
    match os::read_regular(&path) {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            Ok(text.lines().filter_map(|line| Digest::parse(line).ok()).collect())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeSet::new()),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// Adds digests. The locks of a purge are held, so that no other one adds some meanwhile.
pub fn add<'d>(repo: &Repository, digests: impl Iterator<Item = &'d Digest>) -> Result<(), Error> {
    let mut all = read(repo)?;
    let known = all.len();
    all.extend(digests.cloned());
    if all.len() == known {
        return Ok(());
    }
    let mut text = String::new();
    for digest in &all {
        text.push_str(digest.as_str());
        text.push('\n');
    }
    let path = private_dir(repo)?.join(LIST);
    os::replace(&path, text.as_bytes(), sharing(repo), true).map_err(Error::io("write", path))
}

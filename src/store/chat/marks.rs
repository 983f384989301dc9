//! Where the readings of agents' session files ended, one private file a session, and the locks that order readings.

use std::{path::PathBuf, time::Duration};

use super::super::{
    Error, Repository, encryption, lock, paths::own_directory, private_dir, session_recipients, sharing,
};
use crate::os;

/// The lock that spans looking for known messages to adding new ones.
pub fn lock_transcripts(repo: &Repository, session: &str, wait: Duration) -> Result<lock::HeldLock, Error> {
    let name = format!("transcripts-{}", lock::file_name(session));
    lock::common(repo, &name, &format!("the chat of session '{session}'"), wait)
}

/// The lock that spans reading where the last reading ended to writing where this one did.
pub fn lock_reading(repo: &Repository, session: &str, wait: Duration) -> Result<lock::HeldLock, Error> {
    let name = format!("reading-{}", lock::file_name(session));
    lock::common(repo, &name, &format!("the transcripts of session '{session}'"), wait)
}

fn path(repo: &Repository, session: &str) -> Result<PathBuf, Error> {
    let name = format!("{}.json", lock::file_name(session));
    Ok(own_directory(repo, private_dir(repo)?.join("transcripts"))?.join(name))
}

/// The content of a session's file of places; empty when there is none, or none that can be read here.
pub fn read_marks(repo: &Repository, session: &str) -> Result<Vec<u8>, Error> {
    let path = path(repo, session)?;
    match os::read_regular(&path) {
        Ok(bytes) => Ok(encryption::decrypted(repo, bytes).unwrap_or_default()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// Replaces it. Not synced: what is lost is read again.
pub fn write_marks(repo: &Repository, session: &str, bytes: &[u8]) -> Result<(), Error> {
    let path = path(repo, session)?;
    let sealed = session_recipients::of_session(repo, session)?.map(|encryptor| encryptor.encrypt(bytes));
    let sealed = sealed.transpose()?;
    let bytes = sealed.as_deref().unwrap_or(bytes);
    os::replace(&path, bytes, sharing(repo), false).map_err(Error::io("write", &path))
}

/// Removes what is kept of the readings of a session that is purged.
pub(super) fn forget_readings(repo: &Repository, session: &str) {
    if let Ok(path) = path(repo, session) {
        let _ = std::fs::remove_file(path);
    }
}

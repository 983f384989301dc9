//! Who what belongs to a session is encrypted to: those of its latest checkpoint here, or of the settings.

use std::sync::Arc;

use super::{
    Error, Repository, checkpoint, current,
    encrypted_sessions::EncryptedCheckpoint,
    encryption::{self, Encryptor},
    identity, session,
};
use crate::model::{id::Digest, name::ShortName};

/// Who what belongs to a session is encrypted to; `None` where it is not encrypted.
pub fn of_session(repo: &Repository, session: &str) -> Result<Option<Arc<Encryptor>>, Error> {
    if let Some(encryptor) = Encryptor::for_own_writing(repo)? {
        return Ok(Some(Arc::new(encryptor)));
    }
    let latest = latest_of(repo, session);
    encryption::inherited(latest.as_ref())
}

/// The same for something that is written now and waits for a save.
///
/// # Errors
/// [`Error::RecordLocked`] where none of the user's keys opens the session: what they write could never be saved, nor be
/// read by them.
pub fn for_waiting(repo: &Repository, session: &str) -> Result<Option<Arc<Encryptor>>, Error> {
    match latest_of(repo, session) {
        Some(latest) if latest.is_locked && !latest.has_own_key => Err(Error::RecordLocked {
            session: latest.session,
        }),
        _ => of_session(repo, session),
    }
}

/// The latest checkpoint of the session here with this identity, where that is encrypted: what is written for the session
/// continues it. Of one that is not here (it was deleted, or is about to be made) the latest that was met.
fn latest_of(repo: &Repository, id: &str) -> Option<EncryptedCheckpoint> {
    let met = repo.encrypted();
    // Who writes has read the latest checkpoint, or knows that it is in plain text.
    if met.is_empty() {
        return None;
    }
    match tip_of(repo, id) {
        Some(Tip::Plain) => None,
        Some(Tip::Encrypted(digest)) => met.get(&digest),
        None => met.met(id),
    }
}

/// The latest checkpoint of a session here.
enum Tip {
    Plain,
    Encrypted(Digest),
}

/// That of the session with this identity; `None` where there is none that can be read.
fn tip_of(repo: &Repository, id: &str) -> Option<Tip> {
    let current = current::read(repo).ok().and_then(|current| current.session);
    let current = current.filter(|session| session.id == id).map(|session| session.name);
    let noted = repo.encrypted().name_of(id);
    let by_name = current.into_iter().chain(noted);
    let mut found = by_name.filter_map(|name| tip_at(repo, &name, id));
    if let Some(found) = found.next() {
        return Some(found);
    }
    // It was renamed since.
    let all = session::names(repo).ok()?.into_iter();
    let mut found = all.filter_map(|name| tip_at(repo, &ShortName::new(name).ok()?, id));
    found.next()
}

/// The same, if the session of this name is it.
fn tip_at(repo: &Repository, name: &ShortName, id: &str) -> Option<Tip> {
    // Only what is in plain text is noted.
    if let Some(noted) = identity::noted(repo, name) {
        return (noted.id == id).then_some(Tip::Plain);
    }
    let tip = session::tip(repo, name).ok()??;
    let (document, digest) = checkpoint::public(repo, tip).ok()?;
    if document.session.id != id {
        return None;
    }
    if document.encrypted.is_none() {
        return Some(Tip::Plain);
    }
    if repo.encrypted().get(&digest).is_none() {
        // Whether a key opens it is noted with it.
        checkpoint::load(repo, tip).ok()?;
    }
    Some(Tip::Encrypted(digest))
}

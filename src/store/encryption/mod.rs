//! Encryption of what is private, with age: encrypted before it is an object or a line of a draft, and decrypted when it
//! is read.
//!
//! To whom is decided by `checkpoint.encryptTo`; without it, what was encrypted stays so: a session whose latest
//! checkpoint was encrypted continues with the same recipients. Nothing falls back to plain text: where encrypting is asked
//! for and not possible, nothing is written.

mod keys;
mod lines;
mod recipients;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Error, Repository};
use crate::model::document::Document;
use crate::model::time::Timestamp;

pub use keys::{DecryptionFailure, KeyFiles};
pub use lines::{decrypted_line, encrypted_line};
pub use recipients::Encryptor;

/// The beginning of everything that we encrypt: a stanza of our own, which age passes over, tells it from files of age
/// that a user attached.
const BEGINNING: &[u8] = b"age-encryption.org/v1\n-> git-checkpoint ";
/// The name of the private part of a document next to it.
pub(super) const RECORD: &str = "record.age";

/// Encryption of a session that was met in this process.
#[derive(Clone, Debug)]
struct KnownEncryption {
    session: String,
    recipients: Vec<String>,
    is_locked: bool,
    has_own_key: bool,
    /// When the checkpoint was saved.
    at: Timestamp,
}

/// Encrypted sessions and checkpoints that were read or written, by identity and by digest. What continues one of them
/// is encrypted as well, and not written where its record could not be read.
static KNOWN: Mutex<Option<HashMap<String, KnownEncryption>>> = Mutex::new(None);

/// Notes an encrypted document with its digest.
pub(super) fn note(document: &Document, digest: &str) {
    let Some(info) = &document.encrypted else { return };
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    let entry = KnownEncryption {
        session: document.session.name.to_string(),
        recipients: info.recipients.clone(),
        is_locked: info.is_locked,
        has_own_key: info.has_own_key,
        at: document.created_at,
    };
    known.insert(digest.to_owned(), entry.clone());
    // For the session its latest checkpoint counts: earlier ones may have other recipients.
    let of_session = known
        .entry(document.session.id.clone())
        .or_insert_with(|| entry.clone());
    if of_session.at <= entry.at {
        *of_session = entry;
    }
}

fn known(key: &str) -> Option<KnownEncryption> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.as_ref()?.get(key).cloned()
}

/// Whether the document continues one whose record could not be read.
pub(super) fn continues_locked(document: &Document) -> bool {
    let previous = document.previous.as_ref().map(crate::model::id::Digest::as_str);
    let of_previous = previous.and_then(known).is_some_and(|known| known.is_locked);
    of_previous || document.encrypted.as_ref().is_some_and(|info| info.is_locked)
}

/// Who what belongs to a session is encrypted to; `None` where it is not encrypted.
pub fn of_session(repo: &Repository, session: &str) -> Result<Option<Arc<Encryptor>>, Error> {
    if let Some(encryptor) = Encryptor::for_own_writing(repo)? {
        return Ok(Some(Arc::new(encryptor)));
    }
    inherited(session)
}

/// The same for something that is written now and waits for a save.
///
/// # Errors
/// [`Error::RecordLocked`] where none of the user's keys opens the session: what they write could never be saved, nor be
/// read by them.
pub fn for_waiting(repo: &Repository, session: &str) -> Result<Option<Arc<Encryptor>>, Error> {
    match known(session) {
        Some(known) if known.is_locked && !known.has_own_key => Err(Error::RecordLocked { session: known.session }),
        _ => of_session(repo, session),
    }
}

/// Who a session or checkpoint that was met is encrypted to.
pub(super) fn inherited(key: &str) -> Result<Option<Arc<Encryptor>>, Error> {
    let known = known(key).map(|known| Encryptor::to(&known.recipients));
    Ok(known.transpose()?.map(Arc::new))
}

/// Whether these are bytes that we encrypted.
pub fn is_encrypted(bytes: &[u8]) -> bool {
    bytes.starts_with(BEGINNING)
}

/// The bytes as they were before, where they were encrypted.
pub fn decrypted(repo: &Repository, bytes: Vec<u8>) -> Result<Vec<u8>, DecryptionFailure> {
    // The settings are read only where they are needed.
    if is_encrypted(&bytes) {
        KeyFiles::of(repo).decrypted(bytes)
    } else {
        Ok(bytes)
    }
}

/// Says once that something is encrypted and cannot be read here.
pub(super) fn say_locked(session: &str, why: &DecryptionFailure) {
    let advice = if *why == DecryptionFailure::NoKey {
        "keys are looked for in checkpoint.identity, ~/.ssh and ~/.config/age"
    } else {
        "it is asked for at a terminal only"
    };
    crate::os::notices::say(&format!("the record of '{session}' is encrypted, and {why}; {advice}"));
}

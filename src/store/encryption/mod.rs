//! Encryption of what is private, with age: encrypted before it is an object or a line of a draft, and decrypted when it
//! is read.
//!
//! To whom is decided by `checkpoint.encryptTo`; without it, what was encrypted stays so: what continues an encrypted
//! checkpoint has the same recipients. A checkpoint that is written again keeps its own. Nothing falls back to plain text:
//! where encrypting is asked for and not possible, nothing is written.

mod keys;
mod lines;
mod recipients;

use std::sync::Arc;

use super::{Error, Repository, encrypted_sessions::EncryptedCheckpoint};

pub use keys::{DecryptionFailure, KeyFiles};
pub use lines::{decrypted_line, encrypted_line, is_encrypted_line, line_known_by, mark_of};
pub use recipients::Encryptor;

/// The beginning of everything that we encrypt: a stanza of our own, which age passes over, tells it from files of age
/// that a user attached.
const BEGINNING: &[u8] = b"age-encryption.org/v1\n-> git-checkpoint ";
/// The name of the private part of a document next to it.
pub(super) const RECORD: &str = "record.age";

/// Who continues an encrypted checkpoint encrypts to.
pub(super) fn inherited(from: Option<&EncryptedCheckpoint>) -> Result<Option<Arc<Encryptor>>, Error> {
    let encryptor = from.map(|from| Encryptor::to(&from.recipients));
    Ok(encryptor.transpose()?.map(Arc::new))
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

/// The bytes as they were before they were encrypted, where a key without a passphrase opens them.
pub(super) fn opened_unasked(repo: &Repository, bytes: &[u8]) -> Option<Vec<u8>> {
    KeyFiles::of(repo).opened_unasked(bytes)
}

/// Reports once that something is encrypted and cannot be read here.
pub(super) fn say_locked(session: &str, why: &DecryptionFailure) {
    let advice = if *why == DecryptionFailure::NoKey {
        "keys are looked for in checkpoint.identity, ~/.ssh and ~/.config/age"
    } else {
        "it is asked for at a terminal only"
    };
    crate::os::notices::say(&format!("the record of '{session}' is encrypted, and {why}; {advice}"));
}

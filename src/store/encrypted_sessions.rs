//! Encrypted sessions and checkpoints that were read or written since a repository was opened.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::model::{document::Document, id::Digest, time::Timestamp};

/// An encrypted session as a checkpoint of it shows it.
#[derive(Clone, Debug)]
pub(super) struct EncryptedSession {
    pub(super) name: String,
    pub(super) recipients: Vec<String>,
    pub(super) is_locked: bool,
    pub(super) has_own_key: bool,
    /// When the checkpoint was saved.
    at: Timestamp,
}

/// Encrypted sessions and checkpoints by identity and by digest. What continues one of them is encrypted as well, and not
/// written where its record could not be read. All handles that a command opens share one of these: a fork is read through
/// one working tree and continued through another.
#[derive(Clone, Debug, Default)]
pub struct EncryptedSessions(Arc<Mutex<HashMap<String, EncryptedSession>>>);

impl EncryptedSessions {
    /// Notes a document with its digest, where it is encrypted.
    pub(super) fn note(&self, document: &Document, digest: &str) {
        let Some(info) = &document.encrypted else { return };
        let entry = EncryptedSession {
            name: document.session.name.to_string(),
            recipients: info.recipients.clone(),
            is_locked: info.is_locked,
            has_own_key: info.has_own_key,
            at: document.created_at,
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(digest.to_owned(), entry.clone());
        // For the session its latest checkpoint counts: earlier ones may have other recipients.
        let of_session = known
            .entry(document.session.id.clone())
            .or_insert_with(|| entry.clone());
        if of_session.at <= entry.at {
            *of_session = entry;
        }
    }

    /// The one with this identity or digest.
    pub(super) fn get(&self, key: &str) -> Option<EncryptedSession> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Whether a document continues one whose record could not be read.
    pub(super) fn continues_locked(&self, document: &Document) -> bool {
        let previous = document.previous.as_ref().map(Digest::as_str);
        let before = previous.and_then(|digest| self.get(digest));
        before.is_some_and(|before| before.is_locked) || document.is_locked()
    }
}

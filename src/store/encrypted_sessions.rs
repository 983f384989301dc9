//! Encrypted checkpoints that were read or written since a repository was opened.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::model::{document::Document, id::Digest, name::ShortName, time::Timestamp};

/// An encrypted checkpoint.
#[derive(Clone, Debug)]
pub(super) struct EncryptedCheckpoint {
    pub(super) session: String,
    pub(super) recipients: Vec<String>,
    pub(super) is_locked: bool,
    pub(super) has_own_key: bool,
    /// When it was saved.
    at: Timestamp,
}

#[derive(Debug, Default)]
struct Known {
    by_digest: HashMap<Digest, EncryptedCheckpoint>,
    /// By the identity of a session the latest that was met, wherever: the session of a remote may be for others than the
    /// one here.
    met: HashMap<String, EncryptedCheckpoint>,
    /// Names under which the sessions of documents may be found, by identity.
    names: HashMap<String, ShortName>,
}

/// Encrypted checkpoints by digest. What continues one of them is encrypted as well, and not written where its record could
/// not be read. All handles that a command opens share one of these: a fork is read through one working tree and continued
/// through another.
#[derive(Clone, Debug, Default)]
pub struct EncryptedSessions(Arc<Mutex<Known>>);

impl EncryptedSessions {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a document with its digest, where it is encrypted.
    pub(super) fn note(&self, document: &Document, digest: &Digest) {
        let Some(info) = &document.encrypted else { return };
        let entry = EncryptedCheckpoint {
            session: document.session.name.to_string(),
            recipients: info.recipients.clone(),
            is_locked: info.is_locked,
            has_own_key: info.has_own_key,
            at: document.created_at,
        };
        let mut known = self.known();
        known.by_digest.insert(digest.clone(), entry.clone());
        let id = &document.session.id;
        known.names.insert(id.clone(), document.session.name.clone());
        let met = known.met.entry(id.clone()).or_insert_with(|| entry.clone());
        if met.at <= entry.at {
            *met = entry;
        }
    }

    /// The encrypted checkpoint with this digest.
    pub(super) fn get(&self, digest: &Digest) -> Option<EncryptedCheckpoint> {
        self.known().by_digest.get(digest).cloned()
    }

    /// The first of the checkpoints that a document continues which is encrypted: the one before it, or the one that it
    /// merges in.
    pub(super) fn continued_by(&self, document: &Document) -> Option<EncryptedCheckpoint> {
        let merged = document.merged.as_ref().map(|merged| &merged.digest);
        let before = document.previous.iter().chain(merged);
        before.into_iter().find_map(|digest| self.get(digest))
    }

    /// Whether none was met.
    pub(super) fn is_empty(&self) -> bool {
        self.known().by_digest.is_empty()
    }

    /// The latest encrypted one that was met of the session with this identity, wherever.
    pub(super) fn met(&self, id: &str) -> Option<EncryptedCheckpoint> {
        self.known().met.get(id).cloned()
    }

    /// The name under which the session with this identity may be found.
    pub(super) fn name_of(&self, id: &str) -> Option<ShortName> {
        self.known().names.get(id).cloned()
    }
}

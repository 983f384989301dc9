//! Encrypted checkpoints that were read or written since a repository was opened, and who the next one of a session is for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Repository, checkpoint, current, identity, session};
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

    /// The latest checkpoint of the session here with this identity, where that is encrypted: what is written for the session
    /// continues it. Of one that is not here (it was deleted, or is about to be made) the latest that was met.
    pub(super) fn latest_of(repo: &Repository, id: &str) -> Option<EncryptedCheckpoint> {
        let sessions = repo.encrypted();
        // Who writes has read the latest checkpoint, or knows that it is in plain text.
        if sessions.known().by_digest.is_empty() {
            return None;
        }
        match tip_of(repo, id) {
            Some(Tip::Plain) => None,
            Some(Tip::Encrypted(digest)) => sessions.get(&digest),
            None => sessions.known().met.get(id).cloned(),
        }
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
    let noted = repo.encrypted().known().names.get(id).cloned();
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

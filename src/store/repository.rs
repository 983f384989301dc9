//! The handle on a repository.

use std::ops::{Deref, DerefMut};

use super::encrypted_sessions::EncryptedSessions;

/// An opened repository: the handle of gix, and what is known of it as long as it is open.
#[derive(Clone, Debug)]
pub struct Repository {
    gix: gix::Repository,
    encrypted: EncryptedSessions,
}

/// A repository that threads share.
#[derive(Clone)]
pub struct SharedRepository {
    gix: gix::ThreadSafeRepository,
    encrypted: EncryptedSessions,
}

impl Repository {
    /// The handle, with the encrypted sessions that are known from other handles.
    pub(super) fn new(gix: gix::Repository, encrypted: EncryptedSessions) -> Self {
        Self { gix, encrypted }
    }

    /// Encrypted sessions that were read or written.
    pub(super) fn encrypted(&self) -> &EncryptedSessions {
        &self.encrypted
    }

    /// The handle with what another one knows of encrypted sessions.
    pub(super) fn with_encrypted(self, encrypted: EncryptedSessions) -> Self {
        Self { encrypted, ..self }
    }

    /// The handle with new objects in memory only.
    #[must_use]
    pub fn with_object_memory(self) -> Self {
        Self {
            gix: self.gix.with_object_memory(),
            ..self
        }
    }

    /// The form for several threads.
    pub fn into_sync(self) -> SharedRepository {
        SharedRepository {
            gix: self.gix.into_sync(),
            encrypted: self.encrypted,
        }
    }
}

impl SharedRepository {
    /// The handle for this thread.
    pub fn to_thread_local(&self) -> Repository {
        Repository::new(self.gix.to_thread_local(), self.encrypted.clone())
    }
}

impl Deref for Repository {
    type Target = gix::Repository;

    fn deref(&self) -> &Self::Target {
        &self.gix
    }
}

impl DerefMut for Repository {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.gix
    }
}

//! Objects stored by an operation, protected until a ref names them.

use gix::ObjectId;

use super::seal;
use crate::os::CleanupFailure;

/// The objects of an operation, durable, and protected from a gc while this is held.
///
/// Call [`release`](Self::release) once a ref names them. Dropped without it, the objects are left to the next gc; so
/// after a lost race keep this until the repeated attempt is done, because that one finds the objects and relies on them.
#[must_use]
pub struct SealedObjects {
    pub(super) keep: Option<seal::KeepFile>,
    pub(super) relied_on: Vec<ObjectId>,
    pub(super) written: Vec<ObjectId>,
    pub(super) bytes: u64,
}

impl SealedObjects {
    /// The size of the pack, in bytes; 0 when nothing was written.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Ends the protection, after a ref names the objects.
    ///
    /// What was saved is saved: a failure to remove the file that protects it is a warning. The next save sweeps it.
    pub fn release(self) -> Option<CleanupFailure> {
        self.keep.and_then(seal::KeepFile::release)
    }

    /// The objects that were there already, in no order. A `gc --prune=now` that began before our ref was in place
    /// may have removed them: see [`refs::verify_present`](crate::store::refs::verify_present).
    pub fn relied_on(&self) -> &[ObjectId] {
        &self.relied_on
    }

    /// The objects that were written, in the order of writing.
    pub fn written(&self) -> &[ObjectId] {
        &self.written
    }
}

//! Failures of the store that an operation passes on.

use super::{super::ids, Error};
use crate::store::{ancestry::AncestryFault, rewrite::RewriteError};

impl From<RewriteError> for Error {
    fn from(error: RewriteError) -> Self {
        match error {
            RewriteError::Store(error) => Self::Store(error),
            error @ RewriteError::Fault(_) => Self::Rewriting(error),
        }
    }
}

impl From<AncestryFault> for Error {
    fn from(faulty: AncestryFault) -> Self {
        Self::damaged(ids::short(faulty.id))(*faulty.fault)
    }
}

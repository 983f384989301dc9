//! Failures while an object is stored from a source.

use std::io;

use crate::os;
use crate::store::Error;

/// Why a stream was not stored. Whatever the reason, nothing of it is in the pack.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The source gave more or fewer bytes than announced: the file changed while it was read.
    #[error("expected {expected} bytes, found {}{found}", if found > expected { "at least " } else { "" })]
    Changed {
        /// Announced size.
        expected: u64,
        /// Received size; with more than expected, one more.
        found: u64,
    },
    /// The source could not be read.
    #[error("cannot read the source: {}", os::reason(.0))]
    Read(#[source] io::Error),
    /// The object could not be stored.
    #[error(transparent)]
    Store(#[from] Error),
}

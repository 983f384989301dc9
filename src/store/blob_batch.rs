//! Blobs of a chat that are stored together: compression takes most of the time, and two threads share it.

use super::{Error, ObjectId, objects::Writer};
use crate::os::parallel_runs;

/// The bytes from which on waiting blobs are stored, so that memory stays bounded.
const BYTES: usize = 8 << 20;

/// A list of blobs, some of which wait until there are enough of them for two threads.
#[derive(Debug, Default)]
pub(super) struct BlobBatch {
    stored: Vec<ObjectId>,
    waiting: Vec<Vec<u8>>,
    /// The bytes of those that wait.
    bytes: usize,
}

impl BlobBatch {
    /// Adds a blob.
    pub(super) fn push(&mut self, writer: &Writer, blob: Vec<u8>) -> Result<(), Error> {
        self.bytes += blob.len();
        self.waiting.push(blob);
        if self.bytes >= BYTES {
            self.store(writer)?;
        }
        Ok(())
    }

    /// Stores what waits; gives the ids of all blobs in their order, and is empty then.
    pub(super) fn finish(&mut self, writer: &Writer) -> Result<Vec<ObjectId>, Error> {
        self.store(writer)?;
        Ok(std::mem::take(&mut self.stored))
    }

    fn store(&mut self, writer: &Writer) -> Result<(), Error> {
        let blobs = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        let store = |(): &mut (), run: &[Vec<u8>]| run.iter().map(|blob| writer.write_private(blob)).collect();
        for id in parallel_runs(&blobs, 1, || (), store) {
            self.stored.push(id?);
        }
        Ok(())
    }
}

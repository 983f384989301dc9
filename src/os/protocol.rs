//! Standard input and output of a process that speaks a protocol over them.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

static ARE_TAKEN: AtomicBool = AtomicBool::new(false);

/// Whether standard input is that of a protocol, which no child may read.
pub(super) fn are_streams_taken() -> bool {
    ARE_TAKEN.load(Ordering::Relaxed)
}

/// The streams of a protocol.
pub struct ProtocolStreams {
    /// Messages of the other side.
    pub input: Box<dyn Read + Send>,
    /// Messages to the other side; not buffered.
    pub output: Box<dyn Write + Send>,
}

impl ProtocolStreams {
    /// Takes standard input and output for the protocol alone. Where the streams can be moved, the process and its children
    /// then read nothing from standard input, and what one of them writes to standard output goes to standard error.
    pub fn take() -> io::Result<Self> {
        let (input, output) = super::system::take_streams()?;
        ARE_TAKEN.store(true, Ordering::Relaxed);
        Ok(Self { input, output })
    }
}

impl std::fmt::Debug for ProtocolStreams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProtocolStreams")
    }
}

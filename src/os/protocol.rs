//! Standard input and output of a process that speaks a protocol over them.

use std::io::{self, Read, Write};

/// The streams of a protocol.
pub struct ProtocolStreams {
    /// Messages of the other side.
    pub input: Box<dyn Read + Send>,
    /// Messages to the other side; not buffered.
    pub output: Box<dyn Write + Send>,
}

impl ProtocolStreams {
    /// Takes standard input and output for the protocol alone: the process and its children then read nothing from
    /// standard input, and what one of them writes to standard output goes to standard error.
    #[cfg(unix)]
    pub fn take() -> io::Result<Self> {
        use rustix::{io::fcntl_dupfd_cloexec, stdio};
        /// Above the three standard streams.
        const LOWEST: i32 = 3;
        let input = fcntl_dupfd_cloexec(stdio::stdin(), LOWEST)?;
        let output = fcntl_dupfd_cloexec(stdio::stdout(), LOWEST)?;
        stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
        stdio::dup2_stdout(stdio::stderr())?;
        Ok(Self {
            input: Box::new(std::fs::File::from(input)),
            output: Box::new(std::fs::File::from(output)),
        })
    }

    /// The streams themselves, where they cannot be moved.
    #[cfg(not(unix))]
    #[expect(clippy::disallowed_methods, reason = "a protocol has them for itself")]
    pub fn take() -> io::Result<Self> {
        Ok(Self {
            input: Box::new(io::stdin()),
            output: Box::new(io::stdout()),
        })
    }
}

impl std::fmt::Debug for ProtocolStreams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProtocolStreams")
    }
}

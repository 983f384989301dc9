//! Standard input from a program that may never close it.

use std::io::{self, Read as _};
use std::sync::mpsc;
use std::time::Duration;

/// All of standard input, up to `limit` bytes, if it ends within `wait`; `None` if it does not end in time or is longer.
#[expect(
    clippy::disallowed_methods,
    reason = "the sink's reader cannot be left waiting in a thread of its own"
)]
pub fn input_within(limit: u64, wait: Duration) -> io::Result<Option<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    // A reader that waits for ever ends with the process.
    std::thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        let read = io::stdin().take(limit.saturating_add(1)).read_to_end(&mut bytes);
        // After the time is over there is no receiver.
        let _ = sender.send(read.map(|_| bytes));
    })?;
    match receiver.recv_timeout(wait) {
        Ok(read) => read.map(|bytes| Some(bytes).filter(|bytes| bytes.len() as u64 <= limit)),
        Err(_) => Ok(None),
    }
}

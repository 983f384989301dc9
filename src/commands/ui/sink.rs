//! The streams themselves: where bytes finally go, who may write, and what happens when the reader is gone.
//!
//! Both streams sit behind one lock, because a progress line on standard error must be taken away before anything else
//! is written to the same screen, also from another thread.

use std::io::{self, BufRead, BufReader, BufWriter, Read as _, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::pager::Pager;

/// Takes the progress line away: back to its start, and erase to its end.
const ERASE: &[u8] = b"\r\x1b[K";

/// The three streams of a command.
pub struct Streams {
    input: Box<dyn BufRead + Send>,
    output: Box<dyn Write + Send>,
    error: Box<dyn Write + Send>,
}

impl Streams {
    /// Those of the process.
    #[expect(clippy::disallowed_methods, reason = "this is the one place that opens them")]
    pub fn standard() -> Self {
        Self {
            input: Box::new(BufReader::new(io::stdin())),
            output: Box::new(BufWriter::with_capacity(64 * 1024, io::stdout())),
            error: Box::new(BufWriter::new(io::stderr())),
        }
    }

    /// In memory, for tests: with this input, and what was written can be read from the second value.
    pub fn captured(input: &[u8]) -> (Self, CapturedOutput) {
        let captured = CapturedOutput::default();
        let streams = Self {
            input: Box::new(io::Cursor::new(input.to_vec())),
            output: Box::new(SharedSink(Arc::clone(&captured.output))),
            error: Box::new(SharedSink(Arc::clone(&captured.error))),
        };
        (streams, captured)
    }

    /// The same with another output.
    #[cfg(test)]
    #[must_use]
    pub fn with_output(mut self, output: impl Write + Send + 'static) -> Self {
        self.output = Box::new(output);
        self
    }
}

impl std::fmt::Debug for Streams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Streams")
    }
}

/// Output that was captured in memory.
#[derive(Clone, Debug, Default)]
pub struct CapturedOutput {
    output: Arc<Mutex<Vec<u8>>>,
    error: Arc<Mutex<Vec<u8>>>,
}

impl CapturedOutput {
    /// Standard output so far.
    pub fn output(&self) -> String {
        text(&self.output)
    }

    /// Standard error so far.
    pub fn error(&self) -> String {
        text(&self.error)
    }
}

fn text(bytes: &Mutex<Vec<u8>>) -> String {
    String::from_utf8_lossy(&bytes.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
}

struct SharedSink(Arc<Mutex<Vec<u8>>>);

impl Write for SharedSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How writing to standard output failed.
#[derive(Debug)]
pub(super) enum WriteFailure {
    /// The reader went away, which is its right.
    ReaderGone,
    /// Anything else: the disk is full, the device is gone.
    Other(io::Error),
}

/// The streams behind their lock. Clones share them.
#[derive(Clone)]
pub(super) struct Sink(Arc<Mutex<SinkState>>);

struct SinkState {
    input: Box<dyn BufRead + Send>,
    output: Box<dyn Write + Send>,
    error: Box<dyn Write + Send>,
    /// Standard error goes into the pager as well.
    error_paged: bool,
    pager: Option<Pager>,
    /// A progress line is on the screen.
    progress: bool,
    failure: Option<WriteFailure>,
}

impl Sink {
    pub(super) fn new(streams: Streams) -> Self {
        let Streams { input, output, error } = streams;
        Self(Arc::new(Mutex::new(SinkState {
            input,
            output,
            error,
            error_paged: false,
            pager: None,
            progress: false,
            failure: None,
        })))
    }

    fn state(&self) -> MutexGuard<'_, SinkState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes to standard output. After the first failure nothing more is written.
    pub(super) fn output(&self, bytes: &[u8]) {
        let state = &mut *self.state();
        state.erase_progress();
        state.write_output(bytes);
    }

    /// Writes to standard error and shows it at once. A failure here cannot be reported.
    pub(super) fn error(&self, bytes: &[u8]) {
        let state = &mut *self.state();
        if state.error_paged {
            state.write_output(bytes);
            return;
        }
        state.erase_progress();
        // What came before on standard output should also be seen before.
        state.flush_output();
        let _ = state.error.write_all(bytes).and_then(|()| state.error.flush());
    }

    /// Writes another program's output to one of the streams and shows it at once. Returns whether the reader of that
    /// stream is still there.
    pub(super) fn pass(&self, to_error: bool, bytes: &[u8]) -> bool {
        let state = &mut *self.state();
        state.erase_progress();
        if to_error {
            state.flush_output();
            return state.error.write_all(bytes).and_then(|()| state.error.flush()).is_ok();
        }
        state.write_output(bytes);
        state.flush_output();
        state.failure.is_none()
    }

    /// Draws a progress line over the one before.
    pub(super) fn redraw_progress(&self, line: &str) {
        let state = &mut *self.state();
        state.flush_output();
        let _ = write!(state.error, "\r{line}\x1b[K").and_then(|()| state.error.flush());
        state.progress = true;
    }

    /// Takes the progress line away.
    pub(super) fn erase_progress(&self) {
        self.state().erase_progress();
    }

    /// Sends all output into a pager from now on, and messages too if `error_too`.
    pub(super) fn page(&self, mut pager: Pager, error_too: bool) {
        let state = &mut *self.state();
        state.flush_output();
        if let Some(input) = pager.take_input() {
            state.output = Box::new(BufWriter::with_capacity(64 * 1024, input));
            state.pager = Some(pager);
            state.error_paged = error_too;
        }
    }

    /// Whether writing more is useless.
    pub(super) fn is_closed(&self) -> bool {
        let state = self.state();
        state.failure.is_some() || state.pager.as_ref().is_some_and(Pager::is_interrupted)
    }

    /// Writes what is buffered, ends the pager's input and waits until the user leaves it. Gives the failure of any
    /// write, once; a pager that was left early is none.
    pub(super) fn finish(&self) -> Option<WriteFailure> {
        let state = &mut *self.state();
        state.erase_progress();
        state.flush_output();
        if let Some(mut pager) = state.pager.take() {
            state.output = Box::new(io::sink());
            state.error_paged = false;
            pager.wait();
            if matches!(state.failure, Some(WriteFailure::ReaderGone)) {
                state.failure = None;
            }
        }
        state.failure.take()
    }

    /// One line of input without its end; None at the end of input or when it cannot be read.
    pub(super) fn read_line(&self) -> Option<String> {
        let mut line = Vec::new();
        let count = self.state().input.read_until(b'\n', &mut line).ok()?;
        (count > 0).then(|| String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned())
    }

    /// All input up to `limit` bytes and one more, so that the caller sees when there was more.
    pub(super) fn read_all(&self, limit: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.state()
            .input
            .as_mut()
            .take(limit.saturating_add(1))
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

impl SinkState {
    fn write_output(&mut self, bytes: &[u8]) {
        if self.failure.is_none() {
            let result = self.output.write_all(bytes);
            self.note(result);
        }
    }

    fn flush_output(&mut self) {
        if self.failure.is_none() {
            let result = self.output.flush();
            self.note(result);
        }
    }

    fn note(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.failure = Some(match error.kind() {
                io::ErrorKind::BrokenPipe => WriteFailure::ReaderGone,
                _ => WriteFailure::Other(error),
            });
            // A buffered writer would try again when dropped.
            self.output = Box::new(io::sink());
        }
    }

    fn erase_progress(&mut self) {
        if std::mem::take(&mut self.progress) {
            let _ = self.error.write_all(ERASE).and_then(|()| self.error.flush());
        }
    }
}

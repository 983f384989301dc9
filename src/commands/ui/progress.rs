//! How far long work has come, on standard error. A line that is redrawn on a terminal, plain lines now and then where
//! redrawing must not be (a dumb terminal, a screen reader, a log file), and nothing at all before a second has passed.
//!
//! It can be updated from any thread, and work that reports nothing shows nothing. For work that knows of no terminal a
//! thread looks at what it counts ([`TraceProgress`]), and only where that is shown.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::sink::Sink;
use crate::os::trace;
use crate::render::escape;
use crate::serve::ProgressReceiver;

/// The least time between two drawings: faster is only flicker.
const REDRAW: Duration = Duration::from_millis(100);

/// The least time between two plain lines.
const REPEAT: Duration = Duration::from_secs(10);

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProgressStyle {
    Off,
    Redraw,
    Lines,
    /// Handed to a receiver.
    Received,
}

/// A job that reports how far it is. The line disappears when this is dropped.
pub struct ProgressLine {
    sink: Sink,
    style: ProgressStyle,
    title: String,
    width: usize,
    receiver: Option<ProgressReceiver>,
    next: Mutex<ProgressState>,
}

struct ProgressState {
    /// When the next line may be shown.
    at: Instant,
    total: Option<u64>,
    shown: bool,
}

impl ProgressLine {
    pub(super) fn new(
        sink: Sink,
        style: ProgressStyle,
        title: &str,
        total: Option<u64>,
        width: usize,
        delay: Duration,
    ) -> Self {
        let next = ProgressState {
            at: Instant::now() + delay,
            total,
            shown: false,
        };
        Self {
            sink,
            style,
            title: escape::line(title).into_owned(),
            width,
            receiver: None,
            next: Mutex::new(next),
        }
    }

    /// The same for a program instead of a terminal.
    pub(super) fn received(sink: Sink, receiver: ProgressReceiver, title: &str, total: Option<u64>) -> Self {
        let mut out = Self::new(sink, ProgressStyle::Received, title, total, 0, Duration::ZERO);
        out.receiver = Some(receiver);
        out
    }

    /// Sets the total, once it is known.
    pub fn set_total(&self, total: u64) {
        self.next.lock().unwrap_or_else(PoisonError::into_inner).total = Some(total);
    }

    /// Sets the amount done. Cheap enough to be called for each file.
    pub fn update(&self, done: u64) {
        if self.style == ProgressStyle::Off {
            return;
        }
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if now < next.at {
            return;
        }
        next.shown = true;
        if let Some(receiver) = &self.receiver {
            next.at = now + REDRAW;
            receiver(&self.title, done, next.total);
            return;
        }
        let line = line(&self.title, done, next.total);
        if self.style == ProgressStyle::Redraw {
            next.at = now + REDRAW;
            // One column is left free: some terminals wrap when the last one is written.
            self.sink
                .redraw_progress(&crate::render::text::cut(&line, self.width.saturating_sub(1)));
        } else {
            next.at = now + REPEAT;
            self.sink.error(format!("{line}\n").as_bytes());
        }
    }
}

/// Shows what work counts in `os::trace` while this lives.
#[derive(Debug)]
pub struct TraceProgress {
    /// Its end is what the thread waits for.
    lives: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl TraceProgress {
    /// Starts to look, if it is to be shown at all.
    pub(super) fn start(progress: ProgressLine) -> Self {
        if progress.style == ProgressStyle::Off {
            return Self {
                lives: None,
                thread: None,
            };
        }
        let (lives, ended) = mpsc::channel::<()>();
        let begun = trace::counted();
        // In immediate mode it shows even work that ends before the thread first looks.
        progress.update(0);
        let thread = std::thread::spawn(move || {
            while ended.recv_timeout(REDRAW) == Err(RecvTimeoutError::Timeout) {
                progress.update(trace::counted() - begun);
            }
        });
        Self {
            lives: Some(lives),
            thread: Some(thread),
        }
    }
}

impl Drop for TraceProgress {
    fn drop(&mut self) {
        drop(self.lives.take());
        if let Some(thread) = self.thread.take() {
            // The next output starts on a line of its own.
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for ProgressLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Progress")
            .field("title", &self.title)
            .finish_non_exhaustive()
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.style == ProgressStyle::Redraw && self.next.get_mut().unwrap_or_else(PoisonError::into_inner).shown {
            self.sink.erase_progress();
        }
    }
}

/// `Reading files:  42% (420/1000)`, as git shows it; without a total only the number.
fn line(title: &str, done: u64, total: Option<u64>) -> String {
    match total {
        Some(total) if total > 0 => {
            let percent = u128::from(done.min(total)) * 100 / u128::from(total);
            format!("{title}: {percent:>3}% ({done}/{total})")
        }
        _ => format!("{title}: {done}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::ui::sink::Streams;

    #[test]
    fn lines_are_as_gits() {
        assert_eq!(line("Reading files", 420, Some(1000)), "Reading files:  42% (420/1000)");
        assert_eq!(
            line("Reading files", 1000, Some(1000)),
            "Reading files: 100% (1000/1000)"
        );
        assert_eq!(line("Reading files", 7, None), "Reading files: 7");
        assert_eq!(
            line("Reading files", u64::MAX, Some(u64::MAX)).split('(').next(),
            Some("Reading files: 100% ")
        );
    }

    #[test]
    fn nothing_is_shown_before_its_time() {
        let (streams, seen) = Streams::captured(b"");
        let sink = Sink::new(streams);
        let progress = ProgressLine::new(
            sink,
            ProgressStyle::Redraw,
            "Reading",
            Some(2),
            80,
            Duration::from_secs(60),
        );
        progress.update(1);
        drop(progress);
        assert_eq!(seen.error(), "");
    }

    #[test]
    fn a_line_is_redrawn_and_taken_away() {
        let (streams, seen) = Streams::captured(b"");
        let sink = Sink::new(streams);
        let progress = ProgressLine::new(
            sink.clone(),
            ProgressStyle::Redraw,
            "Read\x1bing",
            None,
            80,
            Duration::ZERO,
        );
        progress.set_total(2);
        progress.update(1);
        progress.update(2); // too soon after the first
        assert_eq!(seen.error(), "\rRead\\x1bing:  50% (1/2)\x1b[K");
        sink.error(b"warning: x\n");
        assert_eq!(seen.error(), "\rRead\\x1bing:  50% (1/2)\x1b[K\r\x1b[Kwarning: x\n");
        std::thread::sleep(REDRAW);
        progress.update(2);
        sink.output(b"data");
        drop(progress);
        let all = seen.error();
        assert!(all.ends_with("\rRead\\x1bing: 100% (2/2)\x1b[K\r\x1b[K"), "{all:?}");
    }

    #[test]
    fn plain_lines_move_nothing() {
        let (streams, seen) = Streams::captured(b"");
        let progress = ProgressLine::new(
            Sink::new(streams),
            ProgressStyle::Lines,
            "Reading",
            Some(4),
            80,
            Duration::ZERO,
        );
        progress.update(1);
        progress.update(2);
        drop(progress);
        assert_eq!(seen.error(), "Reading:  25% (1/4)\n");
    }
}

//! Trace of a command for `--verbose`: kept while it runs, shown at its end; and progress counters of work that knows
//! of no terminal.
//!
//! One list for the whole process, as layers that must not know of the command line say what they did. Nothing is kept
//! unless it was asked for, and never more than ten thousand lines; nothing of it decides anything.

use std::{
    cell::Cell,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Lines that are kept. A watch of days must not fill the memory.
const LIMIT: usize = 10_000;

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceLine {
    /// How often `--verbose` must be given for it.
    pub level: u8,
    /// When, since the beginning.
    pub after: Duration,
    /// The name of the operation.
    pub text: String,
}

struct Trace {
    level: u8,
    begun: Instant,
    lines: Mutex<Vec<TraceLine>>,
}

static DONE: AtomicU64 = AtomicU64::new(0);

/// Counts something that was done: a directory looked through, a file read, an object written.
pub fn count() {
    DONE.fetch_add(1, Ordering::Relaxed);
}

static CHANGED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static CHANGED_HERE: Cell<bool> = const { Cell::new(false) };
}

/// Reports that something was changed permanently: a ref, a draft, the current session, files of the user.
pub fn changed() {
    CHANGED.store(true, Ordering::Relaxed);
    CHANGED_HERE.set(true);
}

/// Whether this thread changed anything while it did some work, and the result of the work: for one of several commands of
/// a process.
pub fn with_changes<T>(work: impl FnOnce() -> T) -> (T, bool) {
    let before = CHANGED_HERE.replace(false);
    let result = work();
    let changed = CHANGED_HERE.get();
    CHANGED_HERE.set(before || changed);
    (result, changed)
}

/// Whether anything was since the beginning of the process: where that cannot be reported on standard output, it must
/// be reported elsewhere.
pub fn has_changed() -> bool {
    CHANGED.load(Ordering::Relaxed)
}

/// How much was counted since the beginning of the process.
pub fn counted() -> u64 {
    DONE.load(Ordering::Relaxed)
}

static TRACE: OnceLock<Trace> = OnceLock::new();

/// Begins to keep lines up to this level. Only the first call counts.
pub fn begin(level: u8) {
    TRACE.get_or_init(|| Trace {
        level,
        begun: Instant::now(),
        lines: Mutex::new(Vec::new()),
    });
}

/// Writes a line, if a trace is wanted.
pub fn say(level: u8, text: impl FnOnce() -> String) {
    let Some(trace) = TRACE.get().filter(|trace| trace.level >= level) else {
        return;
    };
    let (after, text) = (trace.begun.elapsed(), text());
    let mut lines = kept(trace);
    if lines.len() < LIMIT {
        lines.push(TraceLine { level, after, text });
    }
}

/// Lines traced since the last call.
pub fn taken() -> Vec<TraceLine> {
    TRACE
        .get()
        .map(|trace| std::mem::take(&mut *kept(trace)))
        .unwrap_or_default()
}

fn kept(trace: &Trace) -> MutexGuard<'_, Vec<TraceLine>> {
    trace.lines.lock().unwrap_or_else(PoisonError::into_inner)
}

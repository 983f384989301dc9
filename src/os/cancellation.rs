//! Cancellation of the work of one thread and of the workers that it starts.
//!
//! A process that serves several callers cancels one of them alone, so a flag of the whole process does not do. Work that
//! can stop without a trace asks [`is_cancelled`]; before the first change that must not stay half done it calls
//! [`complete_this`], and from then on runs to its end.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

thread_local! {
    static CURRENT: RefCell<Option<Cancellation>> = const { RefCell::new(None) };
}

/// A request to stop, shared by who asks and who works.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    /// Asks the work to stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked to stop.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Runs work that this cancels.
    pub fn cover<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = CURRENT.replace(Some(self.clone()));
        let _restored = RestoredCancellation(before);
        work()
    }
}

/// Puts the former cancellation of the thread back, also when the work ends by a panic.
struct RestoredCancellation(Option<Cancellation>);

impl Drop for RestoredCancellation {
    fn drop(&mut self) {
        CURRENT.replace(self.0.take());
    }
}

/// Whether the work of this thread was cancelled.
pub fn is_cancelled() -> bool {
    CURRENT.with_borrow(|current| current.as_ref().is_some_and(Cancellation::is_requested))
}

/// Lets the work of this thread run to its end, whatever is asked from now on. A file that grows beyond the limit of the
/// process (`ulimit -f`) is an error of that file then, and does not end the process half way.
pub fn complete_this() {
    CURRENT.replace(None);
    super::system::survive_large_files();
}

/// The cancellation of this thread, for a worker that helps it.
pub(super) fn current() -> Option<Cancellation> {
    CURRENT.with_borrow(Clone::clone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reaches_workers_and_nobody_else() {
        let (one, other) = (Cancellation::default(), Cancellation::default());
        one.cancel();
        let asked = || std::thread::scope(|scope| crate::os::spawn_worker(scope, is_cancelled)?.join().ok());
        assert!(!is_cancelled());
        one.cover(|| {
            assert!(is_cancelled());
            assert_eq!(asked(), Some(true));
            other.cover(|| assert_eq!((is_cancelled(), asked()), (false, Some(false))));
            assert!(is_cancelled());
            complete_this();
            assert_eq!((is_cancelled(), asked()), (false, Some(false)));
        });
        assert!(!is_cancelled());
    }
}

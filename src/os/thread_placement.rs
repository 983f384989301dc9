//! Threads that share work which takes milliseconds.
//!
//! Linux often starts a thread on the processor of the one that started it, and moves it to an idle one when it balances
//! them, which may be later than such work takes: both then took turns on one processor. So a new thread is let run at
//! once, and leaves. On other systems it is just started.

use std::thread::{Builder, Scope, ScopedJoinHandle};

use super::cancellation;

/// Starts a thread next to this one. `None` where the system allows no more: then there is less help.
pub fn spawn_worker<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    #[cfg(target_os = "linux")]
    let here = processor::current();
    let cancellation = cancellation::current();
    let work = move || {
        #[cfg(target_os = "linux")]
        processor::leave(here);
        match cancellation {
            Some(cancellation) => cancellation.cover(work),
            None => work(),
        }
    };
    let started = Builder::new().spawn_scoped(scope, work).ok()?;
    std::thread::yield_now();
    Some(started)
}

#[cfg(target_os = "linux")]
mod processor {
    use rustix::thread::{sched_getaffinity, sched_getcpu, sched_setaffinity};

    pub(super) fn current() -> usize {
        sched_getcpu()
    }

    /// Goes to another processor than this one, if the thread may run on another.
    pub(super) fn leave(here: usize) {
        if sched_getcpu() != here {
            return;
        }
        let Ok(all) = sched_getaffinity(None) else { return };
        let mut others = all;
        others.unset(here);
        if others.count() > 0 && sched_setaffinity(None, &others).is_ok() {
            // From there on it may run anywhere again.
            let _ = sched_setaffinity(None, &all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_works_beside_and_may_run_anywhere() {
        #[cfg(target_os = "linux")]
        let places = || rustix::thread::sched_getaffinity(None).ok().map(|set| set.count());
        #[cfg(not(target_os = "linux"))]
        let places = || Some(1);
        let made = std::thread::scope(|scope| spawn_worker(scope, places).map(|started| started.join().ok()));
        assert_eq!(made, Some(Some(places())));
    }
}

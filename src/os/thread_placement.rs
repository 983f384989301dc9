//! Threads that share work which takes milliseconds.
//!
//! Linux often starts a thread on the processor of the one that started it, and moves it to an idle one when it balances
//! them, which may be later than such work takes: both then took turns on one processor. So a new thread is let run at
//! once, and leaves. On other systems it is just started.

use std::thread::{Builder, Scope, ScopedJoinHandle};

use super::{cancellation, system};

/// Starts a thread next to this one. `None` where the system allows no more: then there is less help.
pub fn spawn_worker<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Option<ScopedJoinHandle<'scope, T>> {
    let here = system::processor();
    let cancellation = cancellation::current();
    let work = move || {
        system::leave_processor(here);
        match cancellation {
            Some(cancellation) => cancellation.cover(work),
            None => work(),
        }
    };
    let started = Builder::new().spawn_scoped(scope, work).ok()?;
    std::thread::yield_now();
    Some(started)
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

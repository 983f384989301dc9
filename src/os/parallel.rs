//! Work on many small things by two threads, where there are many and two processors: no more, since others want to work
//! as well, and to start a thread takes as long as some twenty of these things.

use std::sync::{
    Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

/// Fewer are not worth a thread.
const MANY: usize = 200;

/// How many processors this process may use. Linux reads three files to find out, so it is asked once.
pub fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Maps items in their order with at most two threads. `work` gets all items, or one half in each thread.
pub fn parallel_map<T: Sync, R: Send>(items: &[T], work: impl Fn(&[T]) -> Vec<R> + Sync) -> Vec<R> {
    if items.len() < MANY || processors() < 2 {
        return work(items);
    }
    let (mine, others) = items.split_at(items.len() / 2);
    std::thread::scope(|scope| {
        let beside = super::spawn_worker(scope, || work(others));
        let mut made = work(mine);
        let rest = beside.and_then(|beside| beside.join().ok());
        // Where no thread could be had.
        made.extend(rest.unwrap_or_else(|| work(others)));
        made
    })
}

/// Maps runs of `size` items in their order with at most two threads, each of which takes the next run when it is done with
/// one: for items that differ much in how long they take. `begin` makes what a thread keeps between its runs.
pub fn parallel_runs<T: Sync, R: Send, S>(
    items: &[T],
    size: usize,
    begin: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &[T]) -> Vec<R> + Sync,
) -> Vec<R> {
    let size = size.max(1);
    if items.len() <= size || processors() < 2 {
        return work(&mut begin(), items);
    }
    let next = AtomicUsize::new(0);
    let runs = || {
        let mut kept = begin();
        let mut made = Vec::new();
        loop {
            let run = next.fetch_add(1, Ordering::Relaxed);
            let Some(rest) = items.get(run.saturating_mul(size)..).filter(|rest| !rest.is_empty()) else {
                return made;
            };
            made.push((run, work(&mut kept, &rest[..rest.len().min(size)])));
        }
    };
    on_two_threads(runs).into_iter().flat_map(|(_, made)| made).collect()
}

/// Changes runs of `size` items in their places, with at most two threads, each of which takes the next run when it is done
/// with one. Gives the results of the runs in their order.
pub fn parallel_edit<T: Send, R: Send, S>(
    items: &mut [T],
    size: usize,
    begin: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &mut [T]) -> R + Sync,
) -> Vec<R> {
    let size = size.max(1);
    let is_short = items.len() <= size;
    if is_short || processors() < 2 {
        let mut kept = begin();
        return items.chunks_mut(size).map(|run| work(&mut kept, run)).collect();
    }
    let queue = Mutex::new(items.chunks_mut(size).enumerate());
    let runs = || {
        let mut kept = begin();
        let mut made = Vec::new();
        loop {
            // Nothing panics while it holds the lock.
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((n, run)) = next else { return made };
            made.push((n, work(&mut kept, run)));
        }
    };
    on_two_threads(runs).into_iter().map(|(_, made)| made).collect()
}

/// Hands what `work` makes of runs of `size` items to `take`, which is called in this thread and in the order of the runs,
/// while another thread works on. Where the next run is not made yet, this thread works as well.
pub fn parallel_stream<T: Sync, R: Send, S, E>(
    items: &[T],
    size: usize,
    begin: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &[T]) -> R + Sync,
    mut take: impl FnMut(&[T], R) -> Result<(), E>,
) -> Result<(), E> {
    let size = size.max(1);
    if items.len() <= size || processors() < 2 {
        let mut kept = begin();
        return items.chunks(size).try_for_each(|run| take(run, work(&mut kept, run)));
    }
    let runs: Vec<&[T]> = items.chunks(size).collect();
    let queue = RunQueue::new(runs.len());
    std::thread::scope(|scope| {
        let worker = super::spawn_worker(scope, || {
            let _leaving = Leaving(&queue);
            let mut kept = begin();
            while let Some(n) = queue.claim() {
                queue.put(n, work(&mut kept, runs[n]));
            }
        });
        let mut kept = begin();
        for (n, run) in runs.iter().enumerate() {
            let made = loop {
                match queue.next(n) {
                    Next::Made(made) => break made,
                    Next::Claimed(other) => queue.put(other, work(&mut kept, runs[other])),
                    // As in `on_two_threads`.
                    Next::Lost => match worker.map(std::thread::ScopedJoinHandle::join) {
                        Some(Err(panic)) => std::panic::resume_unwind(panic),
                        _ => unreachable!("a thread that ends as it should has made the runs that it claimed"),
                    },
                }
            };
            if let Err(error) = take(run, made) {
                queue.close();
                return Err(error);
            }
        }
        Ok(())
    })
}

/// What two threads know of runs that are taken in their order.
struct RunQueue<R> {
    state: Mutex<QueueState<R>>,
    /// A run was made, or the other thread has left.
    changed: Condvar,
}

struct QueueState<R> {
    /// The results that were not taken yet.
    made: Vec<Option<R>>,
    /// The first run that is not claimed.
    next: usize,
    /// Whether the other thread has left.
    is_alone: bool,
}

/// Work for the thread that takes the runs.
enum Next<R> {
    /// The run that it asked for.
    Made(R),
    /// A run to work on meanwhile.
    Claimed(usize),
    /// The other thread has left without making it.
    Lost,
}

impl<R> RunQueue<R> {
    fn new(runs: usize) -> Self {
        Self {
            state: Mutex::new(QueueState {
                made: (0..runs).map(|_| None).collect(),
                next: 0,
                is_alone: false,
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState<R>> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claim(&self) -> Option<usize> {
        self.lock().claim()
    }

    fn put(&self, n: usize, made: R) {
        self.lock().made[n] = Some(made);
        self.changed.notify_one();
    }

    fn next(&self, n: usize) -> Next<R> {
        let mut state = self.lock();
        loop {
            if let Some(made) = state.made[n].take() {
                return Next::Made(made);
            }
            if let Some(other) = state.claim() {
                return Next::Claimed(other);
            }
            if state.is_alone {
                return Next::Lost;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Leaves the runs that are not claimed.
    fn close(&self) {
        let mut state = self.lock();
        state.next = state.made.len();
    }
}

impl<R> QueueState<R> {
    fn claim(&mut self) -> Option<usize> {
        let n = self.next;
        (n < self.made.len()).then(|| {
            self.next += 1;
            n
        })
    }
}

/// Notes that a thread has left, also by a panic.
struct Leaving<'q, R>(&'q RunQueue<R>);

impl<R> Drop for Leaving<'_, R> {
    fn drop(&mut self) {
        self.0.lock().is_alone = true;
        self.0.changed.notify_one();
    }
}

/// Calls `runs` in this thread and in another, and joins what they made, each with its place, in the order of the places.
fn on_two_threads<R: Send>(runs: impl Fn() -> Vec<(usize, R)> + Sync) -> Vec<(usize, R)> {
    let mut made = std::thread::scope(|scope| {
        let worker = super::spawn_worker(scope, &runs);
        let mut made = runs();
        // A thread that panicked has taken runs with it; nothing here panics on purpose, so the panic is passed on.
        match worker.map(std::thread::ScopedJoinHandle::join) {
            None => {}
            Some(Ok(others)) => made.extend(others),
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        }
        made
    });
    made.sort_by_key(|(place, _)| *place);
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_and_the_order_stays() {
        for count in [0, 1, 2, MANY - 1, MANY, MANY + 1, 1001] {
            let items: Vec<usize> = (0..count).collect();
            let made = parallel_map(&items, |part| part.iter().map(|n| n * 2).collect());
            assert!(made.into_iter().eq((0..count).map(|n| n * 2)), "{count}");
        }
    }

    #[test]
    fn runs_come_back_in_their_order() {
        for (count, size) in [(0, 3), (1, 3), (3, 3), (4, 3), (100, 7), (5, 0)] {
            let items: Vec<usize> = (0..count).collect();
            let made = parallel_runs(
                &items,
                size,
                || 0_usize,
                |kept, part| {
                    *kept += part.len();
                    part.iter().map(|n| n * 2).collect()
                },
            );
            assert!(made.into_iter().eq((0..count).map(|n| n * 2)), "{count} {size}");
        }
    }

    #[test]
    fn runs_are_taken_in_their_order_up_to_an_error() {
        for (count, size) in [(0, 3), (1, 3), (3, 3), (4, 3), (1000, 7), (5, 0)] {
            let items: Vec<usize> = (0..count).collect();
            let mut taken = Vec::new();
            let double = |(): &mut (), run: &[usize]| run.iter().map(|n| n * 2).collect::<Vec<_>>();
            let done = parallel_stream(
                &items,
                size,
                || (),
                double,
                |run, made| {
                    assert_eq!(run.len(), made.len());
                    taken.extend(made);
                    if taken.len() > 500 { Err(taken.len()) } else { Ok(()) }
                },
            );
            let expected = if count > 500 { 504 } else { count };
            assert_eq!(done, if count > 500 { Err(expected) } else { Ok(()) });
            assert!(taken.into_iter().eq((0..expected).map(|n| n * 2)), "{count} {size}");
        }
    }

    #[test]
    fn a_panic_of_the_other_thread_is_passed_on() {
        if processors() < 2 {
            return;
        }
        let items: Vec<usize> = (0..64).collect();
        let here = std::thread::current().id();
        let slow = |(): &mut (), run: &[usize]| {
            assert!(std::thread::current().id() == here, "there");
            std::thread::sleep(std::time::Duration::from_millis(1));
            run.len()
        };
        let run = || parallel_stream(&items, 1, || (), slow, |_, _| Ok::<(), ()>(()));
        assert!(std::panic::catch_unwind(run).is_err());
    }

    #[test]
    fn items_are_changed_in_their_places() {
        for (count, size) in [(0, 3), (1, 3), (3, 3), (4, 3), (100, 7), (5, 0)] {
            let mut items: Vec<usize> = (0..count).collect();
            let firsts = parallel_edit(
                &mut items,
                size,
                || (),
                |(), run| {
                    for n in run.iter_mut() {
                        *n *= 2;
                    }
                    run.first().copied()
                },
            );
            assert!(items.into_iter().eq((0..count).map(|n| n * 2)), "{count} {size}");
            let expected = (0..count).step_by(size.max(1)).map(|n| Some(n * 2));
            assert!(firsts.into_iter().eq(expected), "{count} {size}");
        }
    }
}

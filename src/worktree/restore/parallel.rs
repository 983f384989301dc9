//! Work on many paths by a few threads.

use super::Error;
use crate::os;
use crate::store::Repository;

/// Paths that a thread takes at once: about those of one directory, which is then opened once.
pub(super) const BATCH: usize = 32;
/// More threads than this would wait for the file system.
const THREADS: usize = 4;

/// Threads next to this one that are worth it for so many paths.
pub(super) fn thread_count(repo: &Repository, paths: usize) -> usize {
    // Objects in memory are those of this handle alone.
    if repo.objects.num_objects_in_memory() > 0 {
        return 0;
    }
    let threads = os::processors().min(THREADS);
    threads.min(paths.div_ceil(BATCH)).saturating_sub(1)
}

/// The paths in a part for each thread, in order.
pub(super) fn parts<T>(all: &[T], helpers: usize) -> impl Iterator<Item = &[T]> {
    all.chunks(all.len().div_ceil(helpers + 1).max(1))
}

/// Does it with each part in a thread of its own; the results come in the order of the parts.
pub(super) fn in_parts<T: Sync, R: Send>(
    repo: &Repository,
    all: &[T],
    helpers: usize,
    work: impl Fn(&Repository, &[T]) -> Result<R, Error> + Sync,
) -> Vec<Result<R, Error>> {
    let mut parts = parts(all, helpers);
    let Some(first) = parts.next() else { return Vec::new() };
    std::thread::scope(|scope| {
        let helpers: Vec<_> = parts
            .map(|part| {
                let (repo, work) = (repo.clone().into_sync(), &work);
                let help = move || work(&repo.to_thread_local(), part);
                (part, os::spawn_worker(scope, help))
            })
            .collect();
        let mut results = vec![work(repo, first)];
        for (part, helper) in helpers {
            results.push(match helper.map(std::thread::ScopedJoinHandle::join) {
                Some(Ok(result)) => result,
                Some(Err(panic)) => std::panic::resume_unwind(panic),
                // The system allows no more threads.
                None => work(repo, part),
            });
        }
        results
    })
}

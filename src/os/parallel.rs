//! Work on many small things by two threads, where there are many and two processors: no more, since others want to work
//! as well, and to start a thread takes as long as some twenty of these things.

/// Fewer are not worth a thread.
const MANY: usize = 200;

/// Maps items in their order with at most two threads. `work` gets all items, or one half in each thread.
pub fn parallel_map<T: Sync, R: Send>(items: &[T], work: impl Fn(&[T]) -> Vec<R> + Sync) -> Vec<R> {
    if items.len() < MANY || std::thread::available_parallelism().map_or(1, usize::from) < 2 {
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
}

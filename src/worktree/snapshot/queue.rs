//! Directories waiting to be read, shared by the threads of a walk.
//!
//! Last in, first out, so that a walk goes deep before it goes wide and few directories are open at once. Each directory gets
//! a number larger than that of the directory above it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::walk::Task;

/// The queue. Empty with no thread at work means that the walk is done.
pub(super) struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

struct QueueState {
    waiting: Vec<Task>,
    at_work: usize,
    /// Threads that wait for a notification; without any none is sent, since each one is a system call.
    idle: usize,
    next: u32,
}

impl Queue {
    /// A queue that holds the root, whose number is 0.
    pub(super) fn new(root: Task) -> Self {
        Self {
            state: Mutex::new(QueueState {
                waiting: vec![root],
                at_work: 0,
                idle: 0,
                next: 1,
            }),
            changed: Condvar::new(),
        }
    }

    /// The next directory; `None` when there will be none any more. Each must be followed by [`Self::done`].
    pub(super) fn next(&self) -> Option<Task> {
        let mut state = self.lock();
        loop {
            if let Some(task) = state.waiting.pop() {
                state.at_work += 1;
                crate::os::trace::count();
                return Some(task);
            }
            if state.at_work == 0 {
                return None;
            }
            state.idle += 1;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    /// Ends the work on a directory and adds the directories found in it. Returns how many wait.
    pub(super) fn done(&self, found: &mut Vec<Task>) -> usize {
        let mut state = self.lock();
        let before = state.waiting.len();
        for mut task in found.drain(..) {
            task.id = state.next;
            state.next += 1;
            state.waiting.push(task);
        }
        // The first of them first, since of many names the first ones are kept.
        state.waiting[before..].reverse();
        state.at_work -= 1;
        let waiting = state.waiting.len();
        let told = if waiting == 0 && state.at_work > 0 {
            0
        } else {
            state.idle
        };
        drop(state);
        if told > 0 {
            self.changed.notify_all();
        }
        waiting
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

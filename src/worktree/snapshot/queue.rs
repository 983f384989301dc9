//! Folders waiting to be read, shared by the threads of a walk.
//!
//! Last in, first out, so that a walk goes deep before it goes wide and few folders are open at once. Each folder gets
//! a number larger than that of the folder above it.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::walk::Task;

/// The queue. Empty with nobody at work means that the walk is done.
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    waiting: Vec<Task>,
    at_work: usize,
    next: u32,
}

impl Queue {
    /// A queue that holds the root, whose number is 0.
    pub(super) fn new(root: Task) -> Self {
        Self {
            state: Mutex::new(State {
                waiting: vec![root],
                at_work: 0,
                next: 1,
            }),
            changed: Condvar::new(),
        }
    }

    /// The next folder; `None` when there will be none any more. Each must be followed by [`Self::done`].
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
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends the work on a folder and adds the folders found in it. Tells how many wait.
    pub(super) fn done(&self, found: &mut Vec<Task>) -> usize {
        let mut state = self.lock();
        for mut task in found.drain(..) {
            task.id = state.next;
            state.next += 1;
            state.waiting.push(task);
        }
        state.at_work -= 1;
        let waiting = state.waiting.len();
        if waiting > 1 || (waiting == 0 && state.at_work == 0) {
            self.changed.notify_all();
        } else if waiting == 1 {
            self.changed.notify_one();
        }
        waiting
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

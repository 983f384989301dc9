//! What the stories are on: a world of its own per test (`World`), the result of a command (`Output`), a fingerprint of
//! everything a save must not touch, text made comparable (`normal`), and a real pseudo-terminal (`terminal`).
//!
//! Nothing of the machine leaks in: every child starts from an empty environment with its own HOME and fixed dates.
#![allow(
    dead_code,
    reason = "the stories use what they need; not every helper is used in every build"
)]

mod fingerprint;
mod normal;
mod output;
mod place;
mod program;
pub mod schema;
#[cfg(unix)]
mod spawned;
mod system;
mod template;
#[cfg(unix)]
mod terminal;
mod world;

pub use fingerprint::Fingerprint;
pub use output::Output;
pub use place::temporary;
pub use program::{PROGRAM, copy_program, own_program};
#[cfg(unix)]
pub use spawned::Spawned;
#[cfg(unix)]
pub use terminal::{Terminal, pair};
pub use world::{World, as_nobody, unprivileged};

mod self_test;

/// Gives children the default disposition of signals that this process was started to ignore, as by `nohup` or a
/// shell's background job: the program respects ignored signals, so stories about signals would wait for ever. An
/// ignored signal is inherited and a handled one is not, so a handler that does nothing is enough.
#[cfg(unix)]
pub fn default_signals() {
    use std::sync::{Arc, Once, atomic::AtomicBool};
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let ignored = git_checkpoint::os::ignored_signals();
        for signal in [1, 2, 3, 15] {
            if ignored & (1 << (signal - 1)) != 0 {
                signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false))).unwrap();
            }
        }
    });
}

#[cfg(not(unix))]
pub fn default_signals() {}

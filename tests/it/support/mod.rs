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
pub mod schema;
#[cfg(unix)]
mod spawned;
#[cfg(unix)]
mod terminal;
mod world;

pub use fingerprint::Fingerprint;
pub use output::Output;
#[cfg(unix)]
pub use spawned::Spawned;
#[cfg(unix)]
pub use terminal::Terminal;
pub use world::{PROGRAM, World, as_nobody};

mod self_test;

//! Saves and resumes work sessions as commits in the user's own repository.
//!
//! The library behind the program `git-checkpoint`. It holds the layers; `tests/it/layers.rs` keeps the arrows between
//! them pointing one way. It is not a stable interface: scripts use the command line and its JSON.

pub mod agents;
pub mod commands;
pub mod formats;
pub mod git;
pub mod model;
pub mod ops;
pub mod os;
#[cfg(feature = "serve")]
pub mod page;
pub mod render;
#[cfg(feature = "ui")]
pub mod screen;
pub mod secrets;
pub mod serve;
pub mod store;
pub mod tokens;
pub mod worktree;

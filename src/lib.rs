//! `git checkpoint`: save and resume work sessions as commits under `refs/checkpoints/<session>`.

pub mod git;
pub mod model;
pub mod os;
pub mod store;

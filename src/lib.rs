//! `git checkpoint`: save and resume work sessions as commits under `refs/checkpoints/<session>`.

pub mod model;

//! Files and trees: a snapshot of the working tree.
//!
//! Everything here works on one working tree and its index. What a snapshot means, where it is kept and what is shown of
//! it is decided elsewhere.

pub mod restore;
pub mod snapshot;

//! What differs between systems.

pub mod terminal;

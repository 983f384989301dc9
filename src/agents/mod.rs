//! What coding agents are like: their hooks and settings. No git, no clock, no command line.

pub mod hooks;

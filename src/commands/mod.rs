//! The command line: clap in, outcome out.

pub mod environment;
pub mod error;
pub mod ui;

//! The hooks of coding agents: where they are configured, and what their events mean.

pub mod adapter;
pub mod event;
pub mod probe;
pub mod server;
pub mod settings;

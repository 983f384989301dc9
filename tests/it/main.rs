//! The one test binary: stories reported with the built program and checked with git itself, and the rules of the
//! source tree. One binary, because linking gix once per file would take minutes.
#![allow(
    clippy::unwrap_used,
    clippy::format_collect,
    clippy::map_unwrap_or,
    clippy::print_stderr,
    clippy::regex_creation_in_loops,
    clippy::unnecessary_debug_formatting,
    clippy::match_same_arms,
    clippy::needless_for_each,
    clippy::disallowed_methods,
    reason = "tests start programs, read the clock and stop at the first surprise"
)]
#![allow(unreachable_pub, reason = "everything here is seen by this binary only")]

mod changes;
#[cfg(unix)]
mod chat;
mod circles;
mod citizen;
mod format;
mod formats;
mod layers;
#[cfg(unix)]
mod restore;
#[cfg(unix)]
mod setup;
#[cfg(unix)]
mod share;
mod snapshot;
#[cfg(unix)]
mod store;
#[cfg(unix)]
mod stories;
mod support;
#[cfg(unix)]
mod terminal;

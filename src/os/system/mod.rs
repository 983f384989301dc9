//! Differences of the operating systems behind the same functions: `unix` and `windows` are counterparts, and
//! so are `linux` and `posix` with `portable`, where Linux can do more than other systems.
//!
//! Other modules of this layer do not ask which system they are built for; `dir` and `reports` choose a whole type.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod portable;
#[cfg(all(unix, not(target_os = "linux")))]
mod posix;
#[cfg(unix)]
mod unix;
#[cfg(not(unix))]
mod windows;

#[cfg(target_os = "linux")]
pub(super) use linux::*;
#[cfg(not(target_os = "linux"))]
pub(super) use portable::*;
#[cfg(all(unix, not(target_os = "linux")))]
pub(super) use posix::*;
#[cfg(unix)]
pub use unix::*;
#[cfg(not(unix))]
pub use windows::*;

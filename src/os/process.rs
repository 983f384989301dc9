//! Another process that is watched, and the processor time of this one. Numbers of processes are used again, so one is
//! known by its number and by when it started.
//!
//! On Linux through `/proc`. On other Unixes only the existence of the process number is known; elsewhere nothing is
//! known.

use std::io;
use std::time::Duration;

/// Ticks of the clock in `/proc/<pid>/stat`: 100 a second on every architecture that Linux has today (`USER_HZ`).
const TICKS: u64 = 100;

/// The number of this process.
pub fn own_process() -> u32 {
    std::process::id()
}

/// A process to wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessHandle {
    id: u32,
    started: Option<String>,
}

impl ProcessHandle {
    /// The process with this number, or `None` if there is none. `Unsupported` where that cannot be determined.
    pub fn find(id: u32) -> io::Result<Option<Self>> {
        if let Some(stat) = stat(&id.to_string()) {
            let started = stat.started();
            return Ok((!stat.has_ended()).then_some(Self { id, started }));
        }
        let running = running(id).ok_or(io::ErrorKind::Unsupported)?;
        Ok(running.then_some(Self { id, started: None }))
    }

    /// When it started, in the words of the system; `None` where that is unknown.
    pub(super) fn started(&self) -> Option<String> {
        self.started.clone()
    }

    /// Whether it still runs. One that has ended and was not waited for does not.
    pub fn is_alive(&self) -> bool {
        matches!(Self::find(self.id), Ok(Some(now)) if now == *self)
    }
}

#[cfg(target_os = "linux")]
fn running(id: u32) -> Option<bool> {
    super::is_running(id)
}

#[cfg(all(unix, not(target_os = "linux")))]
fn running(id: u32) -> Option<bool> {
    let id = rustix::process::Pid::from_raw(i32::try_from(id).ok()?)?;
    Some(match rustix::process::test_kill_process(id) {
        Ok(()) | Err(rustix::io::Errno::PERM) => true,
        Err(_) => false,
    })
}

#[cfg(not(unix))]
fn running(id: u32) -> Option<bool> {
    super::is_running(id)
}

/// The fields of `/proc/<id>/stat` after the program's name, which may hold anything.
struct Stat(String);

fn stat(id: &str) -> Option<Stat> {
    let bytes = std::fs::read(format!("/proc/{id}/stat")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    Some(Stat(text.rsplit_once(") ")?.1.to_owned()))
}

impl Stat {
    /// A field by its number in proc(5), from 3 on.
    fn field(&self, number: usize) -> Option<&str> {
        self.0.split(' ').nth(number - 3)
    }

    fn has_ended(&self) -> bool {
        matches!(self.field(3), Some("Z" | "X"))
    }

    fn started(&self) -> Option<String> {
        self.field(22).map(str::to_owned)
    }
}

/// The processor time that this process, its threads and the children it has waited for have used; `None` where that is
/// not reported. Counted in hundredths of a second.
pub fn processor_time() -> Option<Duration> {
    let stat = stat("self")?;
    let ticks: u64 = (14..=17)
        .map(|number| stat.field(number)?.parse::<u64>().ok())
        .sum::<Option<u64>>()?;
    Some(Duration::from_millis(ticks * (1000 / TICKS)))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_until_it_ends() {
        let own = ProcessHandle::find(std::process::id())
            .expect("told")
            .expect("this one");
        assert!(own.is_alive());
        let other = ProcessHandle {
            started: Some("1".to_owned()),
            ..own
        };
        assert!(!other.is_alive(), "of the same number, but started at another time");
        assert_eq!(ProcessHandle::find(u32::MAX).expect("told"), None);
        assert!(processor_time().is_some());
    }
}

//! Another process that is watched, and the processor time of this one. Numbers of processes are used again, so one is
//! known by its number and by when it started.
//!
//! On Linux through `/proc`. On other Unixes only the existence of the process number is known; elsewhere nothing is
//! known.

use std::io;
use std::time::Duration;

use super::system;

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
        let running = super::is_running(id).or_else(|| system::exists(id));
        let running = running.ok_or(io::ErrorKind::Unsupported)?;
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

/// A process that this one was started by, directly or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AncestorProcess {
    /// Its number.
    pub id: u32,
    /// When it started, in the words of the system.
    pub started: String,
    /// The words of its command line.
    pub command: Vec<String>,
}

/// The most ancestors that are named.
const GENERATIONS: usize = 16;

/// The processes that this one was started by, the parent first; none where the system does not show them.
pub fn ancestors() -> Vec<AncestorProcess> {
    let mut out = Vec::new();
    let mut next = stat("self").and_then(|stat| stat.parent());
    while let Some(id) = next.filter(|id| *id > 0 && out.len() < GENERATIONS) {
        let Some(stat) = stat(&id.to_string()) else { break };
        let Some(started) = stat.started() else { break };
        next = stat.parent();
        let command = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let words = command.split(|byte| *byte == 0).filter(|word| !word.is_empty());
        out.push(AncestorProcess {
            id,
            started,
            command: words.map(|word| String::from_utf8_lossy(word).into_owned()).collect(),
        });
    }
    out
}

/// The boot of this machine and the namespace of its processes: a number means the same process only where both are the
/// same. `None` where the system does not show them.
pub fn process_scope() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot.trim(), namespace.display()))
}

/// Whether it is certain that a process of this scope has ended: there is none of its number, or one that started at
/// another time. One that is hidden from this user may still run.
pub fn has_ended(id: u32, started: &str) -> bool {
    match stat(&id.to_string()) {
        Some(stat) => stat.has_ended() || stat.started().is_some_and(|now| now != started),
        None => system::exists(id) == Some(false),
    }
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

    fn parent(&self) -> Option<u32> {
        self.field(4)?.parse().ok()
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

    #[test]
    fn an_end_is_certain_only_of_the_process_that_was_meant() {
        let parent = ancestors().into_iter().next().expect("one that started this one");
        assert!(!has_ended(parent.id, &parent.started) && !parent.command.is_empty());
        assert!(has_ended(parent.id, "1"), "its number was used again");
        assert!(has_ended(4_000_000, "1") || stat("4000000").is_some());
        assert!(!has_ended(u32::MAX, "1"), "no number of a process");
        assert!(process_scope().is_some_and(|scope| scope.contains("pid:[")));
    }
}

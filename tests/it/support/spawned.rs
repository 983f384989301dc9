//! A run of the program that goes on next to the test. Whatever becomes of the test, nothing that it started is left:
//! it leads a process group, which is killed in the end.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::{PROGRAM, World};

/// How long one may take before the test fails.
const LIMIT: Duration = Duration::from_secs(120);

/// A started run.
pub struct Spawned {
    child: Child,
}

impl World {
    /// Starts the built program in the repository, without any stream of the test's.
    pub fn spawn<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Spawned {
        let mut command = Command::new(PROGRAM);
        command.args(args).current_dir(self.repo()).env_clear();
        command.envs(self.environment()).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Spawned {
            child: command.spawn().unwrap(),
        }
    }
}

impl Spawned {
    /// Its process.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends it a signal, and to nothing that it started.
    pub fn signal(&self, signal: Signal) {
        rustix::process::kill_process(self.pid(), signal).unwrap();
    }

    /// Waits for its end; the exit code, or `None` if a signal ended it.
    pub fn code(mut self) -> Option<i32> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            assert!(started.elapsed() < LIMIT, "still running");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        // The group lives as long as one that it started does, and then its number is nobody else's.
        let _ = rustix::process::kill_process_group(self.pid(), Signal::KILL);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! A child that must not outlive us, however we end: a shell next to it waits on a pipe that only we hold, and asks the
//! child to end when the pipe closes before we said that all is well.
//!
//! A SIGKILL cannot be caught, and that a child's own pipes are closed does not end one that waits for the network. The
//! system's own means for this needs code between fork and exec, which cannot be written safely. Elsewhere than on Unix
//! there is no guard.

use std::io::{self, Write as _};
use std::process::{Child, Command, Stdio};

use super::system;

/// A guard over a child. Dropped, it lets the child be.
#[derive(Debug)]
pub struct Guard {
    shell: Child,
}

impl Guard {
    /// Sets a guard over a child. It must be dropped before the child is waited for, so that the number cannot have come
    /// to be another process's.
    #[expect(
        clippy::disallowed_methods,
        reason = "the shell is no git, and is given no repository"
    )]
    pub fn over(child: &Child) -> io::Result<Self> {
        let mut shell = Command::new(system::GUARD.ok_or(io::ErrorKind::Unsupported)?);
        shell
            .args(["-c", "read -r word || kill -TERM \"$1\"", "sh", &child.id().to_string()])
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // What ends us at the terminal must not end it first.
        system::own_group(&mut shell);
        Ok(Self { shell: shell.spawn()? })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let told = self
            .shell
            .stdin
            .take()
            .is_some_and(|mut pipe| pipe.write_all(b"\n").is_ok());
        if !told {
            let _ = self.shell.kill();
        }
        // It ends at once in both cases; it fails only for one that is gone already.
        let _ = self.shell.wait();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a child to be guarded")]
    fn it_lets_the_child_be_when_told_and_ends_it_when_the_pipe_closes() {
        let child = || Command::new("sleep").arg("30").spawn().expect("sleep starts");
        let mut kept = child();
        drop(Guard::over(&kept).expect("a guard"));
        assert!(kept.try_wait().expect("asked").is_none());
        kept.kill().expect("killed");
        kept.wait().expect("ended");
        let mut ended = child();
        let mut guard = Guard::over(&ended).expect("a guard");
        drop(guard.shell.stdin.take());
        let status = ended.wait().expect("ended");
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(15));
    }
}

//! A program of the user's that reads from us and answers, such as a filter that git's settings name.
//!
//! Started as git starts it: by the shell, in the given directory, with our environment, its error output going where ours
//! goes. It must not take optional locks of the repository.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A running program. Dropped, its input ends and it is waited for.
#[derive(Debug)]
pub struct Program {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
}

impl Program {
    /// Starts a command line of the shell in `folder`, without the variables in `cleared`.
    #[expect(
        clippy::disallowed_methods,
        reason = "a filter is the user's own program, to be run as git runs it"
    )]
    pub fn start(command: &OsStr, directory: &Path, cleared: &[&str]) -> io::Result<Self> {
        let mut shell = Command::new(super::system::shell());
        for name in cleared {
            shell.env_remove(name);
        }
        shell
            .arg("-c")
            .arg(command)
            .current_dir(directory)
            .env("GIT_OPTIONAL_LOCKS", "0");
        let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        Ok(Self { child, stdin, stdout })
    }

    /// Gives the whole source to the program while taking its whole output, and waits for its end. Returns whether it
    /// succeeded; that it did not read everything is no failure.
    pub fn pass(mut self, source: &mut (dyn Read + Send), sink: &mut dyn Write) -> io::Result<bool> {
        let (stdin, stdout) = (self.stdin.take(), self.stdout.take());
        let (Some(mut stdin), Some(mut stdout)) = (stdin, stdout) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let (given, taken) = std::thread::scope(|scope| {
            // Both at once, or each could wait for the other with a full pipe.
            let give = move || io::copy(source, &mut stdin).map(drop);
            let giving = match std::thread::Builder::new().spawn_scoped(scope, give) {
                Ok(giving) => giving,
                Err(error) => return (Ok(Ok(())), Err(error)),
            };
            let taken = io::copy(&mut stdout, sink);
            drop(stdout);
            (giving.join(), taken)
        });
        if taken.is_err() {
            self.kill();
        }
        taken?;
        match given {
            Ok(Err(error)) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error),
            Ok(_) => {}
            Err(panic) => std::panic::resume_unwind(panic),
        }
        Ok(self.child.wait()?.success())
    }

    /// Ends it without waiting for its consent.
    pub fn kill(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
    }
}

impl Read for Program {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stdout.as_mut().map_or(Ok(0), |stdout| stdout.read(buffer))
    }
}

impl Write for Program {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.stdin
            .as_mut()
            .map_or_else(|| Err(io::ErrorKind::BrokenPipe.into()), |stdin| stdin.write(buffer))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stdin.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.stdin = None;
        self.stdout = None;
        // How it ends does not matter any more.
        let _ = self.child.wait();
    }
}

//! A child that has been started: its pipes, its end, and its end when we lose interest.

use std::io::{self, Read};
use std::process::{Child, ChildStdin, ChildStdout, Command};
use std::thread::JoinHandle;
use std::time::Instant;

use super::{Error, GitOutput};

/// How much of a child's error output is kept for a message.
const STDERR_LIMIT: usize = 64 * 1024;

/// A started child. Dropping it kills and reaps the child.
#[derive(Debug)]
pub struct GitChild {
    child: Option<Child>,
    /// The child's standard input; take and drop it to end the input.
    pub stdin: Option<ChildStdin>,
    /// The child's standard output.
    pub stdout: Option<ChildStdout>,
    stderr: Option<JoinHandle<String>>,
    shown: String,
    codes: Vec<i32>,
    begun: Instant,
}

/// Output of a finished child process, and its command for messages.
pub(super) struct ChildOutput {
    pub(super) output: GitOutput,
    pub(super) command: String,
}

impl GitChild {
    /// Starts a command whose pipes are set up; `shown` is how messages call it, `codes` are the statuses it may end
    /// with.
    pub(super) fn start(mut command: Command, shown: String, codes: Vec<i32>) -> Result<Self, Error> {
        let mut child = command.spawn().map_err(|source| Error::Io {
            command: shown.clone(),
            source,
        })?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take();
        let stderr = child.stderr.take().map(|mut pipe| {
            std::thread::Builder::new().spawn(move || {
                let mut kept = Vec::new();
                // What goes beyond the limit must still be read, or the child would wait for ever.
                let _ = pipe.by_ref().take(STDERR_LIMIT as u64).read_to_end(&mut kept);
                let _ = io::copy(&mut pipe, &mut io::sink());
                String::from_utf8_lossy(&kept).into_owned()
            })
        });
        let stderr = match stderr.transpose() {
            Ok(stderr) => stderr,
            Err(source) => {
                // It must not go on unheard.
                let _ = child.kill();
                let _ = child.wait();
                return Err(Error::Io { command: shown, source });
            }
        };
        Ok(Self {
            child: Some(child),
            stdin,
            stdout,
            stderr,
            shown,
            codes,
            begun: Instant::now(),
        })
    }

    /// Ends the input, reads what is left of the output into the result and waits for the end.
    pub fn finish(mut self) -> Result<GitOutput, Error> {
        drop(self.stdin.take());
        let mut stdout = Vec::new();
        if let Some(mut pipe) = self.stdout.take() {
            pipe.read_to_end(&mut stdout).map_err(|source| Error::Io {
                command: self.shown.clone(),
                source,
            })?;
        }
        Ok(self.finish_with(stdout)?.output)
    }

    /// Waits for the end; `stdout` is what was read.
    pub(super) fn finish_with(mut self, stdout: Vec<u8>) -> Result<ChildOutput, Error> {
        drop(self.stdin.take());
        drop(self.stdout.take());
        let command = std::mem::take(&mut self.shown);
        let Some(mut child) = self.child.take() else {
            return Err(Error::Io {
                command,
                source: io::Error::other("it was already waited for"),
            });
        };
        let status = child.wait().map_err(|source| Error::Io {
            command: command.clone(),
            source,
        })?;
        super::told(&command, self.begun, status.code());
        let stderr = self
            .stderr
            .take()
            .and_then(|thread| thread.join().ok())
            .unwrap_or_default();
        match status.code() {
            Some(code) if self.codes.contains(&code) => Ok(ChildOutput {
                output: GitOutput { code, stdout, stderr },
                command,
            }),
            code => Err(Error::Failed { command, code, stderr }),
        }
    }
}

impl Drop for GitChild {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Both fail only for a child that is gone already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

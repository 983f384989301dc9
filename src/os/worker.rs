//! A child that may outlive us: it has its own process group, so that Ctrl-C at the terminal does not end it, and none
//! of our streams, so that no reader of ours waits for it.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The pause between two looks at whether the child has ended.
const PAUSE: Duration = Duration::from_millis(2);
/// How long the worker may take to read its input.
const GIVING: Duration = Duration::from_secs(3);

/// Starts `program` and does not wait for it. `variables` are added to ours, and those without a value are taken out.
#[expect(
    clippy::disallowed_methods,
    reason = "this program itself, with all that the caller's environment says"
)]
pub fn run_alone(program: &Path, args: &[OsString], variables: &[(&str, Option<&str>)]) -> io::Result<()> {
    let mut command = Command::new(program);
    command.args(args);
    for (name, value) in variables {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop)
}

/// Starts `program` with `input` on its standard input and waits for it, but no longer than `wait`; it goes on then.
/// `variables` are added to ours. Returns whether it ended.
#[expect(
    clippy::disallowed_methods,
    reason = "this program itself, with all that the caller's environment says"
)]
pub fn run_for(
    program: &Path,
    args: &[OsString],
    variables: &[(&str, &str)],
    input: Vec<u8>,
    wait: Duration,
) -> io::Result<bool> {
    let begun = Instant::now();
    let mut command = Command::new(program);
    command.args(args).envs(variables.iter().copied());
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    super::system::own_group(&mut command);
    let mut child = command.spawn()?;
    let mut giving = None;
    if let Some(mut stdin) = child.stdin.take() {
        // A thread, since more than a pipe holds waits for the worker to read it.
        match std::thread::Builder::new().spawn(move || drop(stdin.write_all(&input))) {
            Ok(thread) => giving = Some(thread),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(error);
            }
        }
    }
    loop {
        if child.try_wait()?.is_some() {
            return Ok(true);
        }
        // The thread ends with us: on a busy machine it may not even have begun after the time is over.
        let is_given = giving.as_ref().is_none_or(std::thread::JoinHandle::is_finished);
        if begun.elapsed() >= if is_given { wait } else { wait.max(GIVING) } {
            return Ok(false);
        }
        std::thread::sleep(PAUSE);
    }
}

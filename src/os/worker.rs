//! A child that may outlive us: it has its own process group, so that Ctrl-C at the terminal does not end it, and none
//! of our streams, so that nobody who reads ours waits for it.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The pause between two looks at whether the child has ended.
const PAUSE: Duration = Duration::from_millis(2);

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
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // More than a pipe holds must not keep us: then a thread is left waiting, which ends with us.
        let giving = std::thread::Builder::new().spawn(move || drop(stdin.write_all(&input)));
        if let Err(error) = giving {
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
    }
    loop {
        if child.try_wait()?.is_some() {
            return Ok(true);
        }
        if begun.elapsed() >= wait {
            return Ok(false);
        }
        std::thread::sleep(PAUSE);
    }
}

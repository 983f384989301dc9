//! A program that settings of git's name, run without a shell as git runs it: it is given bytes, and its output is taken.
//!
//! Whether it may ask the person at the terminal is a property of the thread that runs a command: no question is asked unless
//! [`ask_at_terminal`] allowed it. Without a terminal, the program has a process group of its own, no way to a terminal
//! or display that it would find by itself, and a limit of time.

use std::cell::Cell;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::system;

thread_local! {
    static CAN_ASK: Cell<bool> = const { Cell::new(false) };
    static WITHOUT_QUESTIONS_HERE: Cell<bool> = const { Cell::new(false) };
}

/// How often the end of the program is looked for.
const LOOK: Duration = Duration::from_millis(5);
/// How long its output is waited for after it ended: something it left behind may hold its pipes.
const LINGER: Duration = Duration::from_millis(500);

/// Variables by which a program would find a user to ask. ssh asks the program that is named, which fails.
const WITHOUT_QUESTIONS: &[(&str, Option<&str>)] = &[
    ("DISPLAY", None),
    ("WAYLAND_DISPLAY", None),
    ("GPG_TTY", None),
    ("SSH_ASKPASS", Some("false")),
    ("SSH_ASKPASS_REQUIRE", Some("force")),
];

/// Sets whether a program that runs for this thread may ask the person at the terminal.
pub fn ask_at_terminal(can_ask: bool) {
    CAN_ASK.set(can_ask);
}

/// Whether a program that runs for this thread may ask.
pub fn can_ask_at_terminal() -> bool {
    CAN_ASK.get()
}

/// Runs work of this thread whose programs must not find a terminal by themselves either: the process has it for other
/// things, or there is no terminal.
pub fn without_questions<T>(work: impl FnOnce() -> T) -> T {
    let before = WITHOUT_QUESTIONS_HERE.replace(true);
    let _restored = RestoredQuestions(before);
    work()
}

/// Whether [`without_questions`] covers this thread.
pub fn is_without_questions() -> bool {
    WITHOUT_QUESTIONS_HERE.get()
}

/// Puts the former state of the thread back, also when the work ends by a panic.
struct RestoredQuestions(bool);

impl Drop for RestoredQuestions {
    fn drop(&mut self) {
        WITHOUT_QUESTIONS_HERE.set(self.0);
    }
}

/// Output of a finished program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    /// The exit status; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
}

/// Runs a program to its end. With a limit of time it cannot ask anybody, and fails with
/// [`TimedOut`](io::ErrorKind::TimedOut) when the time is over.
#[expect(
    clippy::disallowed_methods,
    reason = "the program that the user's settings name for this"
)]
pub fn run_tool(program: &Path, args: &[OsString], input: &[u8], limit: Option<Duration>) -> io::Result<ToolOutput> {
    let mut command = Command::new(program);
    command
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if limit.is_some() {
        for (name, value) in WITHOUT_QUESTIONS {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        system::own_group(&mut command);
    }
    let mut child = command.spawn()?;
    let outcome = converse(&mut child, input, limit);
    if outcome.is_err() {
        end(&mut child, limit.is_some());
    }
    outcome
}

fn converse(child: &mut Child, input: &[u8], limit: Option<Duration>) -> io::Result<ToolOutput> {
    let begun = Instant::now();
    let (Some(mut stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    // All at once, or one side could wait for the other with a full pipe. One that ends without reading everything
    // reports it by its exit status.
    let input = input.to_vec();
    std::thread::Builder::new().spawn(move || drop(stdin.write_all(&input)))?;
    let (output, said) = (taken(stdout)?, taken(stderr)?);
    let mut texts = [None, None];
    let mut ended = None;
    loop {
        let missing = [&output, &said]
            .into_iter()
            .zip(&mut texts)
            .find(|(_, text)| text.is_none());
        match missing {
            Some((pipe, text)) => match pipe.recv_timeout(LOOK) {
                Ok(read) => *text = Some(read?),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(io::ErrorKind::BrokenPipe.into()),
            },
            None if ended.is_none() => std::thread::sleep(LOOK / 5),
            None => {}
        }
        if ended.is_none() {
            ended = child.try_wait()?.map(|status| (status, Instant::now()));
        }
        let is_whole = texts.iter().all(Option::is_some);
        if let Some((status, at)) = ended
            && (is_whole || at.elapsed() > LINGER)
        {
            let [stdout, stderr] = texts.map(Option::unwrap_or_default);
            let code = status.code();
            return Ok(ToolOutput { code, stdout, stderr });
        }
        if limit.is_some_and(|limit| begun.elapsed() > limit) {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}

/// Reads a pipe to its end in a thread of its own, without joining it.
fn taken(mut pipe: impl Read + Send + 'static) -> io::Result<Receiver<io::Result<Vec<u8>>>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::Builder::new().spawn(move || {
        let mut text = Vec::new();
        let read = pipe.read_to_end(&mut text).map(|_| text);
        // The receiver is gone where the time was over.
        let _ = sender.send(read);
    })?;
    Ok(receiver)
}

/// Ends the program, and what it started where it has a group of its own.
fn end(child: &mut Child, has_group: bool) {
    if has_group {
        // It may have ended by itself.
        system::send(child, true, system::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    const LONG: Option<Duration> = Some(Duration::from_secs(60));

    #[test]
    fn input_and_output_larger_than_a_pipe_pass() {
        let input = vec![b'x'; 1 << 20];
        for limit in [None, LONG] {
            let done = run_tool(Path::new("cat"), &[], &input, limit).expect("cat");
            assert_eq!((done.code, done.stdout.len(), done.stderr.len()), (Some(0), 1 << 20, 0));
        }
        assert!(run_tool(Path::new("/nowhere/at-all"), &[], b"", None).is_err());
        let done = run_tool(Path::new("false"), &[], &input, None).expect("false");
        assert_eq!(done.code, Some(1));
    }

    #[test]
    fn a_program_that_waits_for_somebody_is_ended_with_what_it_started() {
        let begun = Instant::now();
        let args = ["-c", "sleep 60 | sleep 60"].map(OsString::from);
        let limit = Some(Duration::from_millis(200));
        let error = run_tool(Path::new("sh"), &args, b"", limit).expect_err("its time is over");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn nobody_is_asked_unless_the_thread_may() {
        assert!(!can_ask_at_terminal());
        let args = ["-c", "echo \"$SSH_ASKPASS $SSH_ASKPASS_REQUIRE ${DISPLAY-none}\""].map(OsString::from);
        let done = run_tool(Path::new("sh"), &args, b"", LONG).expect("sh");
        assert_eq!(String::from_utf8_lossy(&done.stdout), "false force none\n");
    }
}

//! A program of the user's that is given a text and answers with one, within a time and a length.
//!
//! It gets a process group of its own, so that it and what it started can be ended together: when its time is over,
//! when it prints too much, and when the user interrupts us.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::{interrupt, system};

/// Question to a program of the user's.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// A command line of the shell.
    pub command: &'a OsStr,
    /// The directory it runs in.
    pub directory: &'a Path,
    /// Variables that are added to its environment.
    pub variables: &'a [(&'a str, &'a str)],
    /// Standard input of the program.
    pub input: &'a [u8],
    /// The most bytes of an answer.
    pub limit: usize,
    /// How long it may take.
    pub time: Duration,
}

/// Outcome of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryOutcome {
    /// Its whole output; it ended well.
    Text(Vec<u8>),
    /// It failed: its exit status, if it ended by itself.
    Failed(Option<i32>),
    /// Its time was over.
    Late,
    /// It said more than allowed.
    TooLong,
    /// The user interrupted.
    Interrupted,
}

/// How often an interruption is looked for.
const LOOK: Duration = Duration::from_millis(20);

/// Runs the program and waits for its answer. Its error output goes where ours goes.
#[expect(
    clippy::disallowed_methods,
    reason = "the program that the user's settings name for this"
)]
pub fn query_program(question: Question<'_>) -> io::Result<QueryOutcome> {
    let held = interrupt::InterruptGuard::new()?;
    let mut shell = Command::new(system::shell());
    shell.arg("-c").arg(question.command).current_dir(question.directory);
    shell.envs(question.variables.iter().copied());
    system::own_group(&mut shell);
    let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    let input = question.input.to_vec();
    // Both at once, or each could wait for the other with a full pipe. Neither thread is waited for: something the
    // program left behind may hold its pipes for ever.
    let giving = std::thread::Builder::new().spawn(move || {
        // That it did not read everything is no failure.
        let _ = stdin.write_all(&input);
    });
    let (sender, receiver) = mpsc::channel();
    let limit = question.limit as u64;
    let taking = std::thread::Builder::new().spawn(move || {
        let mut text = Vec::new();
        let read = stdout.take(limit + 1).read_to_end(&mut text).map(|_| text);
        let _ = sender.send(read);
    });
    if let Err(error) = giving.and(taking) {
        end(&mut child);
        return Err(error);
    }
    let deadline = Instant::now() + question.time;
    let answer = loop {
        match receiver.recv_timeout(LOOK) {
            Ok(Ok(text)) if text.len() > question.limit => break QueryOutcome::TooLong,
            Ok(Ok(text)) => break QueryOutcome::Text(text),
            Ok(Err(error)) => {
                end(&mut child);
                return Err(error);
            }
            Err(RecvTimeoutError::Disconnected) => break QueryOutcome::Failed(None),
            Err(RecvTimeoutError::Timeout) if held.is_set() => break QueryOutcome::Interrupted,
            Err(RecvTimeoutError::Timeout) if Instant::now() >= deadline => break QueryOutcome::Late,
            Err(RecvTimeoutError::Timeout) => {}
        }
    };
    let QueryOutcome::Text(text) = answer else {
        end(&mut child);
        return Ok(answer);
    };
    // It may have closed its output without ending.
    loop {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(QueryOutcome::Text(text)),
            Some(status) => return Ok(QueryOutcome::Failed(status.code())),
            None if held.is_set() || Instant::now() >= deadline => {
                end(&mut child);
                return Ok(QueryOutcome::Late);
            }
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// Ends the program and what it started.
fn end(child: &mut Child) {
    // It may have ended by itself.
    system::send(child, true, system::KILL);
    let _ = child.kill();
    let _ = child.wait();
}

/// Measures how long something takes.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts it.
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Milliseconds since it was started.
    pub fn millis(self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn asked(command: &str, input: &[u8]) -> QueryOutcome {
        query_program(Question {
            command: OsStr::new(command),
            directory: Path::new("/"),
            variables: &[("GIVEN", "yes")],
            input,
            limit: 1000,
            time: Duration::from_millis(400),
        })
        .expect("sh runs")
    }

    #[test]
    fn every_way_to_answer() {
        assert_eq!(
            asked("cat; echo $GIVEN", b"in "),
            QueryOutcome::Text(b"in yes\n".to_vec())
        );
        assert_eq!(asked("exit 3", b""), QueryOutcome::Failed(Some(3)));
        assert_eq!(
            asked("no-such-program-anywhere 2>/dev/null", b""),
            QueryOutcome::Failed(Some(127))
        );
        assert_eq!(asked("yes", &vec![b'x'; 1 << 20]), QueryOutcome::TooLong);
        let watch = Stopwatch::start();
        assert_eq!(asked("sleep 30 & sleep 30", b""), QueryOutcome::Late);
        assert_eq!(asked("exec >&-; sleep 30", b""), QueryOutcome::Late);
        // A program that ends leaving another one with its output is waited for until its time is over.
        assert_eq!(asked("sleep 30 & echo x", b""), QueryOutcome::Late);
        assert!(watch.millis() < 10_000);
    }
}

//! A command of the user's that we run to its end: its output is passed on piece by piece, signals that reach us reach
//! it, and it may have a time limit.
//!
//! At a terminal it stays in our process group, where Ctrl-C reaches it without us; otherwise it leads a group of its
//! own, so that a signal or the time limit reaches what it started as well. Until it is dropped nothing here ends us by
//! a signal: what the command did is recorded first. SIGINT and SIGQUIT that are sent to us alone at a terminal are not
//! passed on: they cannot be distinguished from the keyboard's, which the command has had already; SIGTERM and SIGHUP
//! are.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use super::system;

/// How long a command has to end after it was asked to, before it is killed.
const GRACE: Duration = Duration::from_secs(5);
/// How long we go on reading when the command has ended but something it started keeps its output open.
const LINGER: Duration = Duration::from_secs(1);
/// The longest we are deaf to signals and to the end of a command that prints nothing.
const TICK: Duration = Duration::from_millis(10);
/// Bytes of a piece.
const PIECE: usize = 16 << 10;

/// Which output a piece came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// Job of a child process.
#[derive(Debug)]
pub struct ChildJob<'a> {
    /// The program and its arguments; not empty.
    pub argv: &'a [OsString],
    /// The directory it runs in.
    pub directory: &'a Path,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// Whether it is to stay in our process group, because the terminal is its input.
    pub foreground: bool,
    /// Variables of ours that it does not get.
    pub without: &'a [&'a str],
    /// Whether it is asked to end when we are killed.
    pub is_guarded: bool,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildEnd {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Signal(i32),
    /// It took too long and was ended.
    TimedOut,
    /// It was not started: there is no such program.
    NotFound,
    /// It was not started: it is no program, or must not be run.
    NotExecutable,
}

/// Runs the command and waits for its end. `each` takes every piece of output in the order of arrival, and returns whether
/// anybody still reads that stream; how long it took comes with how it ended.
pub fn run(job: &ChildJob<'_>, each: &mut dyn FnMut(Stream, &[u8]) -> bool) -> io::Result<(ChildEnd, Duration)> {
    let signals = Signals::new()?;
    let started = Instant::now();
    let mut child = match start(job) {
        Ok(child) => child,
        Err(error) => {
            let end = match error.kind() {
                io::ErrorKind::NotFound => ChildEnd::NotFound,
                // Also the error of the system for a file in no format it runs.
                io::ErrorKind::PermissionDenied | io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory => {
                    ChildEnd::NotExecutable
                }
                _ if error.raw_os_error() == Some(system::NO_PROGRAM) => ChildEnd::NotExecutable,
                _ => return Err(error),
            };
            return Ok((end, started.elapsed()));
        }
    };
    // Without a guard it may outlive us, which is no reason not to run it.
    let _guard = job.is_guarded.then(|| super::Guard::over(&child).ok());
    let (sender, pieces) = sync_channel(16);
    let stops = [Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false))];
    if let Some(pipe) = child.stdout.take() {
        read(pipe, Stream::Output, Arc::clone(&stops[0]), sender.clone())
            .or_else(|error| give_up(&mut child, job, error))?;
    }
    if let Some(pipe) = child.stderr.take() {
        read(pipe, Stream::Error, Arc::clone(&stops[1]), sender.clone())
            .or_else(|error| give_up(&mut child, job, error))?;
    }
    drop(sender);
    let mut pass = |stream: Stream, piece: &[u8]| {
        if !each(stream, piece) {
            stops[usize::from(stream == Stream::Error)].store(true, Ordering::Relaxed);
        }
    };
    let waited = wait(job, &mut child, &pieces, &signals, started, &mut pass);
    if waited.is_err() {
        // Nothing is known of it any more; it must not go on unseen.
        system::send(&mut child, !job.foreground, system::KILL);
        let _ = child.wait();
    }
    waited
}

#[expect(clippy::disallowed_methods, reason = "the user's own command, as they gave it")]
fn start(job: &ChildJob<'_>) -> io::Result<Child> {
    let Some((program, arguments)) = job.argv.split_first() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(job.directory);
    for name in job.without {
        command.env_remove(name);
    }
    if super::protocol::are_streams_taken() {
        command.stdin(Stdio::null());
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    if !job.foreground {
        system::own_group(&mut command);
    }
    command.spawn()
}

/// Reads a pipe in a thread of its own, which ends when the pipe does or when its receiver is dropped.
fn read(
    mut pipe: impl Read + Send + 'static,
    stream: Stream,
    stop: Arc<AtomicBool>,
    to: SyncSender<(Stream, Vec<u8>)>,
) -> io::Result<()> {
    let reader = std::thread::Builder::new().spawn(move || {
        let mut buffer = vec![0; PIECE];
        loop {
            match pipe.read(&mut buffer) {
                Ok(n) if n > 0 && !stop.load(Ordering::Relaxed) => {
                    if to.send((stream, buffer[..n].to_vec())).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // With the pipe closed a command whose output is not read ends by itself.
                _ => return,
            }
        }
    });
    reader.map(drop)
}

/// Ends a command whose output has no reader.
fn give_up(child: &mut Child, job: &ChildJob<'_>, error: io::Error) -> io::Result<()> {
    system::send(child, !job.foreground, system::KILL);
    let _ = child.wait();
    Err(error)
}

fn wait(
    job: &ChildJob<'_>,
    child: &mut Child,
    pieces: &Receiver<(Stream, Vec<u8>)>,
    signals: &Signals,
    started: Instant,
    pass: &mut dyn FnMut(Stream, &[u8]),
) -> io::Result<(ChildEnd, Duration)> {
    let mut open = true;
    let mut ended: Option<(ExitStatus, Instant)> = None;
    let mut asked: Option<Instant> = None;
    loop {
        match pieces.recv_timeout(if open { TICK } else { Duration::ZERO }) {
            Ok((stream, piece)) => pass(stream, &piece),
            Err(RecvTimeoutError::Disconnected) => open = false,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if ended.is_none() {
            ended = child.try_wait()?.map(|status| (status, Instant::now()));
        }
        if let Some((status, at)) = ended {
            if !open || at.elapsed() > LINGER {
                let end = if asked.is_some() {
                    ChildEnd::TimedOut
                } else {
                    end(status)
                };
                return Ok((end, at - started));
            }
            continue;
        }
        if !open {
            std::thread::sleep(TICK / 5);
        }
        for (signal, by_terminal) in signals.take() {
            // Those of the keyboard the terminal has given to the whole group.
            if !(job.foreground && by_terminal) {
                system::send(child, !job.foreground, signal);
            }
        }
        match (asked, job.timeout) {
            (None, Some(limit)) if started.elapsed() > limit => {
                system::send(child, !job.foreground, system::TERMINATE);
                asked = Some(Instant::now());
            }
            (Some(at), _) if at.elapsed() > GRACE => {
                system::send(child, !job.foreground, system::KILL);
            }
            _ => {}
        }
    }
}

fn end(status: ExitStatus) -> ChildEnd {
    match system::ended_by(status) {
        Some(signal) => ChildEnd::Signal(signal),
        None => ChildEnd::Exited(status.code().unwrap_or(1)),
    }
}

/// Signals that would end us, as flags.
struct Signals {
    flags: Vec<(i32, bool, Arc<AtomicBool>, signal_hook::SigId)>,
}

impl Signals {
    fn new() -> io::Result<Self> {
        let mut flags = Vec::new();
        // What is ignored on purpose stays so, for us and for the command, which would get the default from a handler.
        let ignored = super::ignored_signals();
        for &(signal, by_terminal) in system::PASSED_ON {
            if ignored >> (signal - 1) & 1 == 1 {
                continue;
            }
            let flag = Arc::new(AtomicBool::new(false));
            let id = signal_hook::flag::register(signal, Arc::clone(&flag))?;
            flags.push((signal, by_terminal, flag, id));
        }
        Ok(Self { flags })
    }

    /// Those that came since the last look, and whether a key makes them.
    fn take(&self) -> Vec<(i32, bool)> {
        let came = self
            .flags
            .iter()
            .filter(|(_, _, flag, _)| flag.swap(false, Ordering::Relaxed));
        came.map(|(signal, by_terminal, ..)| (*signal, *by_terminal)).collect()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (.., id) in &self.flags {
            signal_hook::low_level::unregister(*id);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn sh(script: &str, timeout: Option<Duration>) -> (ChildEnd, String, String) {
        let argv = ["sh", "-c", script].map(OsString::from);
        let job = ChildJob {
            argv: &argv,
            directory: Path::new("/"),
            timeout,
            foreground: false,
            without: &[],
            is_guarded: false,
        };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let (end, _) = run(&job, &mut |stream, piece| {
            let to = if stream == Stream::Output { &mut out } else { &mut err };
            to.extend_from_slice(piece);
            true
        })
        .expect("it runs");
        (
            end,
            String::from_utf8_lossy(&out).into(),
            String::from_utf8_lossy(&err).into(),
        )
    }

    #[test]
    fn status_signal_and_output() {
        assert_eq!(
            sh("echo a; echo b >&2; exit 3", None),
            (ChildEnd::Exited(3), "a\n".into(), "b\n".into())
        );
        assert_eq!(sh("kill -9 $$", None).0, ChildEnd::Signal(9));
        let argv = [OsString::from("/nowhere/no-such-program")];
        let mut job = ChildJob {
            argv: &argv,
            directory: Path::new("/"),
            timeout: None,
            foreground: false,
            without: &[],
            is_guarded: false,
        };
        let none = &mut |_: Stream, _: &[u8]| true;
        assert_eq!(run(&job, none).expect("an answer").0, ChildEnd::NotFound);
        let argv = [OsString::from("/")];
        job.argv = &argv;
        assert_eq!(run(&job, none).expect("an answer").0, ChildEnd::NotExecutable);
    }

    #[test]
    fn the_limit_reaches_what_was_started_too() {
        let started = Instant::now();
        let (end, out, _) = sh(
            "echo on; sleep 60 | sleep 60; echo off",
            Some(Duration::from_millis(200)),
        );
        assert_eq!((end, out.as_str()), (ChildEnd::TimedOut, "on\n"));
        assert!(started.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn what_keeps_the_output_open_is_not_waited_for() {
        let started = Instant::now();
        let (end, out, _) = sh("sleep 30 & echo done", None);
        assert_eq!((end, out.as_str()), (ChildEnd::Exited(0), "done\n"));
        assert!(started.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn a_stream_that_nobody_reads_is_closed() {
        let argv = ["sh", "-c", "while echo y; do :; done"].map(OsString::from);
        let job = ChildJob {
            argv: &argv,
            directory: Path::new("/"),
            timeout: Some(Duration::from_secs(30)),
            foreground: false,
            without: &[],
            is_guarded: false,
        };
        let (end, _) = run(&job, &mut |_, _| false).expect("it runs");
        assert_ne!(end, ChildEnd::TimedOut);
    }
}

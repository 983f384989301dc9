//! A child that talks to another repository: its output is passed on as it comes, and it ends when the user asks.
//!
//! Its error output is not waited for to the end: a connection that ssh keeps open for the next command holds that pipe
//! for minutes. The end of its standard output is the end of git. A guard ends it when we are killed, for the other side
//! may never answer.

use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::{Error, Git, program};
use crate::os;

/// How often it is looked whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(50);
/// How long words that were said before the end may take to arrive.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long a child that was asked to end may clean up.
const CLEANING: Duration = Duration::from_secs(5);
/// How much of a child's standard output is taken: a list of 100,000 refs.
pub const STDOUT_LIMIT: u64 = 16 << 20;
/// How much of its words is kept for a message.
const WORDS_LIMIT: usize = 64 << 10;

/// Result of a network exchange.
#[derive(Debug, Default)]
pub struct Exchange {
    /// The exit status; `None` when a signal ended the child.
    pub code: Option<i32>,
    /// Standard output, at most [`STDOUT_LIMIT`] bytes.
    pub stdout: Vec<u8>,
    /// Whether there was more than that.
    pub cut: bool,
    /// Output on standard error, without progress.
    pub words: String,
    /// Whether it was ended because the caller wanted to stop.
    pub stopped: bool,
}

enum NetworkEvent {
    Line(String, bool),
    Output(Vec<u8>, bool),
}

impl Git {
    /// Lets the child reach other repositories: it may ask for credentials, fetch what a partial clone lacks, and sees
    /// pathspecs as the user's hooks expect them.
    ///
    /// Not by `fd::` addresses: a child inherits no descriptor of ours, and git waits for ever on one that is not there.
    pub fn network(mut self) -> Self {
        self.network = true;
        self.config("protocol.fd.allow=never")
    }

    /// Runs the child to its end. Each line that it prints on standard error goes to `said`, with whether it is one that is
    /// redrawn (progress); when that gives `false`, or `stopped` gives `true`, the child is asked to end.
    ///
    /// Any exit status is an answer; an error means that the child could not be run.
    pub fn exchange(
        self,
        said: &mut dyn FnMut(&str, bool) -> bool,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Exchange, Error> {
        let failed = |command: &str, source| Error::Io {
            command: command.to_owned(),
            source,
        };
        let shown = self.shown();
        let program = program::path().ok_or(Error::NoGit)?;
        let input = self.input.clone();
        let mut command = self.command(program);
        command.stderr(Stdio::piped());
        let begun = Instant::now();
        let mut child = command.spawn().map_err(|source| failed(&shown, source))?;
        // Without one all works, but for what happens when we are killed.
        let mut guard = os::Guard::over(&child).ok();
        let (events, receiver) = mpsc::channel();
        if let Err(source) = attend(&mut child, input, events) {
            // It must not go on unheard.
            let _ = child.kill();
            let _ = child.wait();
            return Err(failed(&shown, source));
        }
        let mut exchange = Exchange {
            code: None,
            stdout: Vec::new(),
            cut: false,
            words: String::new(),
            stopped: false,
        };
        let mut until: Option<Instant> = None;
        let mut ended = false;
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok(NetworkEvent::Line(line, redrawn)) => {
                    if !redrawn && exchange.words.len() < WORDS_LIMIT {
                        exchange.words.push_str(&line);
                        exchange.words.push('\n');
                    }
                    exchange.stopped |= !said(&line, redrawn);
                }
                Ok(NetworkEvent::Output(bytes, cut)) => {
                    (exchange.stdout, exchange.cut, ended) = (bytes, cut, true);
                    if cut {
                        end(&mut child);
                    }
                    drop(guard.take());
                    let status = child.wait().map_err(|source| failed(&shown, source))?;
                    exchange.code = status.code();
                    until = Some(Instant::now() + LAST_WORDS);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if ended && until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
            if !ended && until.is_none() {
                exchange.stopped |= stopped();
                if exchange.stopped {
                    end(&mut child);
                    until = Some(Instant::now() + CLEANING);
                }
            }
            if !ended && until.is_some_and(|until| Instant::now() >= until) {
                // It does not listen.
                let _ = child.kill();
                until = Some(Instant::now() + CLEANING);
            }
        }
        if !ended {
            drop(guard.take());
            let status = child.wait().map_err(|source| failed(&shown, source))?;
            exchange.code = status.code();
        }
        super::told(&shown, begun, exchange.code);
        // Ctrl-C on a terminal also reaches the child itself.
        exchange.stopped |= exchange.code != Some(0) && stopped();
        Ok(exchange)
    }
}

/// Asks a child to end, or ends it.
fn end(child: &mut Child) {
    if !os::terminate(child) {
        let _ = child.kill();
    }
}

/// Sends each line, without its end. One that ends in CR is going to be redrawn.
/// Gives a child its input and listens to it, each in a thread of its own.
fn attend(child: &mut Child, input: Vec<u8>, events: Sender<NetworkEvent>) -> std::io::Result<()> {
    let thread = std::thread::Builder::new;
    if let Some(mut pipe) = child.stdin.take() {
        // A child that ends without reading all of it is no failure.
        thread().spawn(move || drop(pipe.write_all(&input)))?;
    }
    if let Some(pipe) = child.stderr.take() {
        let events = events.clone();
        thread().spawn(move || lines(pipe, &events))?;
    }
    if let Some(pipe) = child.stdout.take() {
        thread().spawn(move || {
            let mut bytes = Vec::new();
            let read = pipe.take(STDOUT_LIMIT + 1).read_to_end(&mut bytes);
            let cut = read.is_err() || bytes.len() as u64 > STDOUT_LIMIT;
            drop(events.send(NetworkEvent::Output(bytes, cut)));
        })?;
    }
    Ok(())
}

fn lines(mut pipe: impl Read, events: &Sender<NetworkEvent>) {
    let mut buffer = [0; 4096];
    let mut line = Vec::new();
    // Programs such as ssh end lines with CR and LF: only a CR that something else follows means that it is redrawn.
    let mut returned = false;
    let send = |line: &mut Vec<u8>, redrawn| {
        let text = String::from_utf8_lossy(line).trim_end().to_owned();
        line.clear();
        text.is_empty() || events.send(NetworkEvent::Line(text, redrawn)).is_ok()
    };
    loop {
        let count = match pipe.read(&mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(count) => count,
        };
        for byte in &buffer[..count] {
            if returned && *byte != b'\n' && !send(&mut line, true) {
                return;
            }
            returned = *byte == b'\r';
            match byte {
                b'\n' if !send(&mut line, false) => return,
                b'\r' | b'\n' => {}
                // A line without end is no reason to fill the memory.
                _ if line.len() < WORDS_LIMIT => line.push(*byte),
                _ => {}
            }
        }
    }
    send(&mut line, returned);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_ssh_are_no_progress() {
        let (events, receiver) = mpsc::channel();
        let text = b"Counting: 1%\rCounting: 100%, done.\nana@host: Permission denied (publickey).\r\n\r\r\nlast\r";
        lines(&text[..], &events);
        drop(events);
        let said: Vec<(String, bool)> = receiver
            .iter()
            .filter_map(|event| match event {
                NetworkEvent::Line(line, redrawn) => Some((line, redrawn)),
                NetworkEvent::Output(..) => None,
            })
            .collect();
        let wanted = [
            ("Counting: 1%", true),
            ("Counting: 100%, done.", false),
            ("ana@host: Permission denied (publickey).", false),
            ("last", true),
        ];
        assert_eq!(said, wanted.map(|(line, redrawn)| (line.to_owned(), redrawn)));
    }
}

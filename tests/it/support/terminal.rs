//! Runs a command in a real pseudo-terminal and gives the raw bytes it wrote there. Input is typed when a text appears,
//! as a person would, so that a question that never comes fails the test instead of hanging it.
//!
//! The child gets the terminal as its controlling one through `setsid --ctty`, because doing so here would need code
//! between fork and exec, which is unsafe. So `/dev/tty` works, and a typed Ctrl-C is a signal.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::World;
use super::world::found;

/// How long a command in a terminal may take.
const LIMIT: Duration = Duration::from_secs(60);

/// A terminal of a size and kind, with what will be typed into it.
pub struct Terminal {
    columns: u16,
    rows: u16,
    kind: String,
    typed: Vec<(String, String)>,
    variables: Vec<(String, String)>,
    stdout_elsewhere: bool,
    /// Typed again and again after the answers.
    typed_on: String,
}

/// The terminal output of a command, and its ending.
#[derive(Debug)]
pub struct Screen {
    pub bytes: Vec<u8>,
    pub status: ExitStatus,
    /// Standard output, if it was sent elsewhere.
    pub stdout: Vec<u8>,
}

impl Screen {
    /// The bytes as text, with line ends as the program wrote them.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).replace("\r\n", "\n")
    }

    /// Whether the last thing done to the screen was to leave it and to show the cursor.
    pub fn is_given_back(&self) -> bool {
        let text = self.text();
        let (entered, left) = (text.rfind("\u{1b}[?1049h"), text.rfind("\u{1b}[?1049l"));
        entered < left && text.rfind("\u{1b}[?25l") < text.rfind("\u{1b}[?25h")
    }
}

impl Terminal {
    /// A terminal of 24 lines.
    pub fn new(columns: u16, kind: &str) -> Self {
        Self {
            columns,
            rows: 24,
            kind: kind.to_owned(),
            typed: Vec::new(),
            variables: Vec::new(),
            stdout_elsewhere: false,
            typed_on: String::new(),
        }
    }

    /// Types `answer` (with its line end) once `when` has appeared.
    pub fn answer(mut self, when: &str, answer: &str) -> Self {
        self.typed.push((when.to_owned(), answer.to_owned()));
        self
    }

    /// After the last answer, types this every fifth of a second until the program ends: for programs that throw away
    /// what was typed too early.
    pub fn keep_typing(mut self, keys: &str) -> Self {
        keys.clone_into(&mut self.typed_on);
        self
    }

    /// Sets a variable for the command.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends standard output into a pipe; input and errors stay on the terminal.
    pub fn pipe_stdout(mut self) -> Self {
        self.stdout_elsewhere = true;
        self
    }

    /// Runs the program in `world`'s repository until it ends.
    pub fn run<A: AsRef<OsStr>>(
        self,
        world: &World,
        program: impl AsRef<OsStr>,
        args: impl IntoIterator<Item = A>,
    ) -> Screen {
        let (main, other) = pair(self.columns, self.rows);
        let end = || Stdio::from(other.try_clone().unwrap());

        let mut command = Command::new("setsid");
        command
            .arg("--ctty")
            .arg(program)
            .args(args)
            .current_dir(world.repo())
            .env_clear();
        command
            .envs(world.environment())
            .env("TERM", &self.kind)
            .envs(self.variables);
        let mut command = found(&command);
        command.stdin(end()).stderr(end());
        command.stdout(if self.stdout_elsewhere { Stdio::piped() } else { end() });
        let mut child = command.spawn().unwrap();
        drop(command); // its copies of the terminal would keep the reader from seeing the end
        drop(other);

        let stdout = child.stdout.take().map(|mut pipe| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                pipe.read_to_end(&mut bytes).unwrap();
                bytes
            })
        });
        let mut keyboard = File::from(main.try_clone().unwrap());
        let mut reader = File::from(main);
        let (send, receive) = mpsc::channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            // The kernel reports an input/output error once the last copy of the other end is closed.
            while let Ok(count @ 1..) = reader.read(&mut piece) {
                if send.send(piece[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let started = Instant::now();
        let mut typed_at = started;
        let mut bytes = Vec::new();
        let mut seen = 0;
        let mut typed = self.typed.into_iter().peekable();
        loop {
            match receive.recv_timeout(Duration::from_millis(50)) {
                Ok(piece) => bytes.extend(piece),
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {}
            }
            if let Some((when, _)) = typed.peek()
                && let Some(place) = find(&bytes[seen..], when.as_bytes())
            {
                seen += place + when.len();
                let (_, answer) = typed.next().unwrap();
                keyboard.write_all(answer.as_bytes()).unwrap();
                typed_at = Instant::now();
            }
            if typed.peek().is_none() && !self.typed_on.is_empty() && typed_at.elapsed() > Duration::from_millis(200) {
                // The program may have ended just now.
                let _ = keyboard.write_all(self.typed_on.as_bytes());
                typed_at = Instant::now();
            }
            if started.elapsed() > LIMIT {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("still running after {LIMIT:?}:\n{}", String::from_utf8_lossy(&bytes));
            }
        }
        let status = child.wait().unwrap();
        if let Some((when, _)) = typed.next() {
            panic!("{when:?} never appeared:\n{}", String::from_utf8_lossy(&bytes));
        }
        Screen {
            bytes,
            status,
            stdout: stdout.map(|t| t.join().unwrap()).unwrap_or_default(),
        }
    }
}

/// Both ends of a new terminal, the one that shows it first.
pub fn pair(columns: u16, rows: u16) -> (OwnedFd, OwnedFd) {
    let main = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&main).unwrap();
    unlockpt(&main).unwrap();
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&main, size).unwrap();
    let name = ptsname(&main, Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let other = open(name.as_c_str(), flags, Mode::empty()).unwrap();
    (main, other)
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|w| w == part)
}

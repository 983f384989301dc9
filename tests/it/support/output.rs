//! What a command left behind, with checks that can be chained. Every failed check shows the whole output, because the
//! reason is usually in the stream that was not asked about.

use std::fmt;
use std::process::ExitStatus;

/// The end of a command.
#[derive(Clone)]
pub struct Output {
    line: String,
    status: ExitStatus,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Output {
    pub(super) fn new(line: String, status: ExitStatus, stdout: Vec<u8>, stderr: Vec<u8>) -> Self {
        Self {
            line,
            status,
            stdout,
            stderr,
        }
    }

    /// Exit code 0.
    #[track_caller]
    pub fn success(&self) -> &Self {
        self.code(0)
    }

    /// This exit code.
    #[track_caller]
    pub fn code(&self, code: i32) -> &Self {
        assert_eq!(self.status.code(), Some(code), "exit code\n{self}");
        self
    }

    /// Whether the exit code was 0, for what may end either way.
    pub fn is_success(&self) -> bool {
        self.status.success()
    }

    /// How it ended.
    pub fn status(&self) -> ExitStatus {
        self.status
    }

    /// The bytes of standard output.
    pub fn stdout_bytes(&self) -> &[u8] {
        &self.stdout
    }

    /// The bytes of standard error.
    pub fn stderr_bytes(&self) -> &[u8] {
        &self.stderr
    }

    /// Standard output, which must be UTF-8.
    #[track_caller]
    pub fn stdout(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap_or_else(|e| panic!("standard output: {e}\n{self}"))
    }

    /// Standard error, which must be UTF-8.
    #[track_caller]
    pub fn stderr(&self) -> &str {
        std::str::from_utf8(&self.stderr).unwrap_or_else(|e| panic!("standard error: {e}\n{self}"))
    }

    /// The command that follows these words on a line of either stream, as a person copies it.
    #[track_caller]
    pub fn advised(&self, words: &str) -> String {
        let lines = self.stdout().lines().chain(self.stderr().lines());
        let mut found = lines.filter_map(|line| Some(line.split_once(words)?.1.trim().to_owned()));
        found.next().unwrap_or_else(|| panic!("no line with '{words}'\n{self}"))
    }

    /// Standard output as one JSON document.
    #[track_caller]
    pub fn stdout_json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|e| panic!("standard output is not JSON: {e}\n{self}"))
    }

    /// Standard error as one JSON document.
    #[track_caller]
    pub fn stderr_json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stderr).unwrap_or_else(|e| panic!("standard error is not JSON: {e}\n{self}"))
    }

    /// Standard output contains this.
    #[track_caller]
    pub fn stdout_has(&self, part: &str) -> &Self {
        assert!(self.stdout().contains(part), "standard output lacks {part:?}\n{self}");
        self
    }

    /// Standard output does not contain this.
    #[track_caller]
    pub fn stdout_lacks(&self, part: &str) -> &Self {
        assert!(!self.stdout().contains(part), "standard output has {part:?}\n{self}");
        self
    }

    /// Standard error contains this.
    #[track_caller]
    pub fn stderr_has(&self, part: &str) -> &Self {
        assert!(self.stderr().contains(part), "standard error lacks {part:?}\n{self}");
        self
    }

    /// Standard error does not contain this.
    #[track_caller]
    pub fn stderr_lacks(&self, part: &str) -> &Self {
        assert!(!self.stderr().contains(part), "standard error has {part:?}\n{self}");
        self
    }

    /// Standard output is exactly this.
    #[track_caller]
    pub fn stdout_is(&self, text: &str) -> &Self {
        assert_eq!(self.stdout(), text, "standard output\n{self}");
        self
    }

    /// Standard error is this or empty, for what may or may not be said before the end.
    #[track_caller]
    pub fn stderr_is_at_most(&self, text: &str) -> &Self {
        assert!(
            self.stderr.is_empty() || self.stderr() == text,
            "standard error\n{self}"
        );
        self
    }

    /// Nothing came on standard output.
    #[track_caller]
    pub fn no_stdout(&self) -> &Self {
        assert!(self.stdout.is_empty(), "standard output is not empty\n{self}");
        self
    }

    /// Nothing came on standard error.
    #[track_caller]
    pub fn no_stderr(&self) -> &Self {
        assert!(self.stderr.is_empty(), "standard error is not empty\n{self}");
        self
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "$ {}\n-- {}\n-- standard output\n{}\n-- standard error\n{}",
            self.line,
            self.status,
            String::from_utf8_lossy(&self.stdout),
            String::from_utf8_lossy(&self.stderr),
        )
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

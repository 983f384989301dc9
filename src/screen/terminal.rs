//! The terminal while the interface has it: in raw mode, on its other screen. It is given back whatever ends the interface.

use std::io::{self, Write};

use ratatui::{
    DefaultTerminal, Terminal,
    backend::CrosstermBackend,
    crossterm::{
        cursor::Show,
        execute,
        terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode},
    },
};

use crate::os;

/// Runs `work` with the terminal, which is as before when this returns, whatever came of it. A panic of any thread ends the
/// process, after the terminal was given back.
///
/// # Errors
/// When the terminal cannot be set up, and those of `work`.
pub fn with_terminal<T>(work: impl FnOnce(&mut DefaultTerminal) -> io::Result<T>) -> io::Result<T> {
    os::terminal::end_with_terminal()?;
    os::terminal::end_after_panic(give_back);
    enable_raw_mode()?;
    let _entered = EnteredTerminal;
    let mut out = output();
    execute!(out, EnterAlternateScreen)?;
    work(&mut Terminal::new(CrosstermBackend::new(out))?)
}

/// Gives it back when it is dropped.
struct EnteredTerminal;

impl Drop for EnteredTerminal {
    fn drop(&mut self) {
        give_back(&mut output());
    }
}

/// What fails here cannot be reported anywhere.
fn give_back(mut out: &mut dyn Write) {
    let _ = disable_raw_mode();
    let _ = execute!(&mut out, LeaveAlternateScreen, Show);
}

#[expect(
    clippy::disallowed_methods,
    reason = "the interface draws there, and nothing else does meanwhile"
)]
fn output() -> io::Stdout {
    io::stdout()
}

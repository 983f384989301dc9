//! The terminal while the interface has it: in raw mode, on its other screen. It is given back whatever ends the interface.

use std::io::{self, Write};

use ratatui::{
    DefaultTerminal, Terminal,
    backend::CrosstermBackend,
    crossterm::{
        cursor::Show,
        event::{DisableBracketedPaste, EnableBracketedPaste},
        execute,
        terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode},
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
    let _entered = EnteredTerminal;
    let mut terminal = Terminal::new(CrosstermBackend::new(output()))?;
    enter(&mut terminal)?;
    work(&mut terminal)
}

/// Takes the terminal, empty. What is pasted comes in one piece, so that its letters are no keys.
pub(super) fn enter(terminal: &mut DefaultTerminal) -> io::Result<()> {
    enable_raw_mode()?;
    execute!(
        output(),
        EnterAlternateScreen,
        EnableBracketedPaste,
        Clear(ClearType::All)
    )?;
    // A new one draws all of it, and does not ask where the cursor is, as clearing this one would.
    *terminal = Terminal::new(CrosstermBackend::new(output()))?;
    Ok(())
}

/// Gives the terminal back for a while.
pub(super) fn leave(terminal: &mut DefaultTerminal) {
    give_back(terminal.backend_mut());
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
    let _ = execute!(&mut out, DisableBracketedPaste, LeaveAlternateScreen, Show);
}

#[expect(
    clippy::disallowed_methods,
    reason = "the interface draws there, and nothing else does meanwhile"
)]
fn output() -> io::Stdout {
    io::stdout()
}

//! A passphrase from the person at the terminal, which is not shown as it is typed.

/// Asks; `None` where there is no terminal, or the user gives no answer or presses Ctrl-C.
#[cfg(unix)]
pub fn ask_passphrase(question: &str) -> Option<String> {
    use std::fs::OpenOptions;
    use std::io::{Read as _, Write as _};

    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};

    let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
    let before = tcgetattr(&terminal).ok()?;
    let mut silent = before.clone();
    // Ctrl-C ends the line instead of this process, which would leave a terminal that shows nothing.
    silent.local_modes.remove(LocalModes::ECHO | LocalModes::ISIG);
    silent.local_modes.insert(LocalModes::ECHONL);
    silent.special_codes[SpecialCodeIndex::VEOL] = CTRL_C;
    tcsetattr(&terminal, OptionalActions::Flush, &silent).ok()?;
    // A terminal gives a line at a time.
    let mut line = [0; LONGEST];
    let asked = terminal.write_all(question.as_bytes());
    let read = asked.and_then(|()| terminal.read(&mut line));
    let _ = tcsetattr(&terminal, OptionalActions::Flush, &before);
    let line = std::str::from_utf8(&line[..read.ok()?]).ok()?;
    let text = line.trim_end_matches(['\n', '\r']);
    (!text.is_empty() && !text.ends_with(char::from(CTRL_C))).then(|| text.to_owned())
}

/// The byte of Ctrl-C.
#[cfg(unix)]
const CTRL_C: u8 = 3;
/// The most bytes of a passphrase; a terminal gives no longer line.
#[cfg(unix)]
const LONGEST: usize = 4096;

/// Elsewhere no question is asked.
#[cfg(not(unix))]
pub fn ask_passphrase(_: &str) -> Option<String> {
    None
}

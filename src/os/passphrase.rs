//! A passphrase from the person at the terminal, which is not shown as it is typed.

/// Asks; `None` where there is no terminal, or nothing was answered.
#[cfg(unix)]
pub fn ask_passphrase(question: &str) -> Option<String> {
    use std::fs::OpenOptions;
    use std::io::{BufRead as _, BufReader, Write as _};

    use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

    let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").ok()?;
    let before = tcgetattr(&terminal).ok()?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    silent.local_modes.insert(LocalModes::ECHONL);
    terminal.write_all(question.as_bytes()).ok()?;
    tcsetattr(&terminal, OptionalActions::Flush, &silent).ok()?;
    let mut line = String::new();
    let read = BufReader::new(&terminal).read_line(&mut line);
    let _ = tcsetattr(&terminal, OptionalActions::Flush, &before);
    read.ok()?;
    let text = line.trim_end_matches(['\n', '\r']);
    (!text.is_empty()).then(|| text.to_owned())
}

/// Elsewhere nobody is asked.
#[cfg(not(unix))]
pub fn ask_passphrase(_: &str) -> Option<String> {
    None
}

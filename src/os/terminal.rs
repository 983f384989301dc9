//! The size of the terminal. Whether a stream is one is asked where the streams are opened.

/// Columns of the terminal behind standard output or, when that is piped into a pager or program, standard error or
/// input. None when none of them is a terminal or its width is unknown.
#[cfg(unix)]
pub fn columns() -> Option<u16> {
    use std::os::fd::AsFd as _;
    #[expect(clippy::disallowed_methods, reason = "only asks the descriptors, and writes nothing")]
    let (out, err, input) = (std::io::stdout(), std::io::stderr(), std::io::stdin());
    [out.as_fd(), err.as_fd(), input.as_fd()]
        .iter()
        .find_map(|fd| rustix::termios::tcgetwinsize(fd).ok())
        .map(|size| size.ws_col)
        .filter(|&columns| columns > 0)
}

/// Elsewhere the size is only known from `COLUMNS`.
#[cfg(not(unix))]
pub fn columns() -> Option<u16> {
    None
}

/// Ends the process once its terminal is gone: closed, or cut off, with or without a signal. Reading from such a terminal
/// may never return, so a thread of its own looks.
#[cfg(unix)]
#[expect(
    clippy::disallowed_methods,
    clippy::exit,
    reason = "there is no terminal to show more, and nothing on disk depends on it"
)]
pub fn end_with_terminal() -> std::io::Result<()> {
    const INTERVAL: std::time::Duration = std::time::Duration::from_millis(250);
    /// The exit code of a process that SIGHUP ended.
    const CODE: i32 = 129;
    let is_gone = || rustix::termios::tcgetattr(std::io::stdin()).is_err();
    let watch = move || {
        while !is_gone() {
            std::thread::sleep(INTERVAL);
        }
        // The usual end has its chance.
        std::thread::sleep(INTERVAL);
        std::process::exit(CODE)
    };
    std::thread::Builder::new().name("terminal".to_owned()).spawn(watch)?;
    Ok(())
}

/// Elsewhere reading from a terminal that is gone fails.
#[cfg(not(unix))]
pub fn end_with_terminal() -> std::io::Result<()> {
    Ok(())
}

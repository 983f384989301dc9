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

//! The size of the terminal, and the end of a program that has it for itself. Whether a stream is one is asked where the
//! streams are opened.

use super::system;

/// Columns of the terminal behind one of the standard streams, output first: it may be piped into a pager. None when none of
/// them is a terminal or its width is unknown.
pub fn columns() -> Option<u16> {
    system::columns()
}

/// Ends the process once its terminal is gone. Where reading from such a terminal may never return, a thread of its own looks.
#[expect(
    clippy::disallowed_methods,
    clippy::exit,
    reason = "there is no terminal to show more, and nothing on disk depends on it"
)]
pub fn end_with_terminal() -> std::io::Result<()> {
    const INTERVAL: std::time::Duration = std::time::Duration::from_millis(250);
    /// The exit code of a process that SIGHUP ended.
    const CODE: i32 = 129;
    if !system::TERMINAL_CAN_GO {
        return Ok(());
    }
    let watch = move || {
        while !system::is_terminal_gone() {
            std::thread::sleep(INTERVAL);
        }
        // The usual end has its chance.
        std::thread::sleep(INTERVAL);
        std::process::exit(CODE)
    };
    std::thread::Builder::new().name("terminal".to_owned()).spawn(watch)?;
    Ok(())
}

/// Ends the process when one of its threads panics, with the exit code of any fault. `give_back` gets standard output and
/// brings the terminal back before the message is printed, which would be lost on another screen.
///
/// To continue without the thread would be wrong as well: its result would never be drawn.
#[expect(
    clippy::disallowed_methods,
    clippy::exit,
    reason = "nothing on disk depends on the threads that end, as after a kill"
)]
pub fn end_after_panic(give_back: impl Fn(&mut dyn std::io::Write) + Send + Sync + 'static) {
    const CODE: i32 = 128;
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // Held to the end: another thread may be about to draw.
        let mut out = std::io::stdout().lock();
        give_back(&mut out);
        report(panic);
        std::process::exit(CODE)
    }));
}

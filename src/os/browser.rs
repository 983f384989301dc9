//! The browser of the user.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// Opens a file in the browser and does not wait for it.
#[expect(clippy::disallowed_methods, reason = "the browser is the user's own program")]
pub fn open_in_browser(file: &Path) -> io::Result<()> {
    let mut child = Command::new(super::system::OPENER)
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    // Collects its end, which no caller waits for.
    std::thread::Builder::new().spawn(move || child.wait())?;
    Ok(())
}

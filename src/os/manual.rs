//! The manual reader of the system, which shows a page on the user's terminal.

use std::io;
use std::process::{Command, Stdio};

/// Whether `man` is there and finds a page of this name.
#[expect(clippy::disallowed_methods, reason = "man is one of the two programs that show text")]
pub fn has_manual(page: &str) -> bool {
    let status = Command::new("man")
        .args(["-w", page])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// Shows a page, and waits until the user leaves it. Gives whether it was shown.
#[expect(clippy::disallowed_methods, reason = "man is one of the two programs that show text")]
pub fn show_manual(page: &str) -> io::Result<bool> {
    // How the reader was left is not our result; that it found nothing to show is (16 is man's code for that).
    Ok(Command::new("man").arg(page).status()?.code() != Some(16))
}

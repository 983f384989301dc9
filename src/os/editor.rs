//! Programs of the user's own on the user's terminal: the editor, a coding agent.

use std::io;
use std::path::Path;
use std::process::Command;

/// Opens a file in an editor, which is a command line of the shell as git takes it, and waits for its end. Gives whether
/// the editor succeeded.
#[expect(
    clippy::disallowed_methods,
    reason = "the editor is the user's own program, to be run as git runs it"
)]
pub fn open_editor(editor: &str, file: &Path) -> io::Result<bool> {
    let mut shell = Command::new(super::system::shell());
    // The file is an argument of its own, so that no name is taken for a command.
    shell.arg("-c").arg(format!("{editor} \"$@\"")).arg(editor).arg(file);
    Ok(shell.status()?.success())
}

/// The editor as a command line that writes to the terminal, for a child whose standard output is a pipe.
pub fn editor_on_terminal(editor: &str) -> String {
    format!("edit() {{ {editor} \"$@\"; }}; edit >/dev/tty")
}

/// Runs a program on the user's terminal and waits for its end. Gives whether it succeeded.
#[expect(
    clippy::disallowed_methods,
    reason = "the program takes the terminal over, as a child of a shell does"
)]
pub fn run_attached(words: &[String]) -> io::Result<bool> {
    let Some((program, rest)) = words.split_first() else {
        return Ok(true);
    };
    Ok(Command::new(program).args(rest).status()?.success())
}

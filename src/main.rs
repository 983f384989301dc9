//! The program: hands its arguments to the library and ends with the exit code that comes back. Nothing else is here,
//! so that all of it can be tested as a library.

use std::process::ExitCode;

#[expect(clippy::disallowed_methods, reason = "this is where the arguments come in")]
fn main() -> ExitCode {
    git_checkpoint::commands::main(std::env::args_os())
}

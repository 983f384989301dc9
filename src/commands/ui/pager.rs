//! Which pager git would use, and the pager while it runs.
//!
//! It is only for commands that show much (list, log, show, diff), and never inside the pager that git itself started.

use std::ffi::OsString;
use std::io;
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::commands::environment::Environment;
use crate::os::interrupt::InterruptGuard;

/// Characters that make a command line one for the shell, as in git.
const SHELL: &[u8] = b"|&;<>()$`\\\"' \t\n*?[#~=%";

/// The pager's command line by git's order: `GIT_PAGER`, `checkpoint.pager`, `core.pager`, `PAGER`, `less`. None when
/// the first that is set is empty or `cat`, which both mean no pager.
///
/// On a terminal that cannot move its cursor `less` only gets in the way, so it must be asked for there.
pub(super) fn choose(env: &Environment, checkpoint: Option<String>, core: Option<String>) -> Option<OsString> {
    let command = env
        .variable_or_empty("GIT_PAGER")
        .map(OsString::from)
        .or(checkpoint.map(OsString::from))
        .or(core.map(OsString::from))
        .or(env.variable_or_empty("PAGER").map(OsString::from))
        .or_else(|| (!env.is_dumb()).then(|| OsString::from("less")))?;
    (!command.is_empty() && command != "cat").then_some(command)
}

/// A pager that runs.
#[derive(Debug)]
pub(super) struct Pager {
    child: Child,
    /// Ctrl-C belongs to the pager as long as it runs.
    held: Option<InterruptGuard>,
}

impl Pager {
    /// Starts it. The pager learns its terminal's habits as under git: `LESS=FRX` (leave when it fits, show colors, keep
    /// the screen) and `LV=-c`, each unless the user set them.
    #[expect(clippy::disallowed_methods, reason = "the pager is the one program that is not git")]
    pub(super) fn start(command: &OsString, env: &Environment) -> io::Result<Self> {
        let mut process = if command.as_encoded_bytes().iter().any(|b| SHELL.contains(b)) {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(command);
            shell
        } else {
            Command::new(command)
        };
        for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
            if env.variable_or_empty(name).is_none() {
                process.env(name, value);
            }
        }
        process.env("GIT_PAGER_IN_USE", "true").stdin(Stdio::piped());
        Ok(Self {
            child: process.spawn()?,
            held: InterruptGuard::new().ok(),
        })
    }

    /// Where to write; only once.
    pub(super) fn take_input(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Whether the user pressed Ctrl-C.
    pub(super) fn is_interrupted(&self) -> bool {
        self.held.as_ref().is_some_and(InterruptGuard::is_set)
    }

    /// Waits until the user leaves it. How it ended is not our result.
    pub(super) fn wait(&mut self) {
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::environment::Terminals;

    #[test]
    fn the_order_is_gits() {
        let choose = |variables: &[(&str, &str)], checkpoint: Option<&str>, core: Option<&str>| {
            let env = Environment::of(variables, Terminals::default());
            choose(&env, checkpoint.map(str::to_owned), core.map(str::to_owned)).map(|c| c.into_string().unwrap())
        };
        let term = ("TERM", "xterm");
        for (variables, checkpoint, core, wanted) in [
            (vec![term], None, None, Some("less")),
            (vec![term, ("PAGER", "more")], None, None, Some("more")),
            (vec![term, ("PAGER", "more")], None, Some("delta"), Some("delta")),
            (
                vec![term, ("PAGER", "more")],
                Some("bat -p"),
                Some("delta"),
                Some("bat -p"),
            ),
            (
                vec![term, ("GIT_PAGER", "vi -")],
                Some("bat"),
                Some("delta"),
                Some("vi -"),
            ),
            (vec![term, ("GIT_PAGER", "cat")], Some("bat"), Some("delta"), None),
            (vec![term, ("GIT_PAGER", "")], Some("bat"), None, None),
            (vec![term], Some(""), Some("delta"), None),
            (vec![term, ("PAGER", "cat")], None, None, None),
            (vec![("TERM", "dumb")], None, None, None),
            (vec![("TERM", "dumb"), ("PAGER", "more")], None, None, Some("more")),
        ] {
            assert_eq!(
                choose(&variables, checkpoint, core).as_deref(),
                wanted,
                "{variables:?} {checkpoint:?} {core:?}"
            );
        }
    }
}

//! Programs of the user that prepare the working tree of a fork: the command of `checkpoint.forkSetup`, and git's hook.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use super::{ForkWorktree, ScriptRun};
use crate::{
    git::OF_ONE_REPOSITORY,
    os::{
        self,
        child::{self, ChildEnd, ChildJob},
        interrupt::Ending,
    },
};

/// The most bytes of output that are kept; the end shows how the command went.
const OUTPUT: usize = 64 << 10;

/// Runs the command in each of the working trees. After a signal that asks this process to end no further one is begun; the
/// working trees that the command did not get done in are unfinished.
pub(super) fn run_in<'a>(command: &str, made: impl Iterator<Item = &'a mut ForkWorktree>) {
    // Without it a signal ends this process in between, which leaves the same.
    let ending = Ending::new().ok();
    let is_asked = || ending.as_ref().is_some_and(|ending| ending.asked().is_some());
    for made in made {
        if !is_asked() {
            made.setup = Some(run(command, &made.path));
        }
        let is_done = made.setup.as_ref().is_some_and(|setup| setup.code == 0);
        made.is_unfinished = is_asked() && !is_done;
    }
}

/// Runs the command in a working tree. A command that cannot be run has the exit code that a shell gives it.
fn run(command: &str, path: &Path) -> ScriptRun {
    script(&[os::shell().into(), "-c".into(), command.into()], path)
}

/// Runs a hook with its arguments as git does: not if it cannot be executed, and without variables that name a
/// repository, so that it may run git in another one.
pub(super) fn hook(hook: &Path, args: &[&str], path: &Path) -> ScriptRun {
    let run = ["-c", r#"test -x "$0" || exit 0; exec "$0" "$@""#].map(OsStr::new);
    let args = args.iter().map(OsStr::new);
    let words = run.into_iter().chain([hook.as_os_str()]).chain(args);
    let argv: Vec<OsString> = [os::shell().into()]
        .into_iter()
        .chain(words.map(OsStr::to_owned))
        .collect();
    script(&argv, path)
}

fn script(argv: &[OsString], path: &Path) -> ScriptRun {
    let job = ChildJob {
        argv,
        directory: path,
        timeout: None,
        foreground: false,
        without: OF_ONE_REPOSITORY,
        is_guarded: true,
    };
    let mut output = Vec::new();
    let ended = child::run(&job, &mut |_, piece| {
        output.extend_from_slice(piece);
        if output.len() > 2 * OUTPUT {
            output.drain(..output.len() - OUTPUT);
        }
        true
    });
    let code = match ended {
        Ok((ChildEnd::Exited(code), _)) => code,
        Ok((ChildEnd::Signal(signal), _)) => 128 + signal,
        Ok((ChildEnd::TimedOut, _)) => 124,
        Ok((ChildEnd::NotFound, _)) => 127,
        Ok((ChildEnd::NotExecutable, _)) => 126,
        Err(error) => {
            output.extend_from_slice(os::reason(&error).as_bytes());
            126
        }
    };
    let start = output.len().saturating_sub(OUTPUT);
    ScriptRun {
        code,
        output: String::from_utf8_lossy(&output[start..]).into_owned(),
    }
}

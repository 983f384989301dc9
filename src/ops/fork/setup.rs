//! Programs of the user that prepare the working tree of a fork: the command of `checkpoint.forkSetup`, and git's hook.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
};

use super::ScriptRun;
use crate::{
    git::OF_ONE_REPOSITORY,
    os::{
        self,
        child::{self, ChildEnd, ChildJob},
    },
};

/// The most bytes of output that are kept; the end shows how the command went.
const OUTPUT: usize = 64 << 10;

/// Runs the command in a working tree. A command that cannot be run has the exit code that a shell gives it.
pub(super) fn run(command: &str, path: &Path) -> ScriptRun {
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

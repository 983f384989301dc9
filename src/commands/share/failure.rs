//! Failures of sharing as the command line reports them.

use crate::{
    commands::error::{CommandError, FailureKind},
    ops::share::{Error, fetch::RemoteChange},
};

impl From<Error> for CommandError {
    fn from(error: Error) -> Self {
        Self::sharing(error, "git checkpoint push")
    }
}

impl CommandError {
    /// The failure of a command that shares, which its hints repeat.
    pub(super) fn sharing(error: Error, command: &str) -> Self {
        let of = |kind| Self::of(kind, &error);
        match error {
            Error::Ops(error) => (*error).into(),
            Error::NoRemote { ref known, .. } if known.is_empty() => of(FailureKind::NotFound)
                .hint("a repository to share through can be a directory, too:")
                .hint("git init --bare <directory> && git remote add origin <directory>"),
            Error::NoRemote { ref name, ref known } => {
                let out = of(FailureKind::NotFound).hint(format!("remotes: {}", known.join(", ")));
                match name {
                    Some(name) if name.contains(['/', ':']) => {
                        out.hint("give the place a name first: git remote add <name> <url>")
                    }
                    Some(name) => out.hint(format!(
                        "is '{}' a session? The remote comes first, as in: {command} <remote> <session>",
                        name.escape_debug()
                    )),
                    None => out.hint(format!("name one: {command} <remote>")),
                }
            }
            Error::Namespace { ref remote, .. } => of(FailureKind::Fatal).hint(format!(
                "set one: git config remote.{remote}.checkpointNamespace {}",
                crate::store::remote::BRANCH_NAMESPACE
            )),
            Error::Mirror { ref remote } => of(FailureKind::Fatal)
                .hint(format!(
                    "'git push {remote}' publishes the sessions with everything else"
                ))
                .hint(format!(
                    "or let it be no mirror: git config remote.{remote}.mirror false"
                )),
            Error::Unreachable { denied: true, .. } => {
                of(FailureKind::Denied).hint("credentials are git's: what works for 'git fetch' works here")
            }
            Error::Unreachable {
                missing: true,
                ref remote,
                ..
            } => of(FailureKind::Fatal).hint(format!("see where it points: git remote get-url {remote}")),
            Error::Unreachable { .. } => {
                of(FailureKind::Network).hint("nothing was changed here; the same command continues where it stopped")
            }
            Error::TooLarge { .. } => {
                of(FailureKind::Fatal).hint("allow more: git -c checkpoint.maxFetchSize=20g checkpoint fetch ...")
            }
            Error::TooMany { .. } => {
                of(FailureKind::Fatal).hint("fetch a single one: git checkpoint pull <remote> <session>")
            }
            Error::Stopped => of(FailureKind::Interrupted),
            Error::NotThere {
                ref remote,
                ref session,
            } => of(FailureKind::NotFound)
                .hint(format!("if it is there by now: git checkpoint fetch {remote}"))
                .hint(format!("if you have it: git checkpoint push {remote} {session}")),
            Error::NotDeleted { ref remote, .. } => {
                of(FailureKind::Refused).hint(format!("see what it has now: git checkpoint fetch {remote}"))
            }
            Error::Refused { .. } => of(FailureKind::Invalid)
                .hint("nothing of it was used; ask whoever pushed it")
                .hint("too large? see checkpoint.maxFetchSize"),
            Error::Lost {
                ref remote,
                ref session,
                change,
            } => {
                let out = of(FailureKind::Refused);
                let out = match change {
                    RemoteChange::Rewritten => out,
                    _ => out.hint(format!("put it back there: git checkpoint push {remote} {session}")),
                };
                out.hint(format!(
                    "or follow the remote, keeping what is here: git checkpoint pull {remote} {session} --follow"
                ))
            }
            Error::Secrets { .. } => of(FailureKind::Refused)
                .hint("what was pushed cannot be called back; a checkpoint keeps them though the files lost them since")
                .hint("take them out of the checkpoints here: git checkpoint purge --help")
                .hint("no secret? git config --add checkpoint.redactAllow <regex>, or push with --allow-secrets"),
            Error::Lfs { ref remote, .. } => of(FailureKind::Fatal).hint(format!(
                "install git-lfs, or see what 'git lfs push {remote} HEAD' says, and push again"
            )),
        }
    }
}

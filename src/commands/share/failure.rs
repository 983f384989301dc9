//! Failures of sharing as the command line reports them.

use std::collections::BTreeSet;

use crate::{
    commands::{
        error::{CommandError, FailureKind},
        failure::as_agent,
    },
    model::step::quoted,
    ops::{
        returned::ReturnedContent,
        share::{Error, Leak, LeakedCommit, PurgeObstacle, fetch::RemoteChange},
    },
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
                .hint("a remote can be a local directory:")
                .hint("git init --bare <directory> && git remote add origin <directory>"),
            Error::NoRemote { ref name, ref known } => {
                let out = of(FailureKind::NotFound).hint(format!("remotes: {}", known.join(", ")));
                match name {
                    // A relative path or URL; what has a slash inside may as well be a branch.
                    Some(name) if name.contains(':') || name.starts_with(['/', '.', '~']) => {
                        out.hint("name it first: git remote add <name> <url>")
                    }
                    Some(name) => {
                        // 'fetch' gets all sessions of a remote.
                        let takes_session = !command.ends_with(" fetch");
                        let form = if takes_session { " <session>" } else { "" };
                        out.hint(format!(
                            "is '{}' a session? The remote comes first: {command} <remote>{form}",
                            name.escape_debug()
                        ))
                    }
                    None => out.hint(format!("specify one: {command} <remote>")),
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
                .hint(format!("or make it no mirror: git config remote.{remote}.mirror false")),
            Error::Unreachable { denied: true, .. } => {
                of(FailureKind::Denied).hint("credentials are git's: what works for 'git fetch' works here")
            }
            Error::Unreachable {
                missing: true,
                ref remote,
                ..
            } => of(FailureKind::Fatal).hint(format!("see where it points: git remote get-url {remote}")),
            Error::Unreachable { .. } => {
                of(FailureKind::Network).hint("nothing was changed; repeat the command to continue")
            }
            Error::BundleNotWritten { .. } => {
                of(FailureKind::Fatal).hint("nothing was changed; choose another place for it")
            }
            Error::BundleNotRead { ref file, .. } => of(FailureKind::Fatal).hint(format!(
                "nothing was changed; see what is wrong with it: git bundle verify {}",
                quoted(&file.display().to_string())
            )),
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
                is_here,
            } => {
                let out = of(FailureKind::NotFound);
                // Who deletes it there does not want it there.
                if is_here && !command.contains(" delete") {
                    out.hint(format!("push yours: git checkpoint push {remote} {session}"))
                } else {
                    out.hint(format!(
                        "see what it has: git checkpoint fetch {remote} && git checkpoint list -r"
                    ))
                }
            }
            Error::NotDeleted { ref remote, .. } => {
                of(FailureKind::Refused).hint(format!("see what it has now: git checkpoint fetch {remote}"))
            }
            Error::Claimed {
                ref remote,
                ref session,
                ref agent,
                is_deletion,
                ..
            } => {
                let agent = as_agent(agent.as_deref());
                let out = of(FailureKind::Refused).hint(format!(
                    "take it over: git checkpoint pull {remote} {session} && git checkpoint claim {session} --force{agent} && \
                     git checkpoint push {remote} {session}"
                ));
                if is_deletion {
                    out.hint(format!(
                        "or delete it anyway: git checkpoint delete --remote {remote} {session} --force"
                    ))
                } else {
                    out
                }
            }
            Error::NotPurged { ref why, .. } => of(FailureKind::Refused).hint(match why {
                PurgeObstacle::Moved => "it has changed since: repeat the command",
                PurgeObstacle::Declined(_) => "repeat the command once the remote takes it",
            }),
            Error::Refused { .. } => {
                of(FailureKind::Invalid).hint("nothing was imported; ask the person who pushed it")
            }
            Error::Lost {
                ref remote,
                ref session,
                change,
            } => {
                let out = of(FailureKind::Refused);
                let out = match change {
                    RemoteChange::Rewritten | RemoteChange::Renamed => out,
                    RemoteChange::Deleted => {
                        out.hint(format!("push it again: git checkpoint push {remote} {session} --force"))
                    }
                    _ => out.hint(format!("push it again: git checkpoint push {remote} {session}")),
                };
                out.hint(format!(
                    "or accept the remote's state: git checkpoint pull {remote} {session} --follow"
                ))
            }
            Error::Secrets { ref leaks, ref commit } => {
                let mut out = of(FailureKind::Refused);
                if commit.is_none() || leaks.iter().any(|leak| leak.is_file) {
                    out = out
                        .hint("a push cannot be undone, and checkpoints keep secrets that files have lost since")
                        .hint(purge(leaks));
                }
                if let Some(commit) = commit {
                    out = rewriting(commit).into_iter().fold(out, Self::hint);
                }
                out.hint("not a secret? git config --add checkpoint.redactAllow <regex>, or push with --allow-secrets")
            }
            Error::PurgedAgain {
                ref session,
                ref content,
            } => of(FailureKind::Refused)
                .hint(format!(
                    "a push cannot be undone; purge it here as well: {}",
                    purge_again("", session.as_str(), content)
                ))
                .hint("to publish it even so, push with --allow-secrets"),
            Error::Lfs { ref remote, .. } => of(FailureKind::Fatal).hint(format!(
                "install git-lfs, or check the output of 'git lfs push {remote} HEAD', and push again"
            )),
        }
    }
}

/// How a secret in a commit of the project goes. Checkpoints that were saved on that commit need it as long as they are
/// there, so only a session that begins after the rewriting is without it.
fn rewriting(commit: &LeakedCommit) -> Vec<String> {
    let id = commit.id.short();
    let mut out = vec![format!(
        "commit {id} is of the project itself, and a purge changes checkpoints only"
    )];
    if commit.is_in_head {
        let from = if commit.is_root {
            "--root".to_owned()
        } else {
            format!("{id}^")
        };
        out.push(format!("rewrite it first: git rebase -i --autostash {from}"));
    }
    out.push(
        "then push a session that begins without it: git checkpoint start && git checkpoint save && \
         git checkpoint push"
            .to_owned(),
    );
    out
}

/// The command that purges paths once more, with this option before them.
pub(in crate::commands) fn purge_again(option: &str, session: &str, content: &ReturnedContent) -> String {
    /// For more files, or checkpoints, the command has no place on a line.
    const NAMED: usize = 10;
    if content.paths.len() > NAMED {
        return format!("git checkpoint help purge; the files: git checkpoint show {session} --all");
    }
    if content.checkpoints.len() > NAMED {
        return format!("git checkpoint help purge; the checkpoints: git checkpoint log {session}");
    }
    // Oldest first: the others keep their ids as long as that is possible.
    let checkpoints = content.checkpoints.iter().rev();
    let mut commands: Vec<String> = checkpoints
        .map(|id| format!("git checkpoint purge {option}{}", id.short()))
        .collect();
    if !content.paths.is_empty() {
        let paths: Vec<_> = content.paths.iter().map(|path| quoted(&path.quoted())).collect();
        commands.push(format!("git checkpoint purge {option}-- {}", paths.join(" ")));
    }
    commands.join(" && ")
}

/// The command that removes secrets from the checkpoints.
fn purge(leaks: &[Leak]) -> String {
    /// For more files the command has no place on a line.
    const NAMED: usize = 5;
    let files: BTreeSet<&str> = leaks
        .iter()
        .filter(|leak| leak.is_file)
        .map(|leak| leak.path.as_str())
        .collect();
    if files.is_empty() || files.len() > NAMED {
        return "remove them from the checkpoints: git checkpoint help purge".to_owned();
    }
    let paths: Vec<_> = files.into_iter().map(quoted).collect();
    format!(
        "remove them from the checkpoints: git checkpoint purge -- {}",
        paths.join(" ")
    )
}

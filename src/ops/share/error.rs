//! Why nothing was shared.

use std::path::PathBuf;

use crate::{
    model::{id::Oid, name::ShortName, path::RepoPath},
    ops::{self, returned::ReturnedContent},
    secrets, store,
};

/// A secret in what was to be pushed: where, never the secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leak {
    /// The session or commit it goes with.
    pub of: String,
    /// The file of the working tree, or of the checkpoint.
    pub path: String,
    /// The line, from 1; `None` for what is packed.
    pub line: Option<usize>,
    /// The kind of secret, and what it is packed in.
    pub kind: String,
    /// Whether it is a file of the working tree in a checkpoint, which can be purged.
    pub is_file: bool,
}

/// A commit of the project that has a secret. A purge changes checkpoints only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeakedCommit {
    /// The commit.
    pub id: Oid,
    /// Whether the history of HEAD has it, which a rebase can change.
    pub is_in_head: bool,
    /// Whether it has no parent.
    pub is_root: bool,
}

/// Any failure of sharing. No session of this repository was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such remote, or none that can be meant.
    #[error("{}", no_remote(name.as_deref(), known))]
    NoRemote {
        /// Name as given.
        name: Option<String>,
        /// The remotes there are.
        known: Vec<String>,
    },
    /// `remote.<name>.checkpointNamespace` cannot be used.
    #[error("remote.{}.checkpointNamespace '{}' cannot be used: {why}", remote.escape_debug(), value.escape_debug())]
    Namespace {
        /// The remote.
        remote: String,
        /// The value.
        value: String,
        /// Why not.
        why: &'static str,
    },
    /// A push to it publishes every ref.
    #[error("remote '{remote}' is a mirror: git pushes every ref to it, and deletes others there")]
    Mirror {
        /// The remote.
        remote: String,
    },
    /// The other side could not be reached, or refused to talk.
    #[error("cannot talk to remote '{}': {}", remote.escape_debug(), told(why))]
    Unreachable {
        /// The remote.
        remote: String,
        /// Whether permission is what is missing.
        denied: bool,
        /// Whether there is no repository.
        missing: bool,
        /// Output of git.
        why: Vec<String>,
    },
    /// A bundle could not be written.
    #[error("cannot write bundle '{}': {}", file.display().to_string().escape_debug(), told(why))]
    BundleNotWritten {
        /// The file.
        file: PathBuf,
        /// Output of git.
        why: Vec<String>,
    },
    /// A bundle could not be read.
    #[error("cannot read bundle '{}': {}", file.display().to_string().escape_debug(), told(why))]
    BundleNotRead {
        /// The file.
        file: PathBuf,
        /// Output of git.
        why: Vec<String>,
    },
    /// More than may be fetched at once.
    #[error("the remote sends more than {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: u64,
    },
    /// More sessions than anybody has.
    #[error("remote '{remote}' has more than {limit} refs of sessions")]
    TooMany {
        /// The remote.
        remote: String,
        /// The limit.
        limit: usize,
    },
    /// The user stopped it.
    #[error("interrupted; nothing was changed here, and the same command continues")]
    Stopped,
    /// The remote has no session of this name.
    #[error("remote '{}' has no session '{session}'", remote.escape_debug())]
    NotThere {
        /// The remote.
        remote: String,
        /// The session.
        session: String,
        /// Whether this repository has one of the name.
        is_here: bool,
    },
    /// The remote did not delete a session.
    #[error("session '{session}' was not deleted on remote '{}': {why}", remote.escape_debug())]
    NotDeleted {
        /// The remote.
        remote: String,
        /// The session.
        session: ShortName,
        /// Reason, in words.
        why: String,
    },
    /// Another agent or person has claimed a session of a remote that was to be changed there.
    #[error("session '{session}' of remote '{}' is claimed by {by} on {host}", remote.escape_debug())]
    Claimed {
        /// The remote.
        remote: String,
        /// The session.
        session: ShortName,
        /// The holder.
        by: String,
        /// The machine.
        host: String,
        /// The agent that the command was given, which takes the claim over.
        agent: Option<String>,
        /// Whether it was to be deleted, which can be forced.
        is_deletion: bool,
    },
    /// A session of a remote still has what was purged.
    #[error("session '{session}' was not purged on remote '{}': {why}", remote.escape_debug())]
    NotPurged {
        /// The remote.
        remote: String,
        /// The session.
        session: ShortName,
        /// The reason.
        why: PurgeObstacle,
    },
    /// Remote version of the session is not safe to use.
    #[error("session '{session}' of remote '{}' was refused: {why}", remote.escape_debug())]
    Refused {
        /// The remote.
        remote: String,
        /// The session.
        session: ShortName,
        /// Reason, in words.
        why: String,
    },
    /// The remote does not have any more what it had.
    #[error("session '{session}' {} on remote '{}'; nothing was changed", change.words(), remote.escape_debug())]
    Lost {
        /// The remote.
        remote: String,
        /// The session.
        session: ShortName,
        /// In what way.
        change: super::fetch::RemoteChange,
    },
    /// Secrets would be published.
    #[error("{} would be published{}", counted(leaks.len(), "secret"), listed(leaks))]
    Secrets {
        /// Where they are.
        leaks: Vec<Leak>,
        /// The first commit of the project that has one; where there are several, one in the history of HEAD.
        commit: Option<LeakedCommit>,
    },
    /// Content would be published again that was purged.
    #[error("session '{session}' has content again that was purged: {}", returned(content))]
    PurgedAgain {
        /// The session.
        session: ShortName,
        /// That content.
        content: ReturnedContent,
    },
    /// LFS content that a pushed checkpoint needs cannot be sent.
    #[error("{} of git-lfs would be missing on remote '{}': {why}", counted(*objects, "file"), remote.escape_debug())]
    Lfs {
        /// The remote.
        remote: String,
        /// How many.
        objects: usize,
        /// Why they cannot be sent.
        why: String,
    },
    /// Something else failed.
    #[error(transparent)]
    Ops(Box<ops::Error>),
}

/// Why a session of a remote stays as it is in a purge.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PurgeObstacle {
    /// The remote has something that the purge did not read.
    #[error("it is not what was last fetched of it")]
    Moved,
    /// The remote did not take it.
    #[error("{0}")]
    Declined(String),
}

impl From<ops::Error> for Error {
    fn from(error: ops::Error) -> Self {
        Self::Ops(Box::new(error))
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        ops::Error::from(error).into()
    }
}

impl From<secrets::Error> for Error {
    fn from(error: secrets::Error) -> Self {
        ops::Error::from(error).into()
    }
}

fn no_remote(name: Option<&str>, known: &[String]) -> String {
    match (name, known) {
        (Some(name), _) => format!("no remote '{}'", name.escape_debug()),
        (None, []) => "this repository has no remote".to_owned(),
        (None, _) => "there are several remotes, and none belongs to this branch or is called 'origin'".to_owned(),
    }
}

fn told(why: &[String]) -> String {
    if why.is_empty() {
        "the connection ended".to_owned()
    } else {
        why.join("; ")
    }
}

/// Purged checkpoints, and the first of some paths.
fn returned(content: &ReturnedContent) -> String {
    let ids = content.checkpoints.iter().map(Oid::short);
    let mut parts: Vec<String> = ids.map(|id| format!("checkpoint {id}")).collect();
    if !content.paths.is_empty() {
        parts.push(named(&content.paths));
    }
    parts.join(", ")
}

/// The first of some paths, and how many more there are.
fn named(paths: &[RepoPath]) -> String {
    const NAMED: usize = 3;
    let mut named: Vec<_> = paths.iter().take(NAMED).map(RepoPath::quoted).collect();
    if paths.len() > NAMED {
        named.push(format!("{} more", paths.len() - NAMED));
    }
    named.join(", ")
}

/// `1 secret`, `2 secrets`.
fn counted(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// The places, the first of many.
fn listed(leaks: &[Leak]) -> String {
    const SHOWN: usize = 20;
    let mut out = String::new();
    for leak in leaks.iter().take(SHOWN) {
        let line = leak.line.map(|line| format!(":{line}")).unwrap_or_default();
        out.push_str(&format!("\n  {} in {}{line} ({})", leak.kind, leak.path, leak.of));
    }
    if leaks.len() > SHOWN {
        out.push_str(&format!("\n  and {} more", leaks.len() - SHOWN));
    }
    out
}

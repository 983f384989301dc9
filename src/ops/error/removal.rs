//! Why the working tree of a fork was not removed.

use std::path::PathBuf;

use crate::model::{name::ShortName, path::RepoPath};

/// Any reason not to remove the working tree of a fork.
#[derive(Debug, thiserror::Error)]
pub enum RemovalError {
    /// The command runs in it.
    #[error("this is the working tree of '{session}': it cannot be removed from within")]
    OwnWorktree {
        /// The session.
        session: ShortName,
        /// Another working tree.
        other: PathBuf,
    },
    /// It holds files that no checkpoint holds.
    #[error("the working tree holds files that no checkpoint holds, such as '{}'", paths.first().map(ToString::to_string).unwrap_or_default())]
    NotAllSaved {
        /// The session of that working tree.
        session: ShortName,
        /// The files.
        paths: Vec<RepoPath>,
    },
    /// Another program writes in it.
    #[error("the working tree of '{session}' was not removed: {}", written(path.as_ref(), *forced))]
    Written {
        /// The session of that working tree.
        session: ShortName,
        /// A file that was written; `None` where nothing had been deleted yet.
        path: Option<RepoPath>,
        /// Whether files that no checkpoint holds were to be deleted as well.
        forced: bool,
    },
    /// A file cannot be deleted.
    #[error("the working tree of '{session}' was not removed: '{path}' cannot be deleted: {why}")]
    Kept {
        /// The session of that working tree.
        session: ShortName,
        /// The file.
        path: RepoPath,
        /// Why.
        why: String,
    },
    /// git was asked to keep it.
    #[error("the working tree of '{session}' is locked")]
    Locked {
        /// The session of that working tree.
        session: ShortName,
        /// Its directory.
        worktree: PathBuf,
    },
}

fn written(path: Option<&RepoPath>, forced: bool) -> String {
    let back = if forced {
        "what a checkpoint holds"
    } else {
        "what was deleted before"
    };
    match path {
        Some(path) => format!("'{path}' was written meanwhile; {back} is back"),
        None => "files are written there all the time".to_owned(),
    }
}

//! Why a restore did nothing, or stopped.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::paths::PathProblem;
use crate::model::path::RepoPath;
use crate::os::reason;
use crate::store::{self, ObjectId};
use crate::worktree::snapshot;

/// A failure of planning or executing a restore. Unless the doc of a variant has it otherwise, no file was touched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The repository has no working tree.
    #[error("this command needs a working tree, and '{}' is a bare repository", path.display())]
    Bare {
        /// The repository.
        path: PathBuf,
    },
    /// The checkpoint has a path that must not be written anywhere.
    #[error("the checkpoint has an unsafe path '{path}': {why}")]
    UnsafePath {
        /// The path.
        path: RepoPath,
        /// Problem of the path.
        why: PathProblem,
    },
    /// The checkpoint describes more paths than any project has.
    #[error("the checkpoint has more than {limit} paths to look at")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// A tree of the checkpoint or of the present cannot be read.
    #[error("cannot read directory '{path}' of the checkpoint, tree '{id}': {why}")]
    Tree {
        /// The directory, empty for the root.
        path: RepoPath,
        /// The tree.
        id: ObjectId,
        /// Reason, in words.
        why: String,
    },
    /// The content of a file cannot be read from the repository, or has another id.
    #[error("cannot read '{path}' from the checkpoint, blob '{id}': {why}")]
    Blob {
        /// The file.
        path: RepoPath,
        /// The blob.
        id: ObjectId,
        /// Reason, in words.
        why: String,
    },
    /// A list of the checkpoint names a blob that the checkpoint does not have.
    #[error("the checkpoint lacks the content of '{path}'")]
    NotThere {
        /// The file.
        path: RepoPath,
    },
    /// A file of the repository or the working tree could not be read or written.
    #[error("cannot {action} '{}': {}", path.display(), reason(source))]
    Io {
        /// A verb.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Another process, perhaps a git command, holds git's own lock on the index.
    #[error("cannot lock the index: '{}' exists{}", path.display(), store::aged(*age))]
    IndexLocked {
        /// The lock file.
        path: PathBuf,
        /// How long it has been there, as far as the clock shows.
        age: Option<Duration>,
    },
    /// The rules for content could not be read.
    #[error(transparent)]
    Rules(#[from] snapshot::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl Error {
    /// A file error with its path, for `map_err`.
    pub(in crate::worktree) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }

    /// Hint for the user, if any.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Rules(error) => error.hint(),
            Self::Store(error) => error.hint(),
            Self::UnsafePath {
                why: PathProblem::Collides(_),
                ..
            } if !cfg!(any(windows, target_os = "macos")) => Some(
                "core.ignoreCase is set; if the file system distinguishes them: git config core.ignoreCase false"
                    .to_owned(),
            ),
            Self::Blob { .. } | Self::Tree { .. } | Self::NotThere { .. } => {
                Some("git checkpoint verify reports what is damaged; another clone or remote may have it".to_owned())
            }
            Self::IndexLocked { path, .. } => Some(format!(
                "another git process seems to be running; if none is, it crashed, and you may remove the file:\nrm {}",
                path.display()
            )),
            _ => None,
        }
    }

    /// Whether the same call may succeed later without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::IndexLocked { .. } => true,
            Self::Store(error) => error.is_transient(),
            _ => false,
        }
    }
}

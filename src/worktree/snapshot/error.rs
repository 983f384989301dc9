//! Why there is no snapshot at all. What concerns single files is listed in the snapshot instead.

use std::io;
use std::path::PathBuf;

use crate::model::path::RepoPath;
use crate::os::reason;
use crate::store;

/// A failure that leaves no snapshot.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The repository has no working tree.
    #[error("this command needs a working tree, and '{}' is a bare repository", path.display())]
    Bare {
        /// The repository.
        path: PathBuf,
    },
    /// The index is there and cannot be read.
    #[error("cannot read index file '{}': {}", path.display(), crate::os::clause(&source.to_string()))]
    Index {
        /// The index file.
        path: PathBuf,
        /// The reason gix gave.
        source: gix::Error,
    },
    /// A directory that the sparse index holds as one entry is needed file by file, and its tree is not in this clone.
    #[error("cannot expand directory '{path}' of the sparse index: its tree is not in this repository")]
    SparseFolder {
        /// The directory.
        path: RepoPath,
    },
    /// The working tree's own directory cannot be read.
    #[error("cannot read working tree '{}': {}", path.display(), reason(source))]
    WorkTree {
        /// The directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file of rules outside of the working tree, such as `core.excludesFile`, is there and cannot be read.
    #[error("cannot read '{}': {}", path.display(), reason(source))]
    Rules {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A setting with a value that cannot be used.
    #[error("bad value '{value}' for '{key}': {why}")]
    Setting {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// Reason, in words.
        why: String,
    },
    /// Output of a filter for a large file could not be written to a temporary file.
    #[error("cannot use a scratch file for the output of a filter: {}", reason(source))]
    Scratch {
        /// The system's reason.
        source: io::Error,
    },
    /// gix failed.
    #[error("cannot {action}: {source}")]
    Gix {
        /// Action that failed.
        action: &'static str,
        /// The reason gix gave.
        source: gix::Error,
    },
    /// A blob that only the index names is damaged or gone, and its file does not have it either.
    #[error("cannot save the index: its object '{id}' of '{path}' {why}")]
    Staged {
        /// The path in the index.
        path: RepoPath,
        /// The blob.
        id: store::ObjectId,
        /// `is missing`, or `is corrupt` and in what way.
        why: String,
    },
    /// The caller does not want the snapshot any more.
    #[error("cancelled before anything was changed")]
    Cancelled,
    /// An object could not be written.
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl Error {
    /// For `map_err` on calls of gix.
    pub(super) fn gix(action: &'static str) -> impl FnOnce(gix::Error) -> Self {
        move |source| Self::Gix { action, source }
    }

    /// The command or setting that makes it work, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Index { .. } => {
                Some("git status shows whether git can read it; 'git reset' writes a new one".to_owned())
            }
            Self::SparseFolder { .. } => Some("git sparse-checkout reapply --no-sparse-index".to_owned()),
            Self::Staged { path, .. } => Some(format!(
                "stage the file again, or take it out: git add -- {0} || git reset -q -- {0}",
                path.quoted()
            )),
            _ => None,
        }
    }
}

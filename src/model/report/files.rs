//! The files: all that differ, those with saved changes, and what is uncommitted now.

use schemars::JsonSchema;
use serde::Serialize;

use super::{CommitInfo, ReportVerdict};
use crate::model::{
    change::{ChangeCounts, ChangeKind},
    facts::{BoundedList, PathRename},
    path::RepoPath,
};

/// All files that differ, seen from three sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileReport {
    /// `unchanged` when the files are as saved, else `changed`.
    pub verdict: ReportVerdict,
    /// Between the saved commit and the current one; where HEAD has no commit, all files of the saved one.
    pub committed: ChangeCounts,
    /// Between the commit of now and the files of now.
    pub uncommitted: ChangeCounts,
    /// Between the files as saved and the files of now; absent when the checkpoint holds no files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_saved: Option<ChangeCounts>,
    /// Paths that then or now were skipped (too large, excluded, unreadable), so that nothing is known of a difference.
    pub not_compared: BoundedList<RepoPath>,
}

/// The files that held uncommitted changes when the checkpoint was made, and what became of those changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SavedFiles {
    /// The most serious of the files' verdicts; `unchanged` when there are none.
    pub verdict: ReportVerdict,
    /// How many.
    pub count: u64,
    /// Of these, uncommitted as they were.
    #[serde(rename = "unchanged")]
    pub same: u64,
    /// In a commit as they were.
    pub committed: u64,
    /// In the current file among other changes.
    pub included: u64,
    /// Taken back: the file is as it was before them.
    pub reverted: u64,
    /// Not in the current file, and bringing them back needs no decision.
    pub changed: u64,
    /// The file does not exist any more.
    pub missing: u64,
    /// Bringing them back needs a decision.
    pub conflict: u64,
    /// The files, those that need attention first.
    pub first: Vec<SavedFile>,
}

/// One such file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SavedFile {
    /// `unchanged`, `changed`, `missing` or `conflict`.
    pub verdict: ReportVerdict,
    /// State of the saved change.
    pub state: SavedState,
    /// How it had been changed when it was saved.
    pub saved_as: ChangeKind,
    /// Its path then.
    pub path: RepoPath,
    /// Its path now, when it was moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<RepoPath>,
    /// Whether bringing the change back needs a decision; absent when that was not asked or could not be found out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge: Option<MergeVerdict>,
    /// Lines added and removed since it was saved; absent for binary and large files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<Lines>,
    /// The last commit since that touched it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitInfo>,
}

/// State of a saved, uncommitted change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SavedState {
    /// See [`SavedFiles::same`].
    #[serde(rename = "unchanged")]
    Same,
    /// See [`SavedFiles::committed`].
    Committed,
    /// See [`SavedFiles::included`].
    Included,
    /// See [`SavedFiles::reverted`].
    Reverted,
    /// See [`SavedFiles::changed`].
    Changed,
    /// See [`SavedFiles::missing`].
    Missing,
    /// See [`SavedFiles::conflict`].
    Conflict,
}

/// The outcome of a three-way merge for one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MergeVerdict {
    /// Both changes fit together.
    Clean,
    /// They meet in the same lines.
    Content,
    /// Both changed a binary file, a link or a gitlink.
    Binary,
    /// One side changed what the other deleted.
    ModifyDelete,
    /// Both added the path.
    AddAdd,
    /// Renames, or a file against a directory.
    Structure,
    /// Some content could not be read.
    Unknown,
}

impl MergeVerdict {
    /// Whether a decision is needed.
    pub fn is_conflict(self) -> bool {
        self != Self::Clean
    }

    /// The conflict in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Clean => "merges cleanly",
            Self::Content => "same lines",
            Self::Binary => "not text",
            Self::ModifyDelete => "changed on one side, deleted on the other",
            Self::AddAdd => "added on both sides",
            Self::Structure => "renamed, or a file against a directory",
            Self::Unknown => "content that cannot be read",
        }
    }
}

/// Numbers of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Lines {
    /// Lines added.
    pub added: u32,
    /// Lines removed.
    pub removed: u32,
}

/// Uncommitted changes now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UncommittedChanges {
    /// `unchanged` when there is nothing that the checkpoint does not have, nor less than was there then; `conflict` with
    /// unmerged paths that were not unmerged then.
    pub verdict: ReportVerdict,
    /// Paths whose index entry differs from HEAD.
    pub staged: BoundedList<RepoPath>,
    /// Those of them that HEAD does not have.
    #[serde(skip_serializing_if = "BoundedList::is_empty")]
    pub staged_added: BoundedList<RepoPath>,
    /// Those of them that the index does not have.
    #[serde(skip_serializing_if = "BoundedList::is_empty")]
    pub staged_deleted: BoundedList<RepoPath>,
    /// Tracked paths whose file differs from the index.
    pub modified: BoundedList<RepoPath>,
    /// Tracked paths without a file.
    pub deleted: BoundedList<RepoPath>,
    /// Paths neither tracked nor ignored.
    pub untracked: BoundedList<RepoPath>,
    /// Unmerged paths.
    pub conflicted: BoundedList<RepoPath>,
    /// Renames between HEAD and the index.
    pub renamed: BoundedList<PathRename>,
    /// Submodules with uncommitted changes, which no checkpoint has.
    pub submodules: BoundedList<RepoPath>,
    /// How many paths had uncommitted changes when the checkpoint was made.
    pub then: UncommittedCounts,
    /// Paths with uncommitted changes now and none when the checkpoint was made.
    pub not_in_checkpoint: BoundedList<RepoPath>,
    /// Whether the index holds the same tree as then; absent when that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index_same: Option<bool>,
}

/// How many paths had uncommitted changes, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct UncommittedCounts {
    /// Unmerged.
    pub conflicted: u64,
    /// Staged.
    pub staged: u64,
    /// Modified.
    pub modified: u64,
    /// Deleted.
    pub deleted: u64,
    /// Untracked.
    pub untracked: u64,
}

impl UncommittedCounts {
    /// Whether there were any.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

//! The change report: what is different now from when a checkpoint was made, as plain values.
//!
//! One member for each line of the report. Each has a verdict and the evidence for it; a member is absent when it could
//! not be found out, and then [`ChangeReport::failed`] says why. The names of keys and words are stable: `--json` prints
//! these structures as they are. Text is made of them elsewhere.

mod files;
mod history;

use serde::Serialize;

use super::{facts::GitOperation, time::Timestamp};
pub use files::{FileReport, Lines, MergeVerdict, SavedFile, SavedFiles, SavedState, UncommittedChanges};
pub use history::{
    BoundedCount, Branch, BranchFate, CommitInfo, CommitList, CommitMatch, Commits, History, MatchedBy, Upstream,
    UpstreamFate,
};

/// Everything that changed since a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangeReport {
    /// Whether the project is no longer as the checkpoint left it.
    pub drift: Drift,
    /// How long ago it was made.
    pub age: Age,
    /// The machine and working tree.
    pub place: MachineLocation,
    /// The branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<Branch>,
    /// The commits since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits: Option<Commits>,
    /// All files that differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<FileReport>,
    /// The files that held uncommitted changes when it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<SavedFiles>,
    /// Uncommitted changes now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<UncommittedChanges>,
    /// The upstream branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<Upstream>,
    /// An operation of git begun and not finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operations>,
    /// Stashed changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stash: Option<Stash>,
    /// The parts that could not be found out.
    pub failed: Vec<PartFailure>,
}

/// Verdict of one line of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum ReportVerdict {
    /// As it was.
    #[serde(rename = "same")]
    Same,
    /// Something that is only here now, and is left alone.
    #[serde(rename = "kept")]
    Kept,
    /// Not the same, and nothing to worry about: another host, another working tree.
    #[serde(rename = "differs")]
    Differs,
    /// Went on as work does: nothing of the checkpoint is lost.
    #[serde(rename = "moved")]
    Moved,
    /// Look at it before going on.
    #[serde(rename = "CHECK")]
    Check,
    /// Something of the checkpoint is not there any more.
    #[serde(rename = "missing")]
    Missing,
    /// Cannot be brought together without a decision.
    #[serde(rename = "conflict")]
    Conflict,
}

impl ReportVerdict {
    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Kept => "kept",
            Self::Differs => "differs",
            Self::Moved => "moved",
            Self::Check => "CHECK",
            Self::Missing => "missing",
            Self::Conflict => "conflict",
        }
    }
}

/// The parts of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReportPart {
    /// See [`Age`].
    Age,
    /// See [`MachineLocation`].
    Place,
    /// See [`Branch`].
    Branch,
    /// See [`Commits`].
    Commits,
    /// See [`FileReport`].
    Files,
    /// See [`SavedFiles`].
    Saved,
    /// See [`UncommittedChanges`].
    Worktree,
    /// See [`UncommittedChanges::index_same`].
    Index,
    /// See [`Upstream`].
    Upstream,
    /// See [`Operations`].
    Operation,
    /// See [`Stash`].
    Stash,
}

impl ReportPart {
    /// The word that is at the beginning of its line.
    pub fn word(self) -> &'static str {
        match self {
            Self::Age => "age",
            Self::Place => "place",
            Self::Branch => "branch",
            Self::Commits => "commits",
            Self::Files => "files",
            Self::Saved => "saved",
            Self::Worktree => "worktree",
            Self::Index => "index",
            Self::Upstream => "upstream",
            Self::Operation => "operation",
            Self::Stash => "stash",
        }
    }
}

/// The answer for `--fail-on-drift`.
///
/// Drift is what makes the checkpoint's record unsafe to act on unread: another HEAD or branch, files or index that are
/// not as saved, an operation begun since, an age beyond the limit, or one of these unknown. Another machine, the
/// upstream and the stash are reported and are no drift.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Drift {
    /// Whether there is any.
    pub drifted: bool,
    /// In which parts.
    pub reasons: Vec<ReportPart>,
}

/// A value when the checkpoint was made, and now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SavedAndCurrent<T> {
    /// When it was made; null when there was none.
    pub then: T,
    /// Now; null when there is none.
    pub now: T,
}

impl<T: PartialEq> SavedAndCurrent<T> {
    /// Whether both are equal.
    pub fn is_same(&self) -> bool {
        self.then == self.now
    }
}

/// How long ago the checkpoint was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Age {
    /// `same`, or `CHECK` beyond the limit and when it lies in the future.
    pub verdict: ReportVerdict,
    /// When it was made.
    pub saved_at: Timestamp,
    /// When the report was made.
    pub now: Timestamp,
    /// The time between, negative when a clock was wrong.
    pub seconds: i64,
    /// The age beyond which it counts as stale, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// The machine and working tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MachineLocation {
    /// `same` or `differs`.
    pub verdict: ReportVerdict,
    /// Verdict.
    pub is: LocationVerdict,
    /// The machine's name.
    pub host: SavedAndCurrent<String>,
    /// The working tree: `main`, or `linked-` and git's name for it.
    pub worktree: SavedAndCurrent<String>,
    /// Its root, C-quoted where it must be.
    pub path: SavedAndCurrent<String>,
}

/// Where we are, compared with where the checkpoint was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LocationVerdict {
    /// The same working tree.
    Same,
    /// Another working tree of the same repository.
    OtherWorktree,
    /// Another directory on the same machine: another clone, or a moved one.
    OtherFolder,
    /// Another machine.
    OtherHost,
}

/// Operations of git begun and not finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Operations {
    /// `same`, `moved` when the one of then is over, `CHECK` when there is one that was not there then.
    pub verdict: ReportVerdict,
    /// Then and now.
    #[serde(flatten)]
    pub is: SavedAndCurrent<Option<GitOperation>>,
}

/// Entries of the stash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stash {
    /// `same`, `moved`, or `CHECK` when there are fewer than then.
    pub verdict: ReportVerdict,
    /// Then and now.
    #[serde(flatten)]
    pub count: SavedAndCurrent<u64>,
}

/// A part that could not be found out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartFailure {
    /// Which one.
    pub part: ReportPart,
    /// Why.
    pub reason: String,
}

//! The change report: what is different now from when a checkpoint was made, as plain values.
//!
//! One member for each line of the report. Each has a verdict and the evidence for it; a member is absent when it could
//! not be found out, and then [`ChangeReport::failed`] has the reason. The names of keys and words are stable: `--json` prints
//! these structures as they are. Text is made of them elsewhere.

mod files;
mod history;

use schemars::JsonSchema;
use serde::Serialize;

use super::{facts::GitOperation, time::Timestamp};
pub use files::{
    FileReport, Lines, MergeVerdict, SavedFile, SavedFiles, SavedState, UncommittedChanges, UncommittedCounts,
};
pub use history::{
    BoundedCount, Branch, BranchFate, CommitInfo, CommitList, CommitMatch, Commits, History, MatchedBy, Upstream,
    UpstreamFate,
};

/// Everything that changed since a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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

impl ChangeReport {
    /// The parts to check before the work continues.
    pub fn attention(&self) -> Vec<ReportPart> {
        let lines = [
            (ReportPart::Age, Some(self.age.verdict)),
            (ReportPart::Place, Some(self.place.verdict)),
            (ReportPart::Branch, self.branch.as_ref().map(|line| line.verdict)),
            (ReportPart::Commits, self.commits.as_ref().map(|line| line.verdict)),
            (ReportPart::Files, self.files.as_ref().map(|line| line.verdict)),
            (ReportPart::Saved, self.saved.as_ref().map(|line| line.verdict)),
            (ReportPart::Worktree, self.worktree.as_ref().map(|line| line.verdict)),
            (ReportPart::Upstream, self.upstream.as_ref().map(|line| line.verdict)),
            (ReportPart::Operation, self.operation.as_ref().map(|line| line.verdict)),
            (ReportPart::Stash, self.stash.as_ref().map(|line| line.verdict)),
        ];
        let of_lines = lines
            .into_iter()
            .filter(|(_, verdict)| verdict.is_some_and(ReportVerdict::needs_attention));
        let mut parts: Vec<ReportPart> = of_lines.map(|(part, _)| part).collect();
        parts.extend(self.failed.iter().map(|failure| failure.part));
        parts.sort();
        parts.dedup();
        parts
    }

    /// One in which nothing is known to have changed.
    pub fn empty(at: Timestamp) -> Self {
        let same = |text: &str| SavedAndCurrent {
            then: text.to_owned(),
            now: text.to_owned(),
        };
        Self {
            drift: Drift::default(),
            age: Age {
                verdict: ReportVerdict::Same,
                saved_at: at,
                now: at,
                seconds: 0,
                limit: None,
            },
            place: MachineLocation {
                verdict: ReportVerdict::Same,
                is: LocationVerdict::Same,
                host: same("host"),
                worktree: same("main"),
                path: same("/"),
            },
            branch: None,
            commits: None,
            files: None,
            saved: None,
            worktree: None,
            upstream: None,
            operation: None,
            stash: None,
            failed: Vec::new(),
        }
    }
}

/// Grade of a line of the report. Readers get one of five words; how serious a change is, is for the order and the
/// colors of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReportVerdict {
    /// As it was.
    Same,
    /// Something that is only here now, and is left alone.
    Kept,
    /// Not the same, and nothing to worry about: another host, another working tree.
    Differs,
    /// Went on as work does: nothing of the checkpoint is lost.
    Moved,
    /// Look at it before going on.
    Check,
    /// It could not be found out.
    Unknown,
    /// Something of the checkpoint is not there any more.
    Missing,
    /// Cannot be brought together without a decision.
    Conflict,
}

impl ReportVerdict {
    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Same => "unchanged",
            Self::Kept | Self::Differs | Self::Moved | Self::Check => "changed",
            Self::Unknown => "unknown",
            Self::Missing => "missing",
            Self::Conflict => "conflict",
        }
    }

    /// Whether to check it before the work continues.
    pub fn needs_attention(self) -> bool {
        self >= Self::Check
    }
}

impl Serialize for ReportVerdict {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

super::schema::text_schema!(ReportVerdict, "verdict", {
    "description": "What a line of the report comes to.",
    "enum": ["unchanged", "changed", "missing", "conflict", "unknown"]
});

/// The parts of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Drift {
    /// Whether there is any.
    pub drifted: bool,
    /// In which parts.
    pub reasons: Vec<ReportPart>,
    /// The parts to check before the work continues.
    pub attention: Vec<ReportPart>,
}

/// A value when the checkpoint was made, and now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Age {
    /// `unchanged`, or `changed` beyond the limit and when it lies in the future.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MachineLocation {
    /// `unchanged` or `changed`.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Operations {
    /// `unchanged`, or `changed` when one is over or has begun.
    pub verdict: ReportVerdict,
    /// Then and now.
    #[serde(flatten)]
    pub is: SavedAndCurrent<Option<GitOperation>>,
    /// The command that begins the saved one, where none is in progress and it may never have been.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// Entries of the stash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Stash {
    /// `unchanged` or `changed`.
    pub verdict: ReportVerdict,
    /// Then and now.
    #[serde(flatten)]
    pub count: SavedAndCurrent<u64>,
}

/// A part that could not be found out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PartFailure {
    /// Which one.
    pub part: ReportPart,
    /// Why.
    pub reason: String,
}

//! The branch, its commits and its upstream.

use schemars::JsonSchema;
use serde::Serialize;

use super::{ReportVerdict, SavedAndCurrent};
use crate::model::{facts::BoundedList, id::Oid, time::Timestamp};

/// A number that may be a lower bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "count")]
pub struct BoundedCount {
    /// The number.
    pub count: u64,
    /// Whether counting stopped early.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
}

/// A commit, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "commit_info")]
pub struct CommitInfo {
    /// Its id.
    pub id: Oid,
    /// The first line of its message.
    pub subject: String,
    /// The author's name.
    pub author: String,
    /// The author's address.
    pub email: String,
    /// When it was written; kept by a rebase.
    pub authored_at: Timestamp,
    /// When it was made.
    pub committed_at: Timestamp,
}

/// Commits counted, the latest ones listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "commit_list")]
pub struct CommitList {
    /// How many.
    #[serde(flatten)]
    pub total: BoundedCount,
    /// The latest ones.
    pub first: Vec<CommitInfo>,
}

/// The branch that was checked out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Branch {
    /// `unchanged`, `changed`, or `missing` when it was deleted with commits that no other branch has.
    pub verdict: ReportVerdict,
    /// The branch checked out; null for a detached HEAD.
    pub name: SavedAndCurrent<Option<String>>,
    /// The commit checked out; null for an unborn branch.
    pub head: SavedAndCurrent<Option<Oid>>,
    /// Fate of the branch at save time.
    pub fate: BranchFate,
    /// The commit it points to now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tip: Option<Oid>,
    /// Its new name; where only a remote has it, the remote-tracking branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed_to: Option<String>,
    /// Branches that contain the saved commit, HEAD's first; only looked for when HEAD has left the branch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub merged_into: Vec<String>,
}

/// Fate of a branch since a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BranchFate {
    /// HEAD was detached: there is none.
    None,
    /// It had no commit at save time, and has none now.
    Unborn,
    /// It has its first commits.
    Born,
    /// There was a commit, but how it relates to the current one is not known: another tool reported it, or the clone is
    /// too shallow.
    Untold,
    /// It points to the same commit.
    Same,
    /// It went forward.
    Forward,
    /// It went back to an earlier commit.
    Rewound,
    /// It points to a commit that does not contain the saved one.
    Rewritten,
    /// It has another name.
    Renamed,
    /// It was here and does not exist any more.
    Deleted,
    /// It is not a branch of this repository, and a remote has one of that name.
    Remote,
    /// It is not a branch of this repository; nothing shows that it ever was.
    Absent,
}

/// From the saved commit to the current one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Commits {
    /// `unchanged` or `changed`.
    pub verdict: ReportVerdict,
    /// Relation of the saved HEAD to the current one.
    pub how: History,
    /// The best common ancestor, when the history was rewritten.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<Oid>,
    /// Current commits that are neither in the saved history nor rewritten forms of its commits.
    pub since: CommitList,
    /// Different authors of `since` (of the first 1,000).
    pub authors: u64,
    /// Saved commits that exist in another form.
    pub matched: BoundedList<CommitMatch>,
    /// Saved commits that were found in no form.
    pub lost: CommitList,
    /// The clone is shallow and the answer may depend on what it lacks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shallow: bool,
}

impl Commits {
    /// Nothing can be said: the commit at save time is not known.
    pub fn base_unknown() -> Self {
        Self {
            verdict: ReportVerdict::Unknown,
            how: History::Untold,
            base: None,
            since: CommitList::default(),
            authors: 0,
            matched: BoundedList::default(),
            lost: CommitList::default(),
            shallow: false,
        }
    }
}

/// Relation of two commits: advanced, rewritten, or diverged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum History {
    /// Nothing changed: the same commit, or none at save time and none now.
    Same,
    /// The first commits were made.
    Born,
    /// The saved commit is not known here.
    Untold,
    /// HEAD has no commit now.
    Unborn,
    /// Commits were added.
    Forward,
    /// HEAD went back to an earlier commit.
    Rewound,
    /// The latest commit was replaced by one with the same parents.
    Amended,
    /// All commits exist again, as other commits.
    Rebased,
    /// All commits exist as one.
    Squashed,
    /// All commits exist again, on another branch.
    CherryPicked,
    /// Both sides have commits that the other lacks.
    Diverged,
    /// There is no common commit.
    Unrelated,
    /// The walk through the history was given up.
    Unknown,
}

/// A saved commit and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommitMatch {
    /// The saved commit.
    pub then: Oid,
    /// The current commit.
    pub now: Oid,
    /// How that was seen.
    pub by: MatchedBy,
    /// The subject of the current commit.
    pub subject: String,
}

/// How a commit was recognized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MatchedBy {
    /// Both make the same change (git's patch id).
    Patch,
    /// The current one makes the change of several.
    Squash,
    /// Same author and time of writing, other change: amended, or a rebase with conflicts.
    Author,
}

/// The upstream of the branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Upstream {
    /// `unchanged`, `changed` or `missing`.
    pub verdict: ReportVerdict,
    /// Fate of the upstream at save time.
    pub fate: UpstreamFate,
    /// The upstream of the branch checked out.
    pub name: SavedAndCurrent<Option<String>>,
    /// The commit of the saved upstream, as last fetched.
    pub head: SavedAndCurrent<Option<Oid>>,
    /// Commits it gained since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gained: Option<BoundedCount>,
    /// Commits it lost since: it was rewritten.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<BoundedCount>,
    /// Commits of HEAD now that its upstream lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead: Option<BoundedCount>,
    /// Commits of that upstream that HEAD lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behind: Option<BoundedCount>,
}

/// Fate of an upstream since a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UpstreamFate {
    /// There was none at save time and is none now.
    None,
    /// There was none at save time.
    New,
    /// It points to the same commit, or it is not known where it pointed to.
    Same,
    /// It went forward.
    Forward,
    /// It does not contain the saved commit: a force-push was fetched.
    Rewritten,
    /// Its reference does not exist any more.
    Gone,
    /// It points elsewhere, and a shallow clone does not show whether that contains the saved commit.
    Unknown,
}

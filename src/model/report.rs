//! The change report: what is different now from when a checkpoint was made, as plain values.
//!
//! One member for each line of the report. Each has a verdict and the evidence for it; a member is absent when it could
//! not be found out, and then [`ChangeReport::failed`] says why. The names of keys and words are stable: `--json` prints
//! these structures as they are. Text is made of them elsewhere.

use serde::Serialize;

use super::{
    change::{ChangeKind, Changes},
    facts::{Bounded, Operation, Renamed},
    id::Oid,
    path::RepoPath,
    time::Timestamp,
};

/// Everything that changed since a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangeReport {
    /// Whether the project is no longer as the checkpoint left it.
    pub drift: Drift,
    /// How long ago it was made.
    pub age: Age,
    /// The machine and work tree.
    pub place: Place,
    /// The branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<Branch>,
    /// The commits since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commits: Option<Commits>,
    /// All files that differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Files>,
    /// The files that held uncommitted changes when it was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved: Option<Saved>,
    /// Uncommitted changes now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<WorkTree>,
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
    pub failed: Vec<Failure>,
}

/// What a line of the report comes to, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Verdict {
    /// As it was.
    #[serde(rename = "same")]
    Same,
    /// Something that is only here now, and is left alone.
    #[serde(rename = "kept")]
    Kept,
    /// Not the same, and nothing to worry about: another host, another work tree.
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

impl Verdict {
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
pub enum Part {
    /// See [`Age`].
    Age,
    /// See [`Place`].
    Place,
    /// See [`Branch`].
    Branch,
    /// See [`Commits`].
    Commits,
    /// See [`Files`].
    Files,
    /// See [`Saved`].
    Saved,
    /// See [`WorkTree`].
    Worktree,
    /// See [`WorkTree::index_same`].
    Index,
    /// See [`Upstream`].
    Upstream,
    /// See [`Operations`].
    Operation,
    /// See [`Stash`].
    Stash,
}

impl Part {
    /// The word that stands at the beginning of its line.
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
    pub reasons: Vec<Part>,
}

/// A value when the checkpoint was made, and now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pair<T> {
    /// When it was made; null when there was none.
    pub then: T,
    /// Now; null when there is none.
    pub now: T,
}

impl<T: PartialEq> Pair<T> {
    /// Whether both are equal.
    pub fn is_same(&self) -> bool {
        self.then == self.now
    }
}

/// How long ago the checkpoint was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Age {
    /// `same`, or `CHECK` beyond the limit and when it lies in the future.
    pub verdict: Verdict,
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

/// The machine and work tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// `same` or `differs`.
    pub verdict: Verdict,
    /// What it is.
    pub is: PlaceIs,
    /// The machine's name.
    pub host: Pair<String>,
    /// The work tree: `main`, or `linked-` and git's name for it.
    pub worktree: Pair<String>,
    /// Its root, C-quoted where it must be.
    pub path: Pair<String>,
}

/// Where we are, compared with where the checkpoint was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlaceIs {
    /// The same work tree.
    Same,
    /// Another work tree of the same repository.
    OtherWorktree,
    /// Another folder on the same machine: another clone, or a moved one.
    OtherFolder,
    /// Another machine.
    OtherHost,
}

/// A number that may be a lower bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// The number.
    pub count: u64,
    /// Whether counting stopped early.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
}

/// A commit, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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

/// Commits counted, the newest ones listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CommitList {
    /// How many.
    #[serde(flatten)]
    pub total: Count,
    /// The newest ones.
    pub first: Vec<CommitInfo>,
}

/// The branch that was checked out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Branch {
    /// `same`, `moved`, `CHECK`, or `missing` when it was deleted with commits that no other branch has.
    pub verdict: Verdict,
    /// The branch checked out; null for a detached HEAD.
    pub name: Pair<Option<String>>,
    /// The commit checked out; null for an unborn branch.
    pub head: Pair<Option<Oid>>,
    /// What became of the branch of then.
    pub fate: Fate,
    /// The commit it points to now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tip: Option<Oid>,
    /// Its new name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed_to: Option<String>,
    /// Branches that contain the commit of then, HEAD's first; only looked for when HEAD has left the branch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub merged_into: Vec<String>,
}

/// What became of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// HEAD was detached: there is none.
    None,
    /// It had no commit then, and has none now.
    Unborn,
    /// It has its first commits.
    Born,
    /// It points to the same commit.
    Same,
    /// It went forward.
    Forward,
    /// It went back to an earlier commit.
    Rewound,
    /// It points to a commit that does not contain the one of then.
    Rewritten,
    /// It has another name.
    Renamed,
    /// It does not exist any more.
    Deleted,
}

/// From the commit of then to the commit of now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Commits {
    /// `same`, `moved` when everything of then is still there in some form, else `CHECK`.
    pub verdict: Verdict,
    /// What happened.
    pub how: History,
    /// The best common ancestor, when the history was rewritten.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<Oid>,
    /// Commits now that are neither in the history of then nor rewritten forms of its commits.
    pub since: CommitList,
    /// Different authors of `since` (of the first 1,000).
    pub authors: u64,
    /// Commits of then that are there in another form.
    pub matched: Bounded<Match>,
    /// Commits of then that are not there in any form found.
    pub lost: CommitList,
    /// The clone is shallow and the answer may depend on what it lacks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shallow: bool,
}

/// What happened between two commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum History {
    /// Nothing: the same commit, or none then and now.
    Same,
    /// The first commits were made.
    Born,
    /// HEAD has no commit now.
    Unborn,
    /// Commits were added.
    Forward,
    /// HEAD went back to an earlier commit.
    Rewound,
    /// The newest commit was replaced by one with the same parents.
    Amended,
    /// All commits are there again, as other commits.
    Rebased,
    /// All commits are there as one.
    Squashed,
    /// All commits are there again, on another branch.
    CherryPicked,
    /// Both sides have commits that the other lacks.
    Diverged,
    /// There is no common commit.
    Unrelated,
    /// The walk through the history was given up.
    Unknown,
}

impl History {
    /// The word that stands in JSON and text.
    pub fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Born => "born",
            Self::Unborn => "unborn",
            Self::Forward => "forward",
            Self::Rewound => "rewound",
            Self::Amended => "amended",
            Self::Rebased => "rebased",
            Self::Squashed => "squashed",
            Self::CherryPicked => "cherry-picked",
            Self::Diverged => "diverged",
            Self::Unrelated => "unrelated",
            Self::Unknown => "unknown",
        }
    }
}

/// A commit of then and what it is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Match {
    /// The commit of then.
    pub then: Oid,
    /// The commit of now.
    pub now: Oid,
    /// How that was seen.
    pub by: MatchedBy,
    /// The subject of the commit of now.
    pub subject: String,
}

/// How a commit was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchedBy {
    /// Both make the same change (git's patch id).
    Patch,
    /// The one of now makes the change of several.
    Squash,
    /// Same author and time of writing, other change: amended, or a rebase with conflicts.
    Author,
}

/// All files that differ, seen from three sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Files {
    /// `same` when the files are as saved, else `moved`.
    pub verdict: Verdict,
    /// Between the commits of then and now.
    pub committed: Changes,
    /// Between the commit of now and the files of now.
    pub uncommitted: Changes,
    /// Between the files as saved and the files of now; absent when the checkpoint holds no files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since_saved: Option<Changes>,
}

/// The files that held uncommitted changes when the checkpoint was made, and what became of those changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Saved {
    /// The most serious of the files' verdicts; `same` when there are none.
    pub verdict: Option<Verdict>,
    /// How many.
    pub count: u64,
    /// Of these, uncommitted as they were.
    pub same: u64,
    /// In a commit as they were.
    pub committed: u64,
    /// In the present file among other changes.
    pub included: u64,
    /// Taken back: the file is as it was before them.
    pub reverted: u64,
    /// Not in the present file, and bringing them back needs no decision.
    pub changed: u64,
    /// The file does not exist any more.
    pub missing: u64,
    /// Bringing them back needs a decision.
    pub conflict: u64,
    /// The files, those that need attention first.
    pub first: Vec<SavedFile>,
}

/// One such file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SavedFile {
    /// `same`, `moved`, `CHECK`, `missing` or `conflict`.
    pub verdict: Verdict,
    /// What became of its change.
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

/// What became of a saved, uncommitted change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SavedState {
    /// See [`Saved::same`].
    Same,
    /// See [`Saved::committed`].
    Committed,
    /// See [`Saved::included`].
    Included,
    /// See [`Saved::reverted`].
    Reverted,
    /// See [`Saved::changed`].
    Changed,
    /// See [`Saved::missing`].
    Missing,
    /// See [`Saved::conflict`].
    Conflict,
}

/// The outcome of a three-way merge for one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
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
    /// Renames, or a file against a folder.
    Structure,
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
            Self::ModifyDelete => "changed here, deleted there",
            Self::AddAdd => "added on both sides",
            Self::Structure => "renamed, or a file against a folder",
        }
    }
}

/// Numbers of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lines {
    /// Lines added.
    pub added: u32,
    /// Lines removed.
    pub removed: u32,
}

/// Uncommitted changes now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkTree {
    /// `same` when there is nothing the checkpoint does not know, `kept` when there is, `conflict` with unmerged paths
    /// that were not unmerged then.
    pub verdict: Verdict,
    /// Paths whose index entry differs from HEAD.
    pub staged: Bounded<RepoPath>,
    /// Tracked paths whose file differs from the index.
    pub modified: Bounded<RepoPath>,
    /// Tracked paths without a file.
    pub deleted: Bounded<RepoPath>,
    /// Paths neither tracked nor ignored.
    pub untracked: Bounded<RepoPath>,
    /// Unmerged paths.
    pub conflicted: Bounded<RepoPath>,
    /// Renames between HEAD and the index.
    pub renamed: Bounded<Renamed>,
    /// Paths with uncommitted changes now and none when the checkpoint was made.
    pub not_in_checkpoint: Bounded<RepoPath>,
    /// Whether the index holds the same tree as then; absent when that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index_same: Option<bool>,
}

/// The upstream of the branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Upstream {
    /// `same`, `moved`, `CHECK` when it was rewritten, `missing` when it is gone.
    pub verdict: Verdict,
    /// What became of the upstream of then.
    pub fate: UpstreamFate,
    /// The upstream of the branch checked out.
    pub name: Pair<Option<String>>,
    /// The commit of the upstream of then, as last fetched.
    pub head: Pair<Option<Oid>>,
    /// Commits it gained since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gained: Option<Count>,
    /// Commits it lost since: it was rewritten.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<Count>,
    /// Commits of HEAD now that its upstream lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead: Option<Count>,
    /// Commits of that upstream that HEAD lacks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behind: Option<Count>,
}

/// What became of an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UpstreamFate {
    /// There was none then and is none now.
    None,
    /// There was none then.
    New,
    /// It points to the same commit, or it is not known where it pointed to.
    Same,
    /// It went forward.
    Forward,
    /// It does not contain the commit of then: a force-push was fetched.
    Rewritten,
    /// Its reference does not exist any more.
    Gone,
}

/// Operations of git begun and not finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Operations {
    /// `same`, `moved` when the one of then is over, `CHECK` when there is one that was not there then.
    pub verdict: Verdict,
    /// Then and now.
    #[serde(flatten)]
    pub is: Pair<Option<Operation>>,
}

/// Entries of the stash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stash {
    /// `same`, `moved`, or `CHECK` when there are fewer than then.
    pub verdict: Verdict,
    /// Then and now.
    #[serde(flatten)]
    pub count: Pair<u64>,
}

/// A part that could not be found out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// Which one.
    pub part: Part,
    /// Why.
    pub reason: String,
}

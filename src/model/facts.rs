//! The `git` member of a document: where the repository was when a checkpoint was made.
//!
//! These are facts for people and for comparison, not what a restore works from: the exact state of the files is in
//! the snapshot's trees. Path lists are therefore bounded. Reference names are text: names that are not UTF-8 are
//! C-quoted like paths, so that two names are equal exactly when their texts are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{id::Oid, path::RepoPath};

/// How many paths of one kind a document lists; further ones are only counted.
pub const LISTED: usize = 50;

/// The state of HEAD, branch, upstream, index and working tree in git's own terms. Keys are written in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "git_facts")]
pub struct GitFacts {
    /// Short name of the branch HEAD points to, born or not; null when HEAD is detached.
    #[serde(default)]
    pub branch: Option<String>,
    /// The commit of HEAD; null when the branch is unborn.
    #[serde(default)]
    pub head: Option<Oid>,
    /// First line of that commit's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_subject: Option<String>,
    /// Short name of the configured upstream, such as `origin/main`; also when that reference is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
    /// The commit of the upstream, as last fetched; absent when there is no upstream or its reference is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream_head: Option<Oid>,
    /// Commits of HEAD that the upstream lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ahead: Option<u64>,
    /// Commits of the upstream that HEAD lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<u64>,
    /// Whether counting stopped early, so that `ahead` and `behind` are lower bounds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ahead_behind_at_least: bool,
    /// Paths whose index entry differs from HEAD (added, changed, removed; a rename once, by its new path).
    #[serde(default)]
    pub staged: BoundedList<RepoPath>,
    /// Those of them that HEAD does not have.
    #[serde(default, skip_serializing_if = "BoundedList::is_empty")]
    pub staged_added: BoundedList<RepoPath>,
    /// Those of them that the index does not have.
    #[serde(default, skip_serializing_if = "BoundedList::is_empty")]
    pub staged_deleted: BoundedList<RepoPath>,
    /// Tracked paths whose file differs from the index entry.
    #[serde(default)]
    pub modified: BoundedList<RepoPath>,
    /// Tracked paths without a file.
    #[serde(default)]
    pub deleted: BoundedList<RepoPath>,
    /// Paths that are neither tracked nor ignored, each file separately.
    #[serde(default)]
    pub untracked: BoundedList<RepoPath>,
    /// Paths with unmerged index entries.
    #[serde(default)]
    pub conflicted: BoundedList<RepoPath>,
    /// Renames between HEAD and the index with unchanged content; each is also counted in `staged`.
    #[serde(default)]
    pub renamed: BoundedList<PathRename>,
    /// Submodules that hold changes of their own, which no checkpoint of this repository saves.
    #[serde(default, skip_serializing_if = "BoundedList::is_empty")]
    pub submodules_changed: BoundedList<RepoPath>,
    /// Submodules of which it was not found out whether they do.
    #[serde(default, skip_serializing_if = "BoundedList::is_empty")]
    pub submodules_unseen: BoundedList<RepoPath>,
    /// The operation that git has begun and not finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<GitOperation>,
    /// Entries of `git stash list`.
    #[serde(default)]
    pub stash_count: u64,
    /// Nothing staged, modified, deleted, untracked or conflicted, and no submodule known to be so.
    #[serde(default)]
    pub is_clean: bool,
    /// Members that say nothing: `status` of a checkpoint without files, and what the source of an import does not name of
    /// `branch`, `head` and `status`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreported: Vec<String>,
    /// The commit that the source of an import names, when it is not in this repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_head: Option<String>,
    /// Keys of later versions, kept as they are.
    #[serde(flatten)]
    pub extra: serde_json::Map<String, serde_json::Value>,
}

/// The member that stands for what differs from HEAD.
const STATUS: &str = "status";

impl GitFacts {
    /// Whether the operation in progress needs this commit, so that it may be a further parent of the index commit.
    pub fn operation_needs(&self, commit: &Oid) -> bool {
        let operation = self.operation.iter();
        operation
            .flat_map(|operation| &operation.heads)
            .any(|head| head.id == *commit)
    }

    /// Counts of what differs from HEAD: `1 staged, 3 modified`; empty where nothing does.
    pub fn changes(&self) -> String {
        let counts = [
            (self.conflicted.count, "conflicted"),
            (self.staged.count, "staged"),
            (self.modified.count, "modified"),
            (self.deleted.count, "deleted"),
            (self.untracked.count, "untracked"),
        ];
        let words = counts
            .iter()
            .filter(|(n, _)| *n > 0)
            .map(|(n, word)| format!("{n} {word}"));
        let submodules = match self.submodules_changed.count {
            0 => None,
            1 => Some("1 changed submodule".to_owned()),
            n => Some(format!("{n} changed submodules")),
        };
        words.chain(submodules).collect::<Vec<_>>().join(", ")
    }

    /// The branch that is worked on: the one checked out, or the one that is being rebased on a detached HEAD.
    pub fn worked_on(&self) -> Option<&str> {
        let rebased = || {
            let operation = self.operation.as_ref()?;
            operation
                .branch
                .as_deref()
                .filter(|_| operation.kind == OperationKind::Rebase)
        };
        self.branch.as_deref().or_else(rebased)
    }

    /// Whether a member has a value; those of an import may not.
    pub fn reports(&self, member: &str) -> bool {
        !self.unreported.iter().any(|one| one == member)
    }

    /// Says nothing of what differs from HEAD, which was not looked at.
    pub fn leave_out_status(&mut self) {
        self.unreported = vec![STATUS.to_owned()];
        self.is_clean = false;
    }

    /// Whether it was looked at what differs from HEAD; of an import, whether its source said so.
    pub fn has_status(&self) -> bool {
        self.reports(STATUS)
    }

    /// Sets `is_clean` from the counts.
    pub fn settle(&mut self) {
        self.is_clean = self.staged.count == 0
            && self.modified.count == 0
            && self.deleted.count == 0
            && self.untracked.count == 0
            && self.conflicted.count == 0
            && self.submodules_changed.count == 0;
    }
}

/// How many there are, and the first [`LISTED`] of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
pub struct BoundedList<T> {
    /// All of them.
    pub count: u64,
    /// The first ones, in order of their paths.
    #[serde(default)]
    pub first: Vec<T>,
}

/// Staged state of a path, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StagedKind<'a> {
    /// A new path.
    Added,
    /// Other content or another mode.
    Modified,
    /// The path is gone.
    Deleted,
    /// The path has another name; the old one.
    Renamed(&'a RepoPath),
    /// Not known: earlier versions did not store it.
    Unknown,
}

impl<'a> StagedKind<'a> {
    /// That of a path, by the lists of a repository's state.
    pub fn of(
        path: &RepoPath,
        added: &BoundedList<RepoPath>,
        deleted: &BoundedList<RepoPath>,
        renamed: &'a BoundedList<PathRename>,
    ) -> Self {
        if let Some(rename) = renamed.first.iter().find(|rename| rename.to == *path) {
            return Self::Renamed(&rename.from);
        }
        if deleted.first.contains(path) {
            return Self::Deleted;
        }
        if added.first.contains(path) {
            return Self::Added;
        }
        if added.is_empty() && deleted.is_empty() {
            return Self::Unknown;
        }
        Self::Modified
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Renamed(_) => "renamed",
            Self::Unknown => "staged",
        }
    }

    /// The path with its old name before it, where it has one.
    pub fn path(self, path: &RepoPath) -> String {
        match self {
            Self::Renamed(from) => format!("{} -> {}", from.quoted(), path.quoted()),
            _ => path.quoted(),
        }
    }

    /// The word for lists of all states, and the path: `deleted (staged)`.
    pub fn row(self, path: &RepoPath) -> (String, String) {
        let word = match self {
            Self::Unknown => self.word().to_owned(),
            _ => format!("{} (staged)", self.word()),
        };
        (word, self.path(path))
    }
}

impl GitFacts {
    /// Staged state of a path.
    pub fn staged_kind(&self, path: &RepoPath) -> StagedKind<'_> {
        StagedKind::of(path, &self.staged_added, &self.staged_deleted, &self.renamed)
    }
}

impl<T> Default for BoundedList<T> {
    fn default() -> Self {
        Self {
            count: 0,
            first: Vec::new(),
        }
    }
}

impl<T> BoundedList<T> {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Counts one more, and lists it while there is room.
    pub fn push(&mut self, item: T) {
        self.count += 1;
        if self.first.len() < LISTED {
            self.first.push(item);
        }
    }
}

impl<T> FromIterator<T> for BoundedList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut bounded = Self::default();
        items.into_iter().for_each(|item| bounded.push(item));
        bounded
    }
}

/// A path under a new name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathRename {
    /// The path in HEAD.
    pub from: RepoPath,
    /// The path in the index.
    pub to: RepoPath,
}

/// An operation of git that waits to be continued or aborted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "operation")]
pub struct GitOperation {
    /// Which one.
    pub kind: OperationKind,
    /// The branch being rebased or bisected, by its short name; HEAD is detached meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The step that a rebase, a mailbox or a sequence of picks is at, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// The number of steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u64>,
    /// The branches, tags or commits that a merge brings in, as its message names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The commits that it needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heads: Vec<OperationHead>,
    /// The files in which git keeps what it was reported, by their names below the git directory; the first is
    /// `operation/0` of the checkpoint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// A commit that an operation needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperationHead {
    /// The file or ref that holds it, such as `MERGE_HEAD` or `rebase-merge/onto`.
    pub name: String,
    /// The commit.
    pub id: Oid,
}

impl GitOperation {
    /// One of which nothing else is known.
    pub fn new(kind: OperationKind) -> Self {
        Self {
            kind,
            branch: None,
            step: None,
            of: None,
            names: Vec::new(),
            heads: Vec::new(),
            files: Vec::new(),
        }
    }

    /// Whether both are the same operation at the same step, as far as what both record shows.
    pub fn is_same(&self, other: &Self) -> bool {
        let heads = self.heads.is_empty() || other.heads.is_empty() || self.heads == other.heads;
        heads && (self.kind, &self.branch, self.step, self.of) == (other.kind, &other.branch, other.step, other.of)
    }

    /// In words: `rebasing branch topic onto 1a2b3c4d, 2 of 5`, `merging side`.
    pub fn describe(&self) -> String {
        let head = |wanted: &str| {
            let found = self
                .heads
                .iter()
                .find(|head| head.name.rsplit('/').next() == Some(wanted));
            found.map(|head| head.id.short().to_owned())
        };
        let of = |verb: &str, name: &str| match head(name) {
            Some(id) => format!("{verb} {id}"),
            None => verb.to_owned(),
        };
        let mut text = match self.kind {
            OperationKind::Merge if self.names.is_empty() => of("merging", "MERGE_HEAD"),
            OperationKind::Merge => format!("merging {}", self.names.join(", ")),
            OperationKind::Rebase => {
                let branch = self.branch.as_ref().map(|branch| format!(" branch {branch}"));
                let onto = head("onto").map(|id| format!(" onto {id}"));
                format!("rebasing{}{}", branch.unwrap_or_default(), onto.unwrap_or_default())
            }
            OperationKind::Am => "applying mails (am)".to_owned(),
            OperationKind::CherryPick => of("cherry-picking", "CHERRY_PICK_HEAD"),
            OperationKind::Revert => of("reverting", "REVERT_HEAD"),
            OperationKind::Bisect => match &self.branch {
                Some(branch) => format!("bisecting, started from {branch}"),
                None => "bisecting".to_owned(),
            },
            OperationKind::Unknown => "an operation of git in progress".to_owned(),
        };
        if let (Some(step), Some(of)) = (self.step, self.of) {
            text = format!("{text}, {step} of {of}");
        }
        text
    }
}

/// The kinds of operations, in the words of git.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OperationKind {
    /// `git merge`
    Merge,
    /// `git rebase`
    Rebase,
    /// `git am`
    Am,
    /// `git cherry-pick`
    CherryPick,
    /// `git revert`
    Revert,
    /// `git bisect`
    Bisect,
    /// One that a later version knows.
    #[serde(other)]
    Unknown,
}

impl OperationKind {
    /// The word that git uses for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Rebase => "rebase",
            Self::Am => "am",
            Self::CherryPick => "cherry-pick",
            Self::Revert => "revert",
            Self::Bisect => "bisect",
            Self::Unknown => "unknown",
        }
    }

    /// Whether git has `--continue` and `--abort` for it.
    pub fn can_continue(self) -> bool {
        !matches!(self, Self::Bisect | Self::Unknown)
    }

    /// The word with its article.
    pub fn with_article(self) -> &'static str {
        match self {
            Self::Merge => "a merge",
            Self::Rebase => "a rebase",
            Self::Am => "an am",
            Self::CherryPick => "a cherry-pick",
            Self::Revert => "a revert",
            Self::Bisect => "a bisect",
            Self::Unknown => "an operation of git",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_optionals_are_left_out_but_branch_and_head_are_null() {
        let mut facts = GitFacts::default();
        facts.settle();
        let text = serde_json::to_string(&facts).expect("plain values");
        let empty = r#"{"count":0,"first":[]}"#;
        assert_eq!(
            text,
            format!(
                r#"{{"branch":null,"head":null,"staged":{empty},"modified":{empty},"deleted":{empty},"untracked":{empty},"conflicted":{empty},"renamed":{empty},"stash_count":0,"is_clean":true}}"#
            )
        );
    }

    #[test]
    fn unknown_keys_and_their_digits_are_kept() {
        let text = r#"{"branch":"main","head":null,"ahead":3,"staged":{"count":60,"first":["a"]},"modified":{"count":0,"first":[]},"deleted":{"count":0,"first":[]},"untracked":{"count":0,"first":[]},"conflicted":{"count":0,"first":[]},"renamed":{"count":1,"first":[{"from":"a","to":"b"}]},"operation":{"kind":"cherry-pick"},"stash_count":2,"is_clean":false,"later":{"n":1.50,"big":123456789012345678901234567890}}"#;
        let facts: GitFacts = serde_json::from_str(text).expect("a document of a later version");
        assert_eq!(facts.ahead, Some(3));
        assert_eq!(facts.staged.count, 60);
        assert_eq!(serde_json::to_string(&facts).expect("plain values"), text);
    }

    #[test]
    fn lists_are_bounded_and_counts_are_not() {
        let bounded: BoundedList<RepoPath> = (0..120).map(|n| RepoPath::from(&*n.to_string())).collect();
        assert_eq!((bounded.count, bounded.first.len()), (120, LISTED));
    }

    #[test]
    fn an_operation_is_described_in_the_words_of_git() {
        let describe = |json: &str| serde_json::from_str::<GitOperation>(json).expect("valid").describe();
        let id = "1234567890123456789012345678901234567890";
        let head = |name: &str| format!(r#""heads":[{{"name":"{name}","id":"{id}"}}]"#);
        assert_eq!(
            describe(r#"{"kind":"merge","names":["side","other"]}"#),
            "merging side, other"
        );
        assert_eq!(
            describe(&format!(r#"{{"kind":"merge",{}}}"#, head("MERGE_HEAD"))),
            "merging 12345678"
        );
        let rebase = format!(
            r#"{{"kind":"rebase","branch":"t","step":2,"of":5,{}}}"#,
            head("rebase-merge/onto")
        );
        assert_eq!(describe(&rebase), "rebasing branch t onto 12345678, 2 of 5");
        let pick = format!(r#"{{"kind":"cherry-pick",{}}}"#, head("CHERRY_PICK_HEAD"));
        assert_eq!(describe(&pick), "cherry-picking 12345678");
        assert_eq!(describe(r#"{"kind":"revert"}"#), "reverting");
        assert_eq!(
            describe(r#"{"kind":"bisect","branch":"main"}"#),
            "bisecting, started from main"
        );
    }

    #[test]
    fn an_operation_of_a_later_version_is_read() {
        let operation: GitOperation = serde_json::from_str(r#"{"kind":"sequence"}"#).expect("an unknown kind");
        assert_eq!(operation.kind, OperationKind::Unknown);
    }
}

//! Actions of a restore, path by path: the plan that is shown is the one that is executed.
//!
//! Plain values. Paths that stay as they are have no line; a line has what happens to a path and why, or why nothing
//! does although one might expect it. What stops the whole restore is a [`BlockedPath`].

use std::fmt;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{
    id::Oid,
    list::{IndexFlags, SkipReason},
    path::RepoPath,
};

/// One path of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "plan_line")]
pub struct PlanLine {
    /// Action on the path.
    pub act: Act,
    /// The file, link or directory.
    pub path: RepoPath,
    /// Why.
    #[serde(serialize_with = "shown")]
    #[schemars(with = "PlanReasonView")]
    pub why: PlanReason,
}

/// Action on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "act")]
pub enum Act {
    /// It is created or gets other content.
    Write,
    /// Only its permission bits change.
    Mode,
    /// It is created, gets other content or is deleted, which reverts what commits since changed in it.
    Revert,
    /// It is deleted; the safety checkpoint holds it.
    Delete,
    /// It stays, although the checkpoint has nothing or something else there.
    Keep,
    /// The checkpoint has something there that is not written.
    Skip,
}

impl Act {
    /// Whether anything on disk becomes another.
    pub fn changes(self) -> bool {
        matches!(self, Self::Write | Self::Mode | Self::Revert | Self::Delete)
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Mode => "mode",
            Self::Revert => "revert",
            Self::Delete => "delete",
            Self::Keep => "keep",
            Self::Skip => "skip",
        }
    }
}

/// The latest commit that changed a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatestCommit {
    /// Its id.
    pub id: Oid,
    /// The first line of its message.
    pub subject: String,
}

impl fmt::Display for LatestCommit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} '{}'", self.id.short(), self.subject)
    }
}

/// The reason for a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanReason {
    /// Revert: a commit changed it since; the latest that did, where it is known.
    CommittedSince(Option<LatestCommit>),
    /// Write: nothing is there now.
    Absent,
    /// Write: its content differs.
    Differs,
    /// Write: its content differs, and it has other names (hard links), which keep what they have.
    DiffersFromLinks,
    /// Write: there is another kind of thing now.
    OtherKind,
    /// Write: an empty directory.
    EmptyDirectory,
    /// Write: the pointer alone, because the content that git-lfs keeps next to the repository is not here.
    Pointer,
    /// Mode: from these permission bits to those.
    Bits {
        /// Current mode bits.
        from: u32,
        /// New mode bits.
        to: u32,
    },
    /// Delete: the checkpoint does not have it.
    NotInCheckpoint,
    /// Delete: it was saved, and HEAD does not have it.
    NotInHead,
    /// Delete: an empty directory that the checkpoint does not have.
    EmptyNotInCheckpoint,
    /// Delete: the checkpoint has another kind of thing there.
    InTheWay,
    /// Delete: a temporary file of a restore that was killed.
    Leftover,
    /// Keep, skip: the checkpoint did not save what was there.
    NotSaved(SkipReason),
    /// Keep: it cannot be saved, so it cannot be deleted.
    NotHeld(SkipReason),
    /// Keep: it was ignored when the checkpoint was saved, so the checkpoint does not show whether it existed.
    IgnoredThen,
    /// Keep: uncommitted work that was never in the files of the working tree in which the checkpoint was saved.
    NeverThere,
    /// Skip: its content was purged from the session.
    Purged,
    /// Keep: a repository of its own.
    Repository,
    /// Keep: the command was started in this directory.
    CurrentFolder,
    /// Skip: the checkpoint knows only which commit of another repository was there.
    Submodule,
    /// Skip: sparse checkout leaves it out. Delete: it did before.
    NotCheckedOut,
    /// Skip: bits that let a program run with the rights of its owner are not given.
    SpecialBits,
    /// Keep: the index entry has a flag with which git leaves the file alone.
    Flagged(IndexFlags),
    /// Keep: a directory with these permission bits, which no checkpoint holds.
    DirectoryBits(u32),
}

impl PlanReason {
    /// A word for scripts.
    pub fn word(&self) -> &'static str {
        match self {
            Self::CommittedSince(_) => "committed-since",
            Self::Absent => "absent",
            Self::Differs => "differs",
            Self::DiffersFromLinks => "differs-from-links",
            Self::OtherKind => "other-kind",
            Self::EmptyDirectory => "empty-folder",
            Self::Pointer => "lfs-pointer",
            Self::Bits { .. } => "bits",
            Self::NotInCheckpoint => "not-in-checkpoint",
            Self::NotInHead => "not-in-head",
            Self::EmptyNotInCheckpoint => "empty-not-in-checkpoint",
            Self::InTheWay => "in-the-way",
            Self::Leftover => "leftover",
            Self::NotSaved(_) => "not-saved",
            Self::NotHeld(_) => "not-held",
            Self::IgnoredThen => "ignored-then",
            Self::NeverThere => "never-there",
            Self::Purged => "purged",
            Self::Repository => "repository",
            Self::CurrentFolder => "current-folder",
            Self::Submodule => "submodule",
            Self::NotCheckedOut => "not-checked-out",
            Self::SpecialBits => "special-bits",
            Self::Flagged(_) => "flagged",
            Self::DirectoryBits(_) => "directory-bits",
        }
    }
}

impl fmt::Display for PlanReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommittedSince(Some(commit)) => write!(f, "changed since by {commit}"),
            Self::CommittedSince(None) => f.write_str("changed since by commits"),
            Self::Absent => f.write_str("missing"),
            Self::Differs => f.write_str("changed"),
            Self::DiffersFromLinks => f.write_str("changed; its other hard links stay as they are"),
            Self::OtherKind => f.write_str("another kind of file now"),
            Self::EmptyDirectory => f.write_str("empty directory"),
            Self::Pointer => f.write_str("pointer only: its content is not here"),
            Self::Bits { from, to } => write!(f, "{from:04o} to {to:04o}"),
            Self::NotInCheckpoint => f.write_str("not in the checkpoint"),
            Self::NotInHead => f.write_str("saved; not in HEAD"),
            Self::EmptyNotInCheckpoint => f.write_str("empty directory, not in the checkpoint"),
            Self::InTheWay => f.write_str("in the way"),
            Self::Leftover => f.write_str("left by an interrupted restore"),
            Self::NotSaved(reason) => write!(f, "the checkpoint did not save it ({reason})"),
            Self::NotHeld(reason) => write!(f, "cannot be saved first ({reason})"),
            Self::IgnoredThen => f.write_str("was ignored when the checkpoint was saved"),
            Self::Purged => f.write_str("was purged from the session"),
            Self::NeverThere => f.write_str("was never in the files of that checkpoint"),
            Self::Repository => f.write_str("a nested repository"),
            Self::CurrentFolder => f.write_str("the current directory"),
            Self::Submodule => f.write_str("submodules are left alone"),
            Self::NotCheckedOut => f.write_str("left out by sparse checkout"),
            Self::SpecialBits => f.write_str("setuid, setgid and sticky bits are not given"),
            Self::Flagged(flags) => write!(f, "git leaves it alone ({flags})"),
            Self::DirectoryBits(bits) => write!(f, "permissions of directories are not saved ({bits:04o})"),
        }
    }
}

/// A path that stops a restore before anything is changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlockedPath {
    /// Path of the obstacle.
    pub path: RepoPath,
    /// Why it may not be touched.
    #[serde(serialize_with = "shown")]
    pub why: BlockReason,
}

/// Why a path stops a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockReason {
    /// It is ignored, so no checkpoint holds it, and it would be overwritten.
    Ignored,
    /// A checkpoint cannot or may not hold it, and it would be overwritten.
    NotHeld(SkipReason),
    /// It is a repository of its own.
    Repository,
    /// It has to stay, and a file has to take the place of the directory it is in.
    Kept,
    /// It would be a link into the repository's own directory.
    LinkIntoRepository,
    /// The checkpoint's `.gitattributes` would run this filter on it, which the current files do not ask for.
    Filter(String),
}

impl BlockReason {
    /// A word for scripts.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Ignored => "ignored",
            Self::NotHeld(_) => "not-held",
            Self::Repository => "repository",
            Self::Kept => "kept",
            Self::LinkIntoRepository => "link-into-repository",
            Self::Filter(_) => "filter",
        }
    }

    /// Whether `--force` gets past it: by saving it into the safety checkpoint first, or by consent.
    pub fn yields_to_force(&self) -> bool {
        match self {
            Self::Ignored | Self::LinkIntoRepository | Self::Filter(_) => true,
            Self::NotHeld(reason) => {
                matches!(
                    reason,
                    SkipReason::TooLarge | SkipReason::OverBudget | SkipReason::Excluded
                )
            }
            Self::Repository | Self::Kept => false,
        }
    }
}

impl fmt::Display for BlockReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ignored => f.write_str("ignored, so not saved anywhere"),
            Self::NotHeld(reason) => write!(f, "not saved anywhere ({reason})"),
            Self::Repository => f.write_str("a nested repository"),
            Self::Kept => f.write_str("stays, but a file has to take the place of its directory"),
            Self::LinkIntoRepository => f.write_str("would be a link into the repository's own directory"),
            Self::Filter(name) => write!(f, "the checkpoint would run the filter '{name}' on it"),
        }
    }
}

/// The word and the sentence of a reason, for JSON.
trait ReasonText: fmt::Display {
    fn reason_word(&self) -> &'static str;
}

impl ReasonText for PlanReason {
    fn reason_word(&self) -> &'static str {
        self.word()
    }
}

impl ReasonText for BlockReason {
    fn reason_word(&self) -> &'static str {
        self.word()
    }
}

/// A reason in JSON.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "plan_reason")]
struct PlanReasonView {
    /// For programs.
    word: &'static str,
    /// In a sentence.
    text: String,
}

fn shown<S: Serializer>(why: &impl ReasonText, serializer: S) -> Result<S::Ok, S::Error> {
    PlanReasonView {
        word: why.reason_word(),
        text: why.to_string(),
    }
    .serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_says_word_and_sentence() {
        let line = PlanLine {
            act: Act::Mode,
            path: RepoPath::from("a\tb"),
            why: PlanReason::Bits { from: 0o644, to: 0o600 },
        };
        assert_eq!(
            serde_json::to_string(&line).expect("plain values"),
            r#"{"act":"mode","path":"\"a\\tb\"","why":{"word":"bits","text":"0644 to 0600"}}"#
        );
        let blocked = BlockedPath {
            path: RepoPath::from("x"),
            why: BlockReason::Filter("crypt".to_owned()),
        };
        assert_eq!(
            serde_json::to_string(&blocked).expect("plain values"),
            r#"{"path":"x","why":{"word":"filter","text":"the checkpoint would run the filter 'crypt' on it"}}"#
        );
    }

    #[test]
    fn force_never_gets_past_what_cannot_be_saved() {
        for reason in SkipReason::ALL {
            let may = [SkipReason::TooLarge, SkipReason::OverBudget, SkipReason::Excluded].contains(&reason);
            assert_eq!(BlockReason::NotHeld(reason).yields_to_force(), may, "{reason}");
        }
        assert!(!BlockReason::Repository.yields_to_force());
        assert!(!BlockReason::Kept.yields_to_force());
    }
}

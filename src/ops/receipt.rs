//! Receipts of changing commands: plain facts, rendered elsewhere.

use super::redact::{RedactedSecret, UnsearchedContent};
use crate::{
    model::{
        document::{CheckpointKind, Document, SessionStatus},
        id::Digest,
        list::SkippedEntry,
        name::ShortName,
        path::RepoPath,
    },
    store::{ObjectId, current::Elsewhere, merge_state::MergeState},
};

/// Outcome of a request to make a checkpoint.
#[derive(Debug)]
pub enum CheckpointOutcome {
    /// It was made.
    Saved(CheckpointReceipt),
    /// It would be made; this was a dry run.
    Planned(CheckpointReceipt),
    /// There was nothing new; the latest checkpoint represents the present state.
    Unchanged(CheckpointReceipt),
}

impl CheckpointOutcome {
    /// The facts, whatever became of the request.
    pub fn receipt(&self) -> &CheckpointReceipt {
        match self {
            Self::Saved(receipt) | Self::Planned(receipt) | Self::Unchanged(receipt) => receipt,
        }
    }
}

/// The facts about a checkpoint that was just made, or that represents the present state.
#[derive(Debug)]
pub struct CheckpointReceipt {
    /// The commit; `None` in a dry run.
    pub id: Option<ObjectId>,
    /// The digest of the document; `None` in a dry run.
    pub digest: Option<Digest>,
    /// The session.
    pub session: ShortName,
    /// The checkpoint before, in a session that existed.
    pub parent: Option<ObjectId>,
    /// The document.
    pub document: Document,
    /// Everything on disk that is not in the snapshot.
    pub skipped: Vec<SkippedEntry>,
    /// The number of paths that are unmerged.
    pub unmerged: usize,
    /// How many of their files have conflict markers.
    pub marked: usize,
    /// Secrets found on the way in.
    pub redactions: Vec<RedactedSecret>,
    /// Content that could not be searched for secrets.
    pub unsearched: Vec<UnsearchedContent>,
    /// How the session was found or made.
    pub session_is: SessionOrigin,
    /// Draft operations folded in.
    pub folded: usize,
    /// Lines of the draft that could not be read, by position; they stay in the draft.
    pub unreadable: Vec<usize>,
    /// The agent whose session was saved, when it was current rather than named and another agent calls.
    pub other_agent: Option<String>,
    /// State in which the session had ended, where it is active again by this checkpoint.
    pub reopened: Option<SessionStatus>,
    /// Failures after the checkpoint was durable.
    pub trouble: Vec<String>,
    /// Damaged sessions that were passed over in looking for the one to continue.
    pub passed_over: Vec<String>,
    /// The session of another branch: that was current before, where this checkpoint began one for its own branch, or of
    /// the checkpoint before this one.
    pub elsewhere: Option<Elsewhere>,
    /// Whether no session was current on this branch before.
    pub is_new_on_branch: bool,
    /// Paths that were pulled and that this checkpoint has without the pulled change: the files were not brought up.
    pub taken_back: Vec<StalePath>,
    /// Saved changes of the checkpoint before that never were in these files, or were missing when it was resumed: this
    /// checkpoint is without them.
    pub unapplied: Vec<RepoPath>,
    /// Environment files with values whose content is new in this checkpoint. None where `checkpoint.saveSecrets` is on.
    pub environment: Vec<RepoPath>,
    /// Two paths that are one by the settings, though not to the file system: a restore refuses them.
    pub alike: Option<(RepoPath, RepoPath)>,
    /// Bytes of new objects on disk.
    pub new_bytes: u64,
    /// Whether it is the checkpoint that an earlier request with the same key made.
    pub repeated: bool,
    /// Fate of a merge whose conflicts were open.
    pub merge: MergeFate,
}

/// Fate of a merge whose conflicts were open in the session of a checkpoint.
#[derive(Debug, Default)]
pub enum MergeFate {
    /// There is none, or paths are unmerged, or the checkpoint concludes none.
    #[default]
    NotMeant,
    /// It would be concluded; this was a dry run.
    Resolved,
    /// The checkpoint has its resolution, and it is over.
    Concluded(MergeState),
    /// The checkpoint has its resolution, but it could not be concluded, for this reason.
    Failed(MergeState, String),
    /// No path is unmerged, but files are as it left them.
    Unresolved(MergeState),
    /// No path is unmerged, and nothing of it is in the files any more.
    Discarded(MergeState),
}

impl CheckpointReceipt {
    /// Whether something that should have been captured was not.
    pub fn is_partial(&self) -> bool {
        self.skipped.iter().any(|s| s.reason.is_failure())
    }

    /// Cause of the checkpoint.
    pub fn kind(&self) -> CheckpointKind {
        self.document.kind
    }

    /// State of the session now.
    pub fn status(&self) -> SessionStatus {
        self.document.session.status
    }
}

/// A file without a change that was pulled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StalePath {
    /// The path.
    pub path: RepoPath,
    /// Whether the version before the pull was edited since, so that a restore would overwrite work.
    pub is_edited: bool,
}

/// How the session of a checkpoint was found or made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionOrigin {
    /// It was named or current.
    Meant,
    /// It was not current; it was paused last on this branch in this working tree.
    Continued,
    /// It is new.
    Started,
}

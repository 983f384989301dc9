//! What a changing command reports: plain facts, rendered elsewhere.

use super::{choose::Why, redact::Redaction};
use crate::{
    model::{
        document::{Document, Kind, Status},
        id::Digest,
        list::Skipped,
        name::Name,
    },
    store::ObjectId,
};

/// What became of a request to make a checkpoint.
#[derive(Debug)]
pub enum Outcome {
    /// It was made.
    Saved(Receipt),
    /// It would be made; this was a dry run.
    Planned(Receipt),
    /// There was nothing new; the newest checkpoint stands for the present state.
    Unchanged(Receipt),
}

impl Outcome {
    /// The facts, whatever became of the request.
    pub fn receipt(&self) -> &Receipt {
        match self {
            Self::Saved(receipt) | Self::Planned(receipt) | Self::Unchanged(receipt) => receipt,
        }
    }
}

/// The facts about a checkpoint that was just made, or that stands for the present state.
#[derive(Debug)]
pub struct Receipt {
    /// The commit; `None` in a dry run.
    pub id: Option<ObjectId>,
    /// The digest of the document; `None` in a dry run.
    pub digest: Option<Digest>,
    /// The session.
    pub session: Name,
    /// The checkpoint before, in a session that existed.
    pub parent: Option<ObjectId>,
    /// The document.
    pub document: Document,
    /// Everything on disk that is not in the snapshot.
    pub skipped: Vec<Skipped>,
    /// Secrets found on the way in.
    pub redactions: Vec<Redaction>,
    /// How the session was found or made.
    pub session_is: SessionIs,
    /// Draft operations folded in.
    pub folded: usize,
    /// Lines of the draft that could not be read, by position; they stay in the draft.
    pub unreadable: Vec<usize>,
    /// The agent whose session was saved, when it was current rather than named and another agent calls.
    pub other_agent: Option<String>,
    /// What went wrong after the checkpoint was safe.
    pub trouble: Vec<String>,
    /// Damaged sessions that were passed over in looking for the one to continue.
    pub passed_over: Vec<String>,
    /// Bytes of new objects on disk.
    pub new_bytes: u64,
}

impl Receipt {
    /// Whether something that should have been captured was not.
    pub fn is_partial(&self) -> bool {
        self.skipped.iter().any(|s| s.reason.is_failure())
    }

    /// What made the checkpoint.
    pub fn kind(&self) -> Kind {
        self.document.kind
    }

    /// Where the session stands now.
    pub fn status(&self) -> Status {
        self.document.session.status
    }
}

/// How the session of a checkpoint was found or made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionIs {
    /// It was named or current.
    Meant,
    /// It was not current; it was paused last on this branch in this work tree.
    Continued,
    /// It is new.
    Started,
}

impl From<Why> for SessionIs {
    fn from(why: Why) -> Self {
        match why {
            Why::Meant => Self::Meant,
            Why::PausedHere => Self::Continued,
        }
    }
}

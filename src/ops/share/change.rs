//! Changes of a session on a remote.

/// Change of a session on the remote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteChange {
    /// It was not there, as far as was known.
    New {
        /// How many checkpoints it has of its own.
        checkpoints: usize,
    },
    /// It went on.
    Forward {
        /// By how many checkpoints; 0 when it was pruned.
        checkpoints: usize,
    },
    /// It was set back.
    Back {
        /// By how many checkpoints.
        checkpoints: usize,
    },
    /// Another chain has taken the place of what was there.
    Rewritten,
    /// It is gone.
    Deleted,
    /// It has another name there, and nothing of it is gone.
    Renamed,
}

impl RemoteChange {
    /// Whether the remote went on, as it should.
    pub fn is_good(self) -> bool {
        matches!(self, Self::New { .. } | Self::Forward { .. } | Self::Renamed)
    }

    /// As the predicate of a sentence about the session.
    pub fn words(self) -> String {
        match self {
            Self::New { .. } => "is new".to_owned(),
            Self::Forward { .. } => "advanced".to_owned(),
            Self::Back { checkpoints } => {
                format!(
                    "was set back by {checkpoints} checkpoint{}",
                    if checkpoints == 1 { "" } else { "s" }
                )
            }
            Self::Rewritten => "was replaced by another history".to_owned(),
            Self::Deleted => "was deleted".to_owned(),
            Self::Renamed => "was renamed".to_owned(),
        }
    }

    /// A word for programs.
    pub fn word(self) -> &'static str {
        match self {
            Self::New { .. } => "new",
            Self::Forward { .. } => "forward",
            Self::Back { .. } => "back",
            Self::Rewritten => "rewritten",
            Self::Deleted => "deleted",
            Self::Renamed => "renamed",
        }
    }
}

//! Failure of a command as its callers see it.

use serde::{Serialize, Serializer};

/// Kind of failure. Several kinds may share an exit code; scripts that need more look at [`FailureKind::code`] in JSON, as
/// which it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// The answer is no: damage found, a difference found, nothing to do, a question declined. No message is needed.
    Negative,
    /// A selector names nothing.
    NotFound,
    /// A selector names several things.
    Ambiguous,
    /// Work would be lost, something is in the way, or the request does not fit what is there. Nothing was changed.
    Refused,
    /// A lock is held; the same command may succeed later.
    Locked,
    /// The network or the other side failed; the same command may succeed later.
    Network,
    /// Something drifted and the caller asked to fail then.
    Drift,
    /// Done, but some paths could not be read, or the set-up command of a fork failed.
    Partial,
    /// Own failure of a command that otherwise passes on its child's exit code.
    Step,
    /// Nothing could be done: no repository, damage, input and output errors.
    Fatal,
    /// A file or document that was given is malformed.
    Invalid,
    /// The repository or document is damaged.
    Damaged,
    /// Written by a newer version in a format this one does not know.
    Newer,
    /// Permission is missing.
    Denied,
    /// The command line is wrong.
    Usage,
    /// A question is necessary, and no user is there to answer.
    NeedsAnswer,
    /// Interrupted by the user.
    Interrupted,
    /// The reader of standard output went away.
    BrokenPipe,
}

impl FailureKind {
    /// Every kind, for documentation and tests.
    pub const ALL: [Self; 18] = [
        Self::Negative,
        Self::NotFound,
        Self::Ambiguous,
        Self::Refused,
        Self::Locked,
        Self::Network,
        Self::Drift,
        Self::Partial,
        Self::Step,
        Self::Fatal,
        Self::Invalid,
        Self::Damaged,
        Self::Newer,
        Self::Denied,
        Self::Usage,
        Self::NeedsAnswer,
        Self::Interrupted,
        Self::BrokenPipe,
    ];

    /// The exit code. 128 and 129 are git's for fatal errors and wrong usage; 130 and 141 are a shell's for a process
    /// ended by SIGINT and SIGPIPE.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Negative => 1,
            Self::NotFound | Self::Ambiguous => 3,
            Self::Refused => 4,
            Self::Locked | Self::Network => 5,
            Self::Drift => 6,
            Self::Partial => 7,
            Self::Step => 125,
            Self::Fatal | Self::Invalid | Self::Damaged | Self::Newer | Self::Denied => 128,
            Self::Usage | Self::NeedsAnswer => 129,
            Self::Interrupted => 130,
            Self::BrokenPipe => 141,
        }
    }

    /// The word for programs, in `error.code` of the JSON form.
    pub fn code(self) -> &'static str {
        match self {
            Self::Negative => "negative",
            Self::NotFound => "not-found",
            Self::Ambiguous => "ambiguous",
            Self::Refused => "refused",
            Self::Locked => "locked",
            Self::Network => "network",
            Self::Drift => "drift",
            Self::Partial => "partial",
            Self::Step => "step",
            Self::Fatal => "fatal",
            Self::Invalid => "invalid",
            Self::Damaged => "damaged",
            Self::Newer => "newer-format",
            Self::Denied => "denied",
            Self::Usage => "usage",
            Self::NeedsAnswer => "needs-answer",
            Self::Interrupted => "interrupted",
            Self::BrokenPipe => "broken-pipe",
        }
    }

    /// Meaning of its exit code, for the manual.
    pub fn meaning(self) -> &'static str {
        match self.exit_code() {
            1 => "negative result: differences or damage found, nothing to do, or a question declined",
            3 => "not found, or ambiguous",
            4 => "refused because work would be lost, something is in the way, or it does not fit; see the hint",
            5 => "a lock is held or the network failed; the command may be retried",
            6 => "the project changed, and --fail-on-drift was given",
            7 => "done in part: some paths could not be read, or the set-up command of a fork failed; they are named",
            125 => "'step run' itself failed; otherwise the exit status of the command",
            128 => "fatal: no repository, damage, missing permission, or an I/O error",
            129 => "wrong usage, or a question without a terminal",
            130 => "interrupted",
            _ => "the reader of the output went away",
        }
    }

    /// The same for the caller of a tool, who has arguments and no options, and of each kind alone.
    pub fn meaning_for_tool(self) -> &'static str {
        match self {
            Self::Negative => "there was nothing to do, or the answer is no",
            Self::NotFound => "not found",
            Self::Ambiguous => "ambiguous",
            Self::Refused => "refused for the reason above; nothing was changed",
            Self::Locked => "a lock is held; the call may be repeated",
            Self::Network => "the network or the other side failed; the call may be repeated",
            Self::Drift => "the project changed",
            Self::Fatal => "it could not be done",
            Self::Damaged => "something that is stored is damaged",
            Self::Newer => "something is stored in a newer format",
            Self::Denied => "permission is missing",
            Self::Invalid | Self::Usage => "the arguments are wrong",
            Self::NeedsAnswer => "an answer is needed, and there is no terminal to ask on",
            Self::Partial | Self::Step | Self::Interrupted | Self::BrokenPipe => self.meaning(),
        }
    }
}

impl Serialize for FailureKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

/// Failure of a command, in the words of its error message.
#[derive(Clone, Debug, Serialize)]
pub struct CommandFailure {
    /// The kind.
    #[serde(rename = "code")]
    pub kind: FailureKind,
    /// The exit code, which a command may have from its child.
    pub exit_code: u8,
    /// Meaning of the exit code.
    pub meaning: &'static str,
    /// The message.
    pub message: String,
    /// Hints, each best with a command.
    pub hints: Vec<String>,
}

impl CommandFailure {
    /// A failure with the exit code of its kind and without hints.
    pub fn new(kind: FailureKind, meaning: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind,
            exit_code: kind.exit_code(),
            meaning,
            message: message.into(),
            hints: Vec::new(),
        }
    }
}

//! Request of an undo or redo.

use super::super::plan_runner::PlanOperation;

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Take back.
    Undo,
    /// Do again.
    Redo,
}

impl Direction {
    /// The command.
    pub fn word(self) -> &'static str {
        self.operation().word()
    }

    /// The other way.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Undo => Self::Redo,
            Self::Redo => Self::Undo,
        }
    }

    pub(super) fn operation(self) -> PlanOperation {
        match self {
            Self::Undo => PlanOperation::Undo,
            Self::Redo => PlanOperation::Redo,
        }
    }
}

/// How something is taken back or done again.
#[derive(Clone, Copy, Debug)]
pub struct UndoRequest {
    /// Which way.
    pub direction: Direction,
    /// Whether nothing is changed.
    pub dry_run: bool,
    /// Whether it is done although files changed since.
    pub force: bool,
    /// Whether files make room that came later in a directory whose place a file or symlink takes.
    pub displaces: bool,
    /// Whether it is done although something came since that cannot be taken back.
    pub older: bool,
    /// The number of the merge or apply in conflict that is aborted: what was saved since goes as well, and is kept.
    pub aborts: Option<u64>,
}

//! Failures of agents, their turns, and steps.

use super::{
    super::error::{CommandError, FailureKind},
    kind_of_io,
};
use crate::ops::{Error, agent::turns::TurnError};

/// Failures of agents, their turns, and steps.
pub(super) fn of_agent(error: &Error) -> CommandError {
    let of = |kind| CommandError::of(kind, error);
    match *error {
        Error::AgentSettings { .. } => {
            of(FailureKind::Invalid).hint("the file was not changed; repair it and try again")
        }
        Error::NoStep { .. } => of(FailureKind::NotFound).hint("see the steps: git checkpoint step list"),
        Error::StepInWrongState { status, .. } => {
            let hint = match status {
                crate::model::step::StepStatus::Done => "invalidate its result first: git checkpoint step invalidate",
                _ => "start its next attempt first: git checkpoint step retry",
            };
            of(FailureKind::Refused).hint(hint)
        }
        Error::StepText { .. } => {
            of(FailureKind::Invalid).hint("keep long texts in a file and refer to it in the step")
        }
        Error::NoneFailed => of(FailureKind::NotFound)
            .hint("specify the step: git checkpoint replay --step <step>, or --run --from <step>")
            .hint("see the steps: git checkpoint step list"),
        Error::NoCommand { .. } => of(FailureKind::NotFound)
            .hint("record commands with: git checkpoint step run -- <command>")
            .hint("show the retry prompt instead: git checkpoint replay"),
        Error::AlteredCommand { .. } => {
            of(FailureKind::Refused).hint("run it by hand: git checkpoint step run --again <step> -- <command>")
        }
        Error::ForeignCommands { .. } => of(FailureKind::Refused)
            .hint("they would run with your permissions; read them first")
            .hint("then allow them: git checkpoint replay --run --trust"),
        Error::Child(_) => of(FailureKind::Step),
        Error::AgentSession { .. } => {
            of(FailureKind::Refused).hint("start with the saved context instead: git checkpoint resume --format prompt")
        }
        Error::PathTaken { .. } => of(FailureKind::Refused),
        Error::AgentFile { ref source, .. } => of(kind_of_io(source)),
        Error::Turn(TurnError::Empty { .. }) => of(FailureKind::NotFound)
            .hint("to save each turn of your agents: git checkpoint enable")
            .hint("to restore the files of a checkpoint: git checkpoint restore"),
        Error::Turn(_) => of(FailureKind::NotFound).hint("see the turns: git checkpoint turns"),
        // `of_operation` has no others for it.
        _ => of(FailureKind::Fatal),
    }
}

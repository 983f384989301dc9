//! Failures to write checkpoints, records and sessions.

use super::{
    super::error::{CommandError, FailureKind},
    kind_of_io,
};
use crate::{model::step::quoted, ops::Error};

/// The option with which a command speaks for the same agent.
pub(in crate::commands) fn as_agent(agent: Option<&str>) -> String {
    agent
        .map(|agent| format!(" --agent {}", quoted(agent)))
        .unwrap_or_default()
}

/// Failures to write checkpoints, records and sessions.
pub(super) fn of_saving(error: &Error) -> CommandError {
    let of = |kind| CommandError::of(kind, error);
    match *error {
        Error::KeyLength { .. } => of(FailureKind::Usage),
        Error::NoMessages { .. } | Error::Record(_) | Error::Json { .. } | Error::Secrets(_) => {
            of(FailureKind::Invalid)
        }
        Error::TooBroad { .. } => of(FailureKind::Refused)
            .hint("create a repository in your project directory, or to proceed anyway:")
            .hint("git -c checkpoint.allowHome=true checkpoint ..."),
        Error::Finished { ref session, .. } => {
            of(FailureKind::Refused).hint(format!("resume it: git checkpoint resume {session}"))
        }
        Error::Contended { .. } | Error::ConcurrentModification => of(FailureKind::Locked).hint("try again"),
        Error::KeyReused { ref id, .. } => of(FailureKind::Refused).hint(format!(
            "use another key, or see what was saved: git checkpoint show {id}"
        )),
        Error::NothingToAmend { .. } => of(FailureKind::NotFound).hint("save the first one: git checkpoint save"),
        Error::AmendPushed { .. } => of(FailureKind::Refused).hint("save another one: git checkpoint save -m '...'"),
        Error::Claimed { ref session, ref claim } => of(FailureKind::Refused).hint(format!(
            "take it over: git checkpoint claim {session} --force{}",
            as_agent(claim.agent.as_deref())
        )),
        Error::ClaimedTask { ref id, ref claim, .. } => of(FailureKind::Refused).hint(format!(
            "take it over: git checkpoint claim --task {id} --force{}",
            as_agent(claim.agent.as_deref())
        )),
        Error::Summarizer { .. } | Error::SummarizerInterrupted | Error::SummaryGainsNothing => {
            of(FailureKind::Fatal).hint("nothing was changed: the chat keeps its messages")
        }
        Error::RequestTooLong { .. } => of(FailureKind::Invalid)
            .hint("shorten the message, the context or the agent description, or allow more with --max-tokens"),
        Error::Source { ref source, .. } => of(match source.kind() {
            std::io::ErrorKind::NotFound => FailureKind::NotFound,
            _ => kind_of_io(source),
        }),
        Error::ManySessions { .. } => of(FailureKind::Usage).hint("omit --session, or specify the file of one session"),
        Error::Future { .. } => {
            of(FailureKind::Refused).hint("set the clock, or prune by number: git checkpoint prune --keep-last <n>")
        }
        Error::Rewriting(_) => of(FailureKind::Damaged).hint("see what is damaged: git checkpoint verify --all"),
        Error::FirstOfSession { ref session } => {
            of(FailureKind::Refused).hint(format!("purge the whole session: git checkpoint purge {session}"))
        }
        Error::NoIdentity => of(FailureKind::Refused)
            .hint("set your name: git config --global user.name <name>")
            .hint("and your address: git config --global user.email <address>"),
        Error::RepositoryList { ref source, .. } => {
            of(kind_of_io(source)).hint("to keep no such list: git config --global checkpoint.repositoryList off")
        }
        Error::Editor { .. } => {
            of(FailureKind::Fatal).hint("choose another one with GIT_EDITOR or core.editor, or use -m")
        }
        // `of_operation` has no others for it.
        _ => of(FailureKind::Fatal),
    }
}

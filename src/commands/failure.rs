//! Failures of the layers below as the command line reports them: kind, exit code, and what to do next.

mod agents;
mod files;
mod lookup;
mod saving;

pub(in crate::commands) use self::{lookup::with_session_left, saving::as_agent};
use super::{
    error::{CommandError, FailureKind},
    ui::Ui,
};
use crate::{
    model::{
        name::ShortName,
        selector::{InvalidSelector, Selector},
        step::quoted,
    },
    ops::{Error, WorktreeError, ref_transaction::Aftermath},
    os::{self, CleanupFailure},
    store::{self, session::PREFIX},
};

impl From<store::Error> for CommandError {
    fn from(error: store::Error) -> Self {
        let out = Self::of(kind_of_store(&error), &error);
        certain(match error.hint() {
            Some(hint) => out.hint(hint),
            None => out,
        })
    }
}

/// A file that cannot be opened for want of descriptors may still exist and be intact.
fn certain(error: CommandError) -> CommandError {
    if !matches!(error.kind(), FailureKind::Damaged | FailureKind::NotFound) {
        return error;
    }
    match os::out_of_files() {
        Some(source) => CommandError::new(
            FailureKind::Fatal,
            format!("cannot read the repository: {}", os::reason(&source)),
        )
        .hint("allow more of them: ulimit -n 256"),
        None => error,
    }
}

fn kind_of_store(error: &store::Error) -> FailureKind {
    match error {
        _ if error.is_transient() => FailureKind::Locked,
        store::Error::FormatVersion { .. }
        | store::Error::Extension { .. }
        | store::Error::Malformed {
            file: store::OwnFile::NewerJournal,
            ..
        } => FailureKind::Newer,
        store::Error::Damaged { .. }
        | store::Error::Head(_)
        | store::Error::Journal { .. }
        | store::Error::Malformed { .. }
        | store::Error::Object { .. }
        | store::Error::PackedRefs { .. } => FailureKind::Damaged,
        store::Error::Pathspec { .. } => FailureKind::Usage,
        store::Error::RecordLocked { .. }
        | store::Error::NoRecipient
        | store::Error::IncompleteFork { .. }
        | store::Error::InTheWay { .. }
        | store::Error::Obstacle { .. } => FailureKind::Refused,
        store::Error::ReadOnly { .. } => FailureKind::Denied,
        store::Error::Io { source, .. } => kind_of_io(source),
        _ => FailureKind::Fatal,
    }
}

fn kind_of_io(error: &std::io::Error) -> FailureKind {
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => FailureKind::Denied,
        _ => FailureKind::Fatal,
    }
}

impl From<InvalidSelector> for CommandError {
    fn from(error: InvalidSelector) -> Self {
        Self::of(FailureKind::Usage, &error).hint("see the forms: git checkpoint help")
    }
}

impl From<Error> for CommandError {
    fn from(error: Error) -> Self {
        certain(Self::of_operation(error))
    }
}

impl CommandError {
    /// The failure of an operation, as far as it is known to be one.
    fn of_operation(error: Error) -> Self {
        match error {
            Error::Store(error) | Error::Worktree(WorktreeError::Store(error)) => error.into(),
            Error::Worktree(error) => worktree(&error),
            Error::Selector(error) => error.into(),
            Error::PartiallyApplied { source, remedy } => Self::from(*source).half_done().hint(remedy),
            Error::Random(_) => Self::of(FailureKind::Fatal, &error),
            Error::Damaged { .. }
            | Error::NotFound { .. }
            | Error::Misnamed { .. }
            | Error::SessionFromEnvNotFound { .. }
            | Error::Mistyped { .. }
            | Error::Ambiguous { .. }
            | Error::NoSession { .. }
            | Error::NoSuchStep { .. }
            | Error::NotInTrash { .. } => lookup::of_selection(&error),
            Error::NoItem { .. }
            | Error::AmbiguousItem { .. }
            | Error::ItemId { .. }
            | Error::Exists { .. }
            | Error::NameTaken { .. }
            | Error::Name(_)
            | Error::NotADate { .. } => lookup::of_name(&error),
            Error::KeyLength { .. }
            | Error::NoMessages { .. }
            | Error::Record(_)
            | Error::Json { .. }
            | Error::Secrets(_)
            | Error::TooBroad { .. }
            | Error::Finished { .. }
            | Error::Contended { .. }
            | Error::ConcurrentModification
            | Error::KeyReused { .. }
            | Error::NothingToAmend { .. }
            | Error::AmendPushed { .. }
            | Error::Claimed { .. }
            | Error::ClaimedTask { .. }
            | Error::Summarizer { .. }
            | Error::SummarizerInterrupted
            | Error::SummaryGainsNothing
            | Error::RequestTooLong { .. }
            | Error::Source { .. }
            | Error::ManySessions { .. }
            | Error::Future { .. }
            | Error::Rewriting(_)
            | Error::FirstOfSession { .. }
            | Error::NoIdentity
            | Error::RepositoryList { .. }
            | Error::Editor { .. } => saving::of_saving(&error),
            Error::AgentSettings { .. }
            | Error::AgentSession { .. }
            | Error::AgentFile { .. }
            | Error::PathTaken { .. }
            | Error::NoStep { .. }
            | Error::StepInWrongState { .. }
            | Error::StepText { .. }
            | Error::NoneFailed
            | Error::NoCommand { .. }
            | Error::AlteredCommand { .. }
            | Error::ForeignCommands { .. }
            | Error::Child(_)
            | Error::Turn(_) => agents::of_agent(&error),
            Error::PlanChanged
            | Error::PlanUnknown
            | Error::Restore(_)
            | Error::NoMatch { .. }
            | Error::Removal(_)
            | Error::MixedParts { .. }
            | Error::NoCommit
            | Error::Unproved { .. }
            | Error::ChangedMeanwhile { .. }
            | Error::NoFiles { .. }
            | Error::CommittedElsewhere(_)
            | Error::NoCommits { .. }
            | Error::Unrelated { .. }
            | Error::NoOption { .. }
            | Error::LineRange { .. }
            | Error::Bisect(_) => files::of_files(&error),
            Error::Journal { .. }
            | Error::Interrupted { .. }
            | Error::NewerWork { .. }
            | Error::NotInterrupted
            | Error::NothingTo { .. }
            | Error::NotLast { .. }
            | Error::ChangedSince { .. }
            | Error::RecordChanged { .. } => files::of_undo(&error),
        }
    }
}

/// Remedies for a session whose ref has a name that no session can have.
pub(super) fn misnamed(name: &str, free: &ShortName) -> [String; 2] {
    let full = quoted(&format!("{PREFIX}{name}"));
    let deleted = format!("git update-ref -d {full}");
    [
        // Only where no session has that name by then.
        format!("rename it: git update-ref {PREFIX}{free} {full} '' && {deleted}"),
        format!("or delete it: {deleted}"),
    ]
}

fn kind_of_worktree(error: &WorktreeError) -> FailureKind {
    match error {
        WorktreeError::Cancelled => FailureKind::Interrupted,
        WorktreeError::Staged { .. } => FailureKind::Damaged,
        WorktreeError::WorkTree { source, .. }
        | WorktreeError::Rules { source, .. }
        | WorktreeError::Scratch { source } => kind_of_io(source),
        WorktreeError::Store(error) => kind_of_store(error),
        _ => FailureKind::Fatal,
    }
}

fn worktree(error: &WorktreeError) -> CommandError {
    let out = CommandError::of(kind_of_worktree(error), error);
    match error.hint() {
        Some(hint) => out.hint(hint),
        None => out,
    }
}

/// Reports what went wrong after the work was done, and what is left.
pub(super) fn warn_aftermath(ui: &Ui, aftermath: &Aftermath) {
    warn_leftovers(ui, &aftermath.left);
    for trouble in &aftermath.trouble {
        ui.warning(&format!("it succeeded, but {trouble}"));
    }
}

/// Reports which files of ours are still there though they should be gone.
pub(super) fn warn_leftovers(ui: &Ui, left: &[CleanupFailure]) {
    for file in left {
        ui.warning(&format!("{file}; this is harmless, and the next save tries again"));
    }
}

/// Reads a selector given on the command line.
pub(super) fn selector(text: &str) -> Result<Selector, CommandError> {
    Ok(Selector::parse(text)?)
}

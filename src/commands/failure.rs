//! Failures of the layers below as the command line reports them: kind, exit code, and what to do next.

use super::{
    error::{AgainOption, CommandError, FailureKind},
    session_word::invalid_name,
    ui::Ui,
};
use crate::{
    model::{
        name::ShortName,
        selector::{InvalidSelector, Selector},
        step::quoted,
    },
    ops::{
        Error, RemovalError, RestoreError, SelectorCandidate, WorktreeError, agent::turns::TurnError,
        bisect::BisectError, ref_transaction::Aftermath,
    },
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
        let of = |kind| Self::of(kind, &error);
        match error {
            Error::Store(error) | Error::Worktree(WorktreeError::Store(error)) => error.into(),
            Error::Worktree(error) => worktree(&error),
            Error::Selector(error) => error.into(),
            Error::PartiallyApplied { source, remedy } => Self::from(*source).half_done().hint(remedy),
            Error::Damaged { ref subject, ref fault } => {
                if fault.is_encrypted() {
                    return of(FailureKind::Refused)
                        .hint("name the file of your private key: git config checkpoint.identity <file>");
                }
                if fault.is_newer() {
                    return of(FailureKind::Newer).hint("a newer git-checkpoint wrote it; update this one to read it");
                }
                of(FailureKind::Damaged)
                    .hint(format!("see what is damaged: git checkpoint verify {subject}"))
                    .hint("recover from the latest intact checkpoint: git checkpoint repair")
            }
            Error::NotFound { ref text, .. } if text == "-" => Self::new(
                FailureKind::NotFound,
                "there is no previous session in this working tree",
            )
            .hint("list sessions: git checkpoint list"),
            Error::NotFound {
                ref candidates,
                ref text,
                ref remote,
                is_deleted,
            } if candidates.is_empty() => {
                let out = of(FailureKind::NotFound);
                if is_deleted {
                    return out.hint(undeleting(text));
                }
                let out = match remote {
                    Some(remote) => out.hint(format!("if it is on a remote: git checkpoint fetch {remote}")),
                    None => out.hint("list sessions: git checkpoint list"),
                };
                let is_short = (1..4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
                if is_short {
                    out.hint("an abbreviated id needs at least 4 digits")
                } else {
                    out
                }
            }
            Error::Misnamed { ref name, ref free, .. } => misnamed(name, free)
                .into_iter()
                .fold(of(FailureKind::Damaged), CommandError::hint),
            Error::SessionFromEnvNotFound { ref candidates, .. } if candidates.is_empty() => {
                of(FailureKind::NotFound).hint("list sessions: git checkpoint list")
            }
            Error::NotFound { ref candidates, .. } | Error::SessionFromEnvNotFound { ref candidates, .. } => {
                let out = with_candidates(
                    FailureKind::NotFound,
                    &format!("{error}; did you mean one of these?"),
                    candidates,
                );
                match error {
                    Error::NotFound {
                        ref text,
                        is_deleted: true,
                        ..
                    } => out.hint(undeleting(text)),
                    _ => out,
                }
            }
            Error::Mistyped {
                ref name,
                ref candidates,
                ..
            } => with_candidates(
                FailureKind::NotFound,
                &format!("{error}; did you mean one of these?"),
                candidates,
            )
            .hint(format!("to make a new session: git checkpoint start {name}")),
            Error::Ambiguous {
                ref candidates, what, ..
            } => {
                // Of a branch, a name can be a prefix of nothing.
                let hint = if what == "sessions" {
                    "use the name of one of them"
                } else {
                    "use a longer prefix"
                };
                with_candidates(FailureKind::Ambiguous, &error.to_string(), candidates).hint(hint)
            }
            Error::NoItem { ref candidates, .. } if !candidates.is_empty() => with_candidates(
                FailureKind::NotFound,
                &format!("{error}; did you mean one of these?"),
                candidates,
            ),
            Error::NoItem { command, .. } => {
                of(FailureKind::NotFound).hint(format!("see them with their numbers: git checkpoint {command} list"))
            }
            Error::AmbiguousItem { ref candidates, .. } => {
                with_candidates(FailureKind::Ambiguous, &error.to_string(), candidates).hint("use the id or the number")
            }
            Error::ItemId { .. } => {
                of(FailureKind::Invalid).hint("use up to 64 letters, digits, '.', '_' and '-', or omit it")
            }
            Error::NoSession { ref damaged, .. } if !damaged.is_empty() => of(FailureKind::Damaged)
                .hint("see what is damaged: git checkpoint verify --all")
                .hint("recover from the latest intact checkpoint: git checkpoint repair"),
            Error::NoSession {
                any: false,
                ref fetched,
                ref remote,
                ..
            } => {
                let out = of(FailureKind::NotFound).hint("make the first one: git checkpoint save");
                match (fetched, remote) {
                    (Some(fetched), _) => out.hint(format!(
                        "or resume one that was fetched: git checkpoint resume {fetched}"
                    )),
                    (None, Some(remote)) => {
                        out.hint(format!("or see what others pushed: git checkpoint fetch {remote}"))
                    }
                    (None, None) => out,
                }
            }
            Error::NoSession {
                left: Some(ref left), ..
            } => of(FailureKind::NotFound)
                .hint(format!(
                    "session '{left}' ended last; continue it: git checkpoint resume {left}"
                ))
                .hint(format!("or read it: git checkpoint show {left}")),
            Error::NoSession { any: true, .. } => of(FailureKind::NotFound)
                .hint("resume one: git checkpoint resume <session>")
                .hint("list sessions: git checkpoint list"),
            Error::NoSuchStep { ref session, .. } => {
                of(FailureKind::NotFound).hint(format!("see its checkpoints: git checkpoint log {session}"))
            }
            Error::Exists { ref name } => of(FailureKind::Refused)
                .hint(format!("resume it: git checkpoint resume {name}"))
                .hint("or choose another name"),
            Error::NameTaken { ref session, .. } => of(FailureKind::Refused)
                .hint("choose another name, or none")
                .hint(format!("see its checkpoints: git checkpoint log {session}")),
            Error::NotADate { .. } => {
                of(FailureKind::Usage).hint("use a form such as '2 days ago', yesterday or 2026-11-27T12:00")
            }
            Error::Name(ref error) => invalid_name(error),
            Error::KeyLength { .. } => of(FailureKind::Usage),
            Error::NoMessages { .. } | Error::Record(_) | Error::Json { .. } | Error::Secrets(_) => {
                of(FailureKind::Invalid)
            }
            Error::AgentSettings { .. } => {
                of(FailureKind::Invalid).hint("the file was not changed; repair it and try again")
            }
            Error::TooBroad { .. } => of(FailureKind::Refused)
                .hint("create a repository in your project directory, or to proceed anyway:")
                .hint("git -c checkpoint.allowHome=true checkpoint ..."),
            Error::Finished { ref session, .. } => {
                of(FailureKind::Refused).hint(format!("resume it: git checkpoint resume {session}"))
            }
            Error::Contended { .. } | Error::ConcurrentModification => of(FailureKind::Locked).hint("try again"),
            Error::PlanChanged => of(FailureKind::Refused).hint("nothing was changed; make a new plan and look at it"),
            Error::PlanUnknown => of(FailureKind::Refused)
                .hint("nothing was changed; make a new plan and look at it, then repeat all its arguments"),
            Error::KeyReused { ref id, .. } => of(FailureKind::Refused).hint(format!(
                "use another key, or see what was saved: git checkpoint show {id}"
            )),
            Error::NothingToAmend { .. } => of(FailureKind::NotFound).hint("save the first one: git checkpoint save"),
            Error::AmendPushed { .. } => {
                of(FailureKind::Refused).hint("save another one: git checkpoint save -m '...'")
            }
            Error::Claimed { ref session, .. } => {
                of(FailureKind::Refused).hint(format!("take it over: git checkpoint claim {session} --force"))
            }
            Error::ClaimedTask { ref id, .. } => {
                of(FailureKind::Refused).hint(format!("take it over: git checkpoint claim --task {id} --force"))
            }
            Error::Summarizer { .. } | Error::SummarizerInterrupted => {
                of(FailureKind::Fatal).hint("nothing was changed: the chat keeps its messages")
            }
            Error::RequestTooLong { .. } => of(FailureKind::Invalid)
                .hint("shorten the message, the context or the agent description, or allow more with --max-tokens"),
            Error::Source { ref source, .. } => of(match source.kind() {
                std::io::ErrorKind::NotFound => FailureKind::NotFound,
                _ => kind_of_io(source),
            }),
            Error::ManySessions { .. } => {
                of(FailureKind::Usage).hint("omit --session, or specify the file of one session")
            }
            Error::Future { .. } => {
                of(FailureKind::Refused).hint("set the clock, or prune by number: git checkpoint prune --keep-last <n>")
            }
            Error::Rewriting(_) => of(FailureKind::Damaged).hint("see what is damaged: git checkpoint verify --all"),
            Error::NoStep { .. } => of(FailureKind::NotFound).hint("see the steps: git checkpoint step list"),
            Error::StepInWrongState { status, .. } => {
                let hint = match status {
                    crate::model::step::StepStatus::Done => {
                        "invalidate its result first: git checkpoint step invalidate"
                    }
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
            Error::FirstOfSession { ref session } => {
                of(FailureKind::Refused).hint(format!("purge the whole session: git checkpoint purge {session}"))
            }
            Error::NoCommits { .. } | Error::Unrelated { .. } => {
                of(FailureKind::NotFound).hint("compare the checkpoints themselves: git checkpoint compare")
            }
            Error::AgentSession { .. } => of(FailureKind::Refused)
                .hint("start with the saved context instead: git checkpoint resume --format prompt"),
            Error::PathTaken { .. } => of(FailureKind::Refused),
            Error::AgentFile { ref source, .. } => of(kind_of_io(source)),
            Error::Journal { .. } => of(FailureKind::Damaged),
            Error::Random(_) => of(FailureKind::Fatal),
            Error::Restore(ref error) => restore(error),
            Error::NoMatch { ref spec, .. } if spec.as_bytes().starts_with(b"-") => {
                of(FailureKind::NotFound).hint("options come before '--', and what follows it is a path")
            }
            Error::NoMatch { .. } => of(FailureKind::NotFound),
            Error::Removal(ref error) => removal(error),
            Error::NoIdentity => of(FailureKind::Refused)
                .hint("set your name: git config --global user.name <name>")
                .hint("and your address: git config --global user.email <address>"),
            Error::MixedParts { .. } => of(FailureKind::Refused).hint("answer a or d for that file"),
            Error::RepositoryList { ref source, .. } => {
                of(kind_of_io(source)).hint("to keep no such list: git config --global checkpoint.repositoryList off")
            }
            Error::Bisect(BisectError::Bisecting) => of(FailureKind::Refused)
                .hint("continue it: git checkpoint bisect good, bad or skip")
                .hint("or end it: git checkpoint bisect reset"),
            Error::Bisect(BisectError::NotBisecting) => {
                of(FailureKind::NotFound).hint("start one: git checkpoint bisect start")
            }
            Error::Bisect(BisectError::NothingToTest | BisectError::NotInLine { .. }) => {
                of(FailureKind::NotFound).hint("see the checkpoints: git checkpoint log")
            }
            Error::Bisect(BisectError::GoodAfterBad) => of(FailureKind::Invalid)
                .hint("see the verdicts: git checkpoint bisect log")
                .hint("start over: git checkpoint bisect reset"),
            Error::Turn(TurnError::Empty { .. }) => of(FailureKind::NotFound)
                .hint("to save each turn of your agents: git checkpoint enable")
                .hint("to restore the files of a checkpoint: git checkpoint restore"),
            Error::Turn(_) => of(FailureKind::NotFound).hint("see the turns: git checkpoint turns"),
            Error::LineRange { .. } => of(FailureKind::Invalid).hint("use a form such as 10,20 or 10,+5"),
            Error::NotInTrash { ref names, .. } if names.is_empty() => {
                of(FailureKind::NotFound).hint("the trash is empty")
            }
            Error::NotInTrash { ref names, .. } => {
                of(FailureKind::NotFound).hint(format!("in the trash: {}", names.join(", ")))
            }
            Error::Editor { .. } => {
                of(FailureKind::Fatal).hint("choose another one with GIT_EDITOR or core.editor, or use -m")
            }
            Error::NoCommit => of(FailureKind::Refused).hint("make the first commit, or pause without --clean"),
            Error::Unproved { .. } => of(FailureKind::Fatal).hint("see what is wrong: git checkpoint verify"),
            Error::ChangedMeanwhile { .. } => {
                of(FailureKind::Refused).hint("save and clean again: git checkpoint pause --clean")
            }
            Error::NoFiles { .. } => {
                of(FailureKind::NotFound).hint("choose a checkpoint that has files: git checkpoint log")
            }
            Error::NoOption { in_draft: true, .. } => {
                of(FailureKind::NotFound).hint("it is not saved yet: git checkpoint save")
            }
            Error::NoOption { ref subject, .. } => {
                of(FailureKind::NotFound).hint(format!("see its fork points: git checkpoint show {subject}"))
            }
            Error::Interrupted { operation } => of(FailureKind::Refused)
                .hint(format!("finish it: git checkpoint {} --continue", operation.command()))
                .hint(format!("to give up: git checkpoint {} --abort", operation.command())),
            Error::NewerWork { .. } => of(FailureKind::Refused)
                .hint("save them first: git checkpoint save")
                .hint("then replace them: git checkpoint restore --continue --force, or --abort --force"),
            Error::NotInterrupted | Error::NothingTo { .. } => of(FailureKind::Negative),
            Error::NotLast { .. } => {
                of(FailureKind::Refused).again("undo that one", "git checkpoint undo --older", AgainOption::Older)
            }
            Error::ChangedSince { ref remedies, .. } => {
                let refused = of(FailureKind::Refused);
                let refused = remedies.hints.iter().fold(refused, CommandError::hint);
                let forced = remedies.forced.iter();
                forced.fold(refused, |refused, command| {
                    refused.again("to proceed anyway", command, AgainOption::Force)
                })
            }
            Error::RecordChanged { direction, .. } => of(FailureKind::Refused)
                .hint("keep the record as it is now: git checkpoint save")
                .again(
                    "to proceed anyway",
                    format!("git checkpoint {direction} --force"),
                    AgainOption::Force,
                ),
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

fn restore(error: &RestoreError) -> CommandError {
    let kind = match error {
        _ if error.is_transient() => FailureKind::Locked,
        RestoreError::UnsafePath { .. }
        | RestoreError::Tree { .. }
        | RestoreError::Blob { .. }
        | RestoreError::NotThere { .. } => FailureKind::Damaged,
        RestoreError::Io { source, .. } => kind_of_io(source),
        RestoreError::Rules(error) => kind_of_worktree(error),
        RestoreError::Store(error) => kind_of_store(error),
        _ => FailureKind::Fatal,
    };
    let out = CommandError::of(kind, error);
    match error.hint() {
        Some(hint) => out.hint(hint),
        None => out,
    }
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

/// The way back for a session that was deleted.
fn undeleting(name: &str) -> String {
    format!("it is in the trash; bring it back: git checkpoint undelete {name}")
}

/// The message with a line for each candidate, what to type first.
fn with_candidates(kind: FailureKind, message: &str, candidates: &[SelectorCandidate]) -> CommandError {
    let width = candidates.iter().map(|c| c.selector.len()).max().unwrap_or(0);
    let mut out = message.to_owned();
    for candidate in candidates {
        out.push_str(&format!("\n  {:width$}  {}", candidate.selector, candidate.subject));
    }
    CommandError::new(kind, out)
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

/// Why the working tree of a fork was not removed, and what to do.
fn removal(error: &RemovalError) -> CommandError {
    let out = CommandError::of(FailureKind::Refused, error);
    match error {
        RemovalError::OwnWorktree { session, other } => out.hint(format!(
            "git -C {} checkpoint fork --remove {session}",
            quoted(&other.display().to_string())
        )),
        RemovalError::NotAllSaved { session, paths } => {
            let shown = paths.iter().take(10).map(|path| format!("not saved: {path}"));
            let out = shown.fold(out, CommandError::hint);
            out.hint(format!(
                "remove it anyway: git checkpoint fork --remove {session} --force"
            ))
        }
        RemovalError::Written { session, .. } => out.hint(format!(
            "end the program that writes there, then: git checkpoint fork --remove {session}"
        )),
        RemovalError::Kept { session, .. } => out.hint(format!(
            "make it deletable, then: git checkpoint fork --remove {session}"
        )),
        RemovalError::Locked { worktree, .. } => out.hint(format!(
            "to allow it: git worktree unlock {}",
            quoted(&worktree.display().to_string())
        )),
    }
}

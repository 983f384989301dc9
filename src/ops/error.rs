//! Why an operation did nothing.

mod claim;
mod conversion;
mod removal;
mod text;

use std::io;

pub use claim::ClaimOfOther;
pub use removal::RemovalError;

use super::plan_runner::PlanOperation;
use crate::{
    model::{
        document::SessionStatus,
        json,
        name::{InvalidName, ShortName},
        patch,
        path::RepoPath,
        selector::InvalidSelector,
        spelling::with_article,
        step::{StepStatus, TEXT_LIMIT},
        time::Timestamp,
    },
    secrets,
    store::{self, checkpoint::Fault},
    worktree::{restore, snapshot},
};

/// Something a selector may have meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectorCandidate {
    /// Selector to type: a session's name or a commit's id.
    pub selector: String,
    /// Description: a subject, or the number of checkpoints.
    pub subject: String,
    /// When it was saved.
    pub at: Option<Timestamp>,
}

/// Any failure of an operation. Nothing was changed, but for variants whose doc has it otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The files could not be read.
    #[error(transparent)]
    Worktree(#[from] snapshot::Error),
    /// Files could not be changed.
    #[error(transparent)]
    Restore(#[from] restore::Error),
    /// An agent's settings cannot be edited safely.
    #[error("cannot edit '{path}': {reason}")]
    AgentSettings {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
    /// A session of an agent cannot be written back.
    #[error("cannot write the session back for {agent}: {reason}")]
    AgentSession {
        /// The agent's name for people.
        agent: &'static str,
        /// Reason, in words.
        reason: String,
    },
    /// An agent's file of hooks cannot be read or written.
    #[error("cannot {action} '{path}': {}", crate::os::reason(source))]
    AgentFile {
        /// `read`, `write` or `remove`.
        action: &'static str,
        /// The file.
        path: String,
        /// The system's reason.
        source: io::Error,
    },
    /// The checkpoint was made without files.
    #[error("no files were saved with checkpoint '{subject}'")]
    NoFiles {
        /// The checkpoint.
        subject: String,
        /// The latest checkpoint before it that has files.
        before: Option<crate::model::id::Oid>,
    },
    /// Nothing of a checkpoint is missing: another branch has it.
    #[error(transparent)]
    CommittedElsewhere(#[from] Box<super::put_aside::CommittedElsewhere>),
    /// A session has no checkpoint whose record could be amended.
    #[error("session '{session}' has no checkpoint to amend yet")]
    NothingToAmend {
        /// The session.
        session: ShortName,
    },
    /// The latest checkpoint of a session was pushed.
    #[error("the latest checkpoint of session '{session}' is on remote '{}' and cannot be amended", remote.escape_debug())]
    AmendPushed {
        /// The session.
        session: ShortName,
        /// The remote that has it.
        remote: String,
    },
    /// There is no commit whose state the files could get.
    #[error("there is no commit yet to clean the working tree to")]
    NoCommit,
    /// No session of this name was deleted.
    #[error("the trash has no session '{}'", what.escape_debug())]
    NotInTrash {
        /// Kind of object that was requested.
        what: String,
        /// The sessions that are there.
        names: Vec<String>,
        /// How many other states of sessions are there.
        others: usize,
    },
    /// The user's editor failed.
    #[error("the editor '{}' failed; nothing was saved", editor.escape_debug())]
    Editor {
        /// Its command line.
        editor: String,
    },
    /// A checkpoint was made, but reading it back found something missing.
    #[error("checkpoint '{}' could not be verified; the working tree was left as it is", id.short())]
    Unproved {
        /// The checkpoint.
        id: crate::model::id::Oid,
    },
    /// Files changed after they were saved and before they were cleaned away.
    #[error("files changed after checkpoint '{}' was saved; the working tree was left as it is", id.short())]
    ChangedMeanwhile {
        /// The checkpoint.
        id: crate::model::id::Oid,
    },
    /// A pathspec matches nothing.
    #[error("pathspec '{spec}' did not match any {what}")]
    NoMatch {
        /// As it was given.
        spec: RepoPath,
        /// Kind of the object, such as `file`.
        what: &'static str,
    },
    /// The working tree of a fork was not removed.
    #[error(transparent)]
    Removal(#[from] RemovalError),
    /// git has no name or address for a commit.
    #[error("git does not know your name and address, which a commit has")]
    NoIdentity,
    /// Hunks were chosen of a file that is stored in two forms.
    #[error("'{path}' is stored raw on one side and converted on the other: take the whole file or nothing")]
    MixedParts {
        /// The file.
        path: RepoPath,
    },
    /// A file has no such lines.
    #[error("'{}' selects no lines of the file, which has {total}", range.escape_debug())]
    LineRange {
        /// As it was given.
        range: String,
        /// How many lines there are.
        total: u32,
    },
    /// The user's list of repositories cannot be read or written.
    #[error("cannot {action} '{path}': {}", crate::os::reason(source))]
    RepositoryList {
        /// `read`, `write` or the like.
        action: &'static str,
        /// The file.
        path: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A bisection cannot go on.
    #[error(transparent)]
    Bisect(#[from] super::bisect::BisectError),
    /// There is no such turn of an agent.
    #[error(transparent)]
    Turn(#[from] super::agent::turns::TurnError),
    /// No fork point of the checkpoint has that option.
    #[error("checkpoint '{subject}' has no fork point with option '{}'", option.escape_debug())]
    NoOption {
        /// The checkpoint.
        subject: String,
        /// The option.
        option: String,
        /// Whether the session's draft has it, which is not saved yet.
        in_draft: bool,
    },
    /// An operation that changes files was interrupted and has to be finished first.
    #[error("an interrupted {operation} has to be finished first")]
    Interrupted {
        /// Which.
        operation: PlanOperation,
    },
    /// There is no interrupted operation to finish.
    #[error("nothing was interrupted")]
    NotInterrupted,
    /// Files were changed after a restore was interrupted.
    #[error("{}", text::later_work(paths))]
    NewerWork {
        /// Which.
        paths: Vec<RepoPath>,
    },
    /// The note of an interrupted operation cannot be understood.
    #[error("cannot read the journal of the interrupted command: {why}")]
    Journal {
        /// Reason, in words.
        why: String,
    },
    /// A part was done when the rest failed.
    #[error("{source}")]
    PartiallyApplied {
        /// Failure.
        source: Box<Self>,
        /// Remedy for the hint.
        remedy: String,
    },
    /// There is nothing to take back, or to do again.
    #[error("nothing to {what}")]
    NothingTo {
        /// `undo` or `redo`.
        what: &'static str,
    },
    /// The latest command is not one that can be taken back.
    #[error("'{command}' cannot be undone; the last command that can be: {last}")]
    NotLast {
        /// The latest command.
        command: &'static str,
        /// The latest that is on the undo list.
        last: String,
        /// When that was.
        at: Timestamp,
    },
    /// Something that was to be taken back is not as it was left.
    #[error("cannot {what}: {why}")]
    ChangedSince {
        /// `undo` or `redo`, and which.
        what: String,
        /// Description of the change.
        why: String,
        /// Hints with the commands that help.
        remedies: text::Remedies,
    },
    /// The record that was to be taken back is not as it was left.
    #[error("cannot {direction} '{what}': the record was changed or saved since")]
    RecordChanged {
        /// `undo` or `redo`.
        direction: &'static str,
        /// Description of the action to undo.
        what: String,
    },
    /// A checkpoint is damaged, or of a newer format.
    #[error("cannot use checkpoint '{subject}': {fault}")]
    Damaged {
        /// Subject as the user knows it.
        subject: String,
        /// Fault of the checkpoint.
        fault: Box<Fault>,
    },
    /// A selector means nothing.
    #[error("no session or checkpoint '{}'", text.escape_debug())]
    NotFound {
        /// Text as given.
        text: String,
        /// Similar names.
        candidates: Vec<SelectorCandidate>,
        /// The remote that could be fetched from, where nothing of any was.
        remote: Option<String>,
        /// Whether a session of this name is in the trash.
        is_deleted: bool,
    },
    /// A session has a ref with a name that no session can have, as git lets anybody make one.
    #[error("session '{}' cannot be used: its name is not valid: {reason}", name.escape_debug())]
    Misnamed {
        /// The name.
        name: String,
        /// Reason why it is invalid.
        reason: &'static str,
        /// A valid name that is free.
        free: ShortName,
    },
    /// The session that `CHECKPOINT_SESSION` names is not there.
    #[error("session '{name}', which CHECKPOINT_SESSION names, does not exist")]
    SessionFromEnvNotFound {
        /// The name.
        name: ShortName,
        /// Similar names.
        candidates: Vec<SelectorCandidate>,
    },
    /// A session for which a new one would be made, where the name of another one is almost the same.
    #[error("session '{name}'{} does not exist", if *from_environment { ", which CHECKPOINT_SESSION names," } else { "" })]
    Mistyped {
        /// The name.
        name: ShortName,
        /// Whether `CHECKPOINT_SESSION` names it.
        from_environment: bool,
        /// Sessions with almost the same name.
        candidates: Vec<SelectorCandidate>,
    },
    /// A selector means several things.
    #[error("'{}' matches {count} {what}{}", text.escape_debug(), text::first_of(candidates.len(), *count))]
    Ambiguous {
        /// Text as given.
        text: String,
        /// `sessions` or `checkpoints`.
        what: &'static str,
        /// How many it means.
        count: usize,
        /// Possible meanings, or the first of them.
        candidates: Vec<SelectorCandidate>,
    },
    /// No item of the record is meant by a text.
    #[error("no {what} '{}'{}", text.escape_debug(), text::how_many(*of))]
    NoItem {
        /// Kind of item.
        what: &'static str,
        /// The command that lists them.
        command: &'static str,
        /// Text as given.
        text: String,
        /// How many there are.
        of: usize,
        /// Similar names.
        candidates: Vec<SelectorCandidate>,
    },
    /// Several items of the record are meant by a text.
    #[error("'{}' matches {count} {what}s", text.escape_debug())]
    AmbiguousItem {
        /// Kind of item.
        what: &'static str,
        /// Text as given.
        text: String,
        /// How many it matches.
        count: usize,
        /// The first of them.
        candidates: Vec<SelectorCandidate>,
    },
    /// The id given for a new item cannot be used.
    #[error("{id} is not a valid id for {}", with_article(what))]
    ItemId {
        /// Kind of item.
        what: &'static str,
        /// Id as given, as JSON.
        id: String,
    },
    /// There is no session at all, or none is current and none was named.
    #[error("{}", text::no_session(*any, damaged))]
    NoSession {
        /// Whether there are sessions.
        any: bool,
        /// Sessions that are there but damaged.
        damaged: Vec<String>,
        /// The session that was finished or paused last here.
        left: Option<ShortName>,
        /// A session that was fetched, as `<remote>/<session>`.
        fetched: Option<String>,
        /// The remote that could be fetched from.
        remote: Option<String>,
    },
    /// A chain has fewer checkpoints than a selector steps back.
    #[error("session '{session}' has no checkpoint '{}'", step.escape_debug())]
    NoSuchStep {
        /// The session.
        session: String,
        /// The step that leads nowhere.
        step: String,
    },
    /// A text is not a date that git reads.
    #[error("'{}' is not a date", text.escape_debug())]
    NotADate {
        /// Text as given.
        text: String,
    },
    /// The session exists already.
    #[error("session '{name}' already exists")]
    Exists {
        /// Its name.
        name: ShortName,
    },
    /// A checkpoint was saved before the repository had a commit.
    #[error("checkpoint {id} was saved before there was a commit")]
    NoCommits {
        /// Its first digits.
        id: String,
    },
    /// Two checkpoints were saved at commits that come from no common one.
    #[error("the commits of {old} and {new} come from no common commit")]
    Unrelated {
        /// The first digits of one.
        old: String,
        /// The first digits of the other.
        new: String,
    },
    /// Branch or directory for a fork already exists or cannot be made.
    #[error("{what}")]
    PathTaken {
        /// The sentence: which, and why not.
        what: String,
    },
    /// The session has a checkpoint of this name already.
    #[error("session '{session}' already has a checkpoint named '{name}'")]
    NameTaken {
        /// The session.
        session: ShortName,
        /// The name.
        name: ShortName,
    },
    /// A text is not a name.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// A text is not a selector.
    #[error(transparent)]
    Selector(#[from] InvalidSelector),
    /// A record given from outside does not fit.
    #[error("cannot use the record: {0}")]
    Record(#[from] patch::Error),
    /// A file of messages has none that can be taken.
    #[error("no message was found: expected one JSON object per line with role and content\nline {line}: {why}")]
    NoMessages {
        /// The first line that could not be taken, counted from 1.
        line: usize,
        /// Why it could not.
        why: String,
        /// Whether the file is one JSON document.
        is_document: bool,
    },
    /// JSON given from outside is not JSON, or too large or too deep.
    #[error("cannot read {what}: {source}")]
    Json {
        /// Where it came from.
        what: String,
        /// Parse error.
        source: json::Error,
    },
    /// The repository is the user's home directory or the root of the file system.
    #[error("refusing to save '{path}': it is {what}")]
    TooBroad {
        /// The working tree.
        path: String,
        /// `your home directory` or `the root of the file system`.
        what: &'static str,
    },
    /// A rule for secrets cannot be used.
    #[error(transparent)]
    Secrets(#[from] secrets::Error),
    /// The session has ended.
    #[error("session '{session}' is {}", status.word())]
    Finished {
        /// The session.
        session: ShortName,
        /// How it ended.
        status: SessionStatus,
    },
    /// Other writers were faster each time.
    #[error("session '{session}' was changed by others {tries} times during the save")]
    Contended {
        /// The session.
        session: ShortName,
        /// How often it was tried.
        tries: u32,
    },
    /// The program that summarizes the chat gave nothing that can be used.
    #[error("cannot summarize the chat: {why}")]
    Summarizer {
        /// Why.
        why: String,
    },
    /// The summary of the chat is no shorter than the messages.
    #[error("cannot summarize the chat: a summary would be as long as what it replaces")]
    SummaryGainsNothing,
    /// The plan that was asked for is not the one that would be carried out now.
    #[error("the files, the index or the record changed since that plan was made")]
    PlanChanged,
    /// A token is not that of a plan for the same request, or the request means another checkpoint now.
    #[error("the token is of another plan: one with other arguments, or of another checkpoint")]
    PlanUnknown,
    /// An idempotency key is empty or too long.
    #[error("a key must have between 1 and {longest} bytes")]
    KeyLength {
        /// The most bytes.
        longest: usize,
    },
    /// An idempotency key was given with another request before.
    #[error("key '{key}' was used for another save, checkpoint {id}")]
    KeyReused {
        /// The key.
        key: String,
        /// The checkpoint.
        id: String,
    },
    /// Another user has claimed the session.
    #[error("session '{session}' is {claim}")]
    Claimed {
        /// The session.
        session: ShortName,
        /// The claim.
        claim: Box<ClaimOfOther>,
    },
    /// Another user has claimed the task.
    #[error("task '{task}' is {claim}")]
    ClaimedTask {
        /// Its title.
        task: String,
        /// Its id.
        id: String,
        /// The claim.
        claim: Box<ClaimOfOther>,
    },
    /// The program that summarizes the chat was interrupted.
    #[error("cannot summarize the chat: it was interrupted")]
    SummarizerInterrupted,
    /// The parts of a request that cannot be left out are too long.
    #[error("the request has {tokens} tokens without any message, more than the {limit} allowed")]
    RequestTooLong {
        /// Its tokens.
        tokens: u64,
        /// The most that are allowed.
        limit: u64,
    },
    /// Import source cannot be read.
    #[error("cannot read '{}'", path.escape_debug())]
    Source {
        /// The path as the user gave it.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// One name was given for several sessions.
    #[error("'--session {name}' names one session, but {count} were found")]
    ManySessions {
        /// The name.
        name: ShortName,
        /// How many there are.
        count: usize,
    },
    /// A checkpoint is from the future, so ages mean nothing.
    #[error("session '{session}' was saved at {at}, which is in the future: the clock is or was wrong")]
    Future {
        /// The session.
        session: String,
        /// When its latest checkpoint was made.
        at: Timestamp,
    },
    /// A checkpoint could not be written again.
    #[error(transparent)]
    Rewriting(store::rewrite::RewriteError),
    /// The first checkpoint of a session cannot go without the session.
    #[error("the checkpoint is the first of session '{session}', which requires it")]
    FirstOfSession {
        /// The session.
        session: ShortName,
    },
    /// HEAD or the index changed each time the files were read.
    #[error("HEAD or the index kept changing while the files were read")]
    ConcurrentModification,
    /// A word names no step.
    #[error("no step '{}'", text.escape_debug())]
    NoStep {
        /// The word.
        text: String,
    },
    /// A step is not in a state for what is asked.
    #[error("step '{}' is {}", step.escape_debug(), status.word())]
    StepInWrongState {
        /// Its title.
        step: String,
        /// State.
        status: StepStatus,
    },
    /// A text is too long for a step.
    #[error("the {what} of a step has {len} bytes, more than the {TEXT_LIMIT} allowed")]
    StepText {
        /// Which text.
        what: String,
        /// Its length.
        len: usize,
    },
    /// No step failed.
    #[error("no step failed")]
    NoneFailed,
    /// No step has a command.
    #[error("neither step '{}' nor any after it has a command", step.escape_debug())]
    NoCommand {
        /// The first step's title.
        step: String,
    },
    /// The command of a step is not stored as it ran.
    #[error("the command of step '{}' is stored without a secret, so it cannot be run again", step.escape_debug())]
    AlteredCommand {
        /// The step's title.
        step: String,
    },
    /// Commands were recorded elsewhere.
    #[error("these commands were not recorded here:{}", text::listed(commands))]
    ForeignCommands {
        /// The commands, as they are typed.
        commands: Vec<String>,
    },
    /// A command could not be run, for reasons of ours.
    #[error("cannot run the command: {}", crate::os::reason(.0))]
    Child(io::Error),
    /// The system gave no random bytes.
    #[error("cannot get random bytes: {0}")]
    Random(io::Error),
}

impl Error {
    /// Whether it says no more than that there is no session: none is current, or the one that is named is not there.
    pub fn is_without_session(&self) -> bool {
        matches!(
            self,
            Self::NoSession { .. } | Self::NotFound { .. } | Self::SessionFromEnvNotFound { .. }
        )
    }
}

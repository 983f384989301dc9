//! `save`, and everything else that adds a checkpoint with the present files to a session: `pause`, `finish`, events.
//!
//! The order is what makes it safe: objects on disk, then the ref by compare-and-swap, then the check that a collection
//! of garbage at the same moment took nothing, and only then the draft is cleared and success reported. A save that
//! meets another writer composes its document again on the new tip, so both stay.

mod attempt;
pub(super) mod content;
pub mod deferred;
mod early;
mod environment;
mod files_origin;
mod repetition;
mod stale;

use std::cell::RefCell;

use serde_json::{Map, Value, json};

pub(super) use self::early::{EarlyFiles, EarlyReading};
use self::{attempt::SaveAttempt, files_origin::FilesOrigin};
use super::{
    Error, Scene, chat, compose, fork_notes, ids,
    receipt::CheckpointOutcome,
    redact::Redactor,
    refuse, rekey,
    session_choice::{self, SessionChoice},
    suggestions,
};
use crate::{
    model::{
        agent_turn::AgentTurn,
        document::{CheckpointKind, SessionStatus},
        name::ShortName,
        operation::Operation,
        patch::{self, PatchStamp},
        record::SessionFailure,
    },
    store::{
        self, ObjectId, branches, checkpoint,
        current::{self, Elsewhere},
        lock,
        objects::{SealedObjects, Writer},
        refs,
    },
};

/// How often a checkpoint is composed again because the session or the object store changed under it.
const TRIES: u32 = 20;

/// Request of a save: everything that does not carry over.
#[derive(Debug)]
pub struct SaveRequest {
    /// Cause of the checkpoint.
    pub kind: CheckpointKind,
    /// State of the session afterwards.
    pub status: SessionStatus,
    /// The checkpoint's own name.
    pub name: Option<ShortName>,
    /// The occasion.
    pub trigger: Option<String>,
    /// Idempotency key: the same request with the same key makes no second checkpoint.
    pub key: Option<String>,
    /// The turn of a coding agent; its changed files are filled in.
    pub turn: Option<AgentTurn>,
    /// The summary; without one it is made from git's facts.
    pub summary: Option<String>,
    /// Patches of the record by the items of a record that was given, with the ids of those that are there already.
    pub recognized: Vec<Value>,
    /// The same patches as they were given. The key is that of these: with the ids, a repeated request would be another one.
    pub given: Vec<Value>,
    /// Further patches of the record, in order, as given.
    pub changes: Vec<Value>,
    /// A merge patch of the session's members.
    pub session: Option<Value>,
    /// Why the session failed.
    pub error: Option<SessionFailure>,
    /// Files to keep, by name.
    pub attachments: Vec<(String, Vec<u8>)>,
    /// Whether to save the files of the working tree.
    pub files: bool,
    /// Whether to make a checkpoint that has nothing new.
    pub allow_empty: bool,
    /// Whether to stop before anything is written.
    pub dry_run: bool,
    /// Whether the session ends being current.
    pub leave: bool,
    /// Whether a session is started when there is none to continue.
    pub start: bool,
    /// Whether a claim of another user is overridden; without it a claim, and what is saved automatically, is refused.
    pub claim: OverClaim,
    /// The id of a task that is claimed or released, which the claim of another user forbids.
    pub task: Option<String>,
    /// Change of the chat.
    pub chat: chat::ChatChange,
    /// Autosave made before this save, which undo reverts as well.
    pub(in crate::ops) first: Option<First>,
    /// Whether a compaction is an action of its own that undo reverts.
    pub(in crate::ops) is_undoable: bool,
    /// Whether the operation of git's that is in progress is about to end, as in its last hook.
    pub operation_ends: bool,
}

/// Rule of a save for a session that another one has claimed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OverClaim {
    /// A checkpoint that is made automatically is refused; a person's is made, and the claim is reported.
    #[default]
    Automatic,
    /// It is refused.
    Refused,
    /// It is made.
    Forced,
}

/// A checkpoint that was made for another one, of what waited.
#[derive(Clone, Debug)]
pub(in crate::ops) struct First {
    /// The checkpoint before it.
    pub before: ObjectId,
    /// The record as it saved it.
    pub record: Value,
}

impl SaveRequest {
    /// A plain save.
    pub fn new(kind: CheckpointKind) -> Self {
        Self {
            kind,
            status: SessionStatus::Active,
            name: None,
            trigger: None,
            key: None,
            turn: None,
            summary: None,
            recognized: Vec::new(),
            given: Vec::new(),
            changes: Vec::new(),
            session: None,
            error: None,
            attachments: Vec::new(),
            files: true,
            allow_empty: false,
            dry_run: false,
            leave: false,
            start: true,
            claim: OverClaim::Automatic,
            task: None,
            chat: chat::ChatChange::Keep,
            first: None,
            is_undoable: false,
            operation_ends: false,
        }
    }
}

/// Makes the checkpoint, unless there is nothing new to save.
pub fn save(scene: &Scene<'_>, request: SaveRequest) -> Result<CheckpointOutcome, Error> {
    save_early(scene, request, None)
}

/// The same with files that were read before, where they still serve: of the working tree that the session is saved from.
pub(super) fn save_early(
    scene: &Scene<'_>,
    mut request: SaveRequest,
    mut early: Option<EarlyFiles>,
) -> Result<CheckpointOutcome, Error> {
    refuse::too_broad(scene)?;
    if request.files {
        fork_notes::refuse_here(scene)?;
    }
    let mut redactor = Redactor::new(scene)?;
    redact(&mut request, &mut redactor);
    let agent = redactor.agent(scene);
    let scene = &Scene {
        agent: agent.as_deref(),
        ..*scene
    };
    let people = compose::people(scene);
    let key = repetition::key_of(&mut request)?;
    let operations = operations(scene, &mut request, &compose::by(scene, &people))?;
    let mut _worktree = None;
    let mut left = Vec::new();
    if !request.dry_run {
        _worktree = Some(lock::worktree(scene.repo, scene.wait)?);
        refs::recover(scene.repo, scene.wait)?;
        left = store::sweep(scene.repo)?;
    }
    let mut vanished = None;
    let lost = RefCell::new(Vec::<SealedObjects>::new());
    let branch = branches::active(scene.repo)?;
    // Files that were read early and are stored, after an attempt that lost a race.
    let mut stored = None;
    for _ in 0..TRIES {
        let mut passed_over = Vec::new();
        let target = target(scene, &request, branch.as_deref(), &mut passed_over)?;
        if let SaveTarget::Existing(chosen) = &target
            && !request.dry_run
            && (deferred::take_in(scene, chosen)? || rekey::encrypt_earlier(scene, chosen)?)
        {
            continue;
        }
        let origin = FilesOrigin::of(scene, &request, &target)?;
        let is_here = matches!(origin, FilesOrigin::Here) && request.files && !request.dry_run;
        let files = origin.scene(scene);
        let is_as_saved = matches!(origin, FilesOrigin::AsSaved);
        if request.files && !is_as_saved {
            fork_notes::refuse_here(&files)?;
        }
        let (writer, present, moment) = if let Some(early) = early.take().filter(|_| is_here) {
            if !early.is_based_on(&target) {
                held(scene, &early.writer, &target)?;
            }
            (early.writer, early.present, Some(early.moment))
        } else {
            // Objects that vanished may be ones that were found present and relied on: these are written again as well.
            let writer = match (request.dry_run, vanished.take()) {
                (true, _) => Writer::memory(scene.repo),
                (false, None) => Writer::durable(scene.repo)?,
                (false, Some(())) => Writer::rewriting(scene.repo)?,
            };
            lost.borrow()
                .iter()
                .for_each(|sealed| writer.trust(sealed.written().iter().chain(sealed.relied_on()).copied()));
            let held = held(scene, &writer, &target)?;
            if let Some((present, moment)) = stored.take() {
                // Asking for them makes the save rely on them, so that it is checked that they are still there.
                for sealed in &*lost.borrow() {
                    sealed.written().iter().chain(sealed.relied_on()).for_each(|id| {
                        writer.has(scene.repo, id);
                    });
                }
                (writer, present, Some(moment))
            } else {
                let mut present = compose::present(&files, &writer, request.files && !is_as_saved, &held)?;
                if !request.files {
                    present.facts.leave_out_status();
                }
                (writer, present, None)
            }
        };
        let sealed = lost.borrow().len();
        let attempt = SaveAttempt {
            scene,
            files: &files,
            is_as_saved,
            moment: moment.as_ref(),
            request: &request,
            key: key.as_ref(),
            operations: &operations,
            people: &people,
            present: &present,
            lost: &lost,
        };
        let elsewhere = match &target {
            SaveTarget::New(_) if scene.session.is_none() => current::read_to_replace(scene.repo)?.elsewhere,
            SaveTarget::New(_) => None,
            SaveTarget::Existing(chosen) => branch_before(chosen),
        };
        let is_new_on_branch = match &target {
            SaveTarget::New(_) => true,
            SaveTarget::Existing(chosen) => is_new_on_branch(scene, chosen, branch.as_deref())?,
        };
        match attempt.run(writer, target) {
            Ok(mut outcome) => {
                origin.announce();
                let (CheckpointOutcome::Saved(receipt)
                | CheckpointOutcome::Planned(receipt)
                | CheckpointOutcome::Unchanged(receipt)) = &mut outcome;
                receipt.redactions = std::mem::take(&mut redactor.found);
                receipt.unsearched = std::mem::take(&mut redactor.unsearched);
                receipt.passed_over = passed_over;
                let branch = receipt.document.git.worked_on();
                receipt.elsewhere =
                    elsewhere.filter(|from| !store::is_branch(scene.repo, from.branch.as_deref(), branch));
                receipt.is_new_on_branch = is_new_on_branch;
                receipt.trouble.extend(left.iter().map(ToString::to_string));
                return Ok(outcome);
            }
            Err(Error::Store(store::Error::Moved { .. })) if lost.borrow().len() > sealed => {
                stored = moment.map(|moment| (present, moment));
            }
            Err(Error::Store(store::Error::Moved { .. })) => read_again(&mut request, moment.as_ref()),
            Err(Error::Store(store::Error::Vanished { .. })) => {
                vanished = Some(());
                read_again(&mut request, moment.as_ref());
            }
            Err(error) => return Err(error),
        }
    }
    let session = scene
        .session
        .cloned()
        .unwrap_or_else(|| ShortName::slug("session", "current"));
    Err(Error::Contended { session, tries: TRIES })
}

/// Notes that the next attempt has later files than those that were read early: their objects are gone.
fn read_again(request: &mut SaveRequest, moment: Option<&early::FilesMoment>) {
    if let (Some(turn), Some(_)) = (&mut request.turn, moment) {
        turn.inexact = true;
    }
}

/// Whom a checkpoint is by: the agent, else the git user.
pub fn author(scene: &Scene<'_>) -> String {
    compose::by(scene, &compose::people(scene))
}

/// Takes secrets out of everything the request would store.
fn redact(request: &mut SaveRequest, redactor: &mut Redactor) {
    for change in request.recognized.iter_mut().chain(&mut request.changes) {
        redactor.json(change, "record");
    }
    // Reported with what is stored.
    let found = redactor.found.len();
    for change in &mut request.given {
        redactor.json(change, "record");
    }
    redactor.found.truncate(found);
    if let Some(session) = &mut request.session {
        redactor.json(session, "session");
    }
    if let Some(turn) = &mut request.turn {
        redactor.text(&mut turn.subject, "turn/subject");
        // Words of the agent, not of this program.
        redactor.text(&mut turn.key, "turn/key");
        if let Some(model) = &mut turn.model {
            redactor.text(model, "turn/model");
        }
    }
    if let Some(summary) = &mut request.summary {
        redactor.text(summary, "summary");
    }
    if let Some(key) = &mut request.key {
        redactor.text(key, "key");
    }
    if let Some(trigger) = &mut request.trigger {
        redactor.text(trigger, "trigger");
    }
    if let Some(error) = &mut request.error {
        redactor.text(&mut error.message, "error");
        if let Some(stack) = &mut error.stack {
            redactor.text(stack, "error/stack");
        }
    }
    for (name, bytes) in &mut request.attachments {
        redactor.text(name, "attachment");
        *bytes = redactor.bytes(bytes, &format!("files/{name}"));
    }
}

/// The request's changes as operations, prepared once so that they mean the same on every tip.
fn operations(scene: &Scene<'_>, request: &mut SaveRequest, by: &str) -> Result<Vec<Operation>, Error> {
    let mut failed = None;
    let mut fresh_id = || {
        ids::item_id().unwrap_or_else(|error| {
            failed = Some(error);
            String::new()
        })
    };
    let mut operations = Vec::new();
    let recognized = std::mem::take(&mut request.recognized);
    for change in recognized.into_iter().chain(std::mem::take(&mut request.changes)) {
        let record = patch::prepare(
            change,
            &mut PatchStamp {
                at: scene.now,
                by,
                fresh_id: &mut fresh_id,
            },
        )?;
        patch::check(&record)?;
        operations.push(operation(scene, by, fresh_id(), Some(record), None));
    }
    let mut session = request.session.take().unwrap_or_else(|| Value::Object(Map::new()));
    session["status"] = json!(request.status);
    operations.push(operation(scene, by, fresh_id(), None, Some(session)));
    match failed {
        Some(error) => Err(error),
        None => Ok(operations),
    }
}

fn operation(scene: &Scene<'_>, by: &str, id: String, record: Option<Value>, session: Option<Value>) -> Operation {
    Operation {
        record,
        session,
        ..Operation::new(id, scene.now, by.to_owned())
    }
}

/// The session that a save here would start, and the one of another branch that was current last; `None` where a save
/// goes to a session that exists, or where none is current on another branch.
pub fn branch_change(scene: &Scene<'_>) -> Result<Option<(Elsewhere, ShortName)>, Error> {
    if scene.session.is_some() {
        return Ok(None);
    }
    let Some(elsewhere) = current::read_to_replace(scene.repo)?.elsewhere else {
        return Ok(None);
    };
    let branch = branches::active(scene.repo)?;
    let (paused, _) = session_choice::paused_here(scene, branch.as_deref(), &store::worktree_id(scene.repo))?;
    if paused.is_some() || session_choice::by_identity(scene, &elsewhere.session)?.is_none() {
        return Ok(None);
    }
    Ok(Some((elsewhere, session_choice::free_name(scene, branch.as_deref())?)))
}

/// The session a checkpoint goes to.
enum SaveTarget {
    Existing(Box<SessionChoice>),
    New(ShortName),
}

/// Whether the current session is saved on a branch for the first time: it came along to there.
fn is_new_on_branch(scene: &Scene<'_>, chosen: &SessionChoice, branch: Option<&str>) -> Result<bool, Error> {
    if scene.session.is_some() {
        return Ok(false);
    }
    let Some(branch) = branch else { return Ok(true) };
    let current = current::read_to_replace(scene.repo)?;
    Ok(!current.is_current_on(branch, &chosen.tip.document.session.id))
}

/// The session with the branch of its latest checkpoint; `None` where that is its start, which has no files.
fn branch_before(chosen: &SessionChoice) -> Option<Elsewhere> {
    let document = &chosen.tip.document;
    (document.kind != CheckpointKind::Start).then(|| Elsewhere {
        session: current::SessionRef {
            id: document.session.id.clone(),
            name: chosen.name.clone(),
        },
        branch: document.git.worked_on().map(str::to_owned),
    })
}

/// The trees that the session's latest checkpoint holds; what else it holds is trusted as well.
fn held(scene: &Scene<'_>, writer: &Writer, target: &SaveTarget) -> Result<Vec<ObjectId>, Error> {
    let SaveTarget::Existing(chosen) = target else {
        return Ok(Vec::new());
    };
    let held = checkpoint::held(scene.repo, &chosen.tip).map_err(Error::damaged(chosen.name.as_str()))?;
    writer.trust(held.objects);
    Ok(held.trees)
}

fn target(
    scene: &Scene<'_>,
    request: &SaveRequest,
    branch: Option<&str>,
    passed_over: &mut Vec<String>,
) -> Result<SaveTarget, Error> {
    if let Some(chosen) = session_choice::session_for_command(scene)? {
        return Ok(SaveTarget::Existing(Box::new(chosen)));
    }
    if let Some(name) = scene.session {
        if !request.start {
            return Err(suggestions::absent(scene, name));
        }
        suggestions::refuse_mistyped(scene, name)?;
        return Ok(SaveTarget::New(name.clone()));
    }
    let (paused, damaged) = session_choice::paused_here(scene, branch, &store::worktree_id(scene.repo))?;
    *passed_over = damaged;
    if let Some(chosen) = paused {
        return Ok(SaveTarget::Existing(Box::new(chosen)));
    }
    if !request.start {
        return Err(suggestions::none_current(scene));
    }
    Ok(SaveTarget::New(session_choice::free_name(scene, branch)?))
}

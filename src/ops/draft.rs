//! The one way by which a change gets into a session's draft: redacted, named, numbered, and on disk when it is
//! acknowledged.
//!
//! It takes no snapshot, and reads neither the draft nor the latest document: a change costs the same in a session of
//! ten items and of ten thousand. The session is the one that `save` would take.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{
    Error, Scene, compose, ids,
    receipt::SessionOrigin,
    redact::{RedactedSecret, Redactor},
    session_choice, start, suggestions,
};
use crate::{
    model::{
        document::{Session, SessionStatus},
        name::ShortName,
        operation::{ItemRef, LogLine, Operation, StateValue},
        patch::{self, PatchStamp},
        step::{Step, StepChange},
    },
    store::{
        self, branches,
        current::{self, SessionRef},
        draft, identity, lock, session,
    },
};

/// How long a draft command waits for a lock: it is called from scripts and hooks, which must not hang.
pub const WAIT: Duration = Duration::from_secs(2);

/// A change of a session that is not saved yet.
#[derive(Clone, Debug, PartialEq)]
pub enum DraftChange {
    /// A patch of the record; items of lists may leave out `id`, `at` and `by`.
    Record(Value),
    /// An item taken out of a list of the record.
    Remove {
        /// The list's name.
        list: String,
        /// The item's id.
        id: String,
    },
    /// A part of the caller's state replaced.
    Put {
        /// Where, as a JSON pointer; empty for the whole.
        at: String,
        /// New value.
        value: Value,
    },
    /// A merge patch of the session's members.
    Session(Value),
    /// A line of the session log.
    Log {
        /// `info`, `warn` or `error`.
        level: String,
        /// Message of the log line.
        message: String,
    },
    /// A merge patch of one step's members; a step of an id that is not there is new.
    Step {
        /// The step.
        id: String,
        /// The patch.
        patch: Value,
    },
}

/// Changes that are on disk.
#[derive(Debug)]
pub struct DraftReceipt {
    /// The session's name.
    pub session: ShortName,
    /// The session's identity.
    pub session_id: String,
    /// How the session was found or made.
    pub session_is: SessionOrigin,
    /// The changes as they were stored, one operation each, without secrets.
    pub operations: Vec<Operation>,
    /// How many operations the draft holds that no save has taken yet.
    pub waiting: u64,
    /// Secrets found on the way in.
    pub redactions: Vec<RedactedSecret>,
    /// Damaged sessions that were passed over in looking for the one to continue.
    pub passed_over: Vec<String>,
}

/// Puts changes into the draft of the session that `save` would save to: the one named, else the current one, else the
/// one paused last on this branch in this working tree, which becomes current and active again, else a new one.
///
/// All of them are on disk when this returns, or none is. A change that no record could hold is refused.
pub fn append(scene: &Scene<'_>, changes: Vec<DraftChange>) -> Result<DraftReceipt, Error> {
    append_resolving(scene, changes.into_iter().map(|change| (change, None)).collect())
}

/// The same for changes that resolve conflicts of the record, each with the id of its conflict.
pub fn append_resolving(scene: &Scene<'_>, changes: Vec<(DraftChange, Option<String>)>) -> Result<DraftReceipt, Error> {
    let mut redactor = Redactor::new(scene)?;
    let agent = redactor.agent(scene);
    let scene = &Scene {
        agent: agent.as_deref(),
        wait: scene.wait.min(WAIT),
        ..*scene
    };
    let by = by(scene);
    let mut operations = Vec::with_capacity(changes.len());
    for (change, resolves) in changes {
        operations.push(Operation {
            resolves,
            ..operation(scene, change, &by, &mut redactor)?
        });
    }
    let target = target(scene)?;
    if target.is == SessionOrigin::Continued {
        let mut active = empty(scene, &by)?;
        active.session = Some(json!({ "status": SessionStatus::Active }));
        operations.insert(0, active);
    }
    let draft_id = ids::item_id()?;
    let numbers = draft::append(scene.repo, &target.id, &operations, || draft_id, scene.wait)?;
    Ok(DraftReceipt {
        session: target.name,
        session_id: target.id,
        session_is: target.is,
        operations,
        waiting: numbers.last.saturating_sub(numbers.base),
        redactions: redactor.found,
        passed_over: target.passed_over,
    })
}

/// Who makes a change here: the calling agent, else the git user.
pub fn by(scene: &Scene<'_>) -> String {
    compose::by(scene, &compose::people(scene))
}

fn empty(scene: &Scene<'_>, by: &str) -> Result<Operation, Error> {
    Ok(Operation::new(ids::item_id()?, scene.now, by.to_owned()))
}

fn operation(scene: &Scene<'_>, change: DraftChange, by: &str, redactor: &mut Redactor) -> Result<Operation, Error> {
    let mut out = empty(scene, by)?;
    match change {
        DraftChange::Record(mut patch) => {
            redactor.json(&mut patch, "record");
            let patch = prepared(scene, patch, by)?;
            patch::check(&patch)?;
            out.record = Some(patch);
        }
        DraftChange::Remove { list, id } => out.remove = Some(ItemRef { list, id }),
        DraftChange::Put { mut at, mut value } => {
            redactor.text(&mut at, "state");
            redactor.json(&mut value, "state");
            out.put = Some(StateValue { at, value });
        }
        DraftChange::Session(mut patch) => {
            redactor.json(&mut patch, "session");
            Session::check(&patch)?;
            out.session = Some(patch);
        }
        DraftChange::Step { id, mut patch } => {
            redactor.json(&mut patch, "step");
            let at = scene.now;
            let by = by.to_owned();
            let change = StepChange { id, at, by, patch };
            // One that no step could take would stop every later save.
            Step::new(&change.id, 1, at, "").patched(&change)?;
            out.step = Some(change);
        }
        DraftChange::Log { level, mut message } => {
            redactor.text(&mut message, "note");
            out.log = Some(LogLine {
                at: scene.now,
                level,
                message,
                agent: scene.agent.map(str::to_owned),
            });
        }
    }
    Ok(out)
}

/// The patch with ids, times and authors filled in.
fn prepared(scene: &Scene<'_>, patch: Value, by: &str) -> Result<Value, Error> {
    let mut failed = None;
    let mut fresh_id = || {
        ids::item_id().unwrap_or_else(|error| {
            failed = Some(error);
            String::new()
        })
    };
    let mut stamp = PatchStamp {
        at: scene.now,
        by,
        fresh_id: &mut fresh_id,
    };
    let patch = patch::prepare(patch, &mut stamp)?;
    match failed {
        Some(error) => Err(error),
        None => Ok(patch),
    }
}

/// The session that changes go to.
struct DraftTarget {
    name: ShortName,
    id: String,
    is: SessionOrigin,
    passed_over: Vec<String>,
}

impl DraftTarget {
    fn new(name: ShortName, id: String, is: SessionOrigin) -> Self {
        let passed_over = Vec::new();
        Self {
            name,
            id,
            is,
            passed_over,
        }
    }
}

fn target(scene: &Scene<'_>) -> Result<DraftTarget, Error> {
    if let Some(found) = draft_session(scene)? {
        return Ok(found);
    }
    // Several may come here at once; one finds or makes the session for all.
    let _here = lock::worktree(scene.repo, scene.wait)?;
    if let Some(found) = draft_session(scene)? {
        return Ok(found);
    }
    let mut passed_over = Vec::new();
    if scene.session.is_none() {
        let branch = branches::active(scene.repo)?;
        let (paused, damaged) = session_choice::paused_here(scene, branch.as_deref(), &store::worktree_id(scene.repo))?;
        passed_over = damaged;
        if let Some(chosen) = paused {
            start::make_current(scene, &chosen.tip.document, &chosen.name)?;
            let id = chosen.tip.document.session.id;
            let mut target = DraftTarget::new(chosen.name, id, SessionOrigin::Continued);
            target.passed_over = passed_over;
            return Ok(target);
        }
    }
    if let Some(name) = scene.session {
        suggestions::refuse_mistyped(scene, name)?;
    }
    let request = start::StartRequest {
        dry_run: false,
        name: scene.session.cloned(),
        session: Value::Object(Map::new()),
        if_missing: true,
    };
    // As with `save`: a session named for this command only does not take the place of the current one.
    let becomes_current = scene.session.is_none() || current::read(scene.repo)?.session.is_none();
    let started = match start::create(scene, request, becomes_current) {
        Ok(started) => started,
        // From another working tree at the same moment.
        Err(Error::Exists { name }) => {
            let found = draft_session(scene)?.ok_or(Error::Exists { name })?;
            return Ok(found);
        }
        Err(error) => return Err(error),
    };
    if becomes_current {
        start::make_current(scene, &started.document, &started.name)?;
    }
    let is = if started.existed {
        SessionOrigin::Meant
    } else {
        SessionOrigin::Started
    };
    let mut target = DraftTarget::new(started.name, started.document.session.id, is);
    target.passed_over = passed_over;
    Ok(target)
}

/// The session named by option or environment, else the current one; `None` when there is none.
fn draft_session(scene: &Scene<'_>) -> Result<Option<DraftTarget>, Error> {
    let wanted = match scene.session {
        Some(name) => {
            let id = identity_of(scene, name)?;
            return Ok(id.map(|id| DraftTarget::new(name.clone(), id, SessionOrigin::Meant)));
        }
        None => current::read(scene.repo)?.session,
    };
    let Some(SessionRef { id, name }) = wanted else {
        return Ok(None);
    };
    if identity_of(scene, &name)?.as_ref() == Some(&id) {
        return Ok(Some(DraftTarget::new(name, id, SessionOrigin::Meant)));
    }
    // Renamed or deleted from elsewhere.
    let found = session_choice::by_identity(scene, &SessionRef { id, name })?;
    Ok(found.map(|chosen| DraftTarget::new(chosen.name, chosen.tip.document.session.id, SessionOrigin::Meant)))
}

/// The identity of the session of this name; `None` when there is none.
fn identity_of(scene: &Scene<'_>, name: &ShortName) -> Result<Option<String>, Error> {
    if let Some(noted) = identity::noted(scene.repo, name) {
        return Ok(Some(noted.id));
    }
    let Some(tip) = session::tip(scene.repo, name)? else {
        return Ok(None);
    };
    let tip = session_choice::load(scene, name.as_str(), tip)?;
    // Only saves the next one the reading.
    let _ = identity::note(scene.repo, name, &tip);
    Ok(Some(tip.document.session.id))
}

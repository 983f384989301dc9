//! `start`: a new session, before there is anything to save.

use serde_json::{Value, json};

use super::{
    Error, Scene, compose, ids, placement,
    redact::Redactor,
    refuse,
    session_choice::{self, SessionChoice},
};
use crate::{
    model::{
        document::{CheckpointKind, Document, SessionStatus},
        facts::GitFacts,
        id::Digest,
        name::ShortName,
        operation::Operation,
    },
    store::{
        self, ObjectId,
        checkpoint::Checkpoint,
        current, draft, facts,
        objects::{self, SealedObjects, Writer},
        refs,
    },
};

/// Request of a start.
#[derive(Debug)]
pub struct StartRequest {
    /// Its name; without one it is made from the branch.
    pub name: Option<ShortName>,
    /// A merge patch of its members: agent, task, title, type and so on.
    pub session: Value,
    /// Whether a session of this name that exists is taken instead.
    pub if_missing: bool,
    /// Dry run: only report what would be done.
    pub dry_run: bool,
}

/// A session that is now current.
#[derive(Debug)]
pub struct StartOutcome {
    /// Its name.
    pub name: ShortName,
    /// Its latest checkpoint.
    pub id: ObjectId,
    /// That checkpoint's digest.
    pub digest: Digest,
    /// That checkpoint's document.
    pub document: Document,
    /// Whether it was there already.
    pub existed: bool,
    /// Whether this is what would be done: no checkpoint of this id is there.
    pub planned: bool,
    /// Secrets found on the way in.
    pub redactions: Vec<super::redact::RedactedSecret>,
    /// Files of ours that could not be removed.
    pub leftovers: Vec<crate::os::CleanupFailure>,
}

/// Starts a session and makes it the current one of this working tree.
pub fn start(scene: &Scene<'_>, request: StartRequest) -> Result<StartOutcome, Error> {
    let started = create(scene, request, true)?;
    if !started.planned {
        make_current(scene, &started.document, &started.name)?;
        merge_packs(scene);
    }
    Ok(started)
}

/// The session that an automatic checkpoint goes to: the one that is meant, else a new one where the branch was left
/// that the last current session is on. Where no session is in use, none is started.
pub(super) fn automatic(scene: &Scene<'_>) -> Result<Option<SessionChoice>, Error> {
    if let Some(chosen) = session_choice::session_for_command(scene)? {
        return Ok(Some(chosen));
    }
    let now = current::read(scene.repo)?;
    if scene.session.is_some() || now.elsewhere.is_none() {
        return Ok(None);
    }
    let request = StartRequest {
        name: None,
        session: Value::Object(serde_json::Map::new()),
        if_missing: true,
        dry_run: false,
    };
    let started = start(scene, request)?;
    session_choice::named(scene, &started.name)
}

/// Keeps the packs few where something else than a save adds one: a thousand sessions would be a thousand packs, which
/// git looks through for every object. It only improves speed, and the next save reports a failure.
pub(super) fn merge_packs(scene: &Scene<'_>) {
    let _ = objects::consolidate(scene.repo);
}

/// Starts a session, and leaves the current one as it is; `current` is whether the caller makes it the current one
/// next, which then is so even if that does not come to pass.
pub(super) fn create(scene: &Scene<'_>, mut request: StartRequest, current: bool) -> Result<StartOutcome, Error> {
    let mut redactor = Redactor::new(scene)?;
    redactor.json(&mut request.session, "session");
    refuse::too_broad(scene)?;
    let agent = redactor.agent(scene);
    let scene = &Scene {
        agent: agent.as_deref(),
        ..*scene
    };
    if !request.dry_run {
        refs::recover(scene.repo, scene.wait)?;
    }
    let mut facts: GitFacts = facts::git_facts(scene.repo, None)?;
    facts.leave_out_status();
    let Some(name) = request.name.take().or_else(|| scene.session.cloned()) else {
        // Another working tree may take the name at the same moment.
        return with_free_name(scene, &request, current, redactor.found, &facts);
    };
    with_name(scene, &request, name, current, redactor.found, facts)
}

/// How often another name is tried because the one before was taken in the meantime.
const TRIES: u32 = 20;

fn with_free_name(
    scene: &Scene<'_>,
    request: &StartRequest,
    current: bool,
    redactions: Vec<super::redact::RedactedSecret>,
    facts: &GitFacts,
) -> Result<StartOutcome, Error> {
    let mut tries = 0;
    loop {
        tries += 1;
        let name = session_choice::free_name(scene, facts.branch.as_deref())?;
        match with_name(scene, request, name, current, Vec::new(), facts.clone()) {
            Err(Error::Exists { .. }) if tries < TRIES => {}
            Ok(started) => return Ok(StartOutcome { redactions, ..started }),
            error => return error,
        }
    }
}

fn with_name(
    scene: &Scene<'_>,
    request: &StartRequest,
    name: ShortName,
    current: bool,
    redactions: Vec<super::redact::RedactedSecret>,
    facts: GitFacts,
) -> Result<StartOutcome, Error> {
    if let Some(there) = session_choice::named(scene, &name)? {
        if !request.if_missing {
            return Err(Error::Exists { name });
        }
        let tip = there.tip;
        let (id, digest, document) = (tip.entry.id, tip.digest, tip.document);
        return Ok(StartOutcome {
            name,
            id,
            digest,
            document,
            existed: true,
            planned: request.dry_run,
            redactions,
            leftovers: Vec::new(),
        });
    }
    let people = compose::people(scene);
    let writer = if request.dry_run {
        Writer::memory(scene.repo)
    } else {
        Writer::durable(scene.repo)?
    };
    let session = compose::new_session(scene, name.clone())?.patched(&request.session)?;
    let (document, written) = compose::write_start(scene, &writer, session, facts, &people)?;
    let planned = request.dry_run;
    let leftovers = if planned {
        Vec::new()
    } else {
        let sealed = writer.finish()?;
        if current {
            let whom = current::SessionRef {
                id: document.session.id.clone(),
                name: name.clone(),
            };
            current::begin(scene.repo, &current::read_to_replace(scene.repo)?, &whom)?;
        }
        place(scene, &name, &written, sealed)?
    };
    let (id, digest) = (written.id, written.digest);
    Ok(StartOutcome {
        name,
        id,
        digest,
        document,
        existed: false,
        planned,
        redactions,
        leftovers,
    })
}

/// Puts the first checkpoint on the session's ref. Gives the files of ours that could not be removed.
fn place(
    scene: &Scene<'_>,
    name: &ShortName,
    written: &store::checkpoint::WrittenCheckpoint,
    sealed: SealedObjects,
) -> Result<Vec<crate::os::CleanupFailure>, Error> {
    placement::tip(scene, name, None, written, sealed, CheckpointKind::Start).map_err(|failed| match failed.into() {
        Error::Store(store::Error::Moved { .. }) => Error::Exists { name: name.clone() },
        error => error,
    })
}

/// Makes a session the current one of this working tree.
pub(super) fn make_current(scene: &Scene<'_>, document: &Document, name: &ShortName) -> Result<(), Error> {
    let now = current::read_to_replace(scene.repo)?;
    let whom = current::SessionRef {
        id: document.session.id.clone(),
        name: name.clone(),
    };
    Ok(current::write(scene.repo, &now.switched_to(whom))?)
}

/// Notes in the draft that the session is active again, unless it is, or the draft has that already. Gives whether it was
/// noted.
pub(super) fn activate(scene: &Scene<'_>, checkpoint: &Checkpoint) -> Result<bool, Error> {
    let session = &checkpoint.document.session;
    let mut subject = session_choice::carried(checkpoint, &session.name);
    session_choice::with_draft(scene, checkpoint, &mut subject)?;
    if subject.session.status == SessionStatus::Active {
        return Ok(false);
    }
    let by = compose::by(scene, &compose::people(scene));
    let operation = Operation {
        session: Some(json!({ "status": SessionStatus::Active })),
        ..Operation::new(ids::item_id()?, scene.now, by)
    };
    let draft_id = ids::item_id()?;
    match draft::append(scene.repo, &session.id, &[operation], || draft_id, scene.wait) {
        // Who has no key reads and restores it, and adds nothing.
        Err(store::Error::RecordLocked { .. }) => Ok(false),
        result => Ok(result.map(|_| true)?),
    }
}

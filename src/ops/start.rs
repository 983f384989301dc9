//! `start`: a new session, before there is anything to save.

use serde_json::Value;

use super::{Error, Scene, choose, compose, place, redact::Redactor, save};
use crate::{
    model::{
        document::{Document, Kind},
        facts::GitFacts,
        id::Digest,
        name::Name,
    },
    store::{
        self, ObjectId, current, facts,
        objects::{self, Sealed, Writer},
        refs,
    },
};

/// What the new session is.
#[derive(Debug)]
pub struct Request {
    /// Its name; without one it is made from the branch.
    pub name: Option<Name>,
    /// A merge patch of its members: agent, task, title, type and so on.
    pub session: Value,
    /// Whether a session of this name that exists is taken instead.
    pub if_missing: bool,
    /// Only tell what would be done.
    pub dry_run: bool,
}

/// A session that is now current.
#[derive(Debug)]
pub struct Started {
    /// Its name.
    pub name: Name,
    /// Its newest checkpoint.
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
    pub redactions: Vec<super::redact::Redaction>,
    /// Files of ours that could not be removed.
    pub leftovers: Vec<crate::os::Leftover>,
}

/// Starts a session and makes it the current one of this work tree.
pub fn start(scene: &Scene<'_>, request: Request) -> Result<Started, Error> {
    let started = create(scene, request, true)?;
    if !started.planned {
        make_current(scene, &started.document, &started.name)?;
        merge_packs(scene);
    }
    Ok(started)
}

/// Keeps the packs few where something else than a save adds one: a thousand sessions would be a thousand packs, which
/// git looks through for every object. It is for speed alone, and the next save tells if it cannot be done.
pub(super) fn merge_packs(scene: &Scene<'_>) {
    let _ = objects::consolidate(scene.repo);
}

/// Starts a session, and leaves the current one as it is; `current` says whether the caller makes it the current one
/// next, which then is so even if that does not come to pass.
pub(super) fn create(scene: &Scene<'_>, mut request: Request, current: bool) -> Result<Started, Error> {
    let mut redactor = Redactor::new(scene)?;
    redactor.json(&mut request.session, "session");
    save::guard(scene)?;
    let agent = redactor.agent(scene);
    let scene = &Scene {
        agent: agent.as_deref(),
        ..*scene
    };
    if !request.dry_run {
        refs::recover(scene.repo, scene.wait)?;
    }
    let facts: GitFacts = facts::git_facts(scene.repo, None)?;
    let name = match request.name.or_else(|| scene.session.cloned()) {
        Some(name) => name,
        None => save::default_name(facts.branch.as_deref())?,
    };
    if let Some(there) = choose::named(scene, &name)? {
        if !request.if_missing {
            return Err(Error::Exists { name });
        }
        let tip = there.tip;
        let (id, digest, document) = (tip.entry.id, tip.digest, tip.document);
        return Ok(Started {
            name,
            id,
            digest,
            document,
            existed: true,
            planned: request.dry_run,
            redactions: redactor.found,
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
    Ok(Started {
        name,
        id,
        digest,
        document,
        existed: false,
        planned,
        redactions: redactor.found,
        leftovers,
    })
}

/// Puts the first checkpoint on the session's ref. Gives the files of ours that could not be removed.
fn place(
    scene: &Scene<'_>,
    name: &Name,
    written: &store::checkpoint::Written,
    sealed: Sealed,
) -> Result<Vec<crate::os::Leftover>, Error> {
    place::tip(scene, name, None, written, sealed, Kind::Start).map_err(|failed| match failed.into() {
        Error::Store(store::Error::Moved { .. }) => Error::Exists { name: name.clone() },
        error => error,
    })
}

/// Makes a session the current one of this work tree.
pub(super) fn make_current(scene: &Scene<'_>, document: &Document, name: &Name) -> Result<(), Error> {
    let now = current::read_to_replace(scene.repo)?;
    let whom = current::SessionRef {
        id: document.session.id.clone(),
        name: name.clone(),
    };
    Ok(current::write(scene.repo, &now.switched_to(whom))?)
}

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
    store::{self, ObjectId, current, facts, objects::Writer, refs},
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
    /// Secrets found on the way in.
    pub redactions: Vec<super::redact::Redaction>,
    /// Files of ours that could not be removed.
    pub leftovers: Vec<crate::os::Leftover>,
}

/// Starts a session and makes it the current one of this work tree.
pub fn start(scene: &Scene<'_>, request: Request) -> Result<Started, Error> {
    let started = create(scene, request, true)?;
    make_current(scene, &started.document, &started.name)?;
    Ok(started)
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
    refs::recover(scene.repo, scene.wait)?;
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
            redactions: redactor.found,
            leftovers: Vec::new(),
        });
    }
    let people = compose::people(scene);
    let writer = Writer::durable(scene.repo)?;
    let session = compose::new_session(scene, name.clone())?.patched(&request.session)?;
    let (document, written) = compose::write_start(scene, &writer, session, facts, &people)?;
    let sealed = writer.finish()?;
    if current {
        let whom = current::SessionRef {
            id: document.session.id.clone(),
            name: name.clone(),
        };
        current::begin(scene.repo, &current::read_to_replace(scene.repo)?, &whom)?;
    }
    let leftovers = match place::tip(scene, &name, None, &written, sealed, Kind::Start) {
        Err(failed) => {
            return Err(match failed.into() {
                Error::Store(store::Error::Moved { .. }) => Error::Exists { name },
                error => error,
            });
        }
        Ok(left) => left,
    };
    let (id, digest) = (written.id, written.digest);
    Ok(Started {
        name,
        id,
        digest,
        document,
        existed: false,
        redactions: redactor.found,
        leftovers,
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

//! `rekey`: a checkpoint with everything that carries on, encrypted anew to the recipients that the settings name now.
//!
//! A change of the recipients counts for what is written from then on; chunks of the chat that are full stay as they are.
//! After a rekey, a recipient who was added reads all of the latest checkpoint. Earlier checkpoints stay as they are, so
//! that nothing that was shared is rewritten.

use super::{
    Error, Scene, chat, compose, ids, placement, refuse,
    session_choice::{self, SessionChoice},
    suggestions,
};
use crate::{
    model::{
        document::{CheckpointKind, Document},
        id::Digest,
        name::ShortName,
    },
    os::CleanupFailure,
    store::{
        self, ObjectId,
        checkpoint::{self, Checkpoint, Siblings},
        encryption::Encryptor,
        lock,
        objects::Writer,
        refs, session_recipients, steps,
    },
};

/// The occasion of the checkpoint.
const TRIGGER: &str = "rekey";
/// The most levels of directories next to a document.
const DEPTH: usize = 2;

/// A session that was encrypted anew.
#[derive(Debug)]
pub struct RekeyOutcome {
    /// Its name.
    pub session: ShortName,
    /// The checkpoint; the latest one there was in a dry run.
    pub id: ObjectId,
    /// Its digest.
    pub digest: Digest,
    /// The public keys that open it.
    pub recipients: Vec<String>,
    /// Failures after the checkpoint was durable.
    pub trouble: Vec<String>,
}

/// Encrypts the session that was named, or the current one, anew. One that another agent or person has claimed is refused
/// without `force`.
pub fn rekey(
    scene: &Scene<'_>,
    session: Option<&ShortName>,
    force: bool,
    dry_run: bool,
) -> Result<RekeyOutcome, Error> {
    let scene = &Scene {
        session: session.or(scene.session),
        ..*scene
    };
    let chosen = session_choice::session_for_command(scene)?.ok_or_else(|| suggestions::none_current(scene))?;
    // Who cannot read it is helped by a key, not by being made a recipient.
    chosen.require_readable()?;
    let id = chosen.tip.document.session.id.clone();
    let Some(encryptor) = session_recipients::of_session(scene.repo, &id)? else {
        let why = "checkpoint.encryptTo names no recipient".to_owned();
        return Err(store::Error::Encryption { why }.into());
    };
    if !force {
        refuse::claimed(scene, &chosen.name, &chosen.tip.document.session)?;
    }
    let mut outcome = RekeyOutcome {
        session: chosen.name.clone(),
        id: chosen.tip.entry.id,
        digest: chosen.tip.digest.clone(),
        recipients: encryptor.names().to_vec(),
        trouble: Vec::new(),
    };
    if dry_run {
        return Ok(outcome);
    }
    let _worktree = lock::worktree(scene.repo, scene.wait)?;
    refs::recover(scene.repo, scene.wait)?;
    let _session = lock::session(scene.repo, &id, scene.wait)?;
    // The tip is read again under the lock.
    let Some(chosen) = session_choice::named(scene, &chosen.name)? else {
        return Err(suggestions::none_current(scene));
    };
    let (written, left) = put(scene, &chosen)?;
    outcome.id = written.id;
    outcome.digest = written.digest;
    outcome.trouble.extend(left.iter().map(ToString::to_string));
    Ok(outcome)
}

/// Encrypts a session whose latest checkpoint is in plain text, where the settings ask for encryption now: what a next
/// checkpoint carries on would be in plain text in it. Gives whether it was done; the caller holds the lock of the working
/// tree.
pub(super) fn encrypt_earlier(scene: &Scene<'_>, chosen: &SessionChoice) -> Result<bool, Error> {
    let document = &chosen.tip.document;
    if document.encrypted.is_some() || Encryptor::configured(scene.repo)?.is_none() {
        return Ok(false);
    }
    let (held, _) =
        checkpoint::siblings(scene.repo, &chosen.tip.entry).map_err(Error::damaged(chosen.name.as_str()))?;
    if private_parts().all(|name| held.get(name).is_none()) {
        return Ok(false);
    }
    let _session = lock::session(scene.repo, &document.session.id, scene.wait)?;
    match session_choice::named(scene, &chosen.name)? {
        Some(now) if now.tip.entry.id == chosen.tip.entry.id => put(scene, &now).map(|_| true),
        _ => Ok(true),
    }
}

/// Files next to the document of a checkpoint, encrypted with it.
fn private_parts() -> impl Iterator<Item = &'static str> {
    chat::SIBLINGS.into_iter().chain([steps::DIRECTORY])
}

/// Parts of `source` that another checkpoint carries on: everything that is next to its document. From plain text it is
/// encrypted where `writer` encrypts the new one.
pub(super) fn carried(
    scene: &Scene<'_>,
    writer: &Writer,
    document: &Document,
    source: &Checkpoint,
) -> Result<Siblings, Error> {
    let damaged = Error::damaged(ids::short(source.entry.id));
    let (held, _) = checkpoint::siblings(scene.repo, &source.entry).map_err(damaged)?;
    let is_plain = source.document.encrypted.is_none() && writer.encrypts(document)?;
    let mut siblings = Siblings::default();
    for name in held.named().keys() {
        if is_plain && private_parts().any(|private| private == name) {
            let anew = siblings.rewritten(scene.repo, &held, name, DEPTH, writer);
            anew.map_err(Error::writing(ids::short(source.entry.id)))?;
        } else {
            siblings.keep(&held, name);
        }
    }
    Ok(siblings)
}

fn put(
    scene: &Scene<'_>,
    chosen: &SessionChoice,
) -> Result<(checkpoint::WrittenCheckpoint, Vec<CleanupFailure>), Error> {
    let writer = Writer::durable(scene.repo)?;
    let written = write(scene, &writer, chosen)?;
    let sealed = writer.finish()?;
    let before = Some(chosen.tip.entry.id);
    let left = placement::tip(scene, &chosen.name, before, &written, sealed, CheckpointKind::Event)?;
    Ok((written, left))
}

fn write(scene: &Scene<'_>, writer: &Writer, chosen: &SessionChoice) -> Result<checkpoint::WrittenCheckpoint, Error> {
    let tip = &chosen.tip;
    writer.protect([&tip.digest])?;
    let now = compose::document(
        scene,
        tip.document.session.clone(),
        CheckpointKind::Event,
        tip.document.git.clone(),
    );
    let mut document = Document {
        kind: now.kind,
        created_at: now.created_at,
        tool: now.tool,
        host: now.host,
        worktree: now.worktree,
        previous: Some(tip.digest.clone()),
        trigger: Some(TRIGGER.to_owned()),
        subject: Some("encrypted anew".to_owned()),
        name: None,
        turn: None,
        request: None,
        merged: None,
        included: None,
        ..tip.document.clone()
    };
    document.session.name = chosen.name.clone();
    document.record.attachments.clear();
    document.record.error = None;
    let damaged = || Error::damaged(chosen.name.as_str());
    let (held, _) = checkpoint::siblings(scene.repo, &tip.entry).map_err(damaged())?;
    let mut siblings = Siblings::default();
    for name in private_parts() {
        let anew = siblings.rewritten(scene.repo, &held, name, DEPTH, writer);
        anew.map_err(Error::writing(chosen.name.as_str()))?;
    }
    for name in ["lists", "conflicts", "held", "operation"] {
        siblings.keep(&held, name);
    }
    let lists = checkpoint::lists(scene.repo, tip).map_err(damaged())?;
    let parents = [Some(tip.entry.id), tip.snapshot()].into_iter().flatten().collect();
    let people = compose::people(scene);
    Ok(checkpoint::write(
        writer,
        &mut document,
        lists.is_partial(),
        &siblings,
        parents,
        &people,
    )?)
}

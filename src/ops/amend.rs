//! `save --amend`: the latest checkpoint of a session with another record, and the files that it has.
//!
//! The checkpoint gets a successor with the same parents and the same siblings; what it was goes to the trash, from which
//! `undo` brings it back. A checkpoint that a remote has stays as it is there: it would come back with the next pull.

use serde_json::Value;

use super::{
    Error, Scene, compose, ids,
    redact::{RedactedSecret, Redactor},
    ref_transaction::{Aftermath, UndoableRefTransaction},
    refuse, rekey,
    session_choice::{self, SessionChoice},
    share::status::{self, ShareState},
    share::{ChainRelation, PrunedSide},
    suggestions, target_session,
};
use crate::{
    model::{
        document::{CheckpointKind, Document},
        id::Digest,
        name::ShortName,
        operation::{Operation, Subject},
        patch::{self, PatchStamp},
    },
    store::{
        ObjectId, checkpoint, lock,
        objects::Writer,
        refs::{self, ExpectedValue, RefUpdate},
        session,
    },
};

/// Request of an amendment; what is not given stays.
#[derive(Debug, Default)]
pub struct AmendRequest {
    /// The summary.
    pub summary: Option<String>,
    /// The checkpoint's own name.
    pub name: Option<ShortName>,
    /// The occasion.
    pub trigger: Option<String>,
    /// Patches of the record, in order, as given.
    pub changes: Vec<Value>,
    /// Whether to stop before anything is written.
    pub dry_run: bool,
}

/// Outcome of an amendment.
#[derive(Debug)]
pub struct Amendment {
    /// The session.
    pub session: ShortName,
    /// The checkpoint as it was.
    pub before: ObjectId,
    /// The checkpoint as it is now; `None` in a dry run.
    pub id: Option<ObjectId>,
    /// Digest of its document.
    pub digest: Digest,
    /// Its document.
    pub document: Document,
    /// Secrets that were found.
    pub redactions: Vec<RedactedSecret>,
    /// Warnings after the change.
    pub aftermath: Aftermath,
}

/// The summary of the checkpoint that would be amended, for an editor.
pub fn current_summary(scene: &Scene<'_>) -> Result<Option<String>, Error> {
    let chosen = target_session::to_change(scene)?;
    let record = &chosen.tip.document.record;
    Ok(record.summary.clone().filter(|_| !record.auto_summary))
}

/// Amends the latest checkpoint of the current session, else of the one that was paused here last.
pub fn amend(scene: &Scene<'_>, mut request: AmendRequest) -> Result<Amendment, Error> {
    let mut redactor = Redactor::new(scene)?;
    for change in &mut request.changes {
        redactor.json(change, "record");
    }
    if let Some(summary) = &mut request.summary {
        redactor.text(summary, "summary");
    }
    if let Some(trigger) = &mut request.trigger {
        redactor.text(trigger, "trigger");
    }
    let mut _worktree = None;
    if !request.dry_run {
        _worktree = Some(lock::worktree(scene.repo, scene.wait)?);
    }
    refs::recover(scene.repo, scene.wait)?;
    let chosen = target_session::to_change(scene)?;
    let id = chosen.tip.document.session.id.clone();
    let _session = lock::session(scene.repo, &id, scene.wait)?;
    // The tip is read again under the lock.
    let Some(chosen) = session_choice::named(scene, &chosen.name)? else {
        return Err(suggestions::none_current(scene));
    };
    check(scene, &chosen, &request)?;
    let document = document(scene, &chosen, request.changes, request.summary)?;
    let document = Document {
        name: request.name.or(document.name),
        trigger: request.trigger.or(document.trigger),
        ..document
    };
    replace(scene, chosen, document, request.dry_run, redactor.found)
}

fn check(scene: &Scene<'_>, chosen: &SessionChoice, request: &AmendRequest) -> Result<(), Error> {
    let (name, tip) = (&chosen.name, &chosen.tip);
    if tip.document.kind == CheckpointKind::Start {
        return Err(Error::NothingToAmend { session: name.clone() });
    }
    refuse::claimed(scene, name, &tip.document.session)?;
    let has = |state: &ShareState| {
        matches!(
            state,
            ShareState::Both(ChainRelation::Same | ChainRelation::Behind(_))
                | ShareState::Pruned(PrunedSide::Ours | PrunedSide::Theirs { ours: 0, .. })
        )
    };
    let pushed = status::of_session(scene, name, tip.entry.id);
    if let Some(there) = pushed.into_iter().find(|there| has(&there.state)) {
        return Err(Error::AmendPushed {
            session: name.clone(),
            remote: there.remote,
        });
    }
    let Some(wanted) = &request.name else { return Ok(()) };
    for entry in session::chain(scene.repo, tip.entry.id).skip(1) {
        let entry = entry.map_err(Error::damaged(name.as_str()))?;
        if entry.trailers.name.as_deref() == Some(wanted.as_str()) {
            return Err(Error::NameTaken {
                session: name.clone(),
                name: wanted.clone(),
            });
        }
    }
    Ok(())
}

/// The document with the changes.
fn document(
    scene: &Scene<'_>,
    chosen: &SessionChoice,
    changes: Vec<Value>,
    summary: Option<String>,
) -> Result<Document, Error> {
    let mut document = chosen.tip.document.clone();
    let people = compose::people(scene);
    let by = compose::by(scene, &people);
    let mut subject = Subject {
        session: document.session.clone(),
        record: document.record.clone(),
        log: Vec::new(),
        steps: Vec::new(),
    };
    let mut failed = None;
    for change in changes {
        let mut fresh_id = || {
            ids::item_id().unwrap_or_else(|error| {
                failed = Some(error);
                String::new()
            })
        };
        let record = patch::prepare(
            change,
            &mut PatchStamp {
                at: scene.now,
                by: &by,
                fresh_id: &mut fresh_id,
            },
        )?;
        let operation = Operation {
            record: Some(record),
            ..Operation::new(ids::item_id()?, scene.now, by.clone())
        };
        subject.apply(&operation)?;
    }
    if let Some(error) = failed {
        return Err(error);
    }
    document.record = subject.record;
    if summary.is_some() {
        // Words of a person or agent, also for a checkpoint that had a subject of its own.
        document.record.summary = summary;
        document.record.auto_summary = false;
        document.subject = None;
    }
    Ok(document)
}

/// Writes the checkpoint with another document, and moves the session's ref to it.
fn replace(
    scene: &Scene<'_>,
    chosen: SessionChoice,
    mut document: Document,
    dry_run: bool,
    redactions: Vec<RedactedSecret>,
) -> Result<Amendment, Error> {
    let SessionChoice { name, tip, .. } = chosen;
    let damaged = |fault| Error::damaged(name.as_str())(fault);
    let lists = checkpoint::lists(scene.repo, &tip).map_err(damaged)?;
    let writer = if dry_run {
        Writer::memory(scene.repo)
    } else {
        Writer::durable(scene.repo)?
    };
    let mut siblings = rekey::carried(scene, &writer, &document, &tip)?;
    // It has the same predecessor, which is another one than its document names where some were pruned.
    let (held, _) = checkpoint::siblings(scene.repo, &tip.entry).map_err(damaged)?;
    siblings.keep(&held, checkpoint::PRUNED);
    let people = compose::people(scene);
    let parents = tip.entry.parents.clone();
    let written = checkpoint::write_amended(&writer, &mut document, lists.is_partial(), &siblings, parents, &people)?;
    let mut amendment = Amendment {
        before: tip.entry.id,
        id: None,
        digest: written.digest.clone(),
        redactions,
        aftermath: Aftermath::default(),
        session: name,
        document,
    };
    if dry_run {
        return Ok(amendment);
    }
    let sealed = writer.finish()?;
    let name = &amendment.session;
    let message = format!("checkpoint: amend {name}");
    let trash = format!("refs/checkpoints-trash/{}/", amendment.document.session.id);
    let edits = [
        RefUpdate {
            name: format!("{trash}{}", refs::next_number(scene.repo, &trash)?),
            expected: ExpectedValue::Absent,
            new: Some(tip.entry.id),
            message: message.clone(),
        },
        RefUpdate {
            name: session::ref_name(name),
            expected: ExpectedValue::Is(tip.entry.id),
            new: Some(written.id),
            message,
        },
    ];
    amendment.aftermath = UndoableRefTransaction {
        operation: "amend",
        what: format!(
            "amended checkpoint {} of session {name}",
            checkpoint::oid(tip.entry.id).short()
        ),
        edits: &edits,
        sealed: Some(sealed),
        needs: &written.needs,
        ..UndoableRefTransaction::default()
    }
    .run(scene)?;
    amendment.id = Some(written.id);
    Ok(amendment)
}

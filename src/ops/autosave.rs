//! Autosaves: the state at this moment next to the session's chain, and taking one up after work was cut off.
//!
//! An autosave is a checkpoint on a ref of its own whose parent is the session's latest one: the chain does not grow by
//! it, the draft stays, and the next save folds in what it would have folded in anyway. Taking one up appends a save
//! with its content, if the session has no other checkpoint by now. The loser of a race drops what it has and looks anew:
//! the older state is of no use to anyone.

use std::collections::BTreeMap;

use super::{
    Error, Scene,
    autosave_list::LaterCheckpoints,
    chat,
    compose::{self, CurrentSnapshot, Predecessor},
    draft::{self as notes, DraftChange},
    fork_notes, placement, put_aside,
    ref_transaction::UndoableRefTransaction,
    refuse,
    save::content,
    session_choice::{self, SessionChoice},
    start,
};
use crate::{
    model::{
        document::{CheckpointKind, Document},
        name::ShortName,
        time::Timestamp,
    },
    store::{
        self, ObjectId, autosave,
        checkpoint::{self, Checkpoint, Siblings, object_id},
        current::SessionRef,
        draft, lock,
        objects::{self, Writer},
        refs::{self, ExpectedValue, RefUpdate},
        session as chains, steps, tree,
        undo::{self, Effect},
    },
    worktree::snapshot::Extent,
};

/// How often one is made anew because the session changed under it.
const TRIES: u32 = 5;
/// The occasion of a save that takes up an autosave.
pub const RECOVERY: &str = "recovery";
/// The operation of that on the undo list.
const RECOVER: &str = "recover";

/// Outcome of an autosave.
#[derive(Debug)]
pub enum AutosaveOutcome {
    /// It was made.
    Saved(AutosaveReceipt),
    /// Nothing changed since the latest checkpoint or autosave.
    Unchanged(AutosaveReceipt),
    /// No session is current, or the current one has ended: there is nothing to save to. Nor is a fork saved whose working
    /// tree is not complete.
    NoSession,
}

/// An autosave, or the state that represents the present one.
#[derive(Clone, Debug)]
pub struct AutosaveReceipt {
    /// The session.
    pub session: SessionRef,
    /// Its latest checkpoint.
    pub tip: ObjectId,
    /// The autosave; the latest checkpoint when that has everything.
    pub id: ObjectId,
    /// Paths that could not be captured.
    pub failed: usize,
    /// Bytes of new objects on disk.
    pub new_bytes: u64,
    /// Failures after the checkpoint was durable.
    pub trouble: Vec<String>,
    /// Where the files were looked for.
    pub extent: Extent,
}

/// The session that an autosave would save to.
pub fn session(scene: &Scene<'_>) -> Result<Option<ShortName>, Error> {
    let chosen =
        session_choice::session_for_command(scene)?.filter(|chosen| !chosen.tip.document.session.status.is_finished());
    Ok(chosen.map(|chosen| chosen.name))
}

/// Saves the present state next to the chain of the current session, unless nothing changed.
pub fn autosave(scene: &Scene<'_>) -> Result<AutosaveOutcome, Error> {
    refuse::too_broad(scene)?;
    if fork_notes::here(scene)?.is_some() {
        return Ok(AutosaveOutcome::NoSession);
    }
    let Some(chosen) = start::automatic(scene)? else {
        return Ok(AutosaveOutcome::NoSession);
    };
    let id = chosen.tip.document.session.id.clone();
    let _worktree = lock::worktree(scene.repo, scene.wait)?;
    refs::recover(scene.repo, scene.wait)?;
    store::sweep(scene.repo)?;
    let mut rewriting = false;
    for _ in 0..TRIES {
        let _session = lock::session(scene.repo, &id, scene.wait)?;
        let Some(chosen) = session_choice::session_for_command(scene)?
            .filter(|chosen| !chosen.tip.document.session.status.is_finished())
        else {
            return Ok(AutosaveOutcome::NoSession);
        };
        let writer = if rewriting {
            Writer::rewriting(scene.repo)?
        } else {
            Writer::durable(scene.repo)?
        };
        match attempt(scene, writer, &chosen) {
            Err(Error::Store(store::Error::Moved { .. })) => {}
            Err(Error::Store(store::Error::Vanished { .. })) => rewriting = true,
            Ok(AutosaveOutcome::Saved(mut made)) => {
                let consolidated = objects::consolidate(scene.repo);
                made.trouble.extend(consolidated.err().map(|error| error.to_string()));
                return Ok(AutosaveOutcome::Saved(made));
            }
            other => return other,
        }
    }
    Err(Error::Contended {
        session: chosen.name,
        tries: TRIES,
    })
}

fn attempt(scene: &Scene<'_>, writer: Writer, chosen: &SessionChoice) -> Result<AutosaveOutcome, Error> {
    let tip = &chosen.tip;
    let full = autosave::ref_name(scene.repo, &tip.document.session.id);
    let old = refs::read(scene.repo, &full)?;
    // One that cannot be read is no reason to stop: this one takes its place.
    let last = old.and_then(|id| checkpoint::load(scene.repo, id).ok());
    let mut trees = Vec::new();
    for known in [Some(tip), last.as_ref()].into_iter().flatten() {
        let held = checkpoint::held(scene.repo, known).map_err(Error::damaged(chosen.name.as_str()))?;
        writer.trust(held.objects);
        trees.extend(held.trees);
    }
    let present = compose::present(scene, &writer, true, &trees)?;
    let (document, written) = write(scene, &writer, chosen, last.as_ref(), &present)?;
    let of_this_tip = last.as_ref().filter(|last| last.previous() == Some(tip.entry.id));
    let mut made = AutosaveReceipt {
        session: SessionRef {
            id: tip.document.session.id.clone(),
            name: chosen.name.clone(),
        },
        tip: tip.entry.id,
        id: of_this_tip.map_or(tip.entry.id, |last| last.entry.id),
        failed: present.lists().skipped.iter().filter(|s| s.reason.is_failure()).count(),
        new_bytes: 0,
        trouble: Vec::new(),
        extent: present.extent(),
    };
    let before = of_this_tip.map_or(&tip.document, |last| &last.document);
    let exported = compose::without_exports(scene, &writer.overlay(scene.repo), &document, before)?;
    if same(&exported, before) {
        return Ok(AutosaveOutcome::Unchanged(made));
    }
    let sealed = writer.finish()?;
    made.new_bytes = sealed.bytes();
    let left = placement::on_ref(scene, &full, old, &written, vec![sealed], "checkpoint: autosave")?;
    made.trouble.extend(left.iter().map(ToString::to_string));
    made.id = written.id;
    Ok(AutosaveOutcome::Saved(made))
}

/// Whether two states say the same: record, session, log, place and files.
fn same(new: &Document, old: &Document) -> bool {
    let beside = ["log", "lists", "conflicts", "held", "operation", steps::DIRECTORY];
    // What is about one checkpoint alone does not carry over, and a new name is nothing new.
    let mut record = new.record.clone();
    record.attachments.clone_from(&old.record.attachments);
    record.error.clone_from(&old.record.error);
    let mut session = new.session.clone();
    session.name.clone_from(&old.session.name);
    record == old.record
        && session == old.session
        && (&new.git.head, &new.git.branch) == (&old.git.head, &old.git.branch)
        && new.snapshot == old.snapshot
        && beside.iter().all(|name| new.trees.get(*name) == old.trees.get(*name))
}

fn write(
    scene: &Scene<'_>,
    writer: &Writer,
    chosen: &SessionChoice,
    last: Option<&Checkpoint>,
    present: &CurrentSnapshot,
) -> Result<(Document, checkpoint::WrittenCheckpoint), Error> {
    let tip = &chosen.tip;
    let people = compose::people(scene);
    writer.protect([&tip.digest])?;
    let mut subject = session_choice::carried(tip, &chosen.name);
    let draft = session_choice::with_draft(scene, tip, &mut subject)?;
    let mut document = compose::document(scene, subject.session, CheckpointKind::Autosave, present.facts.clone());
    document.record = subject.record;
    if document.record.summary.is_none() {
        document.record.summary.clone_from(&tip.document.record.summary);
        document.record.auto_summary = tip.document.record.auto_summary;
    }
    document.previous = Some(tip.digest.clone());
    document.folded.clone_from(&tip.document.folded);
    document.included = Some(included(&draft, &tip.document.folded)).filter(|included| !included.is_empty());
    let restored = store::restored::read(scene.repo)?;
    document.restored_part = match restored {
        Some(_) => store::restored::is_part(scene.repo)?,
        None => tip.document.restored_part,
    };
    document.restored_from = restored.or_else(|| tip.document.restored_from.clone());
    document.put_aside = put_aside::for_document(scene, tip);
    chat::take_over(&mut document, &tip.document);
    let (previous, _) = checkpoint::siblings(scene.repo, &tip.entry).map_err(Error::damaged(chosen.name.as_str()))?;
    let mut siblings = Siblings::default();
    for kept in chat::SIBLINGS {
        siblings.keep(&previous, kept);
    }
    steps::fold(scene.repo, writer, &previous, &subject.steps, &mut siblings).map_err(Error::steps(&chosen.name))?;
    content::attach_log(scene, writer, &subject.log, &previous, &mut siblings)?;
    let before = Predecessor {
        id: tip.entry.id,
        digest: tip.digest.clone(),
        checkpoint: Some(last.unwrap_or(tip)),
    };
    let files = (present, &before);
    let written = compose::write(scene.repo, writer, &mut document, &mut siblings, files, &people)?;
    Ok((document, written))
}

/// Operations of a draft that are not on the chain yet.
fn included(draft: &draft::Draft, folded: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let waiting = draft.after(folded).last().map(|(n, _)| *n);
    draft.id.clone().into_iter().zip(waiting).collect()
}

/// Writes a line into the log of the current session, in its draft; without a session there is none to write to.
pub fn log(scene: &Scene<'_>, level: &str, message: String) -> Result<(), Error> {
    if session_choice::session_for_command(scene)?.is_some() {
        let level = level.to_owned();
        notes::append(scene, vec![DraftChange::Log { level, message }])?;
    }
    Ok(())
}

/// An autosave that is newer than what the session's chain has of this working tree.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The autosave.
    pub id: ObjectId,
    /// When it was made.
    pub at: Timestamp,
    /// How many changes of the draft it holds that are not on the chain.
    pub changes: usize,
    /// Which way it comes back.
    pub way: OfferWay,
}

/// Which way an autosave comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OfferWay {
    /// As the next checkpoint of the session, which it was based on when it was made.
    Recover,
    /// The same, where that was undone: only where it is asked for.
    RecoverAgain,
    /// Its changes by an apply, since the session has checkpoints whose changes it is without: on top of them its files would
    /// take those back.
    Apply,
}

/// The autosave of a session in this working tree, if it is newer than the session's last checkpoint of this working tree.
/// `tip` is the session's latest checkpoint.
pub(super) fn offer(scene: &Scene<'_>, tip: &Checkpoint) -> Result<Option<Offer>, Error> {
    let session = &tip.document.session;
    let Some(id) = autosave::latest(scene.repo, &session.id)? else {
        return Ok(None);
    };
    // A damaged one is nothing to offer; verify reports it.
    let Ok(found) = checkpoint::load(scene.repo, id) else {
        return Ok(None);
    };
    let is_covered = || LaterCheckpoints::of(scene, tip.entry.id, &found.document).cover(&found.entry);
    if found.document.session.id != session.id || is_covered() {
        return Ok(None);
    }
    let changes = found.document.included.iter().flatten();
    let changes = changes.map(|(draft, last)| last - found.document.folded.get(draft).unwrap_or(&0).min(last));
    Ok(Some(Offer {
        id,
        at: found.document.created_at,
        changes: usize::try_from(changes.sum::<u64>()).unwrap_or(usize::MAX),
        way: if found.previous() != Some(tip.entry.id) || is_without(scene, &found, tip)? {
            OfferWay::Apply
        } else if was_undone(scene, &found)? {
            OfferWay::RecoverAgain
        } else {
            OfferWay::Recover
        },
    }))
}

/// Whether the files of an autosave are without a change of the checkpoint that it is based on, whose files were never in
/// this working tree: that was pulled, or saved elsewhere, while work continued here.
fn is_without(scene: &Scene<'_>, found: &Checkpoint, tip: &Checkpoint) -> Result<bool, Error> {
    let files = |of: &Checkpoint| of.document.snapshot.as_ref().map(|snapshot| object_id(&snapshot.tree));
    let (Some(saved), Some(now)) = (files(tip), files(found)) else {
        return Ok(false);
    };
    if saved == now || put_aside::was_here(scene, tip)? {
        return Ok(false);
    }
    let base = tip.document.git.head.as_ref().map(object_id);
    for change in tree::diff(scene.repo, base, Some(saved), tree::Renames::Off)? {
        if tree::entry(scene.repo, now, &change.path)? != change.new {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether an autosave was recovered once, and that was undone.
fn was_undone(scene: &Scene<'_>, found: &Checkpoint) -> Result<bool, Error> {
    let list = undo::read(scene.repo)?;
    let undone = list
        .entries()
        .filter(|(entry, is_in_force)| !is_in_force && entry.operation == RECOVER);
    let mut recovered = undone
        .flat_map(|(entry, _)| &entry.effects)
        .filter_map(|effect| match effect {
            Effect::Ref { new: Some(new), .. } => checkpoint::entry(scene.repo, object_id(new)).ok(),
            _ => None,
        });
    let parents = [found.previous(), found.snapshot()];
    Ok(recovered.any(|one| one.parents.iter().eq(parents.iter().flatten())))
}

/// Takes an autosave up: appends a save with its content to the session. No file changes. Gives the new checkpoint, or
/// `None` where the session has other checkpoints by now.
pub fn recover(scene: &Scene<'_>, name: &ShortName, offer: &Offer) -> Result<Option<ObjectId>, Error> {
    let found = session_choice::load(scene, "autosave", offer.id)?;
    let _worktree = lock::worktree(scene.repo, scene.wait)?;
    refs::recover(scene.repo, scene.wait)?;
    let mut rewriting = false;
    for _ in 0..TRIES {
        let _session = lock::session(scene.repo, &found.document.session.id, scene.wait)?;
        let chosen = session_choice::named(scene, name)?.ok_or_else(|| Error::absent(name))?;
        if found.previous() != Some(chosen.tip.entry.id) {
            return Ok(None);
        }
        let writer = if rewriting {
            Writer::rewriting(scene.repo)?
        } else {
            Writer::durable(scene.repo)?
        };
        let written = write_recovered(scene, &writer, &chosen, &found)?;
        let edit = RefUpdate {
            name: chains::ref_name(name),
            expected: ExpectedValue::Is(chosen.tip.entry.id),
            new: Some(written.id),
            message: format!("checkpoint: {}", CheckpointKind::Save.word()),
        };
        // The draft stays: the document records what it folded in, and after an undo it waits again.
        let placed = UndoableRefTransaction {
            operation: RECOVER,
            what: format!("recovered an autosave of session {name}"),
            edits: &[edit],
            sealed: Some(writer.finish()?),
            needs: &written.needs,
            ..UndoableRefTransaction::default()
        }
        .run(scene);
        match placed {
            Ok(_) => return Ok(Some(written.id)),
            Err(Error::Store(store::Error::Moved { .. })) => {}
            Err(Error::Store(store::Error::Vanished { .. })) => rewriting = true,
            Err(error) => return Err(error),
        }
    }
    Err(Error::Contended {
        session: name.clone(),
        tries: TRIES,
    })
}

/// Writes the save that an autosave becomes. The session's latest checkpoint is the one that it is based on.
fn write_recovered(
    scene: &Scene<'_>,
    writer: &Writer,
    chosen: &SessionChoice,
    found: &Checkpoint,
) -> Result<checkpoint::WrittenCheckpoint, Error> {
    let tip = &chosen.tip;
    let damaged = Error::damaged(chosen.name.as_str());
    let (of_found, _) = checkpoint::siblings(scene.repo, &found.entry).map_err(damaged)?;
    let mut document = found.document.clone();
    document.kind = CheckpointKind::Save;
    document.trigger = Some(RECOVERY.to_owned());
    document.name = None;
    document.created_at = scene.now;
    document.tool = compose::tool();
    document.session.name = chosen.name.clone();
    document.previous = Some(tip.digest.clone());
    document.folded.clone_from(&tip.document.folded);
    for (draft, last) in found.document.included.iter().flatten() {
        let folded = document.folded.entry(draft.clone()).or_default();
        *folded = (*folded).max(*last);
    }
    document.included = None;
    let mut siblings = Siblings::default();
    let of_files = ["lists", "conflicts", "held", "operation"];
    for kept in chat::SIBLINGS.into_iter().chain([steps::DIRECTORY]).chain(of_files) {
        siblings.keep(&of_found, kept);
    }
    let parents = [Some(tip.entry.id), found.snapshot()].into_iter().flatten().collect();
    let people = compose::people(scene);
    Ok(checkpoint::write(
        writer,
        &mut document,
        found.entry.trailers.partial,
        &siblings,
        parents,
        &people,
    )?)
}

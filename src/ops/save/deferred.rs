//! Checkpoints of hooks where the record cannot be read for want of a passphrase, and there is no terminal to ask at.
//!
//! To write for the recipients takes no private key; only what carries on from the checkpoint before does. So the files and
//! the turn are saved at once, next to the session, and the next save that can read the record puts them on the session,
//! each as the checkpoint that it would have been. The messages wait with those of the chat.

use std::collections::HashMap;

use super::{
    super::{
        Error, Scene, chat,
        compose::{self, Predecessor},
        link, placement, put_aside,
        receipt::CheckpointOutcome,
        ref_transaction::UndoableRefTransaction,
        session_choice::{self, SessionChoice},
        summary,
    },
    attempt::SaveAttempt,
};
use crate::{
    model::{
        agent_turn::AgentTurn,
        document::{CheckpointKind, Document},
        operation::Subject,
        record::Record,
    },
    os,
    store::{
        ObjectId,
        chat::{last_entry, waits},
        checkpoint::{self, Checkpoint, Siblings, oid},
        deferred::{self, DeferredChain},
        lock,
        objects::Writer,
        refs::{self, ExpectedValue, RefUpdate},
        session as chains, steps,
    },
};

/// The directories of the files of a checkpoint.
const OF_FILES: [&str; 4] = ["lists", "conflicts", "held", "operation"];
/// The directory of the files that were attached to it.
const ATTACHED: &str = "files";

impl SaveAttempt<'_> {
    /// Whether this save waits for the key: a hook makes it, and of the key that opens the record only the passphrase is
    /// missing.
    pub(super) fn is_deferred(&self, tip: &Checkpoint) -> bool {
        let by_hook = matches!(
            self.request.kind,
            CheckpointKind::Turn | CheckpointKind::Edit | CheckpointKind::Event | CheckpointKind::Commit
        );
        let info = tip.document.encrypted.as_ref();
        let lacks_passphrase = info.is_some_and(|info| info.is_locked && info.has_own_key);
        by_hook && lacks_passphrase && self.request.files && !self.request.dry_run && !self.is_as_saved
    }

    /// Saves the files and the turn next to the session.
    pub(super) fn defer(&self, writer: Writer, chosen: &SessionChoice) -> Result<CheckpointOutcome, Error> {
        let (scene, tip, request) = (self.scene, &chosen.tip, self.request);
        let damaged = || Error::damaged(chosen.name.as_str());
        let id = &tip.document.session.id;
        let full = deferred::ref_name(self.files.repo, id);
        let old = refs::read(scene.repo, &full)?;
        let last = old.map(|id| checkpoint::load(scene.repo, id)).transpose();
        let last = last.map_err(damaged())?;
        let before = last.as_ref().map_or_else(|| Predecessor::from(chosen), Predecessor::of);
        let mut subject = Subject {
            session: tip.document.session.clone(),
            record: Record::default(),
            log: Vec::new(),
            steps: Vec::new(),
        };
        subject.session.name = chosen.name.clone();
        for operation in self.operations {
            subject.apply(operation)?;
        }
        let mut document = compose::document(self.files, subject.session, request.kind, self.present.facts.clone());
        if request.operation_ends {
            document.git.operation = None;
        }
        document.trigger.clone_from(&request.trigger);
        let turn = request.turn.as_ref();
        document.turn = turn.map(|turn| self.with_files(&writer, turn, &before)).transpose()?;
        document.record.summary = Some(self.subject_of(&document));
        document.record.auto_summary = true;
        document.previous = Some(before.digest.clone());
        self.note_restored(&mut document, tip)?;
        document.included = Some(last_entry(scene.repo, id)?.into_iter().collect());
        document.encrypted.clone_from(&tip.document.encrypted);
        writer.protect([&tip.digest])?;
        let mut siblings = Siblings::default();
        self.attach_files(&writer, &mut document, &mut siblings)?;
        let snapshot = compose::attach_snapshot(
            scene.repo,
            &writer,
            &mut document,
            &mut siblings,
            self.present,
            &before,
            self.people,
        )?;
        document.trees = siblings.named();
        let mut receipt = self.receipt(chosen.name.clone(), document.clone(), chosen.why.into());
        let has_news = match &last {
            Some(last) => document.included != last.document.included,
            None => waits(scene.repo, id, &tip.document.folded)?.is_some(),
        };
        let latest = last.as_ref().unwrap_or(tip);
        let has_news = has_news || !request.attachments.is_empty();
        if !request.allow_empty && !has_news && has_same_files(&document, &latest.document) {
            receipt.id = Some(latest.entry.id);
            return Ok(CheckpointOutcome::Unchanged(receipt));
        }
        let parents = [Some(before.id), snapshot].into_iter().flatten().collect();
        let is_partial = compose::is_partial(self.present);
        let written = checkpoint::write_deferred(&writer, &mut document, is_partial, &siblings, parents, self.people)?;
        os::complete_this();
        let sealed = writer.finish()?;
        receipt.new_bytes = sealed.bytes();
        let placed = placement::on_ref(scene, &full, old, &written, vec![sealed], "checkpoint: deferred");
        match placed {
            Ok(left) => receipt.trouble.extend(left.iter().map(ToString::to_string)),
            Err(placement::PlacementError { error, sealed }) => {
                self.lost.borrow_mut().extend(sealed);
                return Err(*error);
            }
        }
        receipt.parent = Some(before.id);
        receipt.id = Some(written.id);
        receipt.digest = Some(written.digest);
        Ok(CheckpointOutcome::Saved(receipt))
    }

    fn subject_of(&self, document: &Document) -> String {
        let given = self.request.summary.clone().filter(|text| !text.trim().is_empty());
        let of_turn = || document.turn.as_ref().map(|turn| turn.subject.clone());
        given.or_else(of_turn).unwrap_or_else(|| summary::of(&document.git))
    }
}

fn has_same_files(new: &Document, old: &Document) -> bool {
    old.kind != CheckpointKind::Start
        && new.snapshot == old.snapshot
        && (&new.git.head, &new.git.branch) == (&old.git.head, &old.git.branch)
        && OF_FILES.iter().all(|name| new.trees.get(*name) == old.trees.get(*name))
}

/// How many deferred checkpoints wait in a session.
pub fn count(scene: &Scene<'_>, session: &str) -> Result<usize, Error> {
    let waiting = deferred::of_session(scene.repo, session)?;
    Ok(waiting.iter().map(|chain| chain.ids.len()).sum())
}

/// The latest deferred checkpoint in this working tree of the session that is meant, where its record cannot be read.
pub(in crate::ops) fn latest(scene: &Scene<'_>, chosen: &SessionChoice) -> Result<Option<ObjectId>, Error> {
    if !chosen.tip.document.is_locked() {
        return Ok(None);
    }
    Ok(deferred::latest(scene.repo, &chosen.tip.document.session.id)?)
}

/// Puts the deferred checkpoints of a session on it, where its record can be read. Gives whether that was done; the caller
/// holds the lock of the working tree.
pub(super) fn take_in(scene: &Scene<'_>, chosen: &SessionChoice) -> Result<bool, Error> {
    let id = &chosen.tip.document.session.id;
    if chosen.tip.document.is_locked() || deferred::of_session(scene.repo, id)?.is_empty() {
        return Ok(false);
    }
    let _session = lock::session(scene.repo, id, scene.wait)?;
    let Some(chosen) = session_choice::named(scene, &chosen.name)? else {
        return Ok(true);
    };
    let chains = deferred::of_session(scene.repo, id)?;
    let mut waiting = Vec::new();
    for id in chains.iter().flat_map(|chain| &chain.ids) {
        let found = checkpoint::load(scene.repo, *id).map_err(Error::damaged(chosen.name.as_str()))?;
        if found.document.is_locked() {
            return Ok(false);
        }
        waiting.push(found);
    }
    waiting.sort_by_key(|found| found.document.created_at);
    let writer = Writer::durable(scene.repo)?;
    let (written, needs) = write_all(scene, &writer, &chosen, &waiting)?;
    let gone = |chain: &DeferredChain| RefUpdate {
        name: chain.name.clone(),
        expected: ExpectedValue::Is(chain.tip),
        new: None,
        message: "checkpoint: on its session".to_owned(),
    };
    let mut edits: Vec<RefUpdate> = chains.iter().map(gone).collect();
    if let Some(tip) = written.last().copied() {
        edits.push(RefUpdate {
            name: chains::ref_name(&chosen.name),
            expected: ExpectedValue::Is(chosen.tip.entry.id),
            new: Some(tip),
            message: "checkpoint: deferred".to_owned(),
        });
    }
    UndoableRefTransaction {
        for_good: &edits,
        sealed: Some(writer.finish()?),
        needs: &needs,
        ..UndoableRefTransaction::default()
    }
    .run(scene)?;
    for (found, id) in waiting.iter().zip(&written) {
        let is_noted = scene.settings.commit_notes && found.document.kind == CheckpointKind::Commit;
        if let Some(commit) = found.document.git.head.as_ref().filter(|_| is_noted) {
            // The checkpoint is saved; the note of the commit is no part of it.
            let _ = link::note(scene, commit, *id, &chosen.name);
        }
    }
    let (count, name) = (waiting.len(), &chosen.name);
    let noun = if count == 1 { "checkpoint" } else { "checkpoints" };
    os::notices::note(&format!(
        "{count} {noun} of hooks that waited for your key: now in '{name}'"
    ));
    Ok(true)
}

/// Writes deferred checkpoints one behind the other on the latest checkpoint of their session. Gives them, and the objects
/// that they need.
fn write_all(
    scene: &Scene<'_>,
    writer: &Writer,
    chosen: &SessionChoice,
    waiting: &[Checkpoint],
) -> Result<(Vec<ObjectId>, Vec<ObjectId>), Error> {
    let damaged = || Error::damaged(chosen.name.as_str());
    let tip = &chosen.tip;
    writer.protect([&tip.digest])?;
    let (of_tip, _) = checkpoint::siblings(scene.repo, &tip.entry).map_err(damaged())?;
    let carried = session_choice::carried(tip, &chosen.name);
    let summary = summary::written(scene, tip);
    let put_aside = put_aside::for_document(scene, tip);
    let (mut before, mut digest) = (tip.entry.id, tip.digest.clone());
    let mut written_as = HashMap::new();
    let (mut ids, mut needs) = (Vec::new(), Vec::new());
    for found in waiting {
        let mut document = found.document.clone();
        let (status, own) = (document.session.status, document.record.summary.take());
        let attachments = std::mem::take(&mut document.record.attachments);
        document.session = carried.session.clone();
        document.session.status = status;
        document.record = carried.record.clone();
        document.record.attachments = attachments;
        document.record.auto_summary = summary.is_none();
        if summary.is_some() {
            document.subject = own;
            document.record.summary.clone_from(&summary);
        } else {
            document.record.summary = own;
        }
        document.turn = document.turn.map(|turn| moved(turn, &written_as));
        document.previous = Some(digest);
        document.folded.clone_from(&tip.document.folded);
        document.included = None;
        document.put_aside.clone_from(&put_aside);
        chat::take_over(&mut document, &tip.document);
        let (of_found, _) = checkpoint::siblings(scene.repo, &found.entry).map_err(damaged())?;
        let mut siblings = Siblings::default();
        for kept in chat::SIBLINGS.into_iter().chain([steps::DIRECTORY]) {
            siblings.keep(&of_tip, kept);
        }
        for kept in OF_FILES.into_iter().chain([ATTACHED]) {
            siblings.keep(&of_found, kept);
        }
        let parents = [Some(before), found.snapshot()].into_iter().flatten().collect();
        let people = compose::people(&Scene {
            now: document.created_at,
            ..*scene
        });
        let partial = found.entry.trailers.partial;
        let written = checkpoint::write(writer, &mut document, partial, &siblings, parents, &people)?;
        written_as.insert(found.entry.id, written.id);
        ids.push(written.id);
        needs.extend(written.needs);
        (before, digest) = (written.id, written.digest);
    }
    Ok((ids, needs))
}

/// A turn whose beginning is named as it is now.
fn moved(mut turn: AgentTurn, written_as: &HashMap<ObjectId, ObjectId>) -> AgentTurn {
    let now = |began| written_as.get(&checkpoint::object_id(began)).map(|id| oid(*id));
    if let Some(now) = turn.began.as_ref().and_then(now) {
        turn.began = Some(now);
    }
    turn
}

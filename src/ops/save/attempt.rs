//! One try to make a checkpoint: composed on a tip, written, put on its ref, and cleaned up behind.

use std::{cell::RefCell, collections::BTreeMap};

use super::{
    super::{
        ClaimOfOther, Error, Scene, WorktreeError,
        compose::{self, CurrentSnapshot, Predecessor},
        markers, placement,
        receipt::{CheckpointOutcome, CheckpointReceipt, MergeFate, SessionOrigin, StalePath},
        record, refuse,
        session_choice::{self, SessionChoice},
        unapplied,
    },
    OverClaim, SaveRequest, SaveTarget,
    early::FilesMoment,
    environment, stale,
};
use crate::{
    model::{
        change::TreeEntryInfo,
        document::{CheckpointKind, Document, SaveKey, SessionStatus},
        id::Oid,
        name::ShortName,
        operation::{Operation, Subject},
        path::RepoPath,
        record::Record,
        spelling::with_article,
    },
    os,
    store::{
        self, ObjectId, branches,
        checkpoint::{self, People, Siblings, oid},
        current::{self, SessionRef},
        draft::{self, Draft},
        lock,
        objects::{self, SealedObjects, Writer},
        session,
        undo::{self, Effect, UndoEntry},
    },
    worktree::restore,
};

/// One try to compose the checkpoint and put it on its ref.
pub(super) struct SaveAttempt<'a> {
    pub(super) scene: &'a Scene<'a>,
    /// The working tree whose files are saved.
    pub(super) files: &'a Scene<'a>,
    /// Whether the files are those of the checkpoint before.
    pub(super) is_as_saved: bool,
    /// The moment at which the files were read, where that was before this save.
    pub(super) moment: Option<&'a FilesMoment>,
    pub(super) request: &'a SaveRequest,
    pub(super) key: Option<&'a SaveKey>,
    pub(super) operations: &'a [Operation],
    pub(super) people: &'a People,
    pub(super) present: &'a CurrentSnapshot,
    /// Objects stored by attempts that lost a race, protected until the end.
    pub(super) lost: &'a RefCell<Vec<SealedObjects>>,
}

/// A checkpoint composed and written, but on no ref yet.
struct ComposedCheckpoint {
    name: ShortName,
    document: Document,
    written: checkpoint::WrittenCheckpoint,
    parent: Option<ObjectId>,
    /// The first checkpoint of a session that this one begins with.
    start: Option<ObjectId>,
    draft: Draft,
    session_is: SessionOrigin,
    /// Pulled changes that it takes back.
    taken_back: Vec<StalePath>,
    /// State in which the session had ended, where it is active again.
    reopened: Option<SessionStatus>,
    /// Saved changes of the checkpoint before that are missing in it.
    unapplied: Vec<RepoPath>,
    /// Environment files with new content, which may have values.
    environment: Vec<(RepoPath, TreeEntryInfo)>,
}

/// The next checkpoint of a session, if there is one.
#[expect(clippy::large_enum_variant, reason = "one of it lives, for a moment")]
enum NextCheckpoint {
    /// It is to be published.
    Composed(Box<ComposedCheckpoint>),
    /// There is nothing new.
    Unchanged(CheckpointReceipt),
}

impl SaveAttempt<'_> {
    pub(super) fn run(&self, writer: Writer, target: SaveTarget) -> Result<CheckpointOutcome, Error> {
        let composed = match target {
            SaveTarget::New(name) => self.compose_new(&writer, name)?,
            SaveTarget::Existing(chosen) => {
                let _session = lock::session(self.scene.repo, &chosen.tip.document.session.id, self.scene.wait)?;
                // The tip is read again under the lock; what was chosen was read before.
                let name = chosen.name.clone();
                let Some(mut tip) = session_choice::named(self.scene, &name)? else {
                    return Err(store::Error::Moved {
                        name: session::ref_name(&name),
                        expected: Some(chosen.tip.entry.id),
                        found: None,
                    }
                    .into());
                };
                tip.why = chosen.why;
                if let Some(repeated) = self.repeated(&tip)? {
                    return Ok(CheckpointOutcome::Unchanged(repeated));
                }
                if self.is_deferred(&tip.tip) {
                    return self.defer(writer, &tip);
                }
                return match self.compose_on(&writer, &tip)? {
                    NextCheckpoint::Composed(composed) => self.publish(writer, *composed),
                    NextCheckpoint::Unchanged(receipt) => {
                        self.leave_unchanged(&tip)?;
                        Ok(CheckpointOutcome::Unchanged(receipt))
                    }
                };
            }
        };
        self.publish(writer, composed)
    }

    /// The first two checkpoints of a new session.
    fn compose_new(&self, writer: &Writer, name: ShortName) -> Result<ComposedCheckpoint, Error> {
        let session = compose::new_session(self.scene, name.clone())?;
        let facts = self.present.facts.clone();
        let (start, written) = compose::write_start(self.scene, writer, session, facts, self.people)?;
        let mut subject = Subject {
            session: start.session.clone(),
            record: start.record.clone(),
            log: Vec::new(),
            steps: Vec::new(),
        };
        for operation in self.operations {
            subject.apply(operation)?;
        }
        let before = Predecessor {
            id: written.id,
            digest: written.digest.clone(),
            checkpoint: None,
        };
        let prepared = self.prepare(writer, subject, &before, start.folded, &Siblings::default())?;
        // What cannot be read is no reason to fail, here and below.
        let overlay = writer.overlay(self.scene.repo);
        let environment = environment::candidates(self.scene, &overlay, &prepared.document, None).unwrap_or_default();
        let (document, mut written_save) = self.write(writer, prepared)?;
        written_save.needs.extend(written.needs);
        Ok(ComposedCheckpoint {
            name,
            document,
            written: written_save,
            parent: None,
            start: Some(written.id),
            draft: Draft::default(),
            session_is: SessionOrigin::Started,
            taken_back: Vec::new(),
            reopened: None,
            unapplied: Vec::new(),
            environment,
        })
    }

    fn compose_on(&self, writer: &Writer, chosen: &SessionChoice) -> Result<NextCheckpoint, Error> {
        let (scene, tip) = (self.scene, &chosen.tip);
        writer.protect([&tip.digest])?;
        let mut subject = session_choice::carried(tip, &chosen.name);
        let draft = session_choice::with_draft(scene, tip, &mut subject)?;
        let stood = subject.session.status;
        self.refuse_claimed(chosen, &subject.session)?;
        self.refuse_claimed_task(&subject.record)?;
        for operation in self.operations {
            subject.apply(operation)?;
        }
        if let Some(name) = &self.request.name {
            self.refuse_taken(chosen, name)?;
        }
        let mut folded = tip.document.folded.clone();
        if let (Some(id), Some(last)) = (&draft.id, draft.last()) {
            folded.insert(id.clone(), last);
        }
        let before = Predecessor::from(chosen);
        let (siblings, _) =
            checkpoint::siblings(scene.repo, &tip.entry).map_err(Error::damaged(chosen.name.as_str()))?;
        let prepared = self.prepare(writer, subject, &before, folded, &siblings)?;
        let overlay = writer.overlay(scene.repo);
        let exported = compose::without_exports(scene, &overlay, &prepared.document, &tip.document)?;
        if !self.request.allow_empty && self.changes_nothing(&exported, &tip.document, stood) {
            let mut receipt = self.receipt(chosen.name.clone(), tip.document.clone(), chosen.why.into());
            // What the checkpoint does not hold may have changed even so.
            let (git, now) = (&mut receipt.document.git, &self.present.facts);
            git.submodules_changed.clone_from(&now.submodules_changed);
            git.submodules_unseen.clone_from(&now.submodules_unseen);
            receipt.id = Some(tip.entry.id);
            receipt.digest = Some(tip.digest.clone());
            receipt.parent = tip.previous();
            return Ok(NextCheckpoint::Unchanged(receipt));
        }
        let taken_back = stale::stale(scene, writer, &chosen.name, tip, self.present)?;
        let unapplied = unapplied::missing(self.files, writer, &chosen.name, tip, self.present)?;
        let mut unapplied: Vec<_> = unapplied.into_iter().map(|unapplied| unapplied.path).collect();
        unapplied.retain(|path| taken_back.iter().all(|stale| stale.path != *path));
        let environment = environment::candidates(scene, &overlay, &prepared.document, Some(tip)).unwrap_or_default();
        let (document, written) = self.write(writer, prepared)?;
        let reopened = Some(stood).filter(|stood| stood.is_finished() && !document.session.status.is_finished());
        Ok(NextCheckpoint::Composed(Box::new(ComposedCheckpoint {
            name: chosen.name.clone(),
            document,
            written,
            parent: Some(tip.entry.id),
            start: None,
            draft,
            session_is: chosen.why.into(),
            taken_back,
            reopened,
            unapplied,
            environment,
        })))
    }

    /// A session that is put aside as it was found: what its draft held came to nothing, and it ends being current.
    fn leave_unchanged(&self, chosen: &SessionChoice) -> Result<(), Error> {
        let scene = self.scene;
        if !self.request.leave || self.request.dry_run {
            return Ok(());
        }
        let id = &chosen.tip.document.session.id;
        if let Some(last) = draft::read(scene.repo, id)?.last() {
            draft::clear(scene.repo, id, last, scene.wait)?;
        }
        Ok(current::write(scene.repo, &current::read(scene.repo)?.left(id))?)
    }

    /// Refuses a session that another user has claimed. The tip was read under the lock of the session, and the ref moves
    /// by compare-and-swap from it: of two that claim at once one is refused.
    fn refuse_claimed(&self, chosen: &SessionChoice, session: &crate::model::document::Session) -> Result<(), Error> {
        let automatic = matches!(self.request.kind, CheckpointKind::Commit | CheckpointKind::Event);
        match self.request.claim {
            OverClaim::Forced => Ok(()),
            OverClaim::Automatic if !automatic => Ok(()),
            _ => refuse::claimed(self.scene, &chosen.name, session),
        }
    }

    /// Refuses to claim or release a task that another user has claimed. As with sessions the tip was read under the
    /// lock, so that of two that claim at once one is refused.
    fn refuse_claimed_task(&self, record: &Record) -> Result<(), Error> {
        let Some(id) = &self.request.task else { return Ok(()) };
        let Some(task) = record.tasks.iter().find(|task| task.id == *id) else {
            return Ok(());
        };
        let by = compose::by(self.scene, self.people);
        let claim = task
            .claim
            .as_ref()
            .filter(|claim| claim.holds_against(&by, self.scene.now));
        match claim {
            Some(claim) if self.request.claim != OverClaim::Forced => Err(Error::ClaimedTask {
                task: task.title.clone(),
                id: task.id.clone(),
                claim: Box::new(ClaimOfOther::new(claim, self.scene.agent)),
            }),
            _ => Ok(()),
        }
    }

    fn refuse_taken(&self, chosen: &SessionChoice, name: &ShortName) -> Result<(), Error> {
        for entry in session::chain(self.scene.repo, chosen.tip.entry.id) {
            let entry = entry.map_err(Error::damaged(chosen.name.as_str()))?;
            if entry.trailers.name.as_deref() == Some(name.as_str()) {
                return Err(Error::NameTaken {
                    session: chosen.name.clone(),
                    name: name.clone(),
                });
            }
        }
        Ok(())
    }

    pub(super) fn receipt(
        &self,
        session: ShortName,
        document: Document,
        session_is: SessionOrigin,
    ) -> CheckpointReceipt {
        // A session that was named was meant; one that was merely current may belong to another agent.
        let owner = document.session.agent.clone().filter(|_| self.scene.session.is_none());
        let other_agent = owner.filter(|owner| self.scene.agent.is_some_and(|agent| agent != owner));
        CheckpointReceipt {
            id: None,
            digest: None,
            session,
            parent: None,
            document,
            unmerged: self.present.lists().unmerged().count(),
            // What cannot be read is no reason to fail: the checkpoint is made.
            marked: markers::marked(self.files, self.present.lists().unmerged()).map_or(0, |marked| marked.len()),
            skipped: self.present.lists().skipped,
            redactions: Vec::new(),
            unsearched: Vec::new(),
            session_is,
            folded: 0,
            unreadable: Vec::new(),
            other_agent,
            reopened: None,
            trouble: Vec::new(),
            passed_over: Vec::new(),
            elsewhere: None,
            is_new_on_branch: false,
            taken_back: Vec::new(),
            unapplied: Vec::new(),
            environment: Vec::new(),
            alike: None,
            new_bytes: 0,
            repeated: false,
            merge: MergeFate::NotMeant,
        }
    }

    /// Makes the objects durable, moves the ref, and cleans up behind.
    fn publish(&self, writer: Writer, composed: ComposedCheckpoint) -> Result<CheckpointOutcome, Error> {
        let scene = self.scene;
        let mut receipt = self.receipt(composed.name.clone(), composed.document, composed.session_is);
        receipt.taken_back = composed.taken_back;
        receipt.reopened = composed.reopened;
        receipt.unapplied = composed.unapplied;
        if let Some(snapshot) = &self.present.snapshot {
            receipt.alike = restore::alike(scene.repo, &writer, snapshot.tree)?;
        }
        receipt.parent = composed.parent;
        receipt.folded = composed.draft.operations.len();
        receipt.unreadable.clone_from(&composed.draft.unreadable);
        if self.request.dry_run {
            return Ok(CheckpointOutcome::Planned(receipt));
        }
        if os::is_cancelled() {
            return Err(WorktreeError::Cancelled.into());
        }
        os::complete_this();
        let sealed = writer.finish()?;
        receipt.new_bytes = sealed.bytes();
        let whom = SessionRef {
            id: receipt.document.session.id.clone(),
            name: composed.name.clone(),
        };
        // Which branch a session came from follows from its latest checkpoint, which is about to be another one.
        let current = current::read(scene.repo);
        if composed.parent.is_none() && self.is_of_this_branch() {
            self.begin_current(&whom)?;
        }
        let moved = (composed.parent.map(oid), oid(composed.written.id));
        let meant = self.mean(&whom, moved, &receipt.document, composed.draft.last())?;
        let placed = placement::tip(
            scene,
            &composed.name,
            composed.parent,
            &composed.written,
            sealed,
            self.request.kind,
        );
        match placed {
            Ok(left) => receipt.trouble.extend(left.iter().map(ToString::to_string)),
            Err(placement::PlacementError { error, sealed }) => {
                self.lost.borrow_mut().extend(sealed);
                return Err(*error);
            }
        }
        // The checkpoint is saved by now. Errors from here on are reported, but do not fail the save.
        let cleared = match composed.draft.last() {
            Some(last) => draft::clear(scene.repo, &whom.id, last, scene.wait),
            None => Ok(()),
        };
        let trouble = [
            cleared,
            store::chat::forget(scene.repo, &whom.id, &receipt.document.folded, scene.wait),
            current.and_then(|now| {
                if self.is_of_this_branch() {
                    current::write(scene.repo, &self.next_current(&now, &whom))
                } else {
                    Ok(())
                }
            }),
            objects::consolidate(scene.repo).map(|_| ()),
        ];
        let trouble = trouble.into_iter().filter_map(Result::err);
        receipt.trouble.extend(trouble.map(|error| error.to_string()));
        if let Some(n) = meant {
            // If this cannot be written, the ref shows it.
            let _ = undo::settle(scene.repo, n, true, None);
        }
        if let Some(operation) = super::super::plan_runner::interrupted(scene)? {
            receipt.trouble.push(format!(
                "{} was interrupted before, and the files are between two states; see: git checkpoint {} --continue or --abort",
                with_article(operation.word()),
                operation.command()
            ));
        }
        let by = compose::by(scene, self.people);
        let claim = receipt.document.session.claim.as_ref();
        if let Some(claim) = claim.filter(|claim| claim.holds_against(&by, scene.now)) {
            let warning = format!("the session is claimed by {} on {}", claim.by, claim.host);
            receipt.trouble.push(warning);
        }
        receipt.environment = environment::with_values(scene, composed.environment).unwrap_or_default();
        receipt.parent = composed.parent.or(composed.start);
        receipt.id = Some(composed.written.id);
        receipt.digest = Some(composed.written.digest);
        Ok(CheckpointOutcome::Saved(receipt))
    }

    /// Notes what a checkpoint does that can be taken back: the end of a session, and clearing or compacting its chat. Gives the
    /// number of the entry; `last` is that of the last operation that was folded in.
    fn mean(
        &self,
        whom: &SessionRef,
        (old, new): (Option<Oid>, Oid),
        document: &Document,
        last: Option<u64>,
    ) -> Result<Option<u64>, Error> {
        let scene = self.scene;
        let mut effects = vec![Effect::Ref {
            name: session::ref_name(&whom.name),
            old,
            new: Some(new.clone()),
        }];
        let what = match self.request.kind {
            CheckpointKind::Finish => {
                // Taking it back leaves what the checkpoint had of the draft in the draft.
                let record = Box::new(record::kept_value(&document.record));
                effects.push(Effect::Record {
                    session: whom.id.clone(),
                    before: record.clone(),
                    after: record,
                    last: last.unwrap_or(0),
                });
                format!("finished session {}", whom.name)
            }
            CheckpointKind::Clear => {
                if let Some(first) = &self.request.first {
                    let record = Box::new(first.record.clone());
                    effects = vec![
                        Effect::Ref {
                            name: session::ref_name(&whom.name),
                            old: Some(oid(first.before)),
                            new: Some(new),
                        },
                        Effect::Record {
                            session: whom.id.clone(),
                            before: record.clone(),
                            after: record,
                            last: last.unwrap_or(0),
                        },
                    ];
                }
                format!("cleared the chat of session {}", whom.name)
            }
            CheckpointKind::Compact if self.request.is_undoable => {
                format!("compacted the chat of session {}", whom.name)
            }
            _ => return Ok(None),
        };
        let before = current::read_to_replace(scene.repo)?;
        let after = self.next_current(&before, whom);
        if before != after {
            let (before, after) = (Box::new(before), Box::new(after));
            effects.push(Effect::Current { before, after });
        }
        let meant = UndoEntry {
            n: undo::next(scene.repo)?,
            at: scene.now,
            operation: self.request.kind.word().to_owned(),
            what,
            effects,
            standing: None,
            files: None,
            separated: None,
            extended: BTreeMap::new(),
        };
        Ok(Some(undo::mean(scene.repo, meant)?))
    }

    /// Whether the branch on which the files were read is still checked out. On another one no session becomes current by
    /// this save.
    fn is_of_this_branch(&self) -> bool {
        self.moment
            .is_none_or(|moment| branches::active(self.scene.repo).is_ok_and(|branch| branch == moment.branch))
    }

    /// Notes that a session that is about to be made will be current.
    fn begin_current(&self, whom: &SessionRef) -> Result<(), Error> {
        let now = current::read_to_replace(self.scene.repo)?;
        if self.next_current(&now, whom).session.as_ref() == Some(whom) {
            current::begin(self.scene.repo, &now, whom)?;
        }
        Ok(())
    }

    /// The pointer once the session is saved: it is current, or ends its being so. A session named for this command only does not become current when another one is.
    fn next_current(&self, now: &current::CurrentPointer, whom: &SessionRef) -> current::CurrentPointer {
        if self.request.leave && now.session.is_none() {
            // It was current for this command alone: '-' and what names no session mean it.
            now.switched_to(whom.clone()).left(&whom.id)
        } else if self.request.leave {
            now.left(&whom.id)
        } else if self.scene.session.is_some() && now.session.is_some() {
            now.clone()
        } else {
            now.switched_to(whom.clone())
        }
    }
}

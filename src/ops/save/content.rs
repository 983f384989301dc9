//! Content of a checkpoint: its document, the files next to it, and whether any of it is new.

use serde_json::Map;

use super::{
    super::{
        Error, Scene,
        chat::{self, ChatChange},
        compose::{self, Predecessor},
        ids,
        put_aside::{self, BroughtFiles, LOOKED_THROUGH},
        summary,
    },
    attempt::SaveAttempt,
};
use crate::{
    agents::hooks::adapter,
    model::{
        agent_turn::{self, AgentTurn, FILES_LISTED},
        document::{CheckpointKind, Document, SessionStatus},
        json,
        operation::{LogLine, Subject},
        record::Attachment,
    },
    store::{
        ObjectId,
        checkpoint::{self, Checkpoint, Siblings},
        objects::Writer,
        restored, session, steps,
        tree::{self, Renames},
    },
};

/// A file of the session log is full at this many bytes: some thousand lines, rewritten with each save that adds to it.
const LOG_CHUNK: usize = 128 << 10;

/// A checkpoint whose parts are written, without its commit.
pub(super) struct PreparedCheckpoint {
    /// The document, complete.
    pub(super) document: Document,
    siblings: Siblings,
    parents: Vec<ObjectId>,
    is_partial: bool,
}

impl SaveAttempt<'_> {
    /// Writes everything but the document and its commit, which is made, and signed, only of something new.
    pub(super) fn prepare(
        &self,
        writer: &Writer,
        subject: Subject,
        before: &Predecessor<'_>,
        folded: std::collections::BTreeMap<String, u64>,
        previous: &Siblings,
    ) -> Result<PreparedCheckpoint, Error> {
        let request = self.request;
        let mut document = compose::document(self.files, subject.session, request.kind, self.present.facts.clone());
        if request.operation_ends {
            document.git.operation = None;
        }
        document.name.clone_from(&request.name);
        document.trigger.clone_from(&request.trigger);
        document.request = self.key.cloned();
        document.turn = request
            .turn
            .as_ref()
            .map(|turn| self.with_files(writer, turn, before))
            .transpose()?;
        document.record = subject.record;
        document.previous = Some(before.digest.clone());
        document.folded = folded;
        if let Some(tip) = before.checkpoint {
            self.note_restored(&mut document, tip)?;
            document.put_aside = put_aside::for_document(self.files, tip);
            chat::take_over(&mut document, &tip.document);
        }
        let as_saved = before.checkpoint.filter(|_| self.is_as_saved);
        if let Some(tip) = as_saved {
            let was = tip.document.clone();
            (document.git, document.worktree, document.snapshot) = (was.git, was.worktree, was.snapshot);
            (document.restored_from, document.put_aside) = (was.restored_from, was.put_aside);
            document.restored_part = was.restored_part;
        }
        self.summarize(&mut document, before);
        if request.error.is_some() {
            document.record.error.clone_from(&request.error);
        }
        let mut siblings = Siblings::default();
        for kept in chat::SIBLINGS {
            siblings.keep(previous, kept);
        }
        chat::attach(self.scene, writer, &mut document, &mut siblings, &request.chat)?;
        let changes = &subject.steps;
        steps::fold(self.scene.repo, writer, previous, changes, &mut siblings)
            .map_err(Error::steps(&document.session.name))?;
        self.attach_files(writer, &mut document, &mut siblings)?;
        attach_log(self.scene, writer, &subject.log, previous, &mut siblings)?;
        let (snapshot, is_partial) = if let Some(tip) = as_saved {
            for kept in ["lists", "conflicts", "held", "operation"] {
                siblings.keep(previous, kept);
            }
            let damaged = Error::damaged(document.session.name.as_str());
            let lists = checkpoint::lists(self.scene.repo, tip).map_err(damaged)?;
            (tip.snapshot(), lists.is_partial())
        } else {
            let snapshot = compose::attach_snapshot(
                self.scene.repo,
                writer,
                &mut document,
                &mut siblings,
                self.present,
                before,
                self.people,
            )?;
            (snapshot, compose::is_partial(self.present))
        };
        let parents = [Some(before.id), snapshot].into_iter().flatten().collect();
        document.trees = siblings.named();
        Ok(PreparedCheckpoint {
            document,
            siblings,
            parents,
            is_partial,
        })
    }

    /// Writes the document and its commit.
    pub(super) fn write(
        &self,
        writer: &Writer,
        prepared: PreparedCheckpoint,
    ) -> Result<(Document, checkpoint::WrittenCheckpoint), Error> {
        let PreparedCheckpoint {
            mut document,
            siblings,
            parents,
            is_partial,
        } = prepared;
        let written = checkpoint::write(writer, &mut document, is_partial, &siblings, parents, self.people)?;
        Ok((document, written))
    }

    /// Notes which checkpoint was restored last, after this latest one.
    pub(super) fn note_restored(&self, document: &mut Document, tip: &Checkpoint) -> Result<(), Error> {
        let restored = match self.moment {
            Some(moment) => moment.restored.clone(),
            None => restored::read(self.files.repo)?,
        };
        document.restored_part = match restored {
            Some(_) => restored::is_part(self.files.repo)?,
            None => tip.document.restored_part,
        };
        document.restored_from = restored.or_else(|| tip.document.restored_from.clone());
        Ok(())
    }

    /// A turn with the files that changed since it began.
    pub(super) fn with_files(
        &self,
        writer: &Writer,
        turn: &AgentTurn,
        before: &Predecessor<'_>,
    ) -> Result<AgentTurn, Error> {
        let mut turn = turn.clone();
        // A checkpoint that was pruned in the meantime leaves the one before.
        let began = turn.began.as_ref().map(checkpoint::object_id);
        let began = began.and_then(|id| checkpoint::load(self.scene.repo, id).ok());
        if began.is_none() {
            turn.began = None;
        }
        let start = began.as_ref().or(before.checkpoint);
        let (old, is_here) = start.map_or(Ok((None, true)), |start| self.files_since(start))?;
        turn.inexact |= !is_here;
        let overlay = writer.overlay(self.scene.repo);
        // In a session without files yet, what is not committed changed.
        let head = || self.present.facts.head.as_ref().map(checkpoint::object_id);
        let old = old.or_else(|| tree::tree_of(&overlay, head()).ok());
        if let (Some(snapshot), Some(old)) = (&self.present.snapshot, old) {
            let changes = tree::diff(&overlay, Some(old), Some(snapshot.tree), Renames::Exact)?;
            turn.files = changes
                .iter()
                .take(FILES_LISTED)
                .map(|change| change.path.quoted())
                .collect();
            turn.files_omitted = changes.len().saturating_sub(FILES_LISTED) as u64;
        }
        if turn.subject.is_empty() {
            let title = adapter::named(&turn.agent).map_or(turn.agent.as_str(), |adapter| adapter.title);
            turn.subject = agent_turn::subject_of_files(title, &turn.files, turn.files_omitted);
        }
        Ok(turn)
    }

    /// The files that those of a turn are compared with, and whether they are exactly those it began with. A turn that began
    /// in another working tree is compared with the latest files of this one; without any, with HEAD.
    fn files_since(&self, start: &Checkpoint) -> Result<(Option<ObjectId>, bool), Error> {
        let tree_of = |start: &Checkpoint| {
            let snapshot = start.document.snapshot.as_ref()?;
            Some(checkpoint::object_id(&snapshot.tree))
        };
        let Some(tree) = tree_of(start) else {
            return Ok((None, true));
        };
        let brought = BroughtFiles::of(self.files)?;
        if brought.has(start) {
            return Ok((Some(tree), true));
        }
        // What cannot be read is compared with nothing.
        let earlier = session::chain(self.scene.repo, start.entry.id).map_while(Result::ok);
        let earlier = earlier.skip(1).take(LOOKED_THROUGH);
        let found = earlier.filter_map(|entry| checkpoint::load(self.scene.repo, entry.id).ok());
        let mut found = found.filter(|earlier| brought.has(earlier));
        Ok((found.find_map(|earlier| tree_of(&earlier)), false))
    }

    /// Fills in the summary of the session and the subject of the checkpoint. A text that was given is the summary; for an
    /// automatic checkpoint it is the subject, and a written summary stays. Without either, git's facts
    /// give a text.
    fn summarize(&self, document: &mut Document, before: &Predecessor<'_>) {
        // A turn whose prompt is not known has a subject once its files are.
        let of_turn = document.turn.as_ref().map(|turn| turn.subject.clone());
        let given = self
            .request
            .summary
            .clone()
            .filter(|text| !text.trim().is_empty())
            .or(of_turn);
        let automatic = matches!(
            self.request.kind,
            CheckpointKind::Commit
                | CheckpointKind::Event
                | CheckpointKind::Compact
                | CheckpointKind::Clear
                | CheckpointKind::Turn
                | CheckpointKind::Edit
        );
        let record = &mut document.record;
        if !automatic && given.is_some() {
            record.summary = given;
            return;
        }
        if given.is_none() && record.summary.is_some() {
            return;
        }
        let drafted = record.summary.take();
        let written = if self.request.chat == ChatChange::ClearAll {
            // The summary is part of the record that is cleared.
            None
        } else {
            drafted.or_else(|| summary::written(self.scene, before.checkpoint?))
        };
        let aside = matches!(self.request.kind, CheckpointKind::Pause | CheckpointKind::Finish);
        let own = given.or_else(|| (!aside || written.is_none()).then(|| summary::of(&document.git)));
        record.auto_summary = written.is_none();
        if written.is_some() {
            document.subject = own;
            record.summary = written;
        } else if self.request.trigger.as_deref() == Some("claim") {
            // Who works in a session is no part of its work.
            let last = before.checkpoint.and_then(|last| last.document.record.summary.clone());
            record.summary = last.or_else(|| Some(summary::of(&document.git)));
            document.subject = own;
        } else {
            record.summary = own;
        }
    }

    /// Keeps the files of the request next to the document.
    pub(super) fn attach_files(
        &self,
        writer: &Writer,
        document: &mut Document,
        siblings: &mut Siblings,
    ) -> Result<(), Error> {
        let by = compose::by(self.scene, self.people);
        let mut blobs = Vec::new();
        for ((name, bytes), n) in self.request.attachments.iter().zip(0_u32..) {
            blobs.push(writer.write_private(bytes)?);
            document.record.attachments.push(Attachment {
                id: ids::item_id()?,
                at: self.scene.now,
                by: by.clone(),
                name: name.clone(),
                n,
                size: bytes.len() as u64,
                unknown: Map::new(),
            });
        }
        Ok(siblings.numbered(writer, "files", &blobs)?)
    }

    /// Whether a document differs from the one before in nothing a user would call new. `stood` is the session's status
    /// with its draft: one that was taken up again and is put aside once more changed, though it reads the same.
    pub(super) fn changes_nothing(&self, new: &Document, old: &Document, stood: SessionStatus) -> bool {
        let request = self.request;
        let mut record = new.record.clone();
        if record.auto_summary {
            record.summary.clone_from(&old.record.summary);
            record.auto_summary = old.record.auto_summary;
        }
        // Attachments and errors do not carry over, so an old one is no difference.
        if request.attachments.is_empty() {
            record.attachments.clone_from(&old.record.attachments);
        }
        if request.error.is_none() {
            record.error.clone_from(&old.record.error);
        }
        let files = !request.files
            || (new.snapshot == old.snapshot
                && new.trees.get("lists") == old.trees.get("lists")
                && new.trees.get("conflicts") == old.trees.get("conflicts")
                && new.trees.get("held") == old.trees.get("held")
                && new.trees.get("operation") == old.trees.get("operation")
                && new.git.operation == old.git.operation);
        request.name.is_none()
            && request.attachments.is_empty()
            && old.kind != CheckpointKind::Start
            && new.session == old.session
            && new.session.status == stood
            && record == old.record
            && chat::SIBLINGS
                .iter()
                .chain([&steps::DIRECTORY])
                .all(|name| new.trees.get(*name) == old.trees.get(*name))
            && new.compaction == old.compaction
            && (&new.git.head, &new.git.branch) == (&old.git.head, &old.git.branch)
            && files
    }
}

/// Adds the draft's log lines behind those that are there: to the last file while it is short, then in new ones, so that
/// a save rewrites little and the directory has few entries.
pub(in crate::ops) fn attach_log(
    scene: &Scene<'_>,
    writer: &Writer,
    lines: &[LogLine],
    previous: &Siblings,
    siblings: &mut Siblings,
) -> Result<(), Error> {
    if lines.is_empty() {
        return Ok(());
    }
    let damaged = || Error::damaged("log");
    let mut entries = Vec::new();
    if let Some(id) = previous.get("log") {
        let there = checkpoint::directory(scene.repo, id, "log").map_err(damaged())?;
        entries.extend(there.into_iter().map(|(name, _, id)| (name, id)));
    }
    let mut chunk = Vec::new();
    if let Some((_, last)) = entries.last() {
        let last = checkpoint::read_private(scene.repo, *last, "log").map_err(damaged())?;
        if last.len() < LOG_CHUNK {
            chunk = last;
            entries.pop();
        }
    }
    for (n, line) in lines.iter().enumerate() {
        chunk.extend(json::to_line(line));
        if chunk.len() >= LOG_CHUNK || n + 1 == lines.len() {
            let bytes = std::mem::take(&mut chunk);
            let name = format!("{:06}.jsonl", entries.len());
            entries.push((name, writer.write_private(&bytes)?));
        }
    }
    Ok(siblings.files(writer, "log", entries)?)
}

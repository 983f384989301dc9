//! `save`, and everything else that adds a checkpoint with the present files to a session: `pause`, `finish`, events.
//!
//! The order is what makes it safe: objects on disk, then the ref by compare-and-swap, then the check that a collection
//! of garbage at the same moment took nothing, and only then the draft is cleared and success reported. A save that
//! meets another writer composes its document again on the new tip, so both stay.

use std::cell::RefCell;

use serde_json::{Map, Value, json};

use super::{
    Error, Scene,
    choose::{self, Chosen},
    compose::{self, Before, Present},
    fresh,
    receipt::{Outcome, Receipt, SessionIs},
    redact::Redactor,
    summary,
};
use crate::{
    model::{
        document::{Document, Kind, Status},
        name::Name,
        operation::{Operation, Subject},
        patch::{self, Stamp},
        record::{Attachment, Failure},
    },
    store::{
        self, Kind as ObjectKind, ObjectId,
        checkpoint::{self, People, Siblings},
        current::{self, SessionRef},
        draft::{self, Draft},
        lock,
        facts,
        objects::{self, Sealed, Writer},
        refs, session,
    },
};

/// How often a checkpoint is composed again because the session or the object store changed under it.
const TRIES: u32 = 20;

/// What a checkpoint is to say beyond what carries over.
#[derive(Debug)]
pub struct Request {
    /// What makes the checkpoint.
    pub kind: Kind,
    /// Where the session stands afterwards.
    pub status: Status,
    /// The checkpoint's own name.
    pub name: Option<Name>,
    /// The occasion.
    pub trigger: Option<String>,
    /// The summary; without one it is made from git's facts.
    pub summary: Option<String>,
    /// Patches of the record, in order, as given.
    pub changes: Vec<Value>,
    /// A merge patch of the session's members.
    pub session: Option<Value>,
    /// Why the session failed.
    pub error: Option<Failure>,
    /// Files to keep, by name.
    pub attachments: Vec<(String, Vec<u8>)>,
    /// Whether to save the files of the work tree.
    pub files: bool,
    /// Whether to make a checkpoint that says nothing new.
    pub allow_empty: bool,
    /// Whether to stop before anything is written.
    pub dry_run: bool,
    /// Whether the session ends being current.
    pub leave: bool,
    /// Whether a session is started when there is none to continue.
    pub start: bool,
}

impl Request {
    /// A plain save.
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            status: Status::Active,
            name: None,
            trigger: None,
            summary: None,
            changes: Vec::new(),
            session: None,
            error: None,
            attachments: Vec::new(),
            files: true,
            allow_empty: false,
            dry_run: false,
            leave: false,
            start: true,
        }
    }
}

/// Makes the checkpoint, unless there is nothing new to save.
pub fn save(scene: &Scene<'_>, mut request: Request) -> Result<Outcome, Error> {
    guard(scene)?;
    let mut redactor = Redactor::new(scene)?;
    redact(&mut request, &mut redactor);
    let agent = redactor.agent(scene);
    let scene = &Scene { agent: agent.as_deref(), ..*scene };
    let people = compose::people(scene);
    let operations = operations(scene, &mut request, &compose::by(scene, &people))?;
    let mut left = Vec::new();
    let _worktree = lock::worktree(scene.repo, scene.wait)?;
    if !request.dry_run {
        refs::recover(scene.repo, scene.wait)?;
        left = store::sweep(scene.repo)?;
    }
    let mut vanished = None;
    // What lost races stored, protected until it is on a ref.
    let lost = RefCell::new(Vec::<Sealed>::new());
    let branch = facts::branch(scene.repo)?;
    for _ in 0..TRIES {
        // Objects that vanished may be ones that were found present and relied on: these are written again as well.
        let writer = match (request.dry_run, vanished.take()) {
            (true, _) => Writer::memory(scene.repo),
            (false, None) => Writer::durable(scene.repo)?,
            (false, Some(())) => Writer::rewriting(scene.repo)?,
        };
        let target = target(scene, &request, branch.as_deref())?;
        lost.borrow().iter().for_each(|sealed| writer.trust(sealed.written().iter().copied()));
        let held = held(scene, &writer, &target)?;
        let present = compose::present(scene, &writer, request.files, &held)?;
        let attempt = Attempt {
            scene,
            request: &request,
            operations: &operations,
            people: &people,
            present: &present,
            lost: &lost,
        };
        match attempt.run(writer, target) {
            Ok(mut outcome) => {
                let (Outcome::Saved(receipt) | Outcome::Planned(receipt) | Outcome::Unchanged(receipt)) = &mut outcome;
                receipt.leftovers.splice(0..0, left);
                receipt.redactions = std::mem::take(&mut redactor.found);
                return Ok(outcome);
            }
            Err(Error::Store(store::Error::Moved { .. })) => {}
            Err(Error::Store(store::Error::Vanished { .. })) => vanished = Some(()),
            Err(error) => return Err(error),
        }
    }
    let session = scene
        .session
        .cloned()
        .unwrap_or_else(|| Name::slug("session", "current"));
    Err(Error::Contended { session, tries: TRIES })
}

/// Refuses what is no project: a bare repository, the home folder, the root of the file system.
pub(super) fn guard(scene: &Scene<'_>) -> Result<(), Error> {
    let top = store::work_tree(scene.repo)?;
    let what = if scene.home.is_some_and(|home| same_folder(home, top)) {
        "your home folder"
    } else if top.parent().is_none() {
        "the root of the file system"
    } else {
        return Ok(());
    };
    if scene.settings.allow_home {
        return Ok(());
    }
    Err(Error::TooBroad {
        path: top.display().to_string(),
        what,
    })
}

fn same_folder(a: &std::path::Path, b: &std::path::Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a == b,
    }
}

/// Takes secrets out of everything the request would store.
fn redact(request: &mut Request, redactor: &mut Redactor) {
    for change in &mut request.changes {
        redactor.json(change, "record");
    }
    if let Some(session) = &mut request.session {
        redactor.json(session, "session");
    }
    if let Some(summary) = &mut request.summary {
        redactor.text(summary, "summary");
    }
    if let Some(trigger) = &mut request.trigger {
        redactor.text(trigger, "trigger");
    }
    if let Some(error) = &mut request.error {
        redactor.text(&mut error.message, "error");
        if let Some(stack) = &mut error.stack {
            redactor.text(stack, "error/stack");
        }
    }
    for (name, bytes) in &mut request.attachments {
        redactor.text(name, "attachment");
        *bytes = redactor.bytes(std::mem::take(bytes), &format!("files/{name}"));
    }
}

/// The request's changes as operations, prepared once so that they mean the same on every tip.
fn operations(scene: &Scene<'_>, request: &mut Request, by: &str) -> Result<Vec<Operation>, Error> {
    let mut failed = None;
    let mut fresh_id = || {
        fresh::item_id().unwrap_or_else(|error| {
            failed = Some(error);
            String::new()
        })
    };
    let mut operations = Vec::new();
    for change in std::mem::take(&mut request.changes) {
        let record = patch::prepare(
            change,
            &mut Stamp {
                at: scene.now,
                by,
                fresh_id: &mut fresh_id,
            },
        )?;
        operations.push(operation(scene, by, fresh_id(), Some(record), None));
    }
    let mut session = request.session.take().unwrap_or_else(|| Value::Object(Map::new()));
    session["status"] = json!(request.status);
    operations.push(operation(scene, by, fresh_id(), None, Some(session)));
    match failed {
        Some(error) => Err(error),
        None => Ok(operations),
    }
}

fn operation(scene: &Scene<'_>, by: &str, id: String, record: Option<Value>, session: Option<Value>) -> Operation {
    Operation {
        id,
        at: scene.now,
        by: by.to_owned(),
        record,
        remove: None,
        session,
        log: None,
        unknown: Map::new(),
    }
}

/// The session a checkpoint goes to.
enum Target {
    Existing(Box<Chosen>),
    New(Name),
}

/// The trees that the session's newest checkpoint holds; what else it holds is trusted as well.
fn held(scene: &Scene<'_>, writer: &Writer, target: &Target) -> Result<Vec<ObjectId>, Error> {
    let Target::Existing(chosen) = target else {
        return Ok(Vec::new());
    };
    let held = checkpoint::held(scene.repo, &chosen.tip).map_err(Error::damaged(chosen.name.as_str()))?;
    writer.trust(held.objects);
    Ok(held.trees)
}

fn target(scene: &Scene<'_>, request: &Request, branch: Option<&str>) -> Result<Target, Error> {
    if let Some(chosen) = choose::meant(scene)? {
        return Ok(Target::Existing(Box::new(chosen)));
    }
    if let Some(name) = scene.session {
        return if request.start {
            Ok(Target::New(name.clone()))
        } else {
            Err(Error::NotFound {
                text: name.to_string(),
                candidates: super::select::similar(scene, name.as_str())?,
            })
        };
    }
    if let Some(chosen) = choose::paused_here(scene, branch, &store::worktree_id(scene.repo))? {
        return Ok(Target::Existing(Box::new(chosen)));
    }
    if !request.start {
        return Err(Error::NoSession {
            any: !session::all(scene.repo)?.is_empty(),
        });
    }
    Ok(Target::New(default_name(branch)?))
}

/// A name for a session nobody named: the branch and a random end.
pub(super) fn default_name(branch: Option<&str>) -> Result<Name, Error> {
    Ok(Name::slug(branch.unwrap_or("detached"), &fresh::item_id()?))
}

/// One try to compose the checkpoint and put it on its ref.
struct Attempt<'a> {
    scene: &'a Scene<'a>,
    request: &'a Request,
    operations: &'a [Operation],
    people: &'a People,
    present: &'a Present,
    lost: &'a RefCell<Vec<Sealed>>,
}

/// A checkpoint composed and written, but on no ref yet.
struct Composed {
    name: Name,
    document: Document,
    written: checkpoint::Written,
    parent: Option<ObjectId>,
    draft: Draft,
    session_is: SessionIs,
}

impl Attempt<'_> {
    fn run(&self, writer: Writer, target: Target) -> Result<Outcome, Error> {
        let composed = match target {
            Target::New(name) => self.compose_new(&writer, name)?,
            Target::Existing(chosen) => {
                let _session = lock::session(self.scene.repo, &chosen.tip.document.session.id, self.scene.wait)?;
                // The tip is read again under the lock; what was chosen was read before.
                let name = chosen.name.clone();
                let Some(mut tip) = choose::named(self.scene, &name)? else {
                    return Err(store::Error::Moved {
                        name: session::ref_name(&name),
                        expected: Some(chosen.tip.entry.id),
                        found: None,
                    }
                    .into());
                };
                tip.why = chosen.why;
                let composed = match self.compose_on(&writer, &tip)? {
                    Ok(composed) => composed,
                    Err(unchanged) => {
                        self.leave_unchanged(&tip)?;
                        return Ok(Outcome::Unchanged(unchanged));
                    }
                };
                return self.publish(writer, composed);
            }
        };
        self.publish(writer, composed)
    }

    /// The first two checkpoints of a new session.
    fn compose_new(&self, writer: &Writer, name: Name) -> Result<Composed, Error> {
        let session = compose::new_session(self.scene, name.clone())?;
        let facts = self.present.facts.clone();
        let (start, written) = compose::write_start(self.scene, writer, session, facts, self.people)?;
        let mut subject = Subject {
            session: start.session.clone(),
            record: start.record.clone(),
            log: Vec::new(),
        };
        for operation in self.operations {
            subject.apply(operation)?;
        }
        let before = Before {
            id: written.id,
            digest: written.digest.clone(),
            checkpoint: None,
        };
        let (document, mut written_save) = self.write(writer, subject, &before, start.folded, &Siblings::default())?;
        written_save.needs.extend(written.needs);
        Ok(Composed {
            name,
            document,
            written: written_save,
            parent: None,
            draft: Draft::default(),
            session_is: SessionIs::Started,
        })
    }

    /// The next checkpoint of a session; the inner error is the receipt for when there is nothing new.
    fn compose_on(&self, writer: &Writer, chosen: &Chosen) -> Result<Result<Composed, Receipt>, Error> {
        let (scene, tip) = (self.scene, &chosen.tip);
        let mut subject = choose::carried(tip, &chosen.name);
        let draft = choose::with_draft(scene, tip, &mut subject)?;
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
        let before = Before::from(chosen);
        let (siblings, _) =
            checkpoint::siblings(scene.repo, &tip.entry).map_err(Error::damaged(chosen.name.as_str()))?;
        let (document, written) = self.write(writer, subject, &before, folded, &siblings)?;
        if !self.request.allow_empty && self.says_nothing_new(&document, &tip.document) {
            let mut receipt = self.receipt(chosen.name.clone(), tip.document.clone(), chosen.why.into());
            receipt.id = Some(tip.entry.id);
            receipt.digest = Some(tip.digest.clone());
            receipt.parent = tip.previous();
            return Ok(Err(receipt));
        }
        Ok(Ok(Composed {
            name: chosen.name.clone(),
            document,
            written,
            parent: Some(tip.entry.id),
            draft,
            session_is: chosen.why.into(),
        }))
    }

    /// A session that is put aside as it was found: what its draft held came to nothing, and it ends being current.
    fn leave_unchanged(&self, chosen: &Chosen) -> Result<(), Error> {
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

    fn refuse_taken(&self, chosen: &Chosen, name: &Name) -> Result<(), Error> {
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

    /// Writes the document and its commit.
    fn write(
        &self,
        writer: &Writer,
        subject: Subject,
        before: &Before<'_>,
        folded: std::collections::BTreeMap<String, u64>,
        previous: &Siblings,
    ) -> Result<(Document, checkpoint::Written), Error> {
        let request = self.request;
        let mut document = compose::document(self.scene, subject.session, request.kind, self.present.facts.clone());
        document.name.clone_from(&request.name);
        document.trigger.clone_from(&request.trigger);
        document.record = subject.record;
        document.previous = Some(before.digest.clone());
        document.folded = folded;
        if let Some(tip) = before.checkpoint {
            document.restored_from.clone_from(&tip.document.restored_from);
            document.chat.clone_from(&tip.document.chat);
            document.tokens.clone_from(&tip.document.tokens);
            document.compaction.clone_from(&tip.document.compaction);
        }
        self.summarise(&mut document, before);
        if request.error.is_some() {
            document.record.error.clone_from(&request.error);
        }
        let mut siblings = Siblings::default();
        for kept in ["chat", "steps", "context.md", "agent.md", "log"] {
            siblings.keep(previous, kept);
        }
        self.attach_files(writer, &mut document, &mut siblings)?;
        self.attach_log(writer, &subject.log, previous, &mut siblings)?;
        let snapshot =
            compose::attach_snapshot(writer, &mut document, &mut siblings, self.present, before, self.people)?;
        let parents = [Some(before.id), snapshot].into_iter().flatten().collect();
        let partial = compose::is_partial(self.present);
        let written = checkpoint::write(writer, &mut document, partial, &siblings, parents, self.people)?;
        Ok((document, written))
    }

    /// Fills in the summary: the one given; else, when a session is put aside, the last one somebody wrote; else one from
    /// git's facts.
    fn summarise(&self, document: &mut Document, before: &Before<'_>) {
        let given = self.request.summary.clone().filter(|text| !text.trim().is_empty());
        if given.is_some() {
            document.record.summary = given;
        }
        if document.record.summary.is_some() {
            return;
        }
        let old = before.checkpoint.map(|tip| &tip.document.record).filter(|old| !old.auto_summary);
        let aside = matches!(self.request.kind, Kind::Pause | Kind::Finish);
        document.record.summary = old.filter(|_| aside).and_then(|old| old.summary.clone());
        if document.record.summary.is_none() {
            document.record.summary = Some(summary::of(&document.git));
            document.record.auto_summary = true;
        }
    }

    fn attach_files(&self, writer: &Writer, document: &mut Document, siblings: &mut Siblings) -> Result<(), Error> {
        let by = compose::by(self.scene, self.people);
        let mut blobs = Vec::new();
        for ((name, bytes), n) in self.request.attachments.iter().zip(0_u32..) {
            blobs.push(writer.write(ObjectKind::Blob, bytes)?);
            document.record.attachments.push(Attachment {
                id: fresh::item_id()?,
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

    /// Adds the draft's log lines as a file of their own, numbered after those that are there.
    fn attach_log(
        &self,
        writer: &Writer,
        lines: &[crate::model::operation::LogLine],
        previous: &Siblings,
        siblings: &mut Siblings,
    ) -> Result<(), Error> {
        if lines.is_empty() {
            return Ok(());
        }
        let mut entries = Vec::new();
        if let Some(id) = previous.get("log") {
            let there = checkpoint::folder(self.scene.repo, id, "log").map_err(Error::damaged("log"))?;
            entries.extend(there.into_iter().map(|(name, _, id)| (name, id)));
        }
        let bytes: Vec<u8> = lines.iter().flat_map(crate::model::json::to_line).collect();
        entries.push((
            format!("{:06}.jsonl", entries.len()),
            writer.write(ObjectKind::Blob, &bytes)?,
        ));
        Ok(siblings.files(writer, "log", entries)?)
    }

    /// Whether a document differs from the one before in nothing a user would call new.
    fn says_nothing_new(&self, new: &Document, old: &Document) -> bool {
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
                && new.trees.get("held") == old.trees.get("held"));
        request.name.is_none()
            && request.attachments.is_empty()
            && old.kind != Kind::Start
            && new.session == old.session
            && record == old.record
            && new.trees.get("log") == old.trees.get("log")
            && (&new.git.head, &new.git.branch) == (&old.git.head, &old.git.branch)
            && files
    }

    fn receipt(&self, session: Name, document: Document, session_is: SessionIs) -> Receipt {
        // A session that was named was meant; one that was merely current may be somebody else's.
        let owner = document.session.agent.clone().filter(|_| self.scene.session.is_none());
        let other_agent = owner.filter(|owner| self.scene.agent.is_some_and(|agent| agent != owner));
        Receipt {
            id: None,
            digest: None,
            session,
            parent: None,
            document,
            skipped: self.present.lists().skipped,
            redactions: Vec::new(),
            session_is,
            folded: 0,
            unreadable: Vec::new(),
            other_agent,
            new_bytes: 0,
            leftovers: Vec::new(),
        }
    }

    /// Makes the objects durable, moves the ref, and cleans up behind.
    fn publish(&self, writer: Writer, composed: Composed) -> Result<Outcome, Error> {
        let scene = self.scene;
        let mut receipt = self.receipt(composed.name.clone(), composed.document, composed.session_is);
        receipt.parent = composed.parent;
        receipt.folded = composed.draft.operations.len();
        receipt.unreadable.clone_from(&composed.draft.unreadable);
        if self.request.dry_run {
            return Ok(Outcome::Planned(receipt));
        }
        let sealed = writer.finish()?;
        receipt.new_bytes = sealed.bytes();
        let (id, digest) = (composed.written.id, composed.written.digest.clone());
        let left = super::place::tip(scene, &composed.name, composed.parent, &composed.written, sealed, self.request.kind);
        match left {
            Ok(left) => receipt.leftovers.extend(left),
            Err((error, sealed)) => {
                if matches!(error, Error::Store(store::Error::Moved { .. })) {
                    self.lost.borrow_mut().extend(sealed);
                }
                return Err(error);
            }
        }
        let session = &receipt.document.session;
        if let Some(last) = composed.draft.last() {
            draft::clear(scene.repo, &session.id, last, scene.wait)?;
        }
        let now = current::read(scene.repo)?;
        let whom = SessionRef {
            id: session.id.clone(),
            name: composed.name,
        };
        let next = if self.request.leave {
            now.left(&whom.id)
        } else {
            self.next_current(&now, whom)
        };
        current::write(scene.repo, &next)?;
        receipt.id = Some(id);
        receipt.digest = Some(digest);
        // The checkpoint is safe by now: that packs could not be merged is for the next save to find out.
        let _ = objects::consolidate(scene.repo);
        Ok(Outcome::Saved(receipt))
    }

    /// A session named for this command only does not become current when another one is.
    fn next_current(&self, now: &current::Current, whom: SessionRef) -> current::Current {
        if self.scene.session.is_some() && now.session.is_some() {
            now.clone()
        } else {
            now.switched_to(whom)
        }
    }
}

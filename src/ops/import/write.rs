//! A foreign session as checkpoints: each with the time it had, its record whole, and the chat up to it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{
    super::{Error, Scene, compose, ids, redact::Redactor},
    chat::ImportedChat,
    existing::{self, ImportedSession},
};
use crate::{
    formats::{self, ForeignCheckpoint, ForeignRepoState, ForeignSession},
    model::{
        document::{CheckpointKind, Document, SnapshotRef},
        facts::GitFacts,
        id::{Digest, Oid},
        json as strict,
        name::ShortName,
        operation::LogLine,
        patch::LISTS,
        path::RepoPath,
        record::{Attachment, Record},
        session,
        step::{self, Step},
        time::Timestamp,
    },
    os,
    store::{
        ObjectId,
        checkpoint::{self, Siblings, oid},
        history,
        objects::Writer,
    },
};

/// A session that is written; no ref names it yet.
pub(super) struct WrittenSession {
    pub(super) tip: ObjectId,
    pub(super) needs: Vec<ObjectId>,
    pub(super) summary: String,
    /// How many messages its chat has.
    pub(super) messages: usize,
}

/// Reason for not writing a session.
pub(super) enum SessionError {
    /// It cannot be stored, for this reason; others can.
    Unstorable(String),
    Ops(Error),
}

impl<E: Into<Error>> From<E> for SessionError {
    fn from(error: E) -> Self {
        Self::Ops(error.into())
    }
}

type WriteTools<'a> = (&'a mut Redactor, &'a dyn Fn(usize));

/// Writes a session, or what is new of it.
pub(super) fn session(
    scene: &Scene<'_>,
    writer: &Writer,
    foreign: ForeignSession,
    name: &ShortName,
    before: Option<&ImportedSession>,
    tools: WriteTools<'_>,
) -> Result<WrittenSession, SessionError> {
    let (redactor, progress) = tools;
    let fallback = foreign.modified.unwrap_or(scene.now);
    let first = foreign.checkpoints.iter().find_map(|checkpoint| checkpoint.at);
    let begun = foreign
        .created_at
        .or(first)
        .unwrap_or(fallback)
        .min(first.unwrap_or(fallback));
    let mut members = Value::Object(foreign.members.clone());
    redactor.json(&mut members, "session");
    let mut identity = json!({ "system": foreign.system, "id": foreign.id, "sources": foreign.sources.iter().take(20).collect::<Vec<_>>() });
    redactor.json(&mut identity, "session/metadata");
    let mut base = match before {
        Some(known) => known.checkpoint.document.session.clone(),
        None => compose::new_session(
            &Scene {
                now: begun,
                agent: None,
                ..*scene
            },
            name.clone(),
        )?,
    };
    base.name = name.clone();
    base = base
        .patched(&members)
        .map_err(|error| SessionError::Unstorable(error.to_string()))?;
    base.metadata.insert("imported".to_owned(), identity);
    let mut last = match before {
        Some(known) => (known.tip, known.checkpoint.digest.clone()),
        None => start(scene, writer, &base, &foreign.checkpoints[0].git, begun)?,
    };
    writer.protect([&last.1])?;
    let mut needs = vec![last.0];
    let mut chat = ImportedChat::default();
    let mut names = existing::TakenNames::of(before.map(|known| known.names.clone()).unwrap_or_default());
    let count = foreign.checkpoints.len();
    let mut summary = String::new();
    let mut at = begun;
    for (mut foreign_checkpoint, n) in foreign.checkpoints.into_iter().zip(1..) {
        let digest = foreign_checkpoint.hash();
        at = foreign_checkpoint
            .at
            .unwrap_or(if n == 1 { fallback.max(begun) } else { at });
        chat.add(writer, std::mem::take(&mut foreign_checkpoint.messages), at, redactor)?;
        if before.is_some_and(|known| known.hashes.contains(&digest)) {
            continue;
        }
        let checkpoint_name = foreign_checkpoint.name.as_deref().map(|text| names.free(text));
        let own = CheckpointDraft {
            name: checkpoint_name,
            digest,
            at,
            system: foreign.system,
            log: if n == count { &foreign.log } else { &[] },
            previous: before.filter(|known| known.tip == last.0),
        };
        let made = own.write(scene, writer, &base, foreign_checkpoint, &last, (&mut chat, redactor))?;
        last = (made.0.id, made.0.digest);
        needs.extend(made.0.needs);
        summary = made.1;
        progress(n);
    }
    Ok(WrittenSession {
        tip: last.0,
        needs,
        summary,
        messages: chat.count(),
    })
}

/// The parentless first checkpoint, which holds only the session.
fn start(
    scene: &Scene<'_>,
    writer: &Writer,
    base: &session::Session,
    git: &ForeignRepoState,
    at: Timestamp,
) -> Result<(ObjectId, Digest), Error> {
    let scene = &Scene { now: at, ..*scene };
    let people = compose::people(scene);
    let (_, written) = compose::write_start(scene, writer, base.clone(), facts(scene, git), &people)?;
    Ok((written.id, written.digest))
}

/// One checkpoint to be written.
struct CheckpointDraft<'a> {
    name: Option<ShortName>,
    digest: Digest,
    at: Timestamp,
    system: &'static str,
    log: &'a [formats::ForeignLogLine],
    /// The checkpoint that this one is added to, when that was imported earlier.
    previous: Option<&'a ImportedSession>,
}

impl CheckpointDraft<'_> {
    fn write(
        self,
        scene: &Scene<'_>,
        writer: &Writer,
        base: &session::Session,
        foreign: ForeignCheckpoint,
        last: &(ObjectId, Digest),
        tools: (&mut ImportedChat, &mut Redactor),
    ) -> Result<(checkpoint::WrittenCheckpoint, String), SessionError> {
        let (chat, redactor) = tools;
        let scene = &Scene { now: self.at, ..*scene };
        let mut record = Value::Object(foreign.record);
        complete(&mut record, self.at, self.system);
        redactor.json(&mut record, "record");
        let mut record: Record = crate::model::json::from_value(record)
            .map_err(|error| SessionError::Unstorable(format!("its record cannot be stored: {error}")))?;
        if record.summary.as_deref().is_none_or(|text| text.trim().is_empty()) {
            record.summary = Some(format!("Imported from {}: {}", self.system, foreign.id));
            record.auto_summary = true;
        }
        let mut members = Value::Object(foreign.members);
        redactor.json(&mut members, "session");
        let mut session = base
            .patched(&members)
            .map_err(|error| SessionError::Unstorable(error.to_string()))?;
        let mut identity = json!({ "id": foreign.id, "digest": self.digest });
        if let Some(name) = foreign
            .name
            .filter(|name| self.name.as_ref().is_none_or(|own| own.as_str() != name))
        {
            identity["name"] = name.into();
        }
        redactor.json(&mut identity, "session/metadata");
        session.metadata["imported"]["checkpoint"] = identity;
        let facts = facts(scene, &foreign.git);
        let mut document = compose::document(scene, session, CheckpointKind::Import, facts);
        // No source names the place of its checkpoints; that of the import is not theirs.
        document.host.clear();
        document.worktree.path.clear();
        document.name = self.name;
        document.trigger = foreign.trigger;
        document.previous = Some(last.1.clone());
        document.record = record;
        document.compaction = foreign.compaction;
        if let Some(known) = self.previous {
            document.folded.clone_from(&known.checkpoint.document.folded);
        }
        let mut siblings = Siblings::default();
        for (text, file) in [(foreign.context, "context.md"), (foreign.agent, "agent.md")] {
            if let Some(mut text) = text {
                redactor.text(&mut text, file);
                siblings.blob(file, writer.write_private(text.as_bytes())?);
            }
        }
        attach(
            writer,
            foreign.attachments,
            &mut document,
            &mut siblings,
            (redactor, self.system),
        )?;
        let mut all = foreign.steps;
        for step in all.iter_mut().filter_map(Value::as_object_mut) {
            step.entry("at").or_insert_with(|| self.at.to_string().into());
            step.entry("by").or_insert_with(|| self.system.into());
        }
        steps(writer, all, &mut siblings, redactor)?;
        log(writer, self.log, self.at, &mut siblings, redactor)?;
        chat.place(writer, &mut document, &mut siblings)?;
        let people = compose::people(scene);
        let mut parents = vec![last.0];
        if foreign.git.has_files
            && let Some(head) = commit_of(scene, &foreign.git)
            && let Some(tree) = history::tree_of(scene.repo, head)
        {
            // The commit is the checkpoint: its tree is the files, and nothing else was changed.
            document.snapshot = Some(SnapshotRef {
                tree: oid(tree),
                index: oid(tree),
                umask: format!("{:03o}", os::umask().unwrap_or(0o022)),
                unknown: Map::new(),
            });
            parents.push(checkpoint::write_snapshot(
                writer,
                Some(head),
                &[],
                (tree, tree),
                &people,
            )?);
        }
        let written = checkpoint::write(writer, &mut document, false, &siblings, parents, &people)?;
        Ok((written, document.record.summary.unwrap_or_default()))
    }
}

/// Gives items that say neither when nor by whom the checkpoint's time and the system's name.
fn complete(record: &mut Value, at: Timestamp, system: &str) {
    for (list, _) in LISTS {
        let Some(Value::Array(items)) = record.get_mut(list) else {
            continue;
        };
        for item in items.iter_mut().filter_map(Value::as_object_mut) {
            item.entry("at").or_insert_with(|| at.to_string().into());
            item.entry("by").or_insert_with(|| system.into());
        }
    }
}

fn attach(
    writer: &Writer,
    attachments: Vec<formats::Attachment>,
    document: &mut Document,
    siblings: &mut Siblings,
    tools: (&mut Redactor, &str),
) -> Result<(), Error> {
    let (redactor, system) = tools;
    let mut blobs = Vec::new();
    for (attachment, n) in attachments.into_iter().zip(0_u32..) {
        let mut name = attachment.name;
        redactor.text(&mut name, "attachment");
        let bytes = redactor.bytes(&attachment.bytes, &format!("files/{name}"));
        blobs.push(writer.write_private(&bytes)?);
        document.record.attachments.push(Attachment {
            id: ids::item_id()?,
            at: document.created_at,
            by: system.to_owned(),
            name,
            n,
            size: bytes.len() as u64,
            unknown: Map::new(),
        });
    }
    Ok(siblings.numbered(writer, "files", &blobs)?)
}

/// Writes the steps. A command that a secret was taken out of is marked: it is not what ran.
fn steps(writer: &Writer, steps: Vec<Value>, siblings: &mut Siblings, redactor: &mut Redactor) -> Result<(), Error> {
    let mut files = BTreeMap::new();
    for mut value in steps {
        let command = value.get("command").cloned();
        redactor.json(&mut value, "step");
        let altered = command.as_ref() != value.get("command");
        let Ok(mut step) = crate::model::json::from_value::<Step>(value) else {
            continue;
        };
        if let Some(command) = &mut step.command {
            command.altered |= altered;
        }
        if step::is_id(&step.id) {
            let blob = writer.write_private(&step.to_bytes())?;
            files.insert(format!("{}.json", step.id), blob);
        }
    }
    if files.is_empty() {
        return Ok(());
    }
    Ok(siblings.files(writer, "steps", files.into_iter().collect())?)
}

fn log(
    writer: &Writer,
    lines: &[formats::ForeignLogLine],
    at: Timestamp,
    siblings: &mut Siblings,
    redactor: &mut Redactor,
) -> Result<(), Error> {
    if lines.is_empty() {
        return Ok(());
    }
    let mut bytes = Vec::new();
    for line in lines {
        let mut message = line.message.clone();
        redactor.text(&mut message, "log");
        bytes.extend(strict::to_line(&LogLine {
            at: line.at.unwrap_or(at),
            level: line.level.clone(),
            message,
            agent: line.agent.clone(),
        }));
    }
    let blob = writer.write_private(&bytes)?;
    Ok(siblings.files(writer, "log", vec![("000000.jsonl".to_owned(), blob)])?)
}

/// Where the repository was by a source, as far as this repository knows of it.
fn facts(scene: &Scene<'_>, claimed: &ForeignRepoState) -> GitFacts {
    let mut facts = GitFacts {
        branch: claimed.branch.clone(),
        ..GitFacts::default()
    };
    let id = if claimed.has_files {
        commit_of(scene, claimed)
    } else {
        claimed.commit.as_deref().and_then(|digits| commit(scene, digits))
    };
    if let Some(id) = id {
        facts.head_subject = history::commit_info(scene.repo, id).ok().map(|info| info.subject);
        facts.head = Some(oid(id));
    }
    if facts.head.is_none() {
        facts.reported_head.clone_from(&claimed.commit);
    }
    (facts.ahead, facts.behind) = (claimed.ahead, claimed.behind);
    let paths = |texts: &[String]| {
        texts
            .iter()
            .map(|text| RepoPath::from_quoted(text).unwrap_or_else(|| RepoPath::from(text.as_str())))
            .collect()
    };
    facts.staged = paths(&claimed.staged);
    facts.modified = paths(&claimed.modified);
    facts.untracked = paths(&claimed.untracked);
    facts.settle();
    // A source without a thing does not mean that it is empty.
    let has_paths = !facts.staged.is_empty() || !facts.modified.is_empty() || !facts.untracked.is_empty();
    let said = [
        ("branch", facts.branch.is_some()),
        ("head", facts.head.is_some()),
        ("status", claimed.clean.is_some() || claimed.has_files || has_paths),
    ];
    facts.unreported = said
        .into_iter()
        .filter(|(_, is_said)| !is_said)
        .map(|(member, _)| member.to_owned())
        .collect();
    facts.is_clean = match claimed.clean {
        Some(clean) => clean,
        None => facts.has_status() && !has_paths,
    };
    facts
}

/// The commit that a checkpoint is, with its files: by its id, else by its tag or branch.
fn commit_of(scene: &Scene<'_>, claimed: &ForeignRepoState) -> Option<ObjectId> {
    let named = claimed.commit.as_deref().and_then(|digits| commit(scene, digits));
    named.or_else(|| history::named_commit(scene.repo, claimed.reference.as_deref()?))
}

/// The commit that an abbreviated id means here, if it means exactly one.
fn commit(scene: &Scene<'_>, digits: &str) -> Option<ObjectId> {
    let digits = digits.trim().to_ascii_lowercase();
    if digits.len() < 7 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    if let Ok(whole) = Oid::new(digits.clone()) {
        let id = checkpoint::object_id(&whole);
        return history::commit_info(scene.repo, id).is_ok().then_some(id);
    }
    match checkpoint::commits_with_prefix(scene.repo, &digits).as_slice() {
        [id] => Some(*id),
        _ => None,
    }
}

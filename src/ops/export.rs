//! `export`: a checkpoint with everything that is next to its document, for the formats that are made of it.

use std::path::Path;

use serde_json::Value;

use super::{Error, Scene, put_aside, select, session_choice, unmerged_files};
use crate::{
    formats::Attachment,
    model::{
        self,
        document::Document,
        json,
        list::Lists,
        name::ShortName,
        outline::{PutAside, UnmergedFiles},
        selector::Selector,
        step::Step,
    },
    store::{
        self, ObjectId,
        chat::SavedMessages,
        checkpoint::{self, Checkpoint, Fault, object_id},
        draft, session, steps,
    },
};

/// The largest chunk of messages or of the log that is read as lines: 64 MiB.
const CHUNK: usize = 64 << 20;

/// A checkpoint and what is next to its document.
#[derive(Debug)]
pub struct ExportedCheckpoint {
    /// The session it was found through.
    pub session: Option<ShortName>,
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// Whether it is the latest of a session of this repository.
    pub is_latest: bool,
    /// The steps, in their order.
    pub steps: Vec<Step>,
    /// The session log, oldest first.
    pub log: Vec<Value>,
    /// The chat, oldest first.
    pub messages: Vec<Value>,
    /// The project context.
    pub context: Option<String>,
    /// The description of the agent.
    pub agent: Option<String>,
    /// The lists of the snapshot.
    pub lists: Lists,
    /// The files kept with it, where they were asked for; for a whole chain those of the checkpoints before it, too.
    pub attachments: Vec<Attachment>,
    /// The documents of the checkpoints before it, oldest first, where they were asked for. The first checkpoint of a
    /// session says nothing and is none of them.
    pub earlier: Vec<Document>,
    /// How many checkpoints are before it, where that was asked for; next to their documents without the first, which says
    /// nothing and is none of those.
    pub before: usize,
    /// Work that `pause --clean` removed from the working tree and that is not back, latest first.
    pub put_aside: Vec<PutAside>,
    /// Checkpoints whose record was merged and whose files were not.
    pub unmerged_files: Vec<UnmergedFiles>,
    /// How many changes of the session's draft are not in it, when it is the latest.
    pub unsaved: usize,
}

impl ExportedCheckpoint {
    /// The checkpoint as commands know it: the session where it is its latest, else the id.
    pub fn selector(&self) -> String {
        if self.is_latest {
            self.name().to_owned()
        } else {
            super::ids::short(self.checkpoint.entry.id)
        }
    }

    /// The session's present name, else the one it had.
    pub fn name(&self) -> &str {
        let then = &self.checkpoint.document.session.name;
        self.session.as_ref().unwrap_or(then).as_str()
    }
}

/// Parts of a checkpoint to export, besides those that every format needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportScope {
    /// Nothing, and the checkpoints before it are not counted: for a view that is made again with each change.
    View,
    /// Nothing.
    Note,
    /// The files kept with it.
    Files,
    /// Those, and the documents of the checkpoints before it.
    Chain,
}

/// Whether a file is in no later snapshot because rules exclude it, or in the project's own history in any case.
pub fn stays_here(scene: &Scene<'_>, path: &Path) -> Result<bool, Error> {
    let git = || store::git(scene.repo).accept([1, 128]);
    let is = |git: crate::git::Git| Ok::<_, Error>(git.arg(path).run().map_err(store::Error::from)?.code == 0);
    let own_rules = store::work_tree(scene.repo)?.join(".checkpointignore");
    let ignore = ["check-ignore", "--quiet", "--"];
    Ok(is(git().args(ignore))?
        || is(git()
            .config(format!("core.excludesFile={}", own_rules.display()))
            .args(ignore))?
        || is(git().args(["ls-files", "--error-unmatch", "--"]))?)
}

/// Whether a path leads into the git directory, by whatever links. A working tree that lies in there is not meant.
pub fn is_in_git_dir(scene: &Scene<'_>, path: &Path) -> bool {
    // What is not there yet has no links.
    let real = |path: &Path| {
        let there = path
            .ancestors()
            .find_map(|above| Some((above, above.canonicalize().ok()?)));
        there.map_or_else(
            || path.to_owned(),
            |(above, real)| real.join(path.strip_prefix(above).unwrap_or(path)),
        )
    };
    let path = real(path);
    let top = scene.repo.workdir().map(real);
    [scene.repo.git_dir(), scene.repo.common_dir()]
        .into_iter()
        .map(real)
        .any(|directory| {
            let is_in_tree = |top: &std::path::PathBuf| top.starts_with(&directory) && path.starts_with(top);
            path.starts_with(&directory) && !top.as_ref().is_some_and(is_in_tree)
        })
}

/// Reads a checkpoint for exporting.
pub fn export(scene: &Scene<'_>, selector: &Selector, scope: ExportScope) -> Result<ExportedCheckpoint, Error> {
    let selected = select::checkpoint(scene, selector)?;
    let checkpoint = selected.checkpoint;
    let document = &checkpoint.document;
    let subject = selected
        .session
        .as_ref()
        .map_or_else(|| super::ids::short(checkpoint.entry.id), ToString::to_string);
    let damaged = || Error::damaged(subject.as_str());
    let waiting = if selected.is_tip {
        let draft = draft::read(scene.repo, &document.session.id)?;
        let name = selected.session.as_ref().unwrap_or(&document.session.name);
        session_choice::waiting(&draft, &checkpoint, name)
    } else {
        0
    };
    let mut attachments = match scope {
        ExportScope::View | ExportScope::Note => Vec::new(),
        _ => attachments(scene, &checkpoint).map_err(damaged())?,
    };
    let earlier = match scope {
        ExportScope::Chain => earlier(scene, &checkpoint, &mut attachments).map_err(damaged())?,
        _ => Vec::new(),
    };
    let name = selected.session.as_ref().filter(|_| selected.is_tip);
    Ok(ExportedCheckpoint {
        put_aside: put_aside::listed(scene, &checkpoint, name.map(ShortName::as_str)),
        unmerged_files: name.map_or_else(Vec::new, |name| unmerged_files::listed(scene, &checkpoint, name)),
        attachments,
        before: match scope {
            ExportScope::View => 0,
            ExportScope::Chain => earlier.len(),
            _ => before(scene, &checkpoint).map_err(damaged())?,
        },
        earlier,
        steps: steps::read(scene.repo, &checkpoint).map_err(damaged())?,
        log: lines(scene, &checkpoint, "log").map_err(damaged())?,
        messages: messages(scene, &checkpoint).map_err(damaged())?,
        context: text(scene, &checkpoint, "context.md").map_err(damaged())?,
        agent: text(scene, &checkpoint, "agent.md").map_err(damaged())?,
        lists: checkpoint::lists(scene.repo, &checkpoint).map_err(damaged())?,
        unsaved: waiting,
        is_latest: selected.is_tip && selected.session.is_some(),
        session: selected.session,
        checkpoint,
    })
}

/// The files that the record of a checkpoint names.
fn attachments(scene: &Scene<'_>, checkpoint: &Checkpoint) -> Result<Vec<Attachment>, Fault> {
    let Some(directory) = sibling(checkpoint, "files") else {
        return Ok(Vec::new());
    };
    let files = checkpoint::directory(scene.repo, directory, "files")?;
    let mut out = Vec::new();
    for named in &checkpoint.document.record.attachments {
        let file = named.n.to_string();
        if let Some((_, _, id)) = files.iter().find(|(name, _, _)| *name == file) {
            out.push(Attachment {
                name: named.name.clone(),
                bytes: checkpoint::read_private(scene.repo, *id, "an attachment")?,
            });
        }
    }
    Ok(out)
}

fn before(scene: &Scene<'_>, checkpoint: &Checkpoint) -> Result<usize, Fault> {
    let mut count = 0;
    for entry in session::history(scene.repo, checkpoint.entry.id).skip(1) {
        entry?;
        count += 1;
    }
    Ok(count)
}

/// The documents before a checkpoint, oldest first. Files that only they keep are added to the attachments.
fn earlier(scene: &Scene<'_>, checkpoint: &Checkpoint, kept: &mut Vec<Attachment>) -> Result<Vec<Document>, Fault> {
    let mut out = Vec::new();
    for entry in session::history(scene.repo, checkpoint.entry.id).skip(1) {
        let loaded = checkpoint::load(scene.repo, entry?.id)?;
        if loaded.document.kind == model::document::CheckpointKind::Start {
            continue;
        }
        for file in attachments(scene, &loaded)? {
            let is_same = |other: &Attachment| other.name == file.name && other.bytes == file.bytes;
            if !kept.iter().any(is_same) {
                kept.push(file);
            }
        }
        out.push(loaded.document);
    }
    out.reverse();
    Ok(out)
}

fn sibling(checkpoint: &Checkpoint, name: &str) -> Option<ObjectId> {
    checkpoint.document.trees.get(name).map(object_id)
}

/// The lines of the files in a directory, in the order of their names.
fn lines(scene: &Scene<'_>, checkpoint: &Checkpoint, name: &str) -> Result<Vec<Value>, Fault> {
    let mut out = Vec::new();
    let Some(directory) = sibling(checkpoint, name) else {
        return Ok(out);
    };
    let mut files = checkpoint::directory(scene.repo, directory, name)?;
    files.sort();
    for (file, _, id) in files.into_iter().filter(|(_, is_directory, _)| !is_directory) {
        let bytes = checkpoint::read_private(scene.repo, id, name)?;
        for line in bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
            let value = json::parse(line, CHUNK).map_err(|error| Fault::Corrupt {
                what: format!("'{name}/{file}'"),
                id,
                why: error.to_string(),
            })?;
            out.push(value);
        }
    }
    Ok(out)
}

/// The chat, with the pictures in their messages.
fn messages(scene: &Scene<'_>, checkpoint: &Checkpoint) -> Result<Vec<Value>, Fault> {
    let saved = SavedMessages::of(scene.repo, &checkpoint.document)?;
    let mut out = Vec::new();
    saved.each(0, |_, mut message| {
        saved.attach(&mut message);
        out.push(serde_json::to_value(message).unwrap_or_default());
        Ok::<_, Fault>(())
    })?;
    Ok(out)
}

fn text(scene: &Scene<'_>, checkpoint: &Checkpoint, name: &str) -> Result<Option<String>, Fault> {
    let Some(id) = sibling(checkpoint, name) else {
        return Ok(None);
    };
    let bytes = checkpoint::read_private(scene.repo, id, name)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

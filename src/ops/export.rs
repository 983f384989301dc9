//! `export`: a checkpoint with everything that stands beside its document, for the formats that are made of it.

use serde_json::Value;

use super::{Error, Scene, select};
use crate::{
    model::{json, list::Lists, name::Name, selector::Selector, step::Step},
    store::{
        Kind, ObjectId,
        checkpoint::{self, Checkpoint, Fault, object_id},
        draft, steps,
    },
};

/// The largest chunk of messages or of the log that is read as lines: 64 MiB.
const CHUNK: usize = 64 << 20;

/// A checkpoint and what stands beside its document.
#[derive(Debug)]
pub struct Exported {
    /// The session it was found through.
    pub session: Option<Name>,
    /// The checkpoint.
    pub checkpoint: Checkpoint,
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
    /// How many changes of the session's draft are not in it, when it is the newest.
    pub unsaved: usize,
}

impl Exported {
    /// The session's present name, else the one it had.
    pub fn name(&self) -> &str {
        let then = &self.checkpoint.document.session.name;
        self.session.as_ref().unwrap_or(then).as_str()
    }
}

/// Reads a checkpoint for exporting.
pub fn export(scene: &Scene<'_>, selector: &Selector) -> Result<Exported, Error> {
    let selected = select::checkpoint(scene, selector)?;
    let checkpoint = selected.checkpoint;
    let document = &checkpoint.document;
    let subject = selected
        .session
        .as_ref()
        .map_or_else(|| super::restore::short(checkpoint.entry.id), ToString::to_string);
    let damaged = || Error::damaged(subject.as_str());
    let waiting = if selected.is_tip {
        draft::read(scene.repo, &document.session.id)?.waiting(&document.folded)
    } else {
        0
    };
    Ok(Exported {
        steps: steps::read(scene.repo, &checkpoint).map_err(damaged())?,
        log: lines(scene, &checkpoint, "log").map_err(damaged())?,
        messages: lines(scene, &checkpoint, "chat").map_err(damaged())?,
        context: text(scene, &checkpoint, "context.md").map_err(damaged())?,
        agent: text(scene, &checkpoint, "agent.md").map_err(damaged())?,
        lists: checkpoint::lists(scene.repo, &checkpoint).map_err(damaged())?,
        unsaved: waiting,
        session: selected.session,
        checkpoint,
    })
}

fn sibling(checkpoint: &Checkpoint, name: &str) -> Option<ObjectId> {
    checkpoint.document.trees.get(name).map(object_id)
}

/// The lines of the files in a folder, in the order of their names.
fn lines(scene: &Scene<'_>, checkpoint: &Checkpoint, name: &str) -> Result<Vec<Value>, Fault> {
    let mut out = Vec::new();
    let Some(folder) = sibling(checkpoint, name) else {
        return Ok(out);
    };
    let mut files = checkpoint::folder(scene.repo, folder, name)?;
    files.sort();
    for (file, _, id) in files.into_iter().filter(|(_, is_folder, _)| !is_folder) {
        let bytes = checkpoint::read(scene.repo, id, Kind::Blob, name)?;
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

fn text(scene: &Scene<'_>, checkpoint: &Checkpoint, name: &str) -> Result<Option<String>, Fault> {
    let Some(id) = sibling(checkpoint, name) else {
        return Ok(None);
    };
    let bytes = checkpoint::read(scene.repo, id, Kind::Blob, name)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

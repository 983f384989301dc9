//! Input of an export, and the files it consists of.

use serde_json::{Map, Value};

use super::{Attachment, System};
use crate::model::{document::Document, json, record::Record, step::Step};

/// A session, or one checkpoint of it, to be written in another system's form.
#[derive(Clone, Copy, Debug)]
pub struct ExportInput<'a> {
    /// The checkpoints to write, oldest first; never empty. Most systems hold one: the last.
    pub documents: &'a [Document],
    /// The messages of the chat: objects with `role`, `content` and `timestamp`.
    pub messages: &'a [Value],
    /// The steps, in their order.
    pub steps: &'a [Step],
    /// Lines of the session log in the stored form.
    pub log: &'a [Value],
    /// Files kept with the latest checkpoint.
    pub attachments: &'a [Attachment],
    /// The project's context.
    pub context: Option<&'a str>,
    /// The agent's description.
    pub agent: Option<&'a str>,
}

impl ExportInput<'_> {
    /// The latest checkpoint.
    pub fn latest(&self) -> &Document {
        self.documents.last().expect("an export holds at least one checkpoint")
    }
}

/// The files of an export: paths relative to a folder, separated by `/`, with their bytes. Never empty; the first is
/// the main one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportFiles(pub Vec<(String, Vec<u8>)>);

impl ExportFiles {
    pub(super) fn one(name: String, bytes: Vec<u8>) -> Self {
        Self(vec![(name, bytes)])
    }
}

/// The stored form of JSON: two spaces of indent and a final line end.
pub(super) fn json(value: &Value) -> Vec<u8> {
    json::to_bytes(value)
}

/// Members of `extra` that came from this system.
pub(super) fn own(record: &Record, system: System) -> Map<String, Value> {
    object(record.extra.get(system.word()).cloned())
}

/// The members of an object; of anything else, none.
pub(super) fn object(value: Option<Value>) -> Map<String, Value> {
    match value {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// The id that a session has in this system, if it came from there.
pub(super) fn foreign_id(document: &Document, system: System) -> Option<String> {
    let imported = document.session.metadata.get("imported")?;
    let same = imported.get("system")?.as_str()? == system.word();
    same.then(|| imported.get("id")?.as_str().map(str::to_owned)).flatten()
}

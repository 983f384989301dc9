//! Output of `export`: a checkpoint with everything next to its document, and the receipt of a document that was written.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    View,
    checkpoint::Author,
    count::CountedNoun,
    receipt::SkippedPath,
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::{
    document::Document,
    id::{Digest, Oid},
    path::RepoPath,
    step::Step,
};

/// A checkpoint with everything next to its document.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.export/1")]
pub struct CheckpointExport<'a> {
    /// The name of the session.
    pub session: &'a str,
    /// The commit of the checkpoint.
    pub id: Oid,
    /// The digest of the document.
    pub digest: &'a Digest,
    /// The parents of the commit.
    pub parents: Vec<Oid>,
    /// Who saved it.
    pub author: Author<'a>,
    /// The document.
    pub document: &'a Document,
    /// The steps, in their order.
    pub steps: &'a [Step],
    /// The session log, oldest line first.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub log: &'a [Value],
    /// The chat, oldest message first.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub messages: &'a [Value],
    /// The project context.
    pub context: Option<&'a str>,
    /// The description of the agent.
    pub agent: Option<&'a str>,
    /// Files kept with the checkpoint.
    pub attachments: Vec<AttachmentRow<'a>>,
    /// Facts about files that git does not store.
    pub lists: SnapshotLists<'a>,
}

/// A file kept with a checkpoint.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AttachmentRow<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its content, where it is text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<&'a str>,
    /// Its content, where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
}

/// Facts about files that git does not store.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SnapshotLists<'a> {
    /// Paths on disk that are not in the checkpoint.
    pub skipped: Vec<SkippedPath>,
    /// Files with permission bits of their own.
    pub modes: Vec<ModeRow<'a>>,
    /// Files that are stored as they are on disk, without git's conversions.
    pub raw: &'a [RepoPath],
    /// Empty directories.
    pub empty_dirs: &'a [RepoPath],
    /// Paths that were to be added with `git add -N`.
    pub intent_to_add: &'a [RepoPath],
}

/// A file with permission bits of its own.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ModeRow<'a> {
    /// Its path.
    pub path: &'a RepoPath,
    /// Its permission bits in octal.
    pub mode: String,
}

/// A document that was made of a checkpoint.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.exported/1")]
pub struct ExportReceipt<'a> {
    /// The commit of the checkpoint.
    pub id: Oid,
    /// The digest of its document.
    pub digest: &'a Digest,
    /// The name of the session.
    pub session: &'a str,
    /// The format.
    pub format: &'a str,
    /// The file, or the directory for a format of several files; null where the document is in `text`.
    pub file: Option<String>,
    /// The files of a format of several files, relative to the directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<&'a str>>,
    /// Whether the file is another than before.
    pub changed: bool,
    /// Whether nothing was written.
    pub dry_run: bool,
    /// The document; null where it is in a file.
    pub text: Option<Cow<'a, str>>,
    /// The content that the format has no place for; documents for people report none.
    pub left_out: Vec<OmissionRow<'a>>,
}

/// A kind of content that a format has no place for.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OmissionRow<'a> {
    /// The content in words.
    pub what: &'a str,
    /// The number of such things.
    pub count: usize,
}

impl View for ExportReceipt<'_> {
    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn text(&self) -> Text {
        let verb = match (self.changed, self.dry_run) {
            (true, true) => "Would write ",
            (true, false) => "Wrote ",
            (false, _) => "Unchanged: ",
        };
        let mut line = TextLine::plain(verb);
        if let Some(files) = &self.files {
            line.push(Slot::Plain, format!("{} to ", CountedNoun::new(files.len(), "file")));
        }
        if let Some(file) = &self.file {
            line.push(Slot::Path, file);
        }
        line.push(Slot::Plain, ", from ");
        line.push(Slot::Id, self.id.short());
        line.push(Slot::Plain, " of session ");
        line.with(Slot::Session, self.session).into()
    }
}

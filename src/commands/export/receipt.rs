//! Receipt of an export, whatever it wrote: JSON, or a sentence.

use std::path::Path;

use serde_json::{Value, json};

use super::Args;
use crate::{
    formats::OmittedContent,
    ops::export::ExportedCheckpoint,
    render::{slot::Slot, text::TextLine},
    store::checkpoint::oid,
};

/// Exported checkpoint and the destination.
pub(super) struct ExportReceipt<'a> {
    pub(super) args: &'a Args,
    pub(super) exported: &'a ExportedCheckpoint,
    pub(super) left_out: &'a [OmittedContent],
    /// The file or directory; `None` for standard output.
    pub(super) path: Option<&'a Path>,
    /// Whether that is another than before.
    pub(super) changed: bool,
}

impl ExportReceipt<'_> {
    /// As the schema `exported` has it: `files` are those of a format of several, `text` is what is in no file.
    pub(super) fn json(&self, files: Option<&[&str]>, text: Option<&[u8]>) -> Value {
        let mut json = json!({
            "schema": "git-checkpoint.exported/1",
            "id": oid(self.exported.checkpoint.entry.id),
            "digest": self.exported.checkpoint.digest,
            "session": self.exported.name(),
            "format": self.args.format.0.name,
            "file": self.path.map(|path| path.display().to_string()),
        });
        if let Some(files) = files {
            json["files"] = json!(files);
        }
        json["changed"] = json!(self.changed);
        json["dry_run"] = json!(self.args.dry_run);
        json["text"] = json!(text.map(String::from_utf8_lossy));
        json["left_out"] = json!(self.left_out);
        json
    }

    /// The sentence that begins with what was done: `Wrote `.
    pub(super) fn line(&self, did: String) -> TextLine {
        let mut line = TextLine::plain(did);
        if let Some(path) = self.path {
            line.push(Slot::Path, path.display().to_string());
        }
        line.push(Slot::Plain, ", from ");
        line.push(Slot::Id, oid(self.exported.checkpoint.entry.id).short());
        line.push(Slot::Plain, " of session ");
        line.push(Slot::Session, self.exported.name());
        line
    }
}

//! Output of `export --commit`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{slot::Slot, text::TextLine};
use crate::model::id::Oid;

/// A commit that was made of a checkpoint; its JSON is `git-checkpoint.exported-commit/1`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.exported-commit/1")]
#[schemars(title = "A commit made of a checkpoint's files")]
pub struct ExportedCommit {
    /// The commit.
    pub id: Oid,
    /// The branch that it is on.
    pub branch: String,
    /// Its parent; null where the checkpoint was saved on an unborn branch.
    pub parent: Option<Oid>,
    /// The checkpoint.
    pub checkpoint: Oid,
    /// The session that the checkpoint was found through.
    pub session: Option<String>,
    /// The store that alone has the branch, where the repository cannot be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
}

impl ExportedCommit {
    /// The receipt.
    pub fn text(&self) -> TextLine {
        let mut line = TextLine::new().with(Slot::Added, "Committed");
        line.push(Slot::Plain, " ");
        line.push(Slot::Id, self.checkpoint.short());
        line.push(Slot::Plain, " as ");
        line.push(Slot::Id, self.id.short());
        line.push(Slot::Plain, " on branch ");
        line.push(Slot::Session, &self.branch);
        line
    }
}

//! The receipt of `delete --remote`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::id::Oid;

/// Sessions deleted on a remote.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Sessions deleted on a remote", extend("x-lines" = "deleted"))]
pub struct RemovalView<'a> {
    /// Name of the schema.
    #[schemars(extend("const" = "git-checkpoint.remote-delete/1"))]
    pub schema: &'static str,
    /// The remote.
    pub remote: &'a str,
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// The sessions.
    pub deleted: Vec<RemovedRow<'a>>,
}

/// A session deleted on a remote.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RemovedRow<'a> {
    /// The session.
    pub session: &'a str,
    /// Its latest checkpoint there.
    pub id: Oid,
    /// Whether a session here holds all of its checkpoints.
    pub is_here: bool,
    /// The ref that keeps it, where no session here does.
    pub trash: Option<&'a str>,
}

impl RemovalView<'_> {
    /// A line for each session.
    pub fn text(&self) -> Text {
        let word = if self.dry_run { "Would delete" } else { "Deleted" };
        let lines = self.deleted.iter().map(|row| {
            let mut line = TextLine::new().with(Slot::Removed, word);
            line.push(Slot::Plain, " session ");
            line.push(Slot::Session, row.session);
            line.push(Slot::Plain, format!(" on {}, last ", self.remote));
            line.push(Slot::Id, row.id.short());
            let place = match (row.is_here, self.dry_run) {
                (true, _) => "; the one here stays",
                (false, true) => "; it would be in the trash here",
                (false, false) => "; it is in the trash here",
            };
            line.with(Slot::Plain, place)
        });
        lines.collect()
    }
}

//! The receipt of `save --amend`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    View,
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::{
    id::{Digest, Oid},
    name::ShortName,
};

/// A checkpoint whose notes were amended.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.amend/1")]
pub struct AmendView<'a> {
    /// The session.
    pub session: &'a ShortName,
    /// The checkpoint as it was; the trash has it.
    pub before: Oid,
    /// The checkpoint now; null in a dry run.
    pub id: Option<Oid>,
    /// Digest of its document.
    pub digest: &'a Digest,
    /// Its subject.
    pub subject: &'a str,
    /// Whether nothing was changed.
    pub dry_run: bool,
}

impl View for AmendView<'_> {
    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    // `Amended 1234abcd as 5678abcd  parser done`.
    fn text(&self) -> Text {
        let word = if self.dry_run { "Would amend" } else { "Amended" };
        let mut line = TextLine::new().with(Slot::Changed, word);
        line.push(Slot::Plain, " ");
        line.push(Slot::Id, self.before.short());
        if let Some(id) = &self.id {
            line.push(Slot::Plain, " as ");
            line.push(Slot::Id, id.short());
        }
        let subject = self.subject.lines().next().unwrap_or_default();
        line.push(Slot::Plain, format!("  {subject}"));
        line.push(Slot::Plain, "  (");
        line.push(Slot::Session, self.session.as_str());
        line.with(Slot::Plain, ")").into()
    }
}

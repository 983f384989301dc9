//! The receipt of `rekey`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    View,
    count::CountedNoun,
    slot::Slot,
    text::{Text, TextLine},
};
use crate::model::id::{Digest, Oid};

/// A session that was encrypted again.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "schema", rename = "git-checkpoint.rekey/1")]
pub struct RekeyView<'a> {
    /// The session.
    pub session: &'a str,
    /// The checkpoint; the latest one there is in a dry run.
    pub id: Oid,
    /// The digest of its document.
    pub digest: &'a Digest,
    /// The public keys that it is encrypted to.
    pub recipients: &'a [String],
    /// Whether nothing was done.
    pub dry_run: bool,
}

impl View for RekeyView<'_> {
    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn text(&self) -> Text {
        let word = if self.dry_run { "Would encrypt " } else { "Encrypted " };
        let count = CountedNoun::new(self.recipients.len(), "recipient").to_string();
        TextLine::plain(word)
            .with(Slot::Session, self.session)
            .with(Slot::Plain, " at ")
            .with(Slot::Id, self.id.short())
            .with(Slot::Plain, format!(" to {count}"))
            .into()
    }
}
